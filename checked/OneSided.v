(* Teachers' votes, their distance to instability and the one-sided sparse vector with discrete Laplace noise:
   (e1 + 2 * E * e2, a^(w+1) / (1 + a))-DP with a = e^{-e1}, if one record moves at most one vote.
   Proof notes: proofs/sparse_vector.md, proofs/votes.md, proofs/sub_samp.md. *)
From Coq Require Import Reals List Lra Lia ZArith.
From pcqr Require Import Law SparseVector Laplace.
From pcqr Require Votes.
Import ListNotations.
Local Open Scope R_scope.

Section Answers.
  Context {D Query : Type}.
  Variables (votes : Query -> D -> list Z) (adjacent : D -> D -> Prop).
  Hypothesis two_labels : forall q S, (2 <= length (votes q S))%nat.
  Hypothesis one_vote : forall q S S', adjacent S S' -> Votes.one_vote_moves (votes q S) (votes q S').

  Variables (e1 e2 : R) (w : nat).
  Hypothesis e1_pos : 0 < e1.
  Hypothesis e2_nonneg : 0 <= e2.

  Lemma a_pos : 0 < exp (- e1). Proof. apply exp_pos. Qed.
  Lemma a_below : exp (- e1) < 1. Proof. rewrite <- exp_0. apply exp_increasing. lra. Qed.
  Definition rho : law Z := laplace (exp (- e1)) a_pos a_below.

  Variable adversary : list (option nat) -> Query.
  Definition answers (queries unstable : nat) : D -> law (list (option nat)) :=
    sparse_vector (fun q S => Votes.plurality (votes q S)) (fun q S => Votes.distance (votes q S)) (Z.of_nat w)
      (geometric_fails e2) (proj1 (geometric_fails_ok e2 e2_nonneg)) rho adversary queries unstable.

  Theorem answers_are_private queries unstable :
    private adjacent (e1 + INR unstable * (2 * e2)) (exp (- e1) ^ (w + 1) / (1 + exp (- e1))) (answers queries unstable).
  Proof.
    destruct (geometric_fails_ok e2 e2_nonneg) as (_ & G2 & G3 & G4).
    rewrite <- (laplace_tail (exp (- e1)) a_pos a_below w).
    apply one_sided_sparse_vector_is_private; auto.
    - intros q S S' A. apply Votes.distance_moves_by_at_most_one; auto.
    - intros q S S' A N. split.
      + apply Votes.distance_zero_at_a_flip with (votes q S'); auto.
      + apply Votes.distance_zero_at_a_flip with (votes q S); auto using Votes.one_vote_moves_sym.
    - intros f F. replace (exp e1) with (/ exp (- e1)) by (rewrite exp_Ropp; field; apply Rgt_not_eq, exp_pos).
      now apply laplace_shift.
  Qed.
End Answers.
