(* Bounds of e^(-x) in whole numbers.

   In words: for a rational x >= 0 and a number of places, the code's two whole numbers lie on both sides of
   2^places * e^(-x), whichever way each of its steps rounds. They are what the tables of the noise sampler and its exact path
   rest on. How close they are is proved on paper.
   Proof note: proofs/noise.md, Bounds of e^(-x). Code: noise/exponential.py, in Blocks.v. *)
From Coq Require Import Reals ZArith List Bool Lia Lra.
From pcqr Require Import Kernels Blocks Verdict.
Local Open Scope R_scope.

Lemma ceiling_div (a b : Z) : (0 < b)%Z -> IZR a <= IZR (- ((- a) / b)) * IZR b < IZR a + IZR b.
Proof.
  intros B. pose proof (floor_div (- a) b B) as F. rewrite !opp_IZR in *.
  assert (0 < IZR b) by (apply IZR_lt; lia). lra.
Qed.
Lemma ceiling_le (a b c : Z) : (0 < b)%Z -> (a <= c * b)%Z -> (- ((- a) / b) <= c)%Z.
Proof. intros B L. assert (- c <= (- a) / b)%Z; [apply Z.div_le_lower_bound; lia|lia]. Qed.
Lemma ceiling_nonneg (a b : Z) : (0 < b)%Z -> (0 <= a)%Z -> (0 <= - ((- a) / b))%Z.
Proof. intros B A. assert ((- a) / b <= 0)%Z; [apply Z.div_le_upper_bound; lia|lia]. Qed.
Lemma upwards_div v p : (0 <= p)%Z -> upwards v p = (- ((- v) / 2 ^ p))%Z.
Proof. intros P. unfold upwards. now rewrite Z.shiftr_div_pow2. Qed.
Lemma below_quotient (a b : Z) (r : R) : (0 < b)%Z -> IZR a <= r * IZR b -> IZR (a / b) <= r.
Proof.
  intros B L. pose proof (floor_div a b B). assert (0 < IZR b) by (apply IZR_lt; lia).
  apply Rmult_le_reg_r with (IZR b); lra.
Qed.
Lemma above_quotient (a b : Z) (r : R) : (0 < b)%Z -> r * IZR b <= IZR a -> r <= IZR (- ((- a) / b)).
Proof.
  intros B L. pose proof (ceiling_div a b B). assert (0 < IZR b) by (apply IZR_lt; lia).
  apply Rmult_le_reg_r with (IZR b); lra.
Qed.

Section Small.
  Variables (p low_y high_y : Z) (y : R).
  Hypothesis p_ok : (2 <= p)%Z.
  Let Q : R := IZR (2 ^ p).
  Hypothesis low_y_ok : (0 <= low_y)%Z.
  Hypothesis high_y_ok : (high_y <= 2 ^ (p - 1))%Z.
  Hypothesis y_known : IZR low_y <= Q * y <= IZR high_y.
  Hypothesis y_ok : 0 <= y <= 1 / 2.

  Lemma Q_pos : 0 < Q. Proof. apply IZR_lt, Z.pow_pos_nonneg; lia. Qed.

  Definition inside (k : nat) (low_term high_term low high : Z) : Prop :=
    (Z.of_nat k <= p)%Z /\ (0 <= low_term)%Z /\ (0 <= high_term <= 2 ^ (p - Z.of_nat k))%Z /\
    IZR low_term <= Q * term y k <= IZR high_term /\ IZR low <= Q * (1 - partial y k) <= IZR high /\
    (2 ^ p + (if Nat.odd k then 1 else 2) * 2 ^ (p - Z.of_nat k) <= 3 * low)%Z.

  Lemma inside_next k lt ht lo hi : inside k lt ht lo hi -> (1 < ht)%Z ->
    let order := (Z.of_nat k + 1)%Z in
    let lt' := (Z.shiftr (lt * low_y) p / order)%Z in
    let ht' := (- ((- upwards (ht * high_y) p) / order))%Z in
    inside (S k) lt' ht' (if Nat.odd (S k) then lo - ht' else lo + lt') (if Nat.odd (S k) then hi - lt' else hi + ht').
  Proof.
    intros (KP & L0 & H0 & T & A & B) H1. cbn zeta. set (o := (Z.of_nat k + 1)%Z).
    assert (O : (0 < o)%Z) by (unfold o; lia). assert (P2 : (0 < 2 ^ p)%Z) by (apply Z.pow_pos_nonneg; lia).
    rewrite upwards_div, Z.shiftr_div_pow2 by lia.
    set (l1 := (lt * low_y / 2 ^ p)%Z). set (h1 := (- ((- (ht * high_y)) / 2 ^ p))%Z).
    assert (KLT : (Z.of_nat k < p)%Z).
    { destruct (Z.eq_dec (Z.of_nat k) p) as [E|]; [|lia]. rewrite E, Z.sub_diag in H0. cbn in H0. lia. }
    assert (PD : (2 ^ (p - Z.of_nat k) = 2 * 2 ^ (p - Z.of_nat (S k)))%Z).
    { replace (p - Z.of_nat k)%Z with (Z.succ (p - Z.of_nat (S k))) by lia. apply Z.pow_succ_r. lia. }
    assert (PP : (2 ^ p = 2 * 2 ^ (p - 1))%Z) by (replace p with (Z.succ (p - 1)) at 1 by lia; apply Z.pow_succ_r; lia).
    assert (HY : (0 <= high_y)%Z) by (apply le_IZR; pose proof Q_pos; assert (0 <= Q * y) by (apply Rmult_le_pos; lra); lra).
    set (d := (2 ^ (p - Z.of_nat (S k)))%Z) in *. assert (D0 : (0 <= d)%Z) by (apply Z.pow_nonneg; lia).
    assert (M1 : (0 <= l1)%Z) by (apply Z.div_pos; [apply Z.mul_nonneg_nonneg; lia|lia]).
    assert (M2 : (0 <= h1)%Z) by (apply ceiling_nonneg; [lia|apply Z.mul_nonneg_nonneg; lia]).
    assert (M3 : (h1 <= d)%Z).
    { apply ceiling_le; [lia|]. rewrite PP. apply Z.le_trans with (2 * d * 2 ^ (p - 1))%Z; [apply Z.mul_le_mono_nonneg; lia|lia]. }
    set (lt' := (l1 / o)%Z). set (ht' := (- ((- h1) / o))%Z).
    assert (N1 : (0 <= lt')%Z) by (apply Z.div_pos; lia).
    assert (N2 : (0 <= ht')%Z) by (apply ceiling_nonneg; lia).
    assert (N3 : (ht' <= d)%Z) by (apply ceiling_le; [lia|]; apply Z.le_trans with (d * 1)%Z; [lia|apply Z.mul_le_mono_nonneg_l; lia]).
    pose proof Q_pos as QP. pose proof (term_nonneg y k ltac:(lra)) as TN.
    assert (TS : term y (S k) * IZR o = term y k * y).
    { rewrite term_next, INR_IZR_INZ. replace (Z.of_nat (S k)) with o by (unfold o; lia). field. apply not_0_IZR. lia. }
    assert (L1 : IZR l1 <= Q * term y k * y).
    { apply below_quotient; [lia|]. fold Q. rewrite mult_IZR. replace (Q * term y k * y * Q) with ((Q * term y k) * (Q * y)) by ring.
      apply Rmult_le_compat; [apply IZR_le; lia|apply IZR_le; lia|apply T|apply y_known]. }
    assert (H2 : Q * term y k * y <= IZR h1).
    { apply above_quotient; [lia|]. fold Q. rewrite mult_IZR. replace (Q * term y k * y * Q) with ((Q * term y k) * (Q * y)) by ring.
      apply Rmult_le_compat; [apply Rmult_le_pos; lra|apply Rmult_le_pos; lra|apply T|apply y_known]. }
    assert (L2 : IZR lt' <= Q * term y (S k)) by (apply below_quotient; [lia|]; rewrite Rmult_assoc, TS; lra).
    assert (H3 : Q * term y (S k) <= IZR ht') by (apply above_quotient; [lia|]; rewrite Rmult_assoc, TS; lra).
    assert (OD : Nat.odd (S k) = negb (Nat.odd k)) by (rewrite Nat.odd_succ, <- Nat.negb_odd; reflexivity).
    split; [lia|]. split; [exact N1|]. split; [fold d; lia|]. split; [split; assumption|]. cbn [partial].
    rewrite OD in *. fold d. destruct (Nat.odd k); cbn [negb].
    - rewrite !plus_IZR. split; [lra|lia].
    - rewrite !minus_IZR. split; [lra|lia].
  Qed.

  Lemma small_ends fuel k lt ht lo hi : inside k lt ht lo hi -> (p - Z.of_nat k < Z.of_nat fuel)%Z ->
    let '(low, high) := small_exponential fuel low_y high_y p (Z.of_nat k) lt ht lo hi in
    IZR (low - 1) <= Q * exp (- y) <= IZR (high + 1) /\ (0 <= low - 1)%Z.
  Proof.
    revert k lt ht lo hi. induction fuel as [|fuel IH]; intros k lt ht lo hi I F.
    - destruct I as (KP & _). lia.
    - cbn [small_exponential]. destruct (Z.ltb_spec 1 ht) as [H|H].
      + pose proof (inside_next k lt ht lo hi I H) as N. cbn zeta in N.
        assert (MO : ((Z.of_nat k + 1) mod 2 =? 1)%Z = Nat.odd (S k)).
        { replace (Z.of_nat k + 1)%Z with (Z.of_nat (S k)) by lia. generalize (S k) as m. clear. intros m.
          rewrite Zmod_odd. enough (E : Z.odd (Z.of_nat m) = Nat.odd m) by (rewrite E; now destruct (Nat.odd m)).
          induction m as [|m IH]; [easy|]. rewrite Nat2Z.inj_succ, Z.odd_succ, Nat.odd_succ, <- Z.negb_odd, <- Nat.negb_odd.
          now rewrite IH. }
        rewrite MO. replace (Z.of_nat k + 1)%Z with (Z.of_nat (S k)) in * by lia. destruct (Nat.odd (S k)) eqn:OD.
        * apply IH; [|lia]. unfold inside in N |- *. rewrite OD in N |- *. exact N.
        * apply IH; [|lia]. unfold inside in N |- *. rewrite OD in N |- *. exact N.
      + destruct I as (KP & _ & _ & T & A & B). pose proof Q_pos as QP.
        pose proof (partial_sums_are_close y k ltac:(lra)) as C. pose proof (term_decreases y k ltac:(lra)) as TD.
        assert (H' : IZR ht <= 1) by (apply IZR_le; lia).
        assert (X : Rabs (Q * (1 - exp (- y) - partial y k)) <= 1).
        { rewrite Rabs_mult, (Rabs_pos_eq Q) by lra. apply Rle_trans with (Q * term y k); [|lra].
          apply Rmult_le_compat_l; lra. }
        unfold Rabs in X; destruct Rcase_abs in X.
        all: rewrite minus_IZR, plus_IZR.
        all: assert (L3 : (1 <= lo)%Z) by (assert (0 <= 2 ^ (p - Z.of_nat k))%Z by (apply Z.pow_nonneg; lia);
          assert (4 <= 2 ^ p)%Z by (change 4%Z with (2 ^ 2)%Z; apply Z.pow_le_mono_r; lia); destruct (Nat.odd k); lia).
        all: split; [lra|lia].
  Qed.

  Lemma small_bounds : let '(low, high) := small_exponential_bounds low_y high_y p in
    IZR low <= Q * exp (- y) <= IZR high /\ (0 <= low)%Z.
  Proof.
    unfold small_exponential_bounds.
    assert (I : inside 0 (2 ^ p) (2 ^ p) (2 ^ p) (2 ^ p)).
    { assert (0 <= 2 ^ p)%Z by (apply Z.pow_nonneg; lia). unfold inside. change (Z.of_nat 0) with 0%Z. rewrite Z.sub_0_r.
      change (Nat.odd 0) with false. cbn iota. fold Q. replace (term y 0) with 1 by (unfold term; cbn; field). cbn [partial].
      repeat split; try lia; lra. }
    pose proof (small_ends (Z.to_nat (p + 2)) 0 _ _ _ _ I ltac:(lia)) as E. change (Z.of_nat 0) with 0%Z in E.
    destruct (small_exponential _ _ _ _ _ _ _ _ _) as [low high]. exact E.
  Qed.
End Small.

Lemma squared_bounds n p low high y : (0 <= p)%Z -> (0 <= low)%Z ->
  IZR low <= IZR (2 ^ p) * exp (- y) <= IZR high ->
  let '(low, high) := squared n p low high in IZR low <= IZR (2 ^ p) * exp (- (2 ^ n * y)) <= IZR high.
Proof.
  intros P. assert (Q : 0 < IZR (2 ^ p)) by (apply IZR_lt, Z.pow_pos_nonneg; lia). assert (Q' : (0 < 2 ^ p)%Z) by (apply Z.pow_pos_nonneg; lia).
  revert low high y. induction n as [|n IH]; intros low high y L B; cbn [squared pow].
  - now rewrite Rmult_1_l.
  - replace (2 * 2 ^ n * y) with (2 ^ n * (2 * y)) by ring. rewrite upwards_div, Z.shiftr_div_pow2 by lia.
    assert (X : IZR (2 ^ p) * exp (- (2 * y)) * IZR (2 ^ p) = (IZR (2 ^ p) * exp (- y)) * (IZR (2 ^ p) * exp (- y))).
    { replace (- (2 * y)) with (- y + - y) by ring. rewrite exp_plus. ring. }
    pose proof (exp_pos (- y)) as EP. assert (0 <= IZR low) by (apply IZR_le; exact L).
    assert (0 <= IZR (2 ^ p) * exp (- y)) by (apply Rmult_le_pos; lra).
    apply IH; [apply Z.div_pos; [apply Z.mul_nonneg_nonneg; lia|lia]|]. split.
    + apply below_quotient; [lia|]. rewrite X, mult_IZR. apply Rmult_le_compat; lra.
    + apply above_quotient; [lia|]. rewrite X, mult_IZR. apply Rmult_le_compat; lra.
Qed.

Lemma two_below_e places : (0 <= places)%Z -> IZR (2 ^ places) <= exp (IZR places).
Proof.
  intros P. rewrite <- (Z2Nat.id places) by exact P. generalize (Z.to_nat places) as n. clear. induction n as [|n IH].
  - change (Z.of_nat 0) with 0%Z. rewrite exp_0. cbn. lra.
  - rewrite Nat2Z.inj_succ, Z.pow_succ_r by lia. rewrite mult_IZR, succ_IZR, exp_plus, (Rmult_comm (exp _)).
    pose proof (exp_ineq1 1 ltac:(lra)) as E. apply Rmult_le_compat; [lra|apply IZR_le, Z.pow_nonneg; lia|lra|exact IH].
Qed.

Lemma bit_length_ok n : (0 < n)%Z -> (n < 2 ^ bit_length n)%Z /\ (0 <= bit_length n)%Z.
Proof.
  intros N. unfold bit_length. destruct (Z.eqb_spec n 0); [lia|]. pose proof (Z.log2_spec n N) as [_ L].
  pose proof (Z.log2_nonneg n). split; [exact L|lia].
Qed.

Theorem exponential_bounds_are_right n d places : (0 <= n)%Z -> (0 < d)%Z -> (0 <= places)%Z ->
  let '(low, high) := exponential_bounds (n, d) places in
  IZR low <= IZR (2 ^ places) * exp (- (IZR n / IZR d)) <= IZR high.
Proof.
  intros N D P. unfold exponential_bounds. assert (D' : 0 < IZR d) by (apply IZR_lt; exact D).
  destruct (Z.ltb_spec (places * d) n) as [H|H].
  { apply IZR_lt in H. rewrite mult_IZR in H. pose proof (two_below_e places P) as T.
    assert (X : IZR places <= IZR n / IZR d).
    { apply Rmult_le_reg_r with (IZR d); [exact D'|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra. }
    set (x := IZR n / IZR d) in *. pose proof (exp_pos (- x)) as E0. split.
    - apply Rmult_le_pos; [apply IZR_le, Z.pow_nonneg; lia|lra].
    - assert (Y : exp (IZR places) <= exp x) by (destruct X as [X|X]; [left; now apply exp_increasing|rewrite X; lra]).
      apply Rle_trans with (exp x * exp (- x)); [apply Rmult_le_compat_r; lra|].
      rewrite <- exp_plus, Rplus_opp_r, exp_0. lra. }
  destruct (Z.eqb_spec n 0) as [->|N0].
  { replace (- (0 / IZR d)) with 0 by (unfold Rdiv; ring). rewrite exp_0. lra. }
  set (c := ceiling n d). assert (C0 : (0 < c)%Z).
  { unfold c, ceiling. pose proof (ceiling_div n d D) as C. apply lt_IZR. assert (0 < IZR n) by (apply IZR_lt; lia).
    apply Rmult_lt_reg_r with (IZR d); lra. }
  destruct (bit_length_ok c C0) as [B1 B2].
  assert (PB : (0 <= bit_length places)%Z).
  { unfold bit_length. destruct (places =? 0)%Z; [lia|]. pose proof (Z.log2_nonneg places). lia. }
  set (h := (bit_length c + 1)%Z). set (spare := (h + 2 * bit_length places + 8)%Z). set (p := (places + spare)%Z).
  assert (HP : (1 <= h)%Z /\ (0 <= p - h)%Z /\ (2 <= p)%Z /\ (0 <= spare)%Z) by (unfold p, spare, h in *; lia).
  destruct HP as (H1 & H2 & H3 & H4).
  set (scaled := (n * 2 ^ (p - h))%Z).
  set (y := IZR n / IZR d / IZR (2 ^ h)).
  assert (PH : (2 ^ h * 2 ^ (p - h) = 2 ^ p)%Z) by (rewrite <- Z.pow_add_r by lia; f_equal; lia).
  assert (HH : 0 < IZR (2 ^ h)) by (apply IZR_lt, Z.pow_pos_nonneg; lia).
  assert (SY : IZR scaled = IZR (2 ^ p) * y * IZR d).
  { unfold scaled, y. rewrite <- PH, !mult_IZR. field. lra. }
  assert (ND : (n <= 2 ^ (h - 1) * d)%Z).
  { unfold h. replace (bit_length c + 1 - 1)%Z with (bit_length c) by lia. pose proof (ceiling_div n d D) as [C _].
    fold (ceiling n d) in C. fold c in C. rewrite <- mult_IZR in C. apply le_IZR in C.
    apply Z.le_trans with (c * d)%Z; [exact C|]. apply Z.mul_le_mono_nonneg_r; lia. }
  assert (P1 : (2 ^ (h - 1) * 2 ^ (p - h) = 2 ^ (p - 1))%Z) by (rewrite <- Z.pow_add_r by lia; f_equal; lia).
  assert (SP : (scaled <= 2 ^ (p - 1) * d)%Z).
  { unfold scaled. rewrite <- P1. apply Z.le_trans with (2 ^ (h - 1) * d * 2 ^ (p - h))%Z; [|lia].
    apply Z.mul_le_mono_nonneg_r; [apply Z.pow_nonneg; lia|exact ND]. }
  assert (YO : 0 <= y <= 1 / 2).
  { unfold y. assert (0 <= IZR n) by (apply IZR_le; exact N). split.
    - repeat apply Rmult_le_pos; try lra; left; apply Rinv_0_lt_compat; lra.
    - apply Rmult_le_reg_r with (IZR (2 ^ h)); [exact HH|]. unfold Rdiv at 1. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
      apply Rmult_le_reg_r with (IZR d); [exact D'|]. unfold Rdiv at 1. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
      assert (E : (2 ^ h = 2 * 2 ^ (h - 1))%Z) by (replace h with (Z.succ (h - 1)) at 1 by lia; apply Z.pow_succ_r; lia).
      rewrite E, mult_IZR. apply IZR_le in ND. rewrite mult_IZR in ND. lra. }
  pose proof (small_bounds p (scaled / d) (ceiling scaled d) y H3) as S.
  destruct (small_exponential_bounds (scaled / d) (ceiling scaled d) p) as [low high].
  destruct S as [S S0].
  - apply Z.div_pos; [|exact D]. unfold scaled. apply Z.mul_nonneg_nonneg; [lia|apply Z.pow_nonneg; lia].
  - now apply ceiling_le.
  - split; [apply below_quotient; [exact D|lra]|apply above_quotient; [exact D|lra]].
  - exact YO.
  - pose proof (squared_bounds (Z.to_nat h) p low high y ltac:(lia) S0 S) as Q.
    destruct (squared (Z.to_nat h) p low high) as [low' high'].
    assert (X : 2 ^ Z.to_nat h * y = IZR n / IZR d).
    { unfold y. assert (E : 2 ^ Z.to_nat h = IZR (2 ^ h)).
      { rewrite <- (Z2Nat.id h) at 2 by lia. rewrite <- pow_IZR. reflexivity. }
      rewrite E. field. lra. }
    rewrite X in Q. set (e := exp (- (IZR n / IZR d))) in *.
    assert (PS : (2 ^ places * 2 ^ spare = 2 ^ p)%Z) by (rewrite <- Z.pow_add_r by lia; reflexivity).
    assert (G : IZR (2 ^ p) * e = IZR (2 ^ places) * e * IZR (2 ^ spare)) by (rewrite <- PS, mult_IZR; ring).
    rewrite upwards_div, Z.shiftr_div_pow2 by lia. assert (0 < 2 ^ spare)%Z by (apply Z.pow_pos_nonneg; lia).
    split; [apply below_quotient; [lia|lra]|apply above_quotient; [lia|lra]].
Qed.
