(* One member for each dichotomy has the extension property (proofs/relabel.md, Precondition).

   In words: H is any class of hypotheses. For each list of points the members are hypotheses of H, among which each
   labelling of the points by a hypothesis of H occurs exactly once. Then leaving out a point maps the members on all points onto
   those on the others, one or two fall together, and two label the point differently: the extension property of
   RelabelMembers.v. For a finite class such members are built: the first hypothesis of each labelling. *)
From Coq Require Import Reals List Lra Lia Bool Permutation.
From pcqr Require Import Law RelabelFixed RelabelMembers.
Import ListNotations.

Lemma parted {A C} (p : C -> A -> bool) (common : list C) (l : list A) :
  (forall a, In a l -> exists c before after, common = before ++ c :: after /\ p c a = true /\
    forall c', In c' (before ++ after) -> p c' a = false) ->
  Permutation l (flat_map (fun c => filter (p c) l) common).
Proof.
  induction l as [|a l IH]; intros H.
  - induction common as [|c common IHc]; [constructor|exact (IHc ltac:(intros ? []))].
  - destruct (H a (or_introl eq_refl)) as (c & A' & B & E & P & N).
    specialize (IH (fun x X => H x (or_intror X))). rewrite E in IH |- *.
    assert (G : forall k, (forall c', In c' k -> p c' a = false) ->
      flat_map (fun c => filter (p c) (a :: l)) k = flat_map (fun c => filter (p c) l) k).
    { induction k as [|c' k IHk]; intros K; [reflexivity|]. cbn [flat_map filter]. rewrite (K c') by now left.
      f_equal. apply IHk. intros; apply K; now right. }
    rewrite flat_map_app in IH |- *. cbn [flat_map] in IH |- *.
    rewrite !G by (intros c' I; apply N, in_or_app; auto). cbn [filter]. rewrite P.
    eapply perm_trans; [constructor; exact IH|]. apply Permutation_middle.
Qed.

Lemma nodup_filtered {A B} (g : A -> B) p l : NoDup (map g l) -> NoDup (map g (filter p l)).
Proof.
  induction l as [|a l IH]; intros N; cbn [map filter] in *; [constructor|]. inversion N as [|? ? N1 N2]; subst.
  destruct (p a); [|now apply IH]. cbn [map]. constructor; [|now apply IH]. intros I. apply N1.
  apply in_map_iff in I. destruct I as (b & E & I). apply filter_In in I. apply in_map_iff. exists b. tauto.
Qed.

Section Dichotomies.
  Context {X : Type}.
  Variable H : (X -> bool) -> Prop.
  Variable members : list X -> list (X -> bool).
  Hypothesis members_in : forall xs m, In m (members xs) -> H m.
  Hypothesis every : forall xs h, H h -> exists m, In m (members xs) /\ map m xs = map h xs.
  Hypothesis once : forall xs, NoDup (map (fun m => map m xs) (members xs)).

  Lemma same_parts (u u' t t' : list bool) : length u = length u' -> u ++ t = u' ++ t' -> u = u' /\ t = t'.
  Proof.
    revert u'. induction u as [|a u IH]; intros [|a' u'] L E; cbn in *; try lia; [easy|].
    injection E as -> E. destruct (IH u' ltac:(lia) E) as [-> ->]. easy.
  Qed.
  Lemma same_labels xs m m' A B C : members xs = A ++ m :: B ++ m' :: C -> map m xs = map m' xs -> False.
  Proof.
    intros E L. pose proof (once xs) as N. rewrite E, map_app in N. cbn [map] in N. apply NoDup_remove_2 in N.
    apply N. rewrite map_app. cbn [map]. apply in_or_app. right. apply in_or_app. right. left. now symmetry.
  Qed.

  Definition vectors_eqb (u v : list bool) : bool := if list_eq_dec bool_dec u v then true else false.
  Lemma vectors_eqb_ok u v : vectors_eqb u v = true <-> u = v.
  Proof. unfold vectors_eqb. destruct list_eq_dec; split; congruence. Qed.

  Theorem one_member_for_each_dichotomy : extension_property members (fun m => m).
  Proof.
    intros l r. exists (X -> bool), (members (l ++ r)), (fun c => map c l), (fun c => map c r). intros x.
    set (agrees := fun (c m : X -> bool) => vectors_eqb (map m (l ++ r)) (map c (l ++ r))).
    exists (fun c => filter (agrees c) (members (l ++ x :: r))).
    assert (AG : forall c m, agrees c m = true -> map m l = map c l /\ map m r = map c r).
    { intros c m E. apply vectors_eqb_ok in E. rewrite !map_app in E. apply same_parts in E; [exact E|]. now rewrite !map_length. }
    split.
    - apply parted. intros m M. destruct (every (l ++ r) m (members_in _ m M)) as (c & C & E).
      destruct (in_split _ _ C) as (A & B & S). exists c, A, B. split; [exact S|]. split; [now apply vectors_eqb_ok|].
      intros c' I. destruct (agrees c' m) eqn:G; [|reflexivity]. exfalso. apply vectors_eqb_ok in G. rewrite <- E in G.
      apply in_app_or in I. destruct I as [I|I]; apply in_split in I; destruct I as (K1 & K2 & ->).
      + rewrite <- app_assoc in S. cbn in S. apply (same_labels (l ++ r) c' c K1 K2 B S). now symmetry.
      + now apply (same_labels (l ++ r) c c' A K1 K2 S).
    - intros c C. set (ext := filter (agrees c) (members (l ++ x :: r))).
      assert (IN : forall m, In m ext -> In m (members (l ++ x :: r)) /\ agrees c m = true) by (intros m; apply filter_In).
      split; [intros m M; now apply AG, IN|].
      assert (FULL : forall m m', In m ext -> In m' ext -> m x = m' x -> map m (l ++ x :: r) = map m' (l ++ x :: r)).
      { intros m m' M M' E. destruct (AG c m) as (L & R); [now apply IN|]. destruct (AG c m') as (L' & R'); [now apply IN|].
        rewrite !map_app. cbn [map]. congruence. }
      assert (ND : NoDup (map (fun m => map m (l ++ x :: r)) ext)) by (apply nodup_filtered, once).
      assert (SOME : ext <> []).
      { destruct (every (l ++ x :: r) c (members_in _ c C)) as (m & M & E). intros K.
        assert (I : In m ext); [|rewrite K in I; easy]. apply filter_In. split; [exact M|]. apply vectors_eqb_ok.
        rewrite !map_app in E |- *. cbn [map] in E. apply same_parts in E; [|now rewrite !map_length].
        destruct E as [E1 E2]. injection E2 as _ E2. congruence. }
      destruct ext as [|m [|m' [|m'' k]]]; [easy|left; now exists m| |].
      + right. exists m, m'. split; [easy|]. intros E. inversion ND as [|? ? N _]; subst. apply N. left.
        apply FULL; cbn; auto.
      + exfalso. inversion ND as [|? ? N ND']; subst. inversion ND' as [|? ? N' _]; subst.
        assert (E1 : m x <> m' x) by (intros E; apply N; left; apply FULL; cbn; auto).
        assert (E2 : m x <> m'' x) by (intros E; apply N; right; left; apply FULL; cbn; auto).
        assert (E3 : m' x <> m'' x) by (intros E; apply N'; left; apply FULL; cbn; auto).
        destruct (m x), (m' x), (m'' x); congruence.
  Qed.
End Dichotomies.

(* a finite class: the first hypothesis of each labelling *)
Section Finite_class.
  Context {X : Type}.
  Fixpoint representatives (class : list (X -> bool)) (xs : list X) : list (X -> bool) :=
    match class with
    | [] => []
    | h :: class => h :: filter (fun g => negb (vectors_eqb (map g xs) (map h xs))) (representatives class xs)
    end.
  Lemma representatives_in class xs m : In m (representatives class xs) -> In m class.
  Proof. induction class as [|h class IH]; cbn; [easy|]. intros [->|I]; [now left|]. apply filter_In in I. right. now apply IH. Qed.
  Lemma representatives_every class xs h : In h class -> exists m, In m (representatives class xs) /\ map m xs = map h xs.
  Proof.
    induction class as [|g class IH]; [easy|]. intros [->|I]; cbn.
    - exists h. split; [now left|easy].
    - destruct (IH I) as (m & M & E). destruct (vectors_eqb (map m xs) (map g xs)) eqn:Q.
      + apply vectors_eqb_ok in Q. exists g. split; [now left|congruence].
      + exists m. split; [right; apply filter_In; now rewrite Q|exact E].
  Qed.
  Lemma representatives_once class xs : NoDup (map (fun m => map m xs) (representatives class xs)).
  Proof.
    induction class as [|h class IH]; cbn; [constructor|]. constructor.
    - intros I. apply in_map_iff in I. destruct I as (g & E & I). apply filter_In in I. destruct I as [_ I].
      apply negb_true_iff in I. assert (vectors_eqb (map g xs) (map h xs) = true) by now apply vectors_eqb_ok. congruence.
    - now apply nodup_filtered.
  Qed.

  Theorem finite_classes_have_the_extension_property class : extension_property (representatives class) (fun m => m).
  Proof.
    apply (one_member_for_each_dichotomy (fun h => In h class)).
    - intros xs m. apply representatives_in.
    - intros xs h. apply representatives_every.
    - intros xs. apply representatives_once.
  Qed.
End Finite_class.

(* Without the labelling 0 the property fails (proofs/relabel.md, Remarks): on the points 1 and 0 no member is 0 at 1, on 1
   and 2 one is. *)
Example all_labellings_are_needed : let from t := (fun x : nat => Nat.leb t x) in
  ~ extension_property (fun xs => filter (fun h => existsb h xs) (representatives [from 0; from 1; from 2; from 3] xs)) (fun m => m).
Proof.
  intros from P. destruct (P [1] []) as (T & common & u & t & Q).
  destruct (Q 0) as (ext & PE & EX). destruct (Q 2) as (ext' & PE' & EX').
  assert (C : exists c, In c common /\ u c = [false]).
  { assert (I : In (from 2) (flat_map ext' common)) by (apply (Permutation_in _ PE'); cbn; auto).
    apply in_flat_map in I. destruct I as (c & C & I). exists c. split; [exact C|].
    destruct (proj1 (EX' c C) (from 2) I) as (U & _). now rewrite <- U. }
  destruct C as (c & C & U).
  assert (I : exists m, In m (ext c)) by (destruct (proj2 (EX c C)) as [(m & ->)|(m & m' & -> & _)]; exists m; now left).
  destruct I as (m & I). destruct (proj1 (EX c C) m I) as (V & _). rewrite U in V. cbn in V. injection V as V.
  assert (M : In m (filter (fun h => existsb h [1; 0]) (representatives [from 0; from 1; from 2; from 3] [1; 0])))
    by (apply (Permutation_in _ (Permutation_sym PE)); apply in_flat_map; now exists c).
  cbn in M. destruct M as [M|[M|[]]]; subst m; discriminate.
Qed.

(* the exact draw, with nothing left to suppose *)
Section Exactly.
  Context {X : Type} (class : list (X -> bool)) (some : class <> []) (eta : R) (eta_nonneg : (0 <= eta)%R).
  Lemma some_representatives xs : representatives class xs <> [].
  Proof. destruct class; [easy|]. cbn. discriminate. Qed.
  Definition relabelled_by_a_finite_class : list (X * bool) -> law (list (X * bool)) :=
    relabelled_by_member (representatives class) (fun m => m) (member_chance (representatives class) (fun m => m) eta)
      (exact_nonneg (representatives class) (fun m => m) some_representatives eta)
      (exact_one (representatives class) (fun m => m) some_representatives eta).

  Theorem relabelling_by_a_finite_class : relabelling_costs (2 * ln (1 + exp eta)) relabelled_by_a_finite_class.
  Proof. apply relabelling_by_members_exactly; [apply finite_classes_have_the_extension_property|exact eta_nonneg]. Qed.
End Exactly.
