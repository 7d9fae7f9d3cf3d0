(* The discrete Laplace law with ratio a = e^{-1/s}, as a law in the sense of Law.v: shifting it by one costs a factor
   1/a, and its tail is P(z < -w) = a^(w+1) / (1 + a). Series are Coquelicot's.
   Proof notes: proofs/noise.md (the law), proofs/stability.md and proofs/sparse_vector.md (shift and tail). *)
From Coq Require Import Reals Lra Lia ZArith.
From Coquelicot Require Import Coquelicot.
From pcqr Require Import Law.
Local Open Scope R_scope.

Section Laplace.
  Variable a : R.
  Hypothesis a_pos : 0 < a.
  Hypothesis a_below : a < 1.

  (* one side: Σ aⁿ·g(n) *)
  Definition side (g : nat -> R) : R := Series (fun n => a ^ n * g n).
  Lemma side_ex g : bounded g -> ex_series (fun n => a ^ n * g n).
  Proof.
    intros [M B]. apply (ex_series_le (K := R_AbsRing) (V := R_CompleteNormedModule) _ (fun n => M * a ^ n)).
    - intros n. change (norm (a ^ n * g n)) with (Rabs (a ^ n * g n)). rewrite Rabs_mult, Rmult_comm.
      rewrite (Rabs_pos_eq (a ^ n)) by (left; now apply pow_lt). apply Rmult_le_compat_r; [left; now apply pow_lt|apply B].
    - apply (ex_series_scal_l (K := R_AbsRing) M (fun n => a ^ n)). apply ex_series_geom. rewrite Rabs_pos_eq; lra.
  Qed.
  Lemma side_plus f g : bounded f -> bounded g -> side (fun n => f n + g n) = side f + side g.
  Proof.
    intros F G. unfold side. rewrite <- Series_plus by auto using side_ex. apply Series_ext. intros; ring.
  Qed.
  Lemma side_scale c f : side (fun n => c * f n) = c * side f.
  Proof. unfold side. rewrite <- Series_scal_l. apply Series_ext. intros; ring. Qed.
  Lemma side_nonneg f : bounded f -> (forall n, 0 <= f n) -> 0 <= side f.
  Proof.
    intros B F. unfold side. replace 0 with (Series (fun n => 0 * a ^ n)) by (rewrite Series_scal_l; ring).
    apply Series_le; [|now apply side_ex]. intros n. rewrite Rmult_0_l. split; [lra|].
    apply Rmult_le_pos; [left; now apply pow_lt|apply F].
  Qed.
  Lemma side_le f g : bounded f -> bounded g -> (forall n, f n <= g n) -> side f <= side g.
  Proof.
    intros F G L. assert (0 <= side (fun n => g n + -1 * f n)) as H.
    { apply side_nonneg; auto with law. intros n. specialize (L n). lra. }
    rewrite side_plus, side_scale in H by auto with law. lra.
  Qed.
  Lemma side_one : side (fun _ => 1) = / (1 - a).
  Proof. unfold side. rewrite (Series_ext _ (fun n => a ^ n)) by (intros; ring). apply Series_geom. rewrite Rabs_pos_eq; lra. Qed.
  Lemma side_first g : bounded g -> side g = g O + a * side (fun n => g (S n)).
  Proof.
    intros B. unfold side. rewrite Series_incr_1 by now apply side_ex. rewrite <- Series_scal_l. cbn [pow]. rewrite Rmult_1_l.
    f_equal. apply Series_ext. intros; cbn; ring.
  Qed.

  (* P(z) = (1 − a)/(1 + a) · a^|z|: the integers n ≥ 0 and −n − 1 *)
  Definition up (f : Z -> R) (n : nat) : R := f (Z.of_nat n).
  Definition down (f : Z -> R) (n : nat) : R := f (- Z.of_nat n - 1)%Z.
  Definition c : R := (1 - a) / (1 + a).
  Lemma c_pos : 0 < c. Proof. apply Rdiv_lt_0_compat; lra. Qed.

  Definition laplace : law Z.
  Proof.
    refine {| E := fun f => c * (side (up f) + a * side (down f)) |}.
    - intros f g F G L. apply Rmult_le_compat_l; [left; apply c_pos|]. apply Rplus_le_compat; [|apply Rmult_le_compat_l; [lra|]];
        apply side_le; unfold up, down; auto with law.
    - intros f g F G.
      change (up (fun x => f x + g x)) with (fun n => up f n + up g n). change (down (fun x => f x + g x)) with (fun n => down f n + down g n).
      rewrite !side_plus by (unfold up, down; auto with law). ring.
    - intros k f F. change (up (fun x => k * f x)) with (fun n => k * up f n). change (down (fun x => k * f x)) with (fun n => k * down f n).
      rewrite !side_scale. ring.
    - change (up (fun _ => 1)) with (fun _ : nat => 1). change (down (fun _ => 1)) with (fun _ : nat => 1). rewrite side_one. unfold c. field. lra.
  Defined.

  (* P(z) ≤ P(z − 1)/a *)
  Theorem laplace_shift f : test f -> E laplace (fun z => f (z - 1)%Z) <= / a * E laplace f.
  Proof.
    intros F. cbn. pose proof c_pos as C.
    assert (B : bounded f) by auto with law.
    assert (BU : bounded (up f)) by (unfold up; auto with law). assert (BD : bounded (down f)) by (unfold down; auto with law).
    assert (U : side (up (fun z => f (z - 1)%Z)) = f (-1)%Z + a * side (up f)).
    { rewrite side_first by (unfold up; auto with law). f_equal. f_equal. apply Series_ext. intros n. f_equal. unfold up. f_equal. lia. }
    assert (DN : side (down f) = f (-1)%Z + a * side (down (fun z => f (z - 1)%Z))).
    { rewrite side_first by assumption. f_equal. f_equal. apply Series_ext. intros n. f_equal. unfold down. f_equal. lia. }
    assert (DD : a * side (down (fun z => f (z - 1)%Z)) = side (down f) - f (-1)%Z) by lra.
    rewrite U, DD.
    assert (SU : 0 <= side (up f)) by (apply side_nonneg; [easy|intros; apply F]).
    assert (SD : 0 <= side (down f)) by (apply side_nonneg; [easy|intros; apply F]).
    replace (/ a * (c * (side (up f) + a * side (down f)))) with (c * (/ a * side (up f) + side (down f))) by (field; lra).
    apply Rmult_le_compat_l; [lra|].
    assert (1 <= / a) by (rewrite <- Rinv_1; apply Rinv_le_contravar; lra).
    assert (1 * side (up f) <= / a * side (up f)) by (apply Rmult_le_compat_r; lra).
    assert (a * side (up f) <= 1 * side (up f)) by (apply Rmult_le_compat_r; lra). lra.
  Qed.

  (* P(ρ ≤ −w − 1) = a^{w+1}/(1 + a) for w ≥ 0 *)
  Theorem laplace_tail (w : nat) : E laplace (fun z => if (z <? - Z.of_nat w)%Z then 1 else 0) = a ^ (w + 1) / (1 + a).
  Proof.
    cbn. set (f := fun z : Z => if (z <? - Z.of_nat w)%Z then 1 else 0).
    assert (U : side (up f) = 0).
    { unfold side. rewrite (Series_ext _ (fun n => 0 * a ^ n)).
      - rewrite Series_scal_l. ring.
      - intros n. unfold up, f. destruct (Z.ltb_spec (Z.of_nat n) (- Z.of_nat w)); [lia|ring]. }
    assert (D : side (down f) = a ^ w * / (1 - a)).
    { rewrite <- side_one. unfold side. rewrite <- Series_scal_l.
      destruct w as [|w'].
      - apply Series_ext. intros n. unfold down, f. destruct (Z.ltb_spec (- Z.of_nat n - 1) (- Z.of_nat 0)); [cbn; ring|lia].
      - rewrite (Series_incr_n _ (S w')); [|lia|].
        + rewrite (sum_eq _ (fun _ => 0)), sum_cte.
          2: { intros n Hn. unfold down, f. cbn [pred] in Hn. destruct (Z.ltb_spec (- Z.of_nat n - 1) (- Z.of_nat (S w'))); [lia|ring]. }
          rewrite Rmult_0_l, Rplus_0_l. apply Series_ext. intros n. unfold down, f.
          destruct (Z.ltb_spec (- Z.of_nat (S w' + n) - 1) (- Z.of_nat (S w'))); [rewrite pow_add; ring|lia].
        + apply side_ex. exists 1. intros n. unfold down, f. destruct Z.ltb; rewrite Rabs_pos_eq; lra. }
    rewrite U, D. unfold c. rewrite pow_add, pow_1. field. lra.
  Qed.
End Laplace.
