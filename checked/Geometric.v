(* The geometric draw behind an unstable answer (proofs/sparse_vector.md, One-sided; src/pcqr/mechanisms/sparse_vector).

   In words: the code draws G, geometric with P(G >= t) = exp(-e2*t) for t >= 0, and says "unstable" unless
   d - G > w + z, z being the noise of the threshold. "Unstable" then comes up with the chance exp(-e2*max(0, d - w - z)):
   the coin of SparseVector.v. So what is proved there of coins holds for the draws of the code. *)
From Coq Require Import Reals List Lra Lia ZArith.
From Coquelicot Require Import Coquelicot.
From pcqr Require Import Law Laplace SparseVector Stability.
Local Open Scope R_scope.

Section Geometric.
  Variable b : R.
  Hypothesis b_pos : 0 < b.
  Hypothesis b_below : b < 1.

  (* P(G = n) = (1 - b)*b^n *)
  Definition geometric : law nat.
  Proof.
    refine {| E := fun f => (1 - b) * side b f |}.
    - intros f g F G L. apply Rmult_le_compat_l; [lra|]. apply side_le; auto.
    - intros f g F G. rewrite (side_plus b b_pos b_below) by auto. ring.
    - intros k f F. rewrite side_scale. ring.
    - rewrite (side_one b b_pos b_below). field. lra.
  Defined.

  Definition at_least (t : Z) (n : nat) : R := if (t <=? Z.of_nat n)%Z then 1 else 0.

  Theorem geometric_tail (t : nat) : E geometric (at_least (Z.of_nat t)) = b ^ t.
  Proof.
    assert (B : forall t, bounded (at_least t)).
    { intros u. apply bounded_test. intros n. unfold at_least. destruct Z.leb; lra. }
    assert (S0 : forall u : Z, (u <= 0)%Z -> side b (at_least u) = / (1 - b)).
    { intros u U. rewrite <- (side_one b b_pos b_below). unfold side. apply Series_ext. intros n. f_equal.
      unfold at_least. destruct (Z.leb_spec u (Z.of_nat n)); [easy|lia]. }
    cbn [E geometric]. induction t as [|t IH].
    - rewrite S0 by lia. cbn. field. lra.
    - rewrite (side_first b b_pos b_below) by apply B.
      assert (X : side b (fun n => at_least (Z.of_nat (S t)) (S n)) = side b (at_least (Z.of_nat t))).
      { unfold side. apply Series_ext. intros n. f_equal. unfold at_least.
        destruct (Z.leb_spec (Z.of_nat (S t)) (Z.of_nat (S n))), (Z.leb_spec (Z.of_nat t) (Z.of_nat n)); try easy; lia. }
      rewrite X. unfold at_least at 1. destruct (Z.leb_spec (Z.of_nat (S t)) (Z.of_nat 0)); [lia|].
      rewrite Rplus_0_l. cbn [pow]. rewrite <- IH. ring.
  Qed.
End Geometric.

Lemma exp_power e (n : nat) : exp (- e) ^ n = exp (- e * INR n).
Proof.
  induction n as [|n IH]; [cbn; now rewrite Rmult_0_r, exp_0|].
  cbn [pow]. rewrite IH, S_INR, <- exp_plus. f_equal. ring.
Qed.

(* the noise of a query: scale 1/e2 *)
Definition query_noise (e2 : R) (H : 0 < e2) : law nat := geometric (exp (- e2)) (decay_pos e2) (decay_below e2 H).

Theorem query_noise_tail e2 H t : E (query_noise e2 H) (at_least t) = geometric_fails e2 t.
Proof.
  unfold query_noise, geometric_fails. destruct (Z.le_gt_cases 0 t) as [N|N].
  - replace t with (Z.of_nat (Z.to_nat t)) by lia. rewrite geometric_tail, exp_power, INR_IZR_INZ.
    do 3 f_equal. lia.
  - rewrite (E_same _ _ (fun _ => 1)).
    + rewrite E_const, Z.max_l by lia. now rewrite Rmult_0_r, exp_0.
    + intros n. unfold at_least. destruct (Z.leb_spec t (Z.of_nat n)); [easy|lia].
Qed.

(* "stable iff d - G > w + z", true is "unstable" *)
Definition is_unstable (d w z : Z) (g : nat) : bool := negb (w + z <? d - Z.of_nat g)%Z.

(* the draw of the code and the coin of SparseVector.v are one law *)
Theorem unstable_is_a_coin e2 (H : 0 < e2) d w z (p01 : 0 <= geometric_fails e2 (d - w - z) <= 1) f :
  E (image (is_unstable d w z) (query_noise e2 H)) f = E (coin (geometric_fails e2 (d - w - z)) p01) f.
Proof.
  cbn [image bind ret E coin]. rewrite <- (query_noise_tail e2 H).
  set (g := at_least (d - w - z)).
  assert (G : test g) by (intros n; unfold g, at_least; destruct Z.leb; lra).
  rewrite (E_same _ _ (fun n => (f true - f false) * g n + f false)).
  - rewrite E_plus, E_scale, E_const by auto with law. ring.
  - intros n. unfold is_unstable, g, at_least.
    destruct (Z.ltb_spec (w + z) (d - Z.of_nat n)), (Z.leb_spec (d - w - z) (Z.of_nat n)); try lia; cbn [negb]; ring.
Qed.

