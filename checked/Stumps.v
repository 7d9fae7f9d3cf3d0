(* Relabelling by stumps, counted by triples (feature, gap, direction) (proofs/stumps.md, Relabelling).

   In words: a point has p features with values in a totally ordered set. A feature with G distinct values among the points
   has G + 1 gaps: below all values, between neighbours, above all. A stump of feature f, gap i and direction r says whether
   the value lies above the gap, or the opposite. All triples count, also those with the same labels. A new record of a
   new value splits the one gap that it lies in, and both halves label it differently. A record of a known value splits none.
   So the triples have the extension property, and relabelling costs 2*ln(1 + e^eta) + 2*lambda.
   Values are integers here: finite floats are integer multiples of 2^-1074. A gap is named by the value below it. *)
From Coq Require Import Reals List Lra Lia Bool ZArith Permutation.
From pcqr Require Import Law Finite Subsample Orders RelabelFixed RelabelMembers.
Import ListNotations.
Local Open Scope Z_scope.

Definition point := nat -> Z.
(* feature, direction, gap: the gap above this value, or below all *)
Definition triple := (nat * bool * option Z)%type.
Definition above (gap : option Z) (v : Z) : bool := match gap with None => true | Some w => w <? v end.
Definition says (m : triple) (x : point) : bool := let '(f, direction, gap) := m in xorb direction (above gap (x f)).

Definition gaps (values : list Z) : list (option Z) := None :: map Some (nodup Z.eq_dec values).
Definition values (f : nat) (xs : list point) : list Z := map (fun x => x f) xs.
Definition of_direction (f : nat) (xs : list point) (direction : bool) : list triple :=
  map (fun gap => (f, direction, gap)) (gaps (values f xs)).
Definition of_feature (xs : list point) (f : nat) : list triple := flat_map (of_direction f xs) [false; true].
Definition stumps (p : nat) (xs : list point) : list triple := flat_map (of_feature xs) (seq 0 p).

(* the gap that a value lies in *)
Definition gap_of (v : Z) (known : list Z) : option Z :=
  fold_right (fun d best => if (d <? v) && above best d then Some d else best) None known.

Lemma gap_of_spec v known :
  match gap_of v known with
  | None => forall d, In d known -> v <= d
  | Some b => In b known /\ b < v /\ forall d, In d known -> d < v -> d <= b
  end.
Proof.
  induction known as [|a known IH]; cbn [gap_of fold_right]; [easy|]. fold (gap_of v known).
  destruct (gap_of v known) as [b|]; cbn [above].
  - destruct IH as (I & B & M). destruct (Z.ltb_spec a v), (Z.ltb_spec b a); cbn [andb].
    + split; [now left|]. split; [lia|]. intros d [->|D] L; [lia|]. specialize (M d D L). lia.
    + split; [now right|]. split; [lia|]. intros d [->|D] L; [lia|]. now apply M.
    + split; [now right|]. split; [lia|]. intros d [->|D] L; [lia|]. now apply M.
    + split; [now right|]. split; [lia|]. intros d [->|D] L; [lia|]. now apply M.
  - destruct (Z.ltb_spec a v); cbn [andb].
    + split; [now left|]. split; [lia|]. intros d [->|D] L; [lia|]. specialize (IH d D). lia.
    + intros d [->|D]; [lia|]. now apply IH.
Qed.

Lemma gap_of_in v known : In (gap_of v known) (gaps known).
Proof.
  unfold gaps. pose proof (gap_of_spec v known) as H. destruct (gap_of v known) as [b|]; [|now left].
  right. apply in_map, nodup_In. tauto.
Qed.

Lemma same_side v known w : ~ In v known -> In w known -> above (Some v) w = above (gap_of v known) w.
Proof.
  intros N I. pose proof (gap_of_spec v known) as H. assert (w <> v) by (intros ->; easy).
  destruct (gap_of v known) as [b|]; cbn [above].
  - destruct H as (_ & B & M). specialize (M w I). destruct (Z.ltb_spec v w), (Z.ltb_spec b w); try easy; lia.
  - specialize (H w I). destruct (Z.ltb_spec v w); [easy|lia].
Qed.
Lemma other_side v known : above (gap_of v known) v <> above (Some v) v.
Proof.
  pose proof (gap_of_spec v known) as H. destruct (gap_of v known) as [b|]; cbn [above]; rewrite Z.ltb_irrefl.
  - destruct H as (_ & B & _). destruct (Z.ltb_spec b v); [easy|lia].
  - easy.
Qed.

Definition option_eq_dec : forall a b : option Z, {a = b} + {a <> b}.
Proof. decide equality. apply Z.eq_dec. Defined.

(* what a gap becomes when a value comes: two gaps where the value is new and lies in it, else itself *)
Definition split_gap (v : Z) (known : list Z) (gap : option Z) : list (option Z) :=
  if in_dec Z.eq_dec v known then [gap] else if option_eq_dec gap (gap_of v known) then [gap; Some v] else [gap].

Lemma singles {A B} (h : A -> list B) (g : A -> B) l : (forall a, In a l -> h a = [g a]) -> flat_map h l = map g l.
Proof. induction l as [|a l IH]; intros H; cbn; [easy|]. rewrite (H a) by now left. cbn. f_equal. apply IH. intros; apply H; now right. Qed.

Lemma nodup_gaps known : NoDup (gaps known).
Proof.
  unfold gaps. constructor.
  - intros I. apply in_map_iff in I. destruct I as (w & E & _). discriminate.
  - apply FinFun.Injective_map_NoDup; [intros a b E; now injection E|apply NoDup_nodup].
Qed.

Lemma gaps_split v l r : Permutation (gaps (l ++ v :: r)) (flat_map (split_gap v (l ++ r)) (gaps (l ++ r))).
Proof.
  set (known := l ++ r). unfold split_gap. destruct (in_dec Z.eq_dec v known) as [I|N].
  - rewrite (singles _ (fun g => g)) by reflexivity. rewrite map_id. unfold gaps. constructor. apply Permutation_map.
    apply NoDup_Permutation; try apply NoDup_nodup. intros w. rewrite !nodup_In. unfold known in *. rewrite !in_app_iff in *. cbn.
    intuition (subst; auto).
  - assert (P : Permutation (gaps (l ++ v :: r)) (Some v :: gaps known)).
    { unfold gaps. eapply perm_trans; [|apply perm_swap]. constructor.
      change (Some v :: map Some (nodup Z.eq_dec known)) with (map Some (v :: nodup Z.eq_dec known)). apply Permutation_map.
      apply NoDup_Permutation; [apply NoDup_nodup|constructor; [now rewrite nodup_In|apply NoDup_nodup]|].
      intros w. cbn [In]. rewrite !nodup_In. unfold known. rewrite !in_app_iff. cbn. intuition. }
    eapply perm_trans; [exact P|].
    destruct (in_split _ _ (gap_of_in v known)) as (A & B & E). pose proof (nodup_gaps known) as ND. rewrite E in ND |- *.
    apply NoDup_remove_2 in ND. rewrite flat_map_app. cbn [flat_map].
    destruct (option_eq_dec (gap_of v known) (gap_of v known)) as [_|]; [|easy].
    assert (S1 : forall k, ~ In (gap_of v known) k ->
      flat_map (fun gap => if option_eq_dec gap (gap_of v known) then [gap; Some v] else [gap]) k = k).
    { intros k Hk. rewrite (singles _ (fun g => g)); [apply map_id|]. intros g G.
      destruct (option_eq_dec g (gap_of v known)) as [->|]; [easy|reflexivity]. }
    rewrite !S1 by (intros H; apply ND, in_or_app; auto). cbn [app].
    apply perm_trans with (A ++ Some v :: gap_of v known :: B); [apply Permutation_middle|].
    apply Permutation_app_head, perm_swap.
Qed.

Lemma flat_map_twice {A B C} (g : A -> list B) (h : B -> list C) l : flat_map h (flat_map g l) = flat_map (fun a => flat_map h (g a)) l.
Proof. induction l as [|a l IH]; cbn; [easy|]. now rewrite flat_map_app, IH. Qed.
Lemma flat_map_of_map {A B C} (g : A -> B) (h : B -> list C) l : flat_map h (map g l) = flat_map (fun a => h (g a)) l.
Proof. induction l as [|a l IH]; cbn; [easy|]. now rewrite IH. Qed.
Lemma map_of_flat_map {A B C} (g : A -> list B) (h : B -> C) l : map h (flat_map g l) = flat_map (fun a => map h (g a)) l.
Proof. induction l as [|a l IH]; cbn; [easy|]. now rewrite map_app, IH. Qed.
Lemma flat_map_permuted {A B} (g h : A -> list B) l : (forall a, Permutation (g a) (h a)) -> Permutation (flat_map g l) (flat_map h l).
Proof. intros H. induction l as [|a l IH]; cbn; [constructor|]. now apply Permutation_app. Qed.

Section Extension.
  Variables (p : nat) (l r : list point) (x : point).
  Definition extensions (m : triple) : list triple :=
    let '(f, direction, gap) := m in map (fun g => (f, direction, g)) (split_gap (x f) (values f (l ++ r)) gap).

  Lemma stumps_extend : Permutation (stumps p (l ++ x :: r)) (flat_map extensions (stumps p (l ++ r))).
  Proof.
    unfold stumps at 2. rewrite flat_map_twice. apply flat_map_permuted. intros f.
    unfold of_feature at 2. rewrite flat_map_twice. apply flat_map_permuted. intros d.
    unfold of_direction. rewrite flat_map_of_map. cbn [extensions]. rewrite <- map_of_flat_map. apply Permutation_map.
    unfold values. rewrite !map_app. cbn [map]. apply gaps_split.
  Qed.

  Lemma extensions_ok m : extends says l r x (map (says m) l) (map (says m) r) (extensions m).
  Proof.
    destruct m as [[f d] gap]. cbn [extensions]. unfold split_gap.
    destruct (in_dec Z.eq_dec (x f) (values f (l ++ r))) as [I|N];
      [|destruct (option_eq_dec gap (gap_of (x f) (values f (l ++ r)))) as [->|]]; cbn [map].
    1, 3: split; [intros m [<-|[]]; auto|left; eexists; reflexivity].
    split.
    - intros m [<-|[<-|[]]]; [auto|].
      assert (G : forall k, incl k (l ++ r) ->
        map (says (f, d, Some (x f))) k = map (says (f, d, gap_of (x f) (values f (l ++ r)))) k).
      { intros k K. apply map_ext_in. intros y Y. unfold says. f_equal. apply same_side; [exact N|].
        apply in_map_iff. exists y. split; [reflexivity|now apply K]. }
      split; apply G; intros y Y; apply in_or_app; auto.
    - right. eexists. eexists. split; [reflexivity|]. unfold says. intros E. apply (other_side (x f) (values f (l ++ r))).
      destruct d, (above _ _), (above (Some (x f)) (x f)); cbn in E; congruence.
  Qed.
End Extension.

Theorem stumps_have_the_extension_property p : extension_property (stumps p) says.
Proof.
  intros l r. exists triple, (stumps p (l ++ r)), (fun m => map (says m) l), (fun m => map (says m) r).
  intros x. exists (extensions l r x). split; [apply stumps_extend|]. intros m _. apply extensions_ok.
Qed.

Lemma some_stumps p xs : (0 < p)%nat -> stumps p xs <> [].
Proof. destruct p as [|p]; [lia|]. intros _. unfold stumps, of_feature, of_direction, gaps. cbn. discriminate. Qed.

(* any draw within a factor e^lambda of the exact one *)
Theorem relabelling_by_stumps p eta lam chance nonneg one : (0 < p)%nat -> (0 <= eta)%R ->
  (forall S m, In m (stumps p (points S)) -> (chance S m <= exp lam * member_chance (stumps p) says eta S m)%R) ->
  (forall S m, In m (stumps p (points S)) -> (member_chance (stumps p) says eta S m <= exp lam * chance S m)%R) ->
  relabelling_costs (2 * ln (1 + exp eta) + 2 * lam) (relabelled_by_member (stumps p) says chance nonneg one).
Proof.
  intros P H Hi Lo.
  exact (relabelling_by_members (stumps p) says (stumps_have_the_extension_property p) (fun xs => some_stumps p xs P) eta lam H
    chance nonneg one Hi Lo).
Qed.

(* the exact draw, with nothing left to suppose *)
Definition relabelled_by_stumps (p : nat) (P : (0 < p)%nat) (eta : R) : list (point * bool) -> law (list (point * bool)) :=
  relabelled_by_member (stumps p) says (member_chance (stumps p) says eta)
    (exact_nonneg (stumps p) says (fun xs => some_stumps p xs P) eta)
    (exact_one (stumps p) says (fun xs => some_stumps p xs P) eta).
Theorem relabelling_by_stumps_exactly p P eta : (0 <= eta)%R ->
  relabelling_costs (2 * ln (1 + exp eta)) (relabelled_by_stumps p P eta).
Proof. intros H. apply (relabelling_by_members_exactly (stumps p) says (stumps_have_the_extension_property p)). exact H. Qed.

(* 2 * (G + 1) triples a feature: three points with two distinct values *)
Example six_triples : length (stumps 1 [(fun _ => 3); (fun _ => 5); (fun _ => 3)]) = 6%nat.
Proof. reflexivity. Qed.
