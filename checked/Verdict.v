(* The noise sampler's verdict: one step of its series. If the true term T lies in [P, P + 4), so does the next one
   of the next P.
   Proof note: proofs/noise.md, Verdict. Code: noise/kernels.py, verdict. *)
From Coq Require Import Reals ZArith Lia Lra.
Local Open Scope R_scope.

Definition W : R := IZR (2 ^ 64).
Lemma W_val : W = 18446744073709551616. Proof. unfold W. reflexivity. Qed.

(* noise/kernels.py, verdict: term ← ⌊⌊term·e/2⁶⁴⌋/(k+1)⌋ *)
Definition next (k : Z) (E P : Z) : Z := (P * E / 2 ^ 64 / (k + 1))%Z.

Lemma floor_div (a b : Z) : (0 < b)%Z -> IZR (a / b) * IZR b <= IZR a < (IZR (a / b) + 1) * IZR b.
Proof.
  intros B. rewrite <- !mult_IZR, <- plus_IZR, <- mult_IZR.
  pose proof (Z.div_mod a b ltac:(lia)). pose proof (Z.mod_pos_bound a b B). split; [apply IZR_le|apply IZR_lt]; lia.
Qed.

(* one step: T = 2⁶⁴·e^k/k!, and T·e/(k+1) is the next one *)
Theorem next_is_close (k E P : Z) (e T : R) : (1 <= k)%Z -> (0 <= P <= E)%Z -> 0 <= e < 1 / 2 ->
  IZR E <= W * e < IZR E + 4 -> IZR P <= T < IZR P + 4 ->
  IZR (next k E P) <= T * e / IZR (k + 1) < IZR (next k E P) + 4 /\ (0 <= next k E P <= P)%Z.
Proof.
  intros K PE He HE HT. unfold next.
  set (F := (P * E / 2 ^ 64)%Z). set (N := (F / (k + 1))%Z).
  pose proof (floor_div (P * E) (2 ^ 64) ltac:(lia)) as A. fold F W in A.
  pose proof (floor_div F (k + 1) ltac:(lia)) as B. fold N in B.
  assert (K1 : 2 <= IZR (k + 1)) by (apply IZR_le; lia).
  set (c := IZR (k + 1)) in *. rewrite mult_IZR in A.
  assert (WP : 0 < W) by (rewrite W_val; lra).
  set (p := IZR P) in *. set (x := IZR E) in *. set (f := IZR F) in *. set (q := IZR N) in *.
  assert (P0 : 0 <= p <= x) by (unfold p, x; split; apply IZR_le; lia).
  (* T·e lies in [f, f + 5) *)
  assert (L : f <= T * e).
  { apply Rmult_le_reg_r with W; [easy|]. apply Rle_trans with (p * x); [lra|].
    replace (T * e * W) with (T * (W * e)) by ring. apply Rmult_le_compat; lra. }
  assert (H : T * e < f + 5).
  { apply Rmult_lt_reg_r with W; [easy|].
    assert (S1 : (T - p) * (W * e) <= 4 * (W * e)) by (apply Rmult_le_compat_r; [apply Rmult_le_pos; lra|lra]).
    assert (S2 : p * (W * e - x) <= p * 4) by (apply Rmult_le_compat_l; lra).
    assert (S3 : W * e < W * (1 / 2)) by (apply Rmult_lt_compat_l; lra).
    assert (S4 : p <= W * e) by lra.
    replace (T * e * W) with (p * x + p * (W * e - x) + (T - p) * (W * e)) by ring.
    assert (p * x < (f + 1) * W) by lra. lra. }
  split.
  - split.
    + apply Rmult_le_reg_r with c; [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra.
    + apply Rmult_lt_reg_r with c; [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra.
      (* F ≤ (N + 1)(k + 1) − 1 *)
      assert (I : f + 1 <= (q + 1) * c).
      { unfold f, q, c. rewrite <- !plus_IZR, <- mult_IZR. apply IZR_le.
        pose proof (Z.div_mod F (k + 1) ltac:(lia)). pose proof (Z.mod_pos_bound F (k + 1) ltac:(lia)). fold N in H0. nia. }
      lra.
  - assert (F0 : (0 <= F)%Z) by (apply Z.div_pos; nia).
    assert (E64 : (E < 2 ^ 64)%Z).
    { apply lt_IZR. fold x W. assert (W * e < W * (1 / 2)) by (apply Rmult_lt_compat_l; lra). lra. }
    assert (FP : (F <= P)%Z) by (apply Z.div_le_upper_bound; nia).
    split; [apply Z.div_pos; lia|]. apply Z.le_trans with F; [|easy]. apply Z.div_le_upper_bound; nia.
Qed.
