(* One teacher's vote moves the distance to instability by at most 1, and wherever it changes the plurality the
   distance is 0 before and after. The distance is never negative, and so many votes may change without changing the
   plurality. Any number of labels C >= 2.
   Proof note: proofs/votes.md. Code: mechanisms/votes.py, which the definitions follow line by line. *)
From Coq Require Import ZArith List Lia Bool.
Import ListNotations.
Local Open Scope Z_scope.

(* ---- the code, line by line ---- *)
Definition at_ (v : list Z) (j : nat) : Z := nth j v 0.

(* max(votes) *)
Definition maximum (v : list Z) : Z := match v with [] => 0 | x :: r => fold_right Z.max x r end.
Definition minimum (v : list Z) : Z := match v with [] => 0 | x :: r => fold_right Z.min x r end.
(* votes.index(m) *)
Fixpoint index (m : Z) (v : list Z) : nat :=
  match v with [] => 0%nat | x :: r => if x =? m then 0%nat else S (index m r) end.
Definition plurality (v : list Z) : nat := index (maximum v) v.

Definition gap (v : list Z) (top j : nat) : Z := (at_ v top - at_ v j - (if (j <? top)%nat then 1 else 0)) / 2.
Definition rivals (v : list Z) (top : nat) : list nat := filter (fun j => negb (j =? top)%nat) (seq 0 (length v)).
Definition distance (v : list Z) : Z :=
  let top := plurality v in minimum (map (gap v top) (rivals v top)).

(* ---- what max, index and min do ---- *)
Lemma max_spec v : v <> [] -> In (maximum v) v /\ forall x, In x v -> x <= maximum v.
Proof.
  destruct v as [|a r]; [congruence|intros _]. cbn [maximum].
  assert (H : forall l, In (fold_right Z.max a l) (a :: l) /\ forall x, In x (a :: l) -> x <= fold_right Z.max a l).
  { induction l as [|b l [IH1 IH2]]; cbn [fold_right].
    - split; [now left|]. intros x [->|[]]; lia.
    - split.
      + destruct (Z.max_spec b (fold_right Z.max a l)) as [[_ ->]|[_ ->]]; [|now right; left].
        destruct IH1 as [<-|IH1]; [now left|now right; right].
      + intros x [<-|[<-|Hx]]; [specialize (IH2 a (or_introl eq_refl)); lia|lia|].
        specialize (IH2 x (or_intror Hx)); lia. }
  apply H.
Qed.

Lemma min_spec v : v <> [] -> In (minimum v) v /\ forall x, In x v -> minimum v <= x.
Proof.
  destruct v as [|a r]; [congruence|intros _]. cbn [minimum].
  assert (H : forall l, In (fold_right Z.min a l) (a :: l) /\ forall x, In x (a :: l) -> fold_right Z.min a l <= x).
  { induction l as [|b l [IH1 IH2]]; cbn [fold_right].
    - split; [now left|]. intros x [->|[]]; lia.
    - split.
      + destruct (Z.min_spec b (fold_right Z.min a l)) as [[_ ->]|[_ ->]]; [now right; left|].
        destruct IH1 as [<-|IH1]; [now left|now right; right].
      + intros x [<-|[<-|Hx]]; [specialize (IH2 a (or_introl eq_refl)); lia|lia|].
        specialize (IH2 x (or_intror Hx)); lia. }
  apply H.
Qed.

Lemma index_spec m v : In m v ->
  (index m v < length v)%nat /\ at_ v (index m v) = m /\ forall j, (j < index m v)%nat -> at_ v j <> m.
Proof.
  unfold at_. induction v as [|x r IH]; [easy|]. intros H. cbn [index].
  destruct (Z.eqb_spec x m) as [->|n].
  - cbn; repeat split; [lia|lia].
  - destruct H as [->|H]; [easy|]. destruct (IH H) as (A & B & C). cbn [length nth]. repeat split; [lia|exact B|].
    intros [|j] Hj; [exact n|]. apply C; lia.
Qed.

Lemma nth_in v j : (j < length v)%nat -> In (at_ v j) v.
Proof. apply nth_In. Qed.

(* top wins: no rival has more, and none before it has as many *)
Lemma plurality_spec v : v <> [] ->
  (plurality v < length v)%nat /\
  forall j, (j < length v)%nat -> at_ v j + (if (j <? plurality v)%nat then 1 else 0) <= at_ v (plurality v).
Proof.
  intros H. destruct (max_spec v H) as [M1 M2]. destruct (index_spec _ _ M1) as (A & B & C). fold (plurality v) in *.
  split; [exact A|]. intros j Hj. specialize (M2 _ (nth_in v j Hj)). rewrite B.
  destruct (Nat.ltb_spec j (plurality v)) as [Hl|]; [specialize (C j Hl)|]; lia.
Qed.

Lemma rivals_spec v t j : In j (rivals v t) <-> (j < length v)%nat /\ j <> t.
Proof.
  unfold rivals. rewrite filter_In, in_seq, negb_true_iff, Nat.eqb_neq. intuition lia.
Qed.

Lemma rivals_nonempty v t : (2 <= length v)%nat -> rivals v t <> [].
Proof.
  intros H E. destruct (Nat.eq_dec t 0) as [->|n].
  - assert (In 1%nat (rivals v 0)) by (apply rivals_spec; lia). rewrite E in *; easy.
  - assert (In 0%nat (rivals v t)) by (apply rivals_spec; lia). rewrite E in *; easy.
Qed.

(* distance is the least gap, and some rival attains it *)
Lemma distance_spec v : (2 <= length v)%nat ->
  (exists j, (j < length v)%nat /\ j <> plurality v /\ distance v = gap v (plurality v) j) /\
  forall j, (j < length v)%nat -> j <> plurality v -> distance v <= gap v (plurality v) j.
Proof.
  intros H. unfold distance. set (t := plurality v).
  assert (N : map (gap v t) (rivals v t) <> []).
  { intros E. apply map_eq_nil in E. now apply (rivals_nonempty v t). }
  destruct (min_spec _ N) as [A B]. split.
  - apply in_map_iff in A. destruct A as (j & E & Hj). apply rivals_spec in Hj. exists j. intuition.
  - intros j Hj n. apply B, in_map, rivals_spec. auto.
Qed.

(* ---- one vote moves from a to b (nothing is asked of a and b) ---- *)
Definition one (j a : nat) : Z := if (j =? a)%nat then 1 else 0.
Definition one_vote_moves (v v' : list Z) : Prop :=
  length v = length v' /\ exists a b, forall j, (j < length v)%nat -> at_ v' j = at_ v j - one j a + one j b.

Lemma one_vote_moves_sym v v' : one_vote_moves v v' -> one_vote_moves v' v.
Proof.
  intros (L & a & b & H). split; [easy|]. exists b, a. intros j Hj. rewrite H by lia. lia.
Qed.

Lemma difference_moves v v' i j : one_vote_moves v v' -> (i < length v)%nat -> (j < length v)%nat -> i <> j ->
  Z.abs ((at_ v' i - at_ v' j) - (at_ v i - at_ v j)) <= 2.
Proof.
  intros (L & a & b & H) Hi Hj n. rewrite !H by assumption. unfold one.
  destruct (Nat.eqb_spec i a), (Nat.eqb_spec i b), (Nat.eqb_spec j a), (Nat.eqb_spec j b); lia.
Qed.

Ltac halves := repeat match goal with |- context [?x / 2] =>
    let q := fresh "q" in pose proof (Z.div_mod x 2 ltac:(lia)); pose proof (Z.mod_pos_bound x 2 ltac:(lia));
    set (q := x / 2) in *; clearbody q end.

Lemma nonempty (v : list Z) : (2 <= length v)%nat -> v <> [].
Proof. intros H ->; cbn in H; lia. Qed.

(* Postcondition 1 *)
Theorem distance_nonnegative v : (2 <= length v)%nat -> 0 <= distance v.
Proof.
  intros H. destruct (distance_spec v H) as [(j & Hj & n & ->) _].
  destruct (plurality_spec v (nonempty v H)) as [_ P]. specialize (P j Hj). unfold gap.
  apply Z.div_pos; lia.
Qed.

(* Postcondition 3 *)
Theorem distance_zero_at_a_flip v v' : (2 <= length v)%nat -> one_vote_moves v v' ->
  plurality v <> plurality v' -> distance v = 0.
Proof.
  intros H M n. pose proof (distance_nonnegative v H) as D0. destruct M as [L M']. assert (M : one_vote_moves v v') by (split; assumption).
  destruct (plurality_spec v (nonempty v H)) as [A P].
  destruct (plurality_spec v') as [A' P']; [apply nonempty; lia|].
  destruct (distance_spec v H) as [_ D]. specialize (D (plurality v') ltac:(lia) ltac:(congruence)).
  pose proof (difference_moves v v' (plurality v) (plurality v') M ltac:(lia) ltac:(lia) n) as G.
  specialize (P (plurality v') ltac:(lia)). specialize (P' (plurality v) ltac:(lia)).
  enough (gap v (plurality v) (plurality v') <= 0) by lia. unfold gap in *.
  destruct (Nat.ltb_spec (plurality v') (plurality v)), (Nat.ltb_spec (plurality v) (plurality v')); try lia;
    halves; lia.
Qed.

Lemma distance_falls_by_at_most_one v v' : (2 <= length v)%nat -> one_vote_moves v v' -> distance v - 1 <= distance v'.
Proof.
  intros H M. destruct (Nat.eq_dec (plurality v) (plurality v')) as [E|n].
  - destruct M as [L M']. assert (M : one_vote_moves v v') by (split; assumption).
    destruct (distance_spec v' ltac:(lia)) as [(j & Hj & nj & ->) _].
    destruct (distance_spec v H) as [_ D]. specialize (D j ltac:(lia) ltac:(congruence)). rewrite E in *.
    destruct (plurality_spec v' (nonempty v' ltac:(lia))) as [A _].
    pose proof (difference_moves v v' (plurality v') j M ltac:(lia) ltac:(lia) ltac:(congruence)) as G.
    unfold gap in *. revert D. halves. destruct (j <? plurality v')%nat; lia.
  - rewrite (distance_zero_at_a_flip v v' H M n). destruct M as [L _].
    pose proof (distance_nonnegative v' ltac:(lia)). lia.
Qed.

(* Postcondition 2 *)
Theorem distance_moves_by_at_most_one v v' : (2 <= length v)%nat -> one_vote_moves v v' -> Z.abs (distance v - distance v') <= 1.
Proof.
  intros H M. pose proof (distance_falls_by_at_most_one v v' H M).
  pose proof (distance_falls_by_at_most_one v' v ltac:(destruct M; lia) (one_vote_moves_sym _ _ M)). lia.
Qed.

(* The docstring: so many votes may change, arbitrarily, and the plurality stays. *)
Inductive votes_move : nat -> list Z -> list Z -> Prop :=
  | move_none v : votes_move 0 v v
  | move_more s v v' v'' : votes_move s v v' -> one_vote_moves v' v'' -> votes_move (S s) v v''.

Theorem plurality_is_stable s v v' : (2 <= length v)%nat -> votes_move s v v' -> Z.of_nat s <= distance v ->
  plurality v' = plurality v /\ distance v - Z.of_nat s <= distance v' /\ length v' = length v.
Proof.
  intros H M. induction M as [|s v v' v'' M IH M']; intros B; [split; [easy|split; [cbn; lia|easy]]|].
  destruct (IH H ltac:(lia)) as (E & D & L). rewrite <- E.
  pose proof (distance_falls_by_at_most_one v' v'' ltac:(lia) M').
  repeat split; [|lia|destruct M'; lia].
  destruct (Nat.eq_dec (plurality v') (plurality v'')) as [|n]; [easy|].
  rewrite (distance_zero_at_a_flip v' v'' ltac:(lia) M' n) in D. lia.
Qed.

(* the examples of the docstrings *)
Example documented : (plurality [40; 61], plurality [30; 30; 10], distance [40; 61], distance [50; 51], distance [51; 50])
  = (1%nat, 0%nat, 10, 0, 0).
Proof. reflexivity. Qed.
