(* The distance to instability is exact (proofs/votes.md, Claim: D = d + 1).

   In words: take a table of votes with at least two labels and at least one vote. Then d + 1 votes can be moved, each from
   a label that has one, so that another label wins. Together with Votes.plurality_is_stable, which says that d votes
   never do: d + 1 is the least number of votes that must be changed to change the plurality. *)
From Coq Require Import ZArith List Lia Bool Arith.
From pcqr Require Import Votes.
Import ListNotations.
Local Open Scope Z_scope.

(* One teacher that voted a votes b instead. The label a has a vote to give. *)
Definition one_vote_changes (v v' : list Z) : Prop :=
  length v = length v' /\ exists a b, (a < length v)%nat /\ (b < length v)%nat /\ 1 <= at_ v a /\
    forall j, (j < length v)%nat -> at_ v' j = at_ v j - one j a + one j b.

Lemma a_change_is_a_move v v' : one_vote_changes v v' -> one_vote_moves v v'.
Proof. intros (L & a & b & _ & _ & _ & H). split; [exact L|]. now exists a, b. Qed.

Inductive votes_change : nat -> list Z -> list Z -> Prop :=
  | change_none v : votes_change 0 v v
  | change_more s v v' v'' : votes_change s v v' -> one_vote_changes v' v'' -> votes_change (S s) v v''.

Lemma changes_are_moves s v v' : votes_change s v v' -> votes_move s v v'.
Proof. induction 1; [constructor|]. eapply move_more; [eassumption|]. now apply a_change_is_a_move. Qed.

(* s votes of the label t are given to the label j *)
Definition given (v : list Z) (t j : nat) (s : Z) : list Z :=
  map (fun i => at_ v i - one i t * s + one i j * s) (seq 0 (length v)).

Lemma given_length v t j s : length (given v t j s) = length v.
Proof. unfold given. rewrite map_length. apply seq_length. Qed.

Lemma at_given v t j s i : (i < length v)%nat -> at_ (given v t j s) i = at_ v i - one i t * s + one i j * s.
Proof.
  intros H. unfold at_ at 1, given. set (f := fun i => at_ v i - one i t * s + one i j * s).
  rewrite nth_indep with (d' := f 0%nat) by (rewrite map_length, seq_length; exact H).
  rewrite map_nth, seq_nth by exact H. reflexivity.
Qed.

Lemma given_one_by_one v t j (s : nat) : (t < length v)%nat -> (j < length v)%nat -> t <> j -> Z.of_nat s <= at_ v t ->
  votes_change s (given v t j 0) (given v t j (Z.of_nat s)).
Proof.
  intros T J N. induction s as [|s IH]; intros B; [constructor|].
  eapply change_more; [apply IH; lia|]. split; [now rewrite !given_length|]. exists t, j. rewrite !given_length.
  repeat split; auto.
  - rewrite at_given by exact T. unfold one. rewrite Nat.eqb_refl. destruct (Nat.eqb_spec t j); [easy|]. lia.
  - intros i I. rewrite !at_given by exact I. unfold one. destruct (i =? t)%nat, (i =? j)%nat; lia.
Qed.

Lemma given_nothing v t j : given v t j 0 = v.
Proof.
  apply (nth_ext _ _ 0 0); [apply given_length|]. intros i I. rewrite given_length in I.
  change (at_ (given v t j 0) i = at_ v i). rewrite at_given by exact I. lia.
Qed.

Theorem enough_changes_suffice v : (2 <= length v)%nat -> (forall j, (j < length v)%nat -> 0 <= at_ v j) ->
  (exists j, (j < length v)%nat /\ 1 <= at_ v j) ->
  exists v', votes_change (Z.to_nat (distance v + 1)) v v' /\ plurality v' <> plurality v.
Proof.
  intros H P (i & I & Q).
  pose proof (distance_nonnegative v H) as D0.
  destruct (plurality_spec v (nonempty v H)) as [T W]. set (t := plurality v) in *.
  destruct (distance_spec v H) as [(j & J & N & D) _]. fold t in N, D.
  exists (given v t j (distance v + 1)).
  assert (T1 : 1 <= at_ v t) by (specialize (W i I); destruct (i <? t)%nat; lia).
  pose proof (P j J) as J0. pose proof (W j J) as WJ.
  assert (B : distance v + 1 <= at_ v t).
  { rewrite D in *. unfold gap in *. destruct (Nat.ltb_spec j t); halves; lia. }
  split.
  - pose proof (given_one_by_one v t j (Z.to_nat (distance v + 1)) T J ltac:(congruence) ltac:(lia)) as G.
    rewrite given_nothing in G. now rewrite Z2Nat.id in G by lia.
  - intros E. set (v' := given v t j (distance v + 1)) in *.
    assert (L : length v' = length v) by apply given_length.
    destruct (plurality_spec v') as [_ W']; [apply nonempty; lia|]. rewrite E in W'. specialize (W' j ltac:(lia)).
    unfold v' in W'. rewrite !at_given in W' by assumption. unfold one in W'. rewrite !Nat.eqb_refl in W'.
    destruct (Nat.eqb_spec j t); [easy|]. destruct (Nat.eqb_spec t j); [congruence|].
    rewrite D in *. unfold gap in *. destruct (Nat.ltb_spec j t); revert W'; halves; lia.
Qed.

(* The claim D = d + 1, both halves. *)
Theorem distance_is_exact v : (2 <= length v)%nat -> (forall j, (j < length v)%nat -> 0 <= at_ v j) ->
  (exists j, (j < length v)%nat /\ 1 <= at_ v j) ->
  (exists v', votes_change (Z.to_nat (distance v + 1)) v v' /\ plurality v' <> plurality v) /\
  (forall s v', votes_change s v v' -> plurality v' <> plurality v -> distance v + 1 <= Z.of_nat s).
Proof.
  intros H P Q. split; [now apply enough_changes_suffice|]. intros s v' M N.
  destruct (Z.le_gt_cases (distance v + 1) (Z.of_nat s)) as [|G]; [assumption|]. exfalso. apply N.
  apply (plurality_is_stable s v v' H (changes_are_moves s v v' M)). lia.
Qed.

(* (4, 1): two changes are needed, and two are enough. *)
Example two_changes : distance [4; 1] = 1 /\ (exists v', votes_change 2 [4; 1] v' /\ plurality v' <> plurality [4; 1]).
Proof.
  split; [reflexivity|]. apply (enough_changes_suffice [4; 1]); [cbn; lia| |exists 0%nat; cbn; lia].
  intros [|[|j]]; cbn; lia.
Qed.

