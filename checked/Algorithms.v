(* The algorithms of a release, end to end from their parts, in the pure one-sided form: Stab, SubSamp, PrivClass, Relabel,
   AgPrivCl, SSPP and UnvPrivCl (proofs/stability.md, sub_samp.md, priv_class.md, relabel.md, ag_priv_cl.md, sspp.md,
   unv_priv_cl.md). The constants are variables.

   In words: a table has n records, of which neighbours replace one. A secret sub-sample of m of them is drawn, q = m/n.
   The sub-sample may be relabelled, which costs R. Teachers learn from a random partition of it into k parts. A sparse
   vector with noise of scale 1/e1 on its threshold w and of scale 1/e2 on each query answers by the teachers' votes, until E
   answers were unstable (`limit` below). PrivClass logs the queries. Let eps_A = e1 + 2*E*e2, delta_A = a^(w+1)/(1 + a) and
   a = exp(-e1). All that a randomised adversary sees is
     Stab       (epsilon, a^(w+1)/(1 + a)) for one query, a = exp(-epsilon);
     SubSamp    (ln(1 + q*(exp(eps_A) - 1)), q*delta_A);
     AgPrivCl   (ln(1 + q*(exp(R + eps_A) - 1)), q*delta_A), R = 2*ln(1 + e^eta) + 2*lambda, or 2*eta + 2*lambda for a fixed class;
     SSPP       (2*eta + 2*lambda, 0);
     UnvPrivCl  the sum of AgPrivCl's and SSPP's.
   The Renyi form of the sparse vector, and copies of records in the paper's mode, are proved on paper only. *)
From Coq Require Import Reals List Lra Lia ZArith Bool Arith.
From pcqr Require Import Law Finite Subsample Orders Stability Adversary Ensemble RelabelFixed RelabelMembers Stumps Universal.
Import ListNotations.
Local Open Scope R_scope.

(* ---- the sub-sample may be the whole table ---- *)
Section Whole.
  Context {Record Out : Type} (n : nat) (M : list Record -> law Out) (eps delta : R).
  Hypothesis M_private : private replaced eps delta M.

  Lemma whole_sample : private (adjacent n) eps delta (subsampled (place n) n (uniform_order n) M).
  Proof.
    intros S S' (j & J & H).
    apply (mixture eps delta (uniform_order n) (fun p => M (rows (place n) n S p)) (fun p => M (rows (place n) n S' p))).
    intros p. apply M_private. destruct (onto n p j J) as (k & K & P). unfold rows.
    assert (G : forall f g : nat -> Record, (forall i, (i < n)%nat -> i <> k -> f i = g i) -> replaced (map f (seq 0 n)) (map g (seq 0 n))).
    { intros f g E. replace n with (k + (1 + (n - k - 1)))%nat by lia. rewrite !seq_app, !map_app. cbn [Nat.add seq map app].
      exists (map f (seq 0 k)), (map f (seq (k + 1) (n - k - 1))), (f k), (g k). split; [easy|].
      f_equal; [|f_equal]; apply map_ext_in; intros i Hi; apply in_seq in Hi; symmetry; apply E; lia. }
    apply G. intros i I N. apply H. intros E. apply N. apply (once n p); [exact I|exact K|congruence].
  Qed.
End Whole.

Definition amplified (n m : nat) (eps : R) : R := ln (1 + INR m / INR n * (exp eps - 1)).

Theorem subsample_of_any_size {Record Out : Type} (n m : nat) (M : list Record -> law Out) eps delta :
  (0 < m <= n)%nat -> 0 <= eps -> private replaced eps delta M ->
  private (adjacent n) (amplified n m eps) (INR m / INR n * delta) (subsampled (place n) m (uniform_order n) M).
Proof.
  intros [M0 M1] P H. destruct (Nat.eq_dec m n) as [->|N].
  - assert (X : INR n / INR n = 1) by (field; apply not_0_INR; lia).
    unfold amplified. rewrite X, !Rmult_1_l. replace (1 + (exp eps - 1)) with (exp eps) by ring. rewrite ln_exp.
    now apply whole_sample.
  - apply amplification; auto. lia.
Qed.

Theorem interactive_subsample {Record Query Answer : Type} (n m : nat) (M : list Record -> law (behaviour Query Answer)) eps delta :
  (0 < m <= n)%nat -> 0 <= eps -> interactively_private replaced eps delta M ->
  interactively_private (adjacent n) (amplified n m eps) (INR m / INR n * delta) (subsampled (place n) m (uniform_order n) M).
Proof.
  intros Q P H Memory move hear steps memory.
  exact (subsample_of_any_size n m (fun T => bind (M T) (fun b => interact move hear b steps [] memory)) eps delta Q P
    (H Memory move hear steps memory)).
Qed.

(* the rows of a table *)
Definition table {Record : Type} (n : nat) (S : nat -> Record) : list Record := map S (seq 0 n).
Lemma table_replaced {Record : Type} n (S S' : nat -> Record) : adjacent n S S' -> replaced (table n S) (table n S').
Proof.
  intros (j & J & H). unfold table. replace n with (j + (1 + (n - j - 1)))%nat by lia. rewrite !seq_app, !map_app. cbn [Nat.add seq map app].
  exists (map S (seq 0 j)), (map S (seq (j + 1) (n - j - 1))), (S j), (S' j). split; [easy|].
  f_equal; [|f_equal]; apply map_ext_in; intros i Hi; apply in_seq in Hi; symmetry; apply H; lia.
Qed.

(* ---- Stab: the teachers' votes on one query, one test ---- *)
Section Stab.
  Context {Record Query Seed : Type}.
  Variables (k labels : nat).
  Hypothesis some_teachers : (0 < k)%nat.
  Hypothesis two_labels : (2 <= labels)%nat.
  Variable predicts : list Record -> Seed -> Query -> nat -> bool.
  Variable seeds : law (nat -> Seed).
  Variables (epsilon : R) (w : nat).
  Hypothesis epsilon_pos : 0 < epsilon.

  Definition stab_of_teachers (x : Query) (S : list Record) : law (option nat) :=
    bind (uniform_order (length S)) (fun p => bind seeds (fun r =>
      stab (counts predicts labels k (proj1_sig p) r x) epsilon w epsilon_pos S)).

  Theorem stab_is_private x : private replaced epsilon (exp (- epsilon) ^ (w + 1) / (1 + exp (- epsilon))) (stab_of_teachers x).
  Proof.
    intros S S' A. unfold stab_of_teachers. rewrite <- (replaced_length S S' A).
    apply mixture. intros p. apply mixture. intros r.
    apply (stable_votes_are_private (counts predicts labels k (proj1_sig p) r x) replaced); [| |exact A].
    - intros T. rewrite counts_length. exact two_labels.
    - intros T T' A'. apply one_record_moves_one_vote; [exact some_teachers| |exact A'].
      destruct p as [p P]. cbn [proj1_sig]. apply ok_spec in P. tauto.
  Qed.
End Stab.

Section Algorithms.
  (* records, queries, the coins of teachers and those that stand in for an unstable answer *)
  Context {Record Query Seed Coin : Type}.
  Variables (n m k labels : nat).
  Hypothesis sample : (0 < m <= n)%nat.
  Hypothesis some_teachers : (0 < k)%nat.
  Hypothesis two_labels : (2 <= labels)%nat.
  Variable predicts : list Record -> Seed -> Query -> nat -> bool.
  Variable seeds : law (nat -> Seed).
  Variables (e1 e2 : R) (w limit : nat).
  Hypothesis e1_pos : 0 < e1.
  Hypothesis e2_pos : 0 < e2.
  Variable same : Query -> Query -> bool.
  Variable coins : law Coin.

  Definition eps_A : R := e1 + INR limit * (2 * e2).
  Definition delta_A : R := tail e1 w.
  Definition rate : R := INR m / INR n.

  Lemma eps_A_nonneg : 0 <= eps_A.
  Proof. unfold eps_A. assert (0 <= INR limit * (2 * e2)) by (apply Rmult_le_pos; [apply pos_INR|lra]). lra. Qed.
  Lemma delta_A_nonneg : 0 <= delta_A.
  Proof. left. apply tail_pos. Qed.

  (* the labeller: teachers and sparse vector; it is exhausted once `limit` answers were unstable *)
  Definition labeller : list Record -> law (behaviour Query (decision nat)) :=
    stable_votes predicts labels k e1 e2 w limit e1_pos e2_pos seeds.
  Definition is_exhausted (decided : list (Query * decision nat)) : bool := (limit <=? bottoms decided)%nat.

  Lemma labeller_is_private : interactively_private replaced eps_A delta_A labeller.
  Proof. now apply teachers_are_private. Qed.

  (* ---- SubSamp ---- *)
  Definition sub_samp : (nat -> Record) -> law (behaviour Query (decision nat)) :=
    subsampled (place n) m (uniform_order n) labeller.

  Theorem sub_samp_is_private :
    interactively_private (adjacent n)
      (ln (1 + INR m / INR n * (exp (e1 + INR limit * (2 * e2)) - 1)))
      (INR m / INR n * (exp (- e1) ^ (w + 1) / (1 + exp (- e1))))
      sub_samp.
  Proof. apply (interactive_subsample n m labeller eps_A delta_A); [exact sample|apply eps_A_nonneg|apply labeller_is_private]. Qed.

  (* with the log around it: all that a caller sees *)
  Definition sub_samp_release (S : nat -> Record) : law (behaviour Query (reply (decision nat) Coin)) :=
    image (priv_class same is_exhausted coins) (sub_samp S).
  Theorem sub_samp_release_is_private : interactively_private (adjacent n) (amplified n m eps_A) (rate * delta_A) sub_samp_release.
  Proof. apply priv_class_is_private, sub_samp_is_private. Qed.
End Algorithms.

Section Agnostic.
  Context {X Query Seed Coin : Type}.
  Notation Labelled := (X * bool)%type.
  Variables (n m k : nat).
  Hypothesis sample : (0 < m <= n)%nat.
  Hypothesis some_teachers : (0 < k)%nat.
  Variable predicts : list Labelled -> Seed -> Query -> nat -> bool.
  Variable seeds : law (nat -> Seed).
  Variables (e1 e2 : R) (w limit : nat).
  Hypothesis e1_pos : 0 < e1.
  Hypothesis e2_pos : 0 < e2.
  Variable same : Query -> Query -> bool.
  Variable coins : law Coin.

  (* a relabelling of the sub-sample that costs R *)
  Variables (relabelled : list Labelled -> law (list Labelled)) (cost : R).
  Hypothesis relabelled_costs : relabelling_costs cost relabelled.
  Hypothesis cost_nonneg : 0 <= cost.

  Let votes := labeller k 2 predicts seeds e1 e2 w limit e1_pos e2_pos.
  Definition eps_votes : R := amplified n m (cost + eps_A e1 e2 limit).
  Definition delta_votes : R := rate n m * delta_A e1 w.

  (* ---- AgPrivCl ---- *)
  Definition ag_priv_cl : (nat -> Labelled) -> law (behaviour Query (decision nat)) :=
    subsampled (place n) m (uniform_order n) (fun T => bind (relabelled T) votes).

  Theorem ag_priv_cl_by_any_relabelling : interactively_private (adjacent n) eps_votes delta_votes ag_priv_cl.
  Proof.
    apply interactive_subsample; [exact sample| |].
    - pose proof (eps_A_nonneg e1 e2 limit e1_pos e2_pos). lra.
    - apply relabelling_costs_interactively; [exact relabelled_costs|apply delta_A_nonneg|].
      apply labeller_is_private; [exact some_teachers|lia].
  Qed.

  Definition ag_priv_cl_release (S : nat -> Labelled) : law (behaviour Query (reply (decision nat) Coin)) :=
    image (priv_class same (is_exhausted limit) coins) (ag_priv_cl S).
  Theorem ag_priv_cl_release_by_any_relabelling : interactively_private (adjacent n) eps_votes delta_votes ag_priv_cl_release.
  Proof. apply priv_class_is_private, ag_priv_cl_by_any_relabelling. Qed.

  (* ---- UnvPrivCl: the votes above, then SSPP on all records over a class that the queries so far and public things make ---- *)
  Context {Member : Type}.
  Notation Past := (list (Query * reply (decision nat) Coin)).
  Variable due : Past -> bool.
  Variable publish : Past -> list Labelled -> law Member.
  Variable eps_publish : R.
  Hypothesis publish_is_private : forall past, private replaced eps_publish 0 (publish past).
  Hypothesis eps_publish_nonneg : 0 <= eps_publish.

  Definition universal (S : nat -> Labelled) : law (behaviour Query (response (Reply := reply (decision nat) Coin) (Classifier := Member))) :=
    unv_priv_cl ag_priv_cl_release due (fun past S => publish past (table n S)) S.

  Theorem unv_priv_cl_by_any_draw : interactively_private (adjacent n) (eps_votes + eps_publish) delta_votes universal.
  Proof.
    rewrite <- (Rplus_0_r delta_votes). apply two_stages_are_private; [apply ag_priv_cl_release_by_any_relabelling| |exact eps_publish_nonneg|lra].
    intros past S S' A. apply publish_is_private. now apply table_replaced.
  Qed.
End Agnostic.

(* ---- Relabel, with each class; R as in relabel_cost of mechanisms/relabelling.py ---- *)
Definition relabel_cost (fixed : bool) (eta lam : R) : R := (if fixed then 2 * eta else 2 * ln (1 + exp eta)) + 2 * lam.

Lemma relabel_cost_nonneg fixed eta lam : 0 <= eta -> 0 <= lam -> 0 <= relabel_cost fixed eta lam.
Proof.
  intros H L. unfold relabel_cost. destruct fixed; [lra|].
  assert (0 < ln (1 + exp eta)); [|lra]. rewrite <- ln_1. apply ln_increasing; [lra|]. pose proof (exp_pos eta). lra.
Qed.

(* A is an (eps_A, delta_A)-DP algorithm on the relabelled records, interactive or not. *)
Theorem relabel_then_A_is_private {X Member Out : Type} (members : list X -> list Member) (says : Member -> X -> bool) (fixed : bool) (eta lam : R)
    (chance : list (X * bool) -> Member -> R) nonneg one (A : list (X * bool) -> law Out) eA dA :
  0 <= eta -> 0 <= dA -> (forall xs, members xs <> []) ->
  (if fixed then forall xs xs', members xs = members xs' else extension_property members says) ->
  (forall S h, In h (members (points S)) -> chance S h <= exp lam * member_chance members says eta S h) ->
  (forall S h, In h (members (points S)) -> member_chance members says eta S h <= exp lam * chance S h) ->
  private replaced eA dA A ->
  private replaced (relabel_cost fixed eta lam + eA) dA
    (fun S => bind (relabelled_by_member members says chance nonneg one S) A).
Proof.
  intros H D N C Hi Lo P. unfold relabel_cost. destruct fixed.
  - set (c := members []).
    assert (M : forall xs, members xs = c) by (intros; apply C).
    set (prior := fun _ : Member => 1).
    assert (W : forall S h, member_weight says eta S h = weight prior (errors eqb says) eta S h).
    { intros S h. unfold member_weight, weight, prior, errors. rewrite Rmult_1_l.
      induction S as [|[x y] S IH]; cbn [points labels map fst snd fit sum].
      - now rewrite Rmult_0_r, exp_0.
      - fold (points S) (labels S). rewrite IH. rewrite Rmult_plus_distr_l, exp_plus. f_equal.
        unfold factor, is_wrong. cbn [fst snd]. destruct eqb; [now rewrite Rmult_0_r, exp_0|now rewrite Rmult_1_r]. }
    assert (T : forall S, sum (members (points S)) (member_weight says eta S) = sum c (weight prior (errors eqb says) eta S)).
    { intros S. rewrite M. apply sum_ext. intros; apply W. }
    assert (K : forall S h, member_chance members says eta S h = exact_chance eqb c says prior eta S h).
    { intros S h. unfold member_chance, exact_chance. now rewrite T, W. }
    assert (nonneg' : forall S h, In h c -> 0 <= chance S h) by (intros S h I; apply nonneg; now rewrite M).
    assert (one' : forall S, sum c (chance S) = 1) by (intros S; rewrite <- (M (points S)); apply one).
    pose proof (relabelling_by_a_fixed_class eqb c says prior (N []) (fun _ _ => Rlt_0_1) eta lam H chance nonneg' one') as G.
    assert (G1 : relabelling_costs (2 * eta + 2 * lam) (relabelled_fixed c says chance nonneg' one')).
    { apply G; intros S h I; rewrite <- K; [apply Hi|apply Lo]; now rewrite M. }
    intros S S' R f F. specialize (G1 Out A eA dA D P S S' R f F).
    cbn [bind relabelled_by_member image ret drawn_member chances E relabelled_fixed sspp] in G1 |- *.
    rewrite !M. exact G1.
  - apply (relabelling_by_members members says C N eta lam H chance nonneg one Hi Lo Out A eA dA D P).
Qed.

(* ---- AgPrivCl and UnvPrivCl with these classes ---- *)
Section Release.
  Context {X Member Query Seed Coin : Type}.
  Variables (n m k : nat).
  Hypothesis sample : (0 < m <= n)%nat.
  Hypothesis some_teachers : (0 < k)%nat.
  Variable predicts : list (X * bool) -> Seed -> Query -> nat -> bool.
  Variable seeds : law (nat -> Seed).
  Variables (e1 e2 : R) (w limit : nat).
  Hypothesis e1_pos : 0 < e1.
  Hypothesis e2_pos : 0 < e2.
  Variable same : Query -> Query -> bool.
  Variable coins : law Coin.

  (* the class of the relabelling, fixed or made of the private points, and the draw from it; tables of other sizes than m are
     never drawn from, so that what is supposed of these costs nothing *)
  Variables (members : list X -> list Member) (says : Member -> X -> bool) (fixed : bool) (eta lam : R).
  Hypothesis eta_nonneg : 0 <= eta.
  Hypothesis lam_nonneg : 0 <= lam.
  Hypothesis some : forall xs, members xs <> [].
  Hypothesis class : if fixed then forall xs xs', members xs = members xs' else extension_property members says.
  Variable chance : list (X * bool) -> Member -> R.
  Variable nonneg : forall S h, In h (members (points S)) -> 0 <= chance S h.
  Variable one : forall S, sum (members (points S)) (chance S) = 1.
  Hypothesis chance_high : forall S h, In h (members (points S)) -> chance S h <= exp lam * member_chance members says eta S h.
  Hypothesis chance_low : forall S h, In h (members (points S)) -> member_chance members says eta S h <= exp lam * chance S h.
  Let relabelled := relabelled_by_member members says chance nonneg one.

  Lemma relabelled_costs : relabelling_costs (relabel_cost fixed eta lam) relabelled.
  Proof. intros Out A eA dA D P. now apply relabel_then_A_is_private. Qed.

  Theorem ag_priv_cl_is_private :
    interactively_private (adjacent n)
      (ln (1 + INR m / INR n * (exp (relabel_cost fixed eta lam + (e1 + INR limit * (2 * e2))) - 1)))
      (INR m / INR n * (exp (- e1) ^ (w + 1) / (1 + exp (- e1))))
      (ag_priv_cl_release n m k predicts seeds e1 e2 w limit e1_pos e2_pos same coins relabelled).
  Proof.
    apply ag_priv_cl_release_by_any_relabelling; [exact sample|exact some_teachers|exact relabelled_costs|].
    now apply relabel_cost_nonneg.
  Qed.

  (* the class that is published: made of public things and of the queries so far; and the draw from it *)
  Context {Published : Type}.
  Variable due : list (Query * reply (decision nat) Coin) -> bool.
  Variables (class_of : list (Query * reply (decision nat) Coin) -> list Published) (labels_it : Published -> X -> bool).
  Variables (eta2 lam2 : R).
  Hypothesis eta2_nonneg : 0 <= eta2.
  Hypothesis lam2_nonneg : 0 <= lam2.
  Hypothesis some_published : forall past, class_of past <> [].
  Let prior := fun _ : Published => 1.
  Variable chance2 : list (Query * reply (decision nat) Coin) -> list (X * bool) -> Published -> R.
  Variable nonneg2 : forall past S h, In h (class_of past) -> 0 <= chance2 past S h.
  Variable one2 : forall past S, sum (class_of past) (chance2 past S) = 1.
  Hypothesis chance2_high : forall past S h, In h (class_of past) ->
    chance2 past S h <= exp lam2 * exact_chance eqb (class_of past) labels_it prior eta2 S h.
  Hypothesis chance2_low : forall past S h, In h (class_of past) ->
    exact_chance eqb (class_of past) labels_it prior eta2 S h <= exp lam2 * chance2 past S h.

  Theorem unv_priv_cl_is_private :
    interactively_private (adjacent n)
      (ln (1 + INR m / INR n * (exp (relabel_cost fixed eta lam + (e1 + INR limit * (2 * e2))) - 1)) + (2 * eta2 + 2 * lam2))
      (INR m / INR n * (exp (- e1) ^ (w + 1) / (1 + exp (- e1))))
      (universal n m k predicts seeds e1 e2 w limit e1_pos e2_pos same coins relabelled due
        (fun past => sspp (class_of past) (chance2 past) (nonneg2 past) (one2 past))).
  Proof.
    apply unv_priv_cl_by_any_draw; [exact sample|exact some_teachers|exact relabelled_costs|now apply relabel_cost_nonneg| |lra].
    intros past. apply (sspp_is_private eqb (class_of past) labels_it prior (some_published past) (fun _ _ => Rlt_0_1) eta2 lam2 eta2_nonneg);
      intros S h I; [now apply chance2_high|now apply chance2_low].
  Qed.
End Release.

(* ---- nothing left to suppose: stumps on records of p features, exact draws ---- *)
Section Stumps.
  Variables (n m k p : nat).
  Hypothesis sample : (0 < m <= n)%nat.
  Hypothesis some_teachers : (0 < k)%nat.
  Hypothesis features : (0 < p)%nat.
  Context {Seed Coin : Type}.
  Variable predicts : list (point * bool) -> Seed -> point -> nat -> bool.
  Variable seeds : law (nat -> Seed).
  Variables (e1 e2 eta eta_publish : R) (w limit most : nat).
  Hypothesis e1_pos : 0 < e1.
  Hypothesis e2_pos : 0 < e2.
  Hypothesis eta_nonneg : 0 <= eta.
  Hypothesis eta_publish_nonneg : 0 <= eta_publish.
  Variable coins : law Coin.
  (* queries are alike if all their features are *)
  Definition alike (x y : point) : bool := forallb (fun f => Z.eqb (x f) (y f)) (seq 0 p).

  Definition stumps_due (past : list (point * reply (decision nat) Coin)) : bool :=
    let decided := decisions (log_of past) in
    negb (length decided =? 0)%nat && ((most <=? length decided)%nat || is_exhausted limit decided).
  (* the class that the queries of the log make *)
  Definition stumps_publish (past : list (point * reply (decision nat) Coin)) : list (point * bool) -> law triple :=
    sspp_exactly eqb (stumps p (map fst (log_of past))) Stumps.says (some_stumps p _ features) eta_publish.

  Theorem ag_priv_cl_of_stumps :
    interactively_private (adjacent n) (amplified n m (2 * ln (1 + exp eta) + (e1 + INR limit * (2 * e2)))) (INR m / INR n * tail e1 w)
      (ag_priv_cl_release n m k predicts seeds e1 e2 w limit e1_pos e2_pos alike coins (relabelled_by_stumps p features eta)).
  Proof.
    apply ag_priv_cl_release_by_any_relabelling; [exact sample|exact some_teachers|now apply relabelling_by_stumps_exactly|].
    pose proof (relabel_cost_nonneg false eta 0 eta_nonneg (Rle_refl 0)) as H. unfold relabel_cost in H. lra.
  Qed.

  Theorem unv_priv_cl_of_stumps :
    interactively_private (adjacent n)
      (amplified n m (2 * ln (1 + exp eta) + (e1 + INR limit * (2 * e2))) + 2 * eta_publish) (INR m / INR n * tail e1 w)
      (universal n m k predicts seeds e1 e2 w limit e1_pos e2_pos alike coins (relabelled_by_stumps p features eta) stumps_due stumps_publish).
  Proof.
    apply unv_priv_cl_by_any_draw; [exact sample|exact some_teachers|now apply relabelling_by_stumps_exactly| | |lra].
    - pose proof (relabel_cost_nonneg false eta 0 eta_nonneg (Rle_refl 0)) as H. unfold relabel_cost in H. lra.
    - intros past. apply (sspp_exactly_is_private eqb). exact eta_publish_nonneg.
  Qed.
End Stumps.

(* Ten records, five of them in the sub-sample, three teachers that always say 1, one feature. *)
Example a_release_of_ten_records : exists M : (nat -> point * bool) ->
    law (behaviour point (response (Reply := reply (decision nat) (order 2)) (Classifier := triple))),
  interactively_private (adjacent 10) (amplified 10 5 (2 * ln (1 + exp (1 / 10)) + (1 / 2 + INR 2 * (2 * (1 / 4)))) + 2 * (1 / 10))
    (INR 5 / INR 10 * tail (1 / 2) 20) M.
Proof.
  assert (P1 : 0 < 1 / 2) by lra. assert (P2 : 0 < 1 / 4) by lra.
  exists (universal 10 5 3 (fun _ (_ : unit) (_ : point) c => Nat.eqb c 1) (ret (fun _ => tt)) (1 / 2) (1 / 4) 20 2 P1 P2 (alike 1)
    (uniform_order 2) (relabelled_by_stumps 1 Nat.lt_0_1 (1 / 10)) (stumps_due 2 30) (stumps_publish 1 Nat.lt_0_1 (1 / 10))).
  apply unv_priv_cl_of_stumps; try lra; lia.
Qed.
