(* Two bounds are attained: no smaller constant is true (proofs/stability.md; proofs/subsample.md).

   In words: for a distance of 0 against one of 1, and a threshold w >= 1, the stability test is (e, 0)-close for no
   e < epsilon. A mechanism that tells by randomised response whether a marked record is in the sub-sample is (eps, 0)-DP on
   the sub-sample, and (e, 0)-DP on the table for no e < ln(1 + q*(exp(eps) - 1)). *)
From Coq Require Import Reals List Lra Lia ZArith Bool Arith.
From pcqr Require Import Law Finite Subsample Orders Laplace Stability Algorithms.
Import ListNotations.
Local Open Scope R_scope.

Lemma exp_le_back a b : exp a <= exp b -> a <= b.
Proof. intros H. destruct (Rle_lt_dec a b) as [|L]; [easy|]. apply exp_increasing in L. lra. Qed.

Theorem stability_test_attains_epsilon {D Value : Type} (value : D -> Value) (distance : D -> Z) epsilon (P : 0 < epsilon) w S S' e :
  distance S = 0%Z -> distance S' = 1%Z ->
  close e 0 (stability_test value distance epsilon (Datatypes.S w) P S') (stability_test value distance epsilon (Datatypes.S w) P S) ->
  epsilon <= e.
Proof.
  intros D0 D1 C. set (f := fun o : option Value => match o with Some _ => 1 | None => 0 end).
  assert (F : test f) by (intros [v|]; unfold f; lra). specialize (C f F).
  cbn [stability_test bind ret E] in C. rewrite D0, D1 in C.
  rewrite (E_same _ _ (fun z => if (Z.of_nat w <? z)%Z then 1 else 0)) in C.
  2: { intros z. unfold f. destruct (Z.ltb_spec (Z.of_nat (Datatypes.S w)) (1 + z)), (Z.ltb_spec (Z.of_nat w) z); try easy; lia. }
  rewrite (E_same _ (fun z => f (if (Z.of_nat (Datatypes.S w) <? 0 + z)%Z then Some (value S) else None))
    (fun z => if (Z.of_nat (Datatypes.S w) <? z)%Z then 1 else 0)) in C.
  2: { intros z. unfold f. rewrite Z.add_0_l. now destruct (Z.of_nat (Datatypes.S w) <? z)%Z. }
  unfold noise in C. rewrite !laplace_upper_tail in C. cbn [Nat.add pow] in C.
  set (a := exp (- epsilon)) in *. assert (A : 0 < a) by apply exp_pos.
  set (t := a ^ (w + 1) / (1 + a)) in *.
  assert (T : 0 < t) by (apply Rdiv_lt_0_compat; [now apply pow_lt|lra]).
  replace (a * a ^ (w + 1) / (1 + a)) with (a * t) in C by (unfold t; field; lra).
  apply exp_le_back. replace (exp epsilon) with (/ a) by (unfold a; rewrite exp_Ropp, Rinv_inv; reflexivity).
  apply Rmult_le_reg_r with (a * t); [now apply Rmult_lt_0_compat|].
  replace (/ a * (a * t)) with t by (field; lra). lra.
Qed.

Section Response.
  Variable eps : R.
  Hypothesis eps_nonneg : 0 <= eps.
  Definition p0 : R := / (1 + exp eps).
  Lemma p0_01 : 0 <= p0 <= 1.
  Proof.
    unfold p0. pose proof (exp_pos eps). split; [left; apply Rinv_0_lt_compat; lra|].
    rewrite <- Rinv_1. apply Rinv_le_contravar; lra.
  Qed.
  Lemma p1_01 : 0 <= exp eps * p0 <= 1.
  Proof.
    unfold p0. pose proof (exp_pos eps). split; [apply Rmult_le_pos; [lra|left; apply Rinv_0_lt_compat; lra]|].
    apply Rmult_le_reg_r with (1 + exp eps); [lra|]. rewrite Rmult_assoc, Rinv_l by lra. lra.
  Qed.
  (* is a marked record among these? *)
  Definition response (rows : list bool) : law bool :=
    if existsb (fun b => b) rows then coin (exp eps * p0) p1_01 else coin p0 p0_01.

  Lemma coins_close e p p' H H' : p <= exp e * p' -> 1 - p <= exp e * (1 - p') -> close e 0 (coin p H) (coin p' H').
  Proof.
    intros A B f F. destruct (F true), (F false). cbn [coin E]. rewrite Rplus_0_r, Rmult_plus_distr_l, <- !Rmult_assoc.
    apply Rplus_le_compat; apply Rmult_le_compat_r; lra.
  Qed.
  Lemma response_is_private : private replaced eps 0 response.
  Proof.
    intros S S' _. pose proof p0_01. pose proof p1_01. pose proof (exp_ineq1_le eps).
    assert (Q : exp eps * p0 = 1 - p0) by (unfold p0; field; pose proof (exp_pos eps); lra).
    assert (G : forall x, 0 <= x -> x <= exp eps * x).
    { intros x X. assert (1 * x <= exp eps * x) by (apply Rmult_le_compat_r; lra). lra. }
    pose proof (G p0). pose proof (G (1 - p0)).
    unfold response. destruct (existsb _ S), (existsb _ S'); apply coins_close; rewrite ?Q; rewrite ?Q in *;
      replace (1 - (1 - p0)) with p0 by ring; lra.
  Qed.

  Variables n m : nat.
  Hypothesis m_pos : (0 < m)%nat.
  Hypothesis m_small : (m < n)%nat.
  Definition marked (i : nat) : bool := Nat.eqb i 0.
  Definition unmarked (i : nat) : bool := false.

  Lemma sampled_with_rate : E (uniform_order n) (fun p => ind (existsb (fun b => b) (rows (place n) m marked p))) = INR m / INR n.
  Proof.
    assert (G : forall p N, (N <= n)%nat -> ind (existsb (fun b => b) (map (fun k => marked (place n p k)) (seq 0 N))) =
      upto N (fun k => at_place (place n) 0 k p)).
    { intros p N. induction N as [|N IH]; intros HN; [reflexivity|]. rewrite seq_S, map_app, existsb_app. cbn [upto Nat.add map existsb].
      rewrite <- IH by lia. rewrite orb_false_r. unfold at_place, ind. destruct (existsb _ _) eqn:X; cbn [orb].
      - apply existsb_exists in X. destruct X as (b & X & B). apply in_map_iff in X. destruct X as (k & K & I). apply in_seq in I.
        unfold marked in K. rewrite B in K. apply Nat.eqb_eq in K.
        destruct (Nat.eqb_spec (place n p N) 0) as [Q|]; [|lra].
        assert (k = N) by (apply (once n p); [lia|lia|congruence]). lia.
      - unfold marked. destruct (Nat.eqb (place n p N) 0); lra. }
    rewrite (E_same _ _ (fun p => upto m (fun k => at_place (place n) 0 k p))) by (intros p; apply G; lia).
    rewrite <- (upto_E (uniform_order n) m (at_place (place n) 0)).
    - rewrite (upto_ext m _ (fun _ => / INR n)), upto_const; [reflexivity|]. intros k K.
      apply (at_chance (place n) n m m_small m_pos (onto n) (once n) (exchange n)); try lia.
      + apply exchange_ok.
      + intros. apply uniform.
    - intros k. apply bounded_test. intros p. unfold at_place. destruct Nat.eqb; lra.
  Qed.

  Theorem amplification_is_attained e : private (adjacent n) e 0 (subsampled (place n) m (uniform_order n) response) ->
    ln (1 + INR m / INR n * (exp eps - 1)) <= e.
  Proof.
    intros H. assert (A : adjacent n marked unmarked).
    { exists 0%nat. split; [lia|]. intros [|i] N; [easy|reflexivity]. }
    specialize (H marked unmarked A (fun b => if b then 1 else 0)).
    assert (F : test (fun b : bool => if b then 1 else 0)) by (intros []; lra). specialize (H F).
    cbn [subsampled bind E] in H.
    assert (M : E (uniform_order n) (fun p => E (response (rows (place n) m marked p)) (fun b => if b then 1 else 0)) =
      p0 * (1 + INR m / INR n * (exp eps - 1))).
    { rewrite (E_same _ _ (fun p => p0 * (exp eps - 1) * ind (existsb (fun b => b) (rows (place n) m marked p)) + p0)).
      - assert (B : bounded (fun p => ind (existsb (fun b => b) (rows (place n) m marked p)))).
        { apply bounded_test. intros p. unfold ind. destruct existsb; lra. }
        rewrite E_plus, E_scale, E_const, sampled_with_rate by auto with law. ring.
      - intros p. unfold response. destruct (existsb _ _); cbn [coin E ind]; ring. }
    assert (U : E (uniform_order n) (fun p => E (response (rows (place n) m unmarked p)) (fun b => if b then 1 else 0)) = p0).
    { rewrite (E_same _ _ (fun _ => p0)); [apply E_const|]. intros p. unfold response.
      assert (X : existsb (fun b => b) (rows (place n) m unmarked p) = false).
      { unfold rows. induction (seq 0 m) as [|k l IH]; [reflexivity|exact IH]. }
      rewrite X. cbn [coin E]. ring. }
    rewrite M, U, Rplus_0_r in H.
    assert (P0 : 0 < p0) by (unfold p0; apply Rinv_0_lt_compat; pose proof (exp_pos eps); lra).
    rewrite (Rmult_comm (exp e)) in H. apply Rmult_le_reg_l in H; [|exact P0].
    apply exp_le_back. rewrite exp_ln; [exact H|]. pose proof (exp_ineq1_le eps).
    assert (0 <= INR m / INR n * (exp eps - 1)); [|lra]. apply Rmult_le_pos; [|lra].
    apply Rlt_le, Rdiv_lt_0_compat; apply lt_0_INR; lia.
  Qed.
End Response.
