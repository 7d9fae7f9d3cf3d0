(* Teachers: one record lies in one part, so one vote moves (proofs/ensemble.md; proofs/subsample.md, Partition; src/pcqr/releases/subsample/run.py).

   In words: the positions of n records are put in a random order and cut into k runs whose lengths differ by at most 1.
   Each teacher learns from the records at the positions of its run, with coins of its own, or fails. Its vote at a query
   is the largest label that its prediction is equal to, and 0 if there is none. If one record is replaced, then at every
   query the counts of votes differ by the vote of one teacher at most. Hence the sparse vector on these votes is private,
   whatever the learners are, for any order and coins that do not depend on the records. *)
From Coq Require Import Reals List Lra Lia ZArith Bool Arith Permutation.
From pcqr Require Import Law Finite Subsample Orders SparseVector Laplace Stability Geometric Adversary.
From pcqr Require Votes.
Import ListNotations.
Local Open Scope nat_scope.

(* ---- np.array_split ---- *)
Fixpoint runs {A} (sizes : list nat) (l : list A) : list (list A) :=
  match sizes with [] => [] | s :: sizes => firstn s l :: runs sizes (skipn s l) end.
Definition sizes (n k : nat) : list nat := repeat (S (n / k)) (n mod k) ++ repeat (n / k) (k - n mod k).
Definition array_split {A} (k : nat) (l : list A) : list (list A) := runs (sizes (length l) k) l.

Lemma sum_repeat x m : list_sum (repeat x m) = m * x.
Proof. induction m as [|m IH]; cbn; [easy|]. unfold list_sum in IH. rewrite IH. reflexivity. Qed.
Lemma sum_sizes n k : 0 < k -> list_sum (sizes n k) = n.
Proof.
  intros K. unfold sizes. rewrite list_sum_app, !sum_repeat.
  pose proof (Nat.div_mod n k ltac:(lia)) as D. pose proof (Nat.mod_upper_bound n k ltac:(lia)) as M.
  set (d := n / k) in *. set (m := n mod k) in *. clearbody d m.
  replace (m * S d + (k - m) * d) with (k * d + m); [lia|]. nia.
Qed.
Lemma concat_runs {A} s (l : list A) : list_sum s = length l -> concat (runs s l) = l.
Proof.
  revert l. induction s as [|x s IH]; intros l H; cbn in *.
  - destruct l; [easy|discriminate].
  - rewrite IH; [apply firstn_skipn|]. rewrite skipn_length. unfold list_sum in *. lia.
Qed.
Theorem the_parts_are_a_partition {A} k (l : list A) : 0 < k -> concat (array_split k l) = l.
Proof. intros K. apply concat_runs. now apply sum_sizes. Qed.

Lemma runs_length {A} s (l : list A) : length (runs s l) = length s.
Proof. revert l. induction s as [|x s IH]; intros l; cbn; [easy|]. now rewrite IH. Qed.
Theorem there_are_k_parts {A} k (l : list A) : 0 < k -> length (array_split k l) = k.
Proof.
  intros K. unfold array_split, sizes. rewrite runs_length, app_length, !repeat_length.
  pose proof (Nat.mod_upper_bound (length l) k ltac:(lia)). lia.
Qed.
Lemma runs_lengths {A} s (l : list A) : list_sum s = length l -> map (@length A) (runs s l) = s.
Proof.
  revert l. induction s as [|x s IH]; intros l H; cbn in *; [easy|].
  rewrite IH by (rewrite skipn_length; unfold list_sum in *; lia). f_equal. rewrite firstn_length. unfold list_sum in *. lia.
Qed.
Theorem parts_differ_by_at_most_one {A} k (l : list A) p : 0 < k -> In p (array_split k l) ->
  length p = length l / k \/ length p = S (length l / k).
Proof.
  intros K I. apply (in_map (@length A)) in I. unfold array_split in I. rewrite runs_lengths in I by now apply sum_sizes.
  unfold sizes in I. apply in_app_or in I. destruct I as [I|I]; apply repeat_spec in I; auto.
Qed.

(* ---- one position lies in one part ---- *)
Lemma one_part {A} (parts : list (list A)) x i j : NoDup (concat parts) ->
  In x (nth i parts []) -> In x (nth j parts []) -> i = j.
Proof.
  revert i j. induction parts as [|p parts IH]; intros i j N I J; [destruct i; destruct I|].
  cbn [concat] in N.
  assert (D : forall y, In y p -> ~ In y (concat parts)).
  { clear -N. induction p as [|a p IHp]; [easy|]. cbn in N. inversion N as [|? ? A1 A2]; subst. intros y [<-|Y] C.
    - apply A1. apply in_or_app. now right.
    - now apply (IHp A2 y). }
  assert (NT : NoDup (concat parts)).
  { clear -N. induction p as [|a p IHp]; [easy|]. cbn in N. inversion N; subst. auto. }
  assert (T : forall m, In x (nth m parts []) -> In x (concat parts)).
  { intros m H. destruct (Nat.lt_ge_cases m (length parts)) as [L|L]; [|rewrite nth_overflow in H by exact L; destruct H].
    apply in_concat. exists (nth m parts []). split; [now apply nth_In|exact H]. }
  destruct i as [|i], j as [|j]; cbn [nth] in I, J.
  - easy.
  - exfalso. now apply (D x I), (T j).
  - exfalso. now apply (D x J), (T i).
  - f_equal. now apply IH.
Qed.

Section Teachers.
  Context {Record Coin Query : Type}.
  (* is the prediction of the teacher, who learned from these records with this coin, equal to this label? No label for
     one that fails *)
  Variable predicts : list Record -> Coin -> Query -> nat -> bool.
  Variables (labels teachers : nat).

  Definition vote (part : list Record) (r : Coin) (x : Query) : nat :=
    fold_left (fun found c => if predicts part r x c then c else found) (seq 0 labels) 0.

  Lemma vote_is_a_label part r x : 0 < labels -> vote part r x < labels.
  Proof.
    intros L. unfold vote. assert (G : forall l v, v < labels -> (forall c, In c l -> c < labels) ->
      fold_left (fun found c => if predicts part r x c then c else found) l v < labels).
    { induction l as [|c l IH]; intros v V B; [exact V|]. cbn. apply IH.
      - destruct (predicts part r x c); [apply B; now left|exact V].
      - intros; apply B; now right. }
    apply G; [exact L|]. intros c I. apply in_seq in I. lia.
  Qed.

  (* the records at these positions *)
  Definition rows_at (S : list Record) (positions : list nat) : list Record :=
    flat_map (fun i => match nth_error S i with Some r => [r] | None => [] end) positions.

  Lemma rows_at_same S S' positions : (forall i, In i positions -> nth_error S i = nth_error S' i) ->
    rows_at S positions = rows_at S' positions.
  Proof.
    intros H. unfold rows_at. induction positions as [|i l IH]; [easy|]. cbn. rewrite (H i (or_introl eq_refl)). f_equal.
    apply IH. intros; apply H; now right.
  Qed.

  Lemma replaced_elsewhere (S S' : list Record) : replaced S S' -> exists p, forall i, i <> p -> nth_error S i = nth_error S' i.
  Proof.
    intros (l & r & x & x' & -> & ->). exists (length l). intros i N.
    destruct (Nat.lt_ge_cases i (length l)) as [L|L]; [now rewrite !nth_error_app1|].
    rewrite !nth_error_app2 by exact L. destruct (i - length l) as [|m] eqn:E; [lia|reflexivity].
  Qed.

  (* how many of the first k teachers vote for a label *)
  Fixpoint tally (k : nat) (ballot : nat -> nat) (c : nat) : Z :=
    match k with O => 0%Z | S k => (tally k ballot c + Votes.one c (ballot k))%Z end.

  Lemma tally_same k f g c : (forall j, j < k -> f j = g j) -> tally k f c = tally k g c.
  Proof. intros H. induction k as [|k IH]; cbn; [easy|]. rewrite IH, (H k) by auto with arith. reflexivity. Qed.
  Lemma tally_moves k f g j c : j < k -> (forall i, i <> j -> f i = g i) ->
    (tally k g c = tally k f c - Votes.one c (f j) + Votes.one c (g j))%Z.
  Proof.
    intros J H. induction k as [|k IH]; [lia|]. cbn. destruct (Nat.eq_dec j k) as [<-|N].
    - rewrite (tally_same j f g c) by (intros; apply H; lia). lia.
    - rewrite IH by lia. rewrite (H k) by lia. lia.
  Qed.

  Definition ballot (order : list nat) (coins : nat -> Coin) (S : list Record) (x : Query) (j : nat) : nat :=
    vote (rows_at S (nth j (array_split teachers order) [])) (coins j) x.
  Definition counts (order : list nat) (coins : nat -> Coin) (x : Query) (S : list Record) : list Z :=
    map (tally teachers (ballot order coins S x)) (seq 0 labels).

  Lemma counts_length order coins x S : length (counts order coins x S) = labels.
  Proof. unfold counts. rewrite map_length. apply seq_length. Qed.
  Lemma at_counts order coins x S c : c < labels -> Votes.at_ (counts order coins x S) c = tally teachers (ballot order coins S x) c.
  Proof.
    intros H. unfold Votes.at_, counts. set (f := tally teachers (ballot order coins S x)).
    rewrite nth_indep with (d' := f 0) by (rewrite map_length, seq_length; exact H). now rewrite map_nth, seq_nth.
  Qed.

  Theorem one_record_moves_one_vote order coins x S S' : 0 < teachers -> NoDup order -> replaced S S' ->
    Votes.one_vote_moves (counts order coins x S) (counts order coins x S').
  Proof.
    intros K N R. split; [now rewrite !counts_length|].
    destruct (replaced_elsewhere S S' R) as (p & P). rewrite counts_length.
    set (parts := array_split teachers order).
    assert (NC : NoDup (concat parts)) by (unfold parts; now rewrite the_parts_are_a_partition).
    assert (C : (exists j, In p (nth j parts [])) \/ forall j, ~ In p (nth j parts [])).
    { destruct (in_dec Nat.eq_dec p (concat parts)) as [I|I].
      - left. apply in_concat in I. destruct I as (q & Q & I). destruct (In_nth parts q [] Q) as (j & _ & E). exists j. now rewrite E.
      - right. intros j I'. apply I, in_concat. exists (nth j parts []). split; [|exact I'].
        destruct (Nat.lt_ge_cases j (length parts)) as [L|L]; [now apply nth_In|]. rewrite nth_overflow in I' by exact L. destruct I'. }
    assert (G : exists j0, forall j, j <> j0 -> ballot order coins S x j = ballot order coins S' x j).
    { destruct C as [(j0 & I)|I].
      - exists j0. intros j J. unfold ballot. f_equal. apply rows_at_same. intros i Hi. apply P. intros ->.
        apply J. now apply (one_part parts p).
      - exists 0. intros j _. unfold ballot. f_equal. apply rows_at_same. intros i Hi. apply P. intros ->. now apply (I j). }
    destruct G as (j0 & G). destruct (Nat.lt_ge_cases j0 teachers) as [L|L].
    - exists (ballot order coins S x j0), (ballot order coins S' x j0). intros c Hc. rewrite !at_counts by exact Hc.
      now apply tally_moves.
    - exists 0, 0. intros c Hc. rewrite !at_counts by exact Hc.
      rewrite (tally_same teachers (ballot order coins S x) (ballot order coins S' x)) by (intros j J; apply G; lia). lia.
  Qed.

  (* every teacher votes once *)
  Theorem counts_add_up_to_k order coins x S : 0 < labels ->
    fold_right Z.add 0%Z (counts order coins x S) = Z.of_nat teachers.
  Proof.
    intros L. unfold counts. set (f := ballot order coins S x).
    assert (B : forall j, f j < labels) by (intros; now apply vote_is_a_label).
    assert (A : forall (g h : nat -> Z) l, fold_right Z.add 0%Z (map (fun c => g c + h c)%Z l) =
      (fold_right Z.add 0 (map g l) + fold_right Z.add 0 (map h l))%Z).
    { intros g h l. induction l as [|c l IH]; cbn; [easy|]. rewrite IH. lia. }
    assert (O : forall v m s, fold_right Z.add 0%Z (map (fun c => Votes.one c v) (seq s m)) = if (s <=? v) && (v <? s + m) then 1%Z else 0%Z).
    { intros v m. induction m as [|m IH]; intros s; cbn [seq map fold_right].
      - destruct (Nat.leb_spec s v), (Nat.ltb_spec v (s + 0)); try easy; lia.
      - rewrite IH. unfold Votes.one.
        destruct (Nat.eqb_spec s v), (Nat.leb_spec (Datatypes.S s) v), (Nat.ltb_spec v (Datatypes.S s + m)), (Nat.leb_spec s v),
          (Nat.ltb_spec v (s + Datatypes.S m)); cbn; lia. }
    generalize teachers as k. induction k as [|k IH].
    - cbn [tally]. generalize (seq 0 labels). induction l; cbn; lia.
    - rewrite (map_ext _ (fun c => tally k f c + Votes.one c (f k))%Z) by reflexivity. rewrite A, IH, O.
      specialize (B k). destruct (Nat.leb_spec 0 (f k)), (Nat.ltb_spec (f k) (0 + labels)); cbn; lia.
  Qed.

  (* ---- the sparse vector on the teachers' votes: order and coins are drawn before the records are read ---- *)
  Variables (e1 e2 : R) (w most : nat).
  Hypothesis e1_pos : (0 < e1)%R.
  Hypothesis e2_pos : (0 < e2)%R.
  Hypothesis some_teachers : 0 < teachers.
  Hypothesis two_labels : 2 <= labels.
  Variable coins : law (nat -> Coin).

  Definition stable_votes_of (n : nat) (S : list Record) : law (behaviour Query (decision nat)) :=
    bind (uniform_order n) (fun p => bind coins (fun r =>
      vote_test (counts (proj1_sig p) r) e1 e2 w most e1_pos e2_pos S)).
  Definition stable_votes (S : list Record) : law (behaviour Query (decision nat)) := stable_votes_of (length S) S.

  Lemma replaced_length {A} (S S' : list A) : replaced S S' -> length S = length S'.
  Proof. intros (l & r & x & x' & -> & ->). now rewrite !app_length. Qed.

  Theorem teachers_are_private :
    interactively_private replaced (e1 + INR most * (2 * e2)) (tail e1 w) stable_votes.
  Proof.
    intros Memory move hear n m S S' R. unfold stable_votes. rewrite <- (replaced_length S S' R).
    revert Memory move hear n m S S' R.
    enough (H : forall N, interactively_private replaced (e1 + INR most * (2 * e2)) (tail e1 w) (stable_votes_of N)).
    { intros Memory move hear n m S S' R. exact (H (length S) Memory move hear n m S S' R). }
    intros N. apply interactive_mixture. intros p. apply interactive_mixture. intros r.
    apply votes_are_interactively_private.
    - intros q S. rewrite counts_length. exact two_labels.
    - intros q S S' R. apply one_record_moves_one_vote; [exact some_teachers| |exact R].
      destruct p as [p P]. cbn [proj1_sig]. apply ok_spec in P. tauto.
  Qed.
End Teachers.

(* the documented shape: 7 positions in 3 parts *)
Example seven_in_three : array_split 3 [0; 1; 2; 3; 4; 5; 6] = [[0; 1; 2]; [3; 4]; [5; 6]].
Proof. reflexivity. Qed.
