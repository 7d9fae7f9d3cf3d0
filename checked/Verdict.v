(* The noise sampler's verdict on an attempt.

   In words: U is known to lie in [place, place + span) / 2^63, in block i. Place j of the block is kept if and only if
   2^63 * U < c' - (c' - c) * (1 - e^(-e)), where c and c' are 2^63 times the probabilities of the blocks before block i and
   before the next one, and e = q(w*i + j) - q(w*i). The code knows c, c' and the coefficients of e between whole numbers.
   Then "kept" and "refused" are right, and there may be doubt. The series of 1 - e^(-e) in whole numbers is within 37 units
   of 2^(-64): its terms are within 4 each, and no operation of 64-bit words wraps around. What is kept at once, without
   the series, is rightly kept.
   Proof note: proofs/noise.md, Verdict and Kept at once. Code: noise/kernels.py, verdict; noise/blocks.py, _keeps. *)
From Coq Require Import Reals ZArith List Bool Lia Lra.
From pcqr Require Import Kernels.
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

(* ---- the true series: partial sums of 1 - e^(-e) lie on both sides of it ---- *)
Definition term (e : R) (k : nat) : R := e ^ k / INR (fact k).
Lemma term_next e k : term e (S k) = term e k * e / INR (S k).
Proof.
  unfold term. rewrite fact_simpl, mult_INR. cbn [pow]. field. split; [apply not_0_INR, fact_neq_0|now apply not_0_INR].
Qed.
Lemma term_nonneg e k : 0 <= e -> 0 <= term e k.
Proof. intros H. apply Rmult_le_pos; [now apply pow_le|left; apply Rinv_0_lt_compat, INR_fact_lt_0]. Qed.
Lemma term_decreases e k : 0 <= e <= 1 -> term e (S k) <= term e k.
Proof.
  intros H. rewrite term_next. pose proof (term_nonneg e k ltac:(lra)).
  assert (1 <= INR (S k)) by (rewrite S_INR; pose proof (pos_INR k); lra).
  apply Rmult_le_reg_r with (INR (S k)); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
  apply Rmult_le_compat_l; lra.
Qed.
Lemma exp_alternates e n : 0 <= e <= 1 ->
  sum_f_R0 (tg_alt (term e)) (S (2 * n)) <= exp (- e) <= sum_f_R0 (tg_alt (term e)) (2 * n).
Proof.
  intros H. apply alternated_series_ineq.
  - intros k. now apply term_decreases.
  - apply cv_speed_pow_fact.
  - unfold exp. destruct (exist_exp (- e)) as [l L]. cbn. unfold exp_in, infinite_sum in L. intros eps P.
    destruct (L eps P) as [N B]. exists N. intros m M. specialize (B m M).
    rewrite (sum_eq (tg_alt (term e)) (fun i => / INR (fact i) * (- e) ^ i)); [exact B|].
    intros i _. unfold tg_alt, term.
    replace (- e) with ((-1) * e) by ring. rewrite Rpow_mult_distr. unfold Rdiv. ring.
Qed.

(* the sum of the first k terms of 1 - e^(-e) *)
Fixpoint partial (e : R) (k : nat) : R :=
  match k with O => 0 | S k => partial e k + (if Nat.odd (S k) then 1 else -1) * term e (S k) end.
Lemma partial_sum e k : partial e k = 1 - sum_f_R0 (tg_alt (term e)) k.
Proof.
  induction k as [|k IH]; [cbn; unfold tg_alt, term; cbn; field|]. cbn [partial]. rewrite IH, tech5. unfold tg_alt.
  destruct (Nat.odd (S k)) eqn:O.
  - apply Nat.odd_spec in O. destruct O as [m ->]. replace (2 * m + 1)%nat with (S (2 * m)) by lia. rewrite pow_1_odd. ring.
  - rewrite <- Nat.negb_even in O. apply Bool.negb_false_iff, Nat.even_spec in O. destruct O as [m ->]. rewrite pow_1_even. ring.
Qed.
Theorem partial_sums_are_close e k : 0 <= e <= 1 -> Rabs (1 - exp (- e) - partial e k) <= term e (S k).
Proof.
  intros H. rewrite partial_sum. pose proof (term_nonneg e (S k) ltac:(lra)) as T.
  destruct (Nat.Even_or_Odd k) as [[n E]|[n E]].
  - pose proof (exp_alternates e n H) as [A B]. rewrite <- E in A, B. rewrite tech5 in A. unfold tg_alt at 2 in A.
    rewrite E in A at 2. rewrite pow_1_odd in A. apply Rabs_le. lra.
  - pose proof (exp_alternates e n H) as [A _]. pose proof (exp_alternates e (S n) H) as [_ B].
    replace (S (2 * n)) with k in A by lia. replace (2 * S n)%nat with (S k) in B by lia. rewrite tech5 in B.
    unfold tg_alt at 2 in B. replace (S k) with (2 * S n)%nat in B at 1 by lia. rewrite pow_1_even in B. apply Rabs_le. lra.
Qed.

(* ---- the loop of the code ---- *)
(* The state after the k-th term P: the true term is within 4 of it, and the total within 4 for each term of one sign. *)
Definition known (E : Z) (e : R) (k P S : Z) : Prop :=
  (1 <= k)%Z /\ IZR P <= W * term e (Z.to_nat k) < IZR P + 4 /\ (0 <= P <= E)%Z /\
  - (4 * IZR ((k + 1) / 2)) < IZR S - W * partial e (Z.to_nat k) < 4 * IZR (k / 2) + 1 /\
  (if Z.odd k then P <= S <= E else 0 <= S <= E - P)%Z.

Lemma term_small e : 0 <= e < 1 / 2 -> W * term e 17 < 1.
Proof.
  intros H. unfold term. assert (L : e ^ 17 <= (1 / 2) ^ 17) by (apply pow_incr; lra).
  assert (F : INR (fact 17) = 355687428096000) by (do 17 rewrite fact_simpl, mult_INR; rewrite !INR_IZR_INZ; cbn; lra).
  rewrite F, W_val. apply Rle_lt_trans with (18446744073709551616 * ((1 / 2) ^ 17 / 355687428096000)).
  - apply Rmult_le_compat_l; [lra|]. apply Rmult_le_compat_r; [|exact L]. left. apply Rinv_0_lt_compat. lra.
  - lra.
Qed.

Lemma known_next E e k P S : 0 <= e < 1 / 2 -> IZR E <= W * e < IZR E + 4 -> known E e k P S -> (k <= 16)%Z ->
  let P' := next k E P in known E e (k + 1) P' (if Z.odd (k + 1) then S + P' else S - P').
Proof.
  intros He HE (K & T & PE & D & B) K16. cbn zeta.
  destruct (next_is_close k E P e (W * term e (Z.to_nat k)) K PE He HE T) as [N M].
  set (P' := next k E P) in *.
  assert (KS : Z.to_nat (k + 1) = Datatypes.S (Z.to_nat k)) by lia.
  assert (TN : W * term e (Z.to_nat (k + 1)) = W * term e (Z.to_nat k) * e / IZR (k + 1)).
  { rewrite KS, term_next, INR_IZR_INZ. replace (Z.of_nat (Datatypes.S (Z.to_nat k))) with (k + 1)%Z by lia. unfold Rdiv. ring. }
  rewrite <- TN in N.
  split; [lia|]. split; [exact N|]. split; [lia|].
  assert (OK : Nat.odd (Z.to_nat (k + 1)) = Z.odd (k + 1)).
  { rewrite <- (Z2Nat.id (k + 1)) at 2 by lia. generalize (Z.to_nat (k + 1)). clear. induction n as [|n IH]; [easy|].
    rewrite Nat2Z.inj_succ, Z.odd_succ, Nat.odd_succ, <- Z.negb_odd, <- Nat.negb_odd. now rewrite IH. }
  assert (PA : partial e (Z.to_nat (k + 1)) = partial e (Z.to_nat k) + (if Z.odd (k + 1) then 1 else -1) * term e (Z.to_nat (k + 1))).
  { rewrite <- OK, KS. reflexivity. }
  rewrite PA. pose proof (Z.div_mod k 2 ltac:(lia)) as K2. pose proof (Z.mod_pos_bound k 2 ltac:(lia)) as KM.
  pose proof (Zmod_odd k) as MO. pose proof (Z.odd_succ k) as OS. rewrite <- Z.negb_odd in OS. unfold Z.succ in OS.
  rewrite OS in *. destruct (Z.odd k) eqn:O; cbn [negb] in *.
  - replace ((k + 1 + 1) / 2)%Z with ((k + 1) / 2)%Z by (apply Z.div_unique with 1%Z; [lia|];
      pose proof (Z.div_mod (k + 1) 2 ltac:(lia)); pose proof (Z.mod_pos_bound (k + 1) 2 ltac:(lia)); lia).
    replace ((k + 1) / 2)%Z with (k / 2 + 1)%Z in * by (apply Z.div_unique with 0%Z; lia).
    rewrite !plus_IZR in *. rewrite minus_IZR. split; [lra|lia].
  - replace ((k + 1 + 1) / 2)%Z with (k / 2 + 1)%Z by (apply Z.div_unique with 0%Z; lia).
    replace ((k + 1) / 2)%Z with (k / 2)%Z in * by (apply Z.div_unique with 1%Z; lia).
    rewrite !plus_IZR in *. split; [lra|lia].
Qed.

Lemma u64_id x : (0 <= x < 2 ^ 64)%Z -> u64 x = x.
Proof. intros H. now apply Z.mod_small. Qed.

Lemma series_ends E e fuel k P S : 0 <= e < 1 / 2 -> IZR E <= W * e < IZR E + 4 -> known E e k P S -> (k <= 17)%Z ->
  (17 - k < Z.of_nat fuel)%Z ->
  exists K, (K <= 17)%Z /\ known E e K 0 (series fuel P E k S).
Proof.
  intros He HE. assert (E63 : (E < 2 ^ 63)%Z).
  { apply lt_IZR. assert (W * e < W * (1 / 2)) by (apply Rmult_lt_compat_l; [rewrite W_val|]; lra). rewrite W_val in *.
    change (IZR (2 ^ 63)) with 9223372036854775808. lra. }
  revert k P S. induction fuel as [|fuel IH]; intros k P S KN K17 FU; [lia|].
  pose proof KN as (K & T & PE & D & B).
  cbn [series]. destruct (Z.ltb_spec 0 P) as [PP|PP].
  2: { exists k. split; [lia|]. replace P with 0%Z in KN by lia. exact KN. }
  assert (K16 : (k <= 16)%Z).
  { destruct (Z.eq_dec k 17) as [->|]; [|lia]. exfalso. pose proof (term_small e He). assert (1 <= P)%Z as L by lia.
    apply IZR_le in L. cbn in T, H. change (Z.to_nat 17) with 17%nat in T. change (Pos.to_nat 17) with 17%nat in *. lra. }
  pose proof (known_next E e k P S He HE KN K16) as N. cbn zeta in N.
  rewrite high_product_is_exact by lia. fold (next k E P).
  destruct N as (N1 & N2 & N3 & N4 & N5).
  assert (MO : ((k + 1) mod 2 =? 1)%Z = Z.odd (k + 1)).
  { rewrite Zmod_odd. now destruct (Z.odd (k + 1)). }
  assert (BS : (0 <= S <= E)%Z) by (destruct (Z.odd k); lia).
  rewrite MO. pose proof (conj N1 (conj N2 (conj N3 (conj N4 N5)))) as KN'. fold (known E e (k + 1) (next k E P)
    (if Z.odd (k + 1) then (S + next k E P)%Z else (S - next k E P)%Z)) in KN'.
  replace (if Z.odd (k + 1) then add S (next k E P) else sub S (next k E P))
    with (if Z.odd (k + 1) then (S + next k E P)%Z else (S - next k E P)%Z)
    by (unfold add, sub; destruct (Z.odd (k + 1)); symmetry; apply u64_id; lia).
  apply IH; [exact KN'|lia|lia].
Qed.

(* proofs/noise.md: |2^64 (1 - e^(-e)) - S| < 37 < 64 *)
Theorem series_is_close E e : (0 <= E)%Z -> 0 <= e < 1 / 2 -> IZR E <= W * e < IZR E + 4 ->
  Rabs (W * (1 - exp (- e)) - IZR (series 64 E E 1 E)) < 37 /\ (0 <= series 64 E E 1 E <= E)%Z.
Proof.
  intros E0 He HE.
  assert (T1 : term e 1 = e) by (unfold term; cbn; field).
  assert (K1 : known E e 1 E E).
  { split; [lia|]. change (Z.to_nat 1) with 1%nat. rewrite T1. split; [exact HE|]. split; [lia|]. split.
    - cbn [partial]. change (Nat.odd 1) with true. cbn iota. rewrite T1.
      change ((1 + 1) / 2)%Z with 1%Z. change (1 / 2)%Z with 0%Z. lra.
    - change (Z.odd 1) with true. cbn iota. lia. }
  destruct (series_ends E e 64 1 E E He HE K1 ltac:(lia) ltac:(lia)) as (K & K17 & KN).
  set (S := series 64 E E 1 E) in *. destruct KN as (KL & T & _ & D & B). split; [|destruct (Z.odd K); lia].
  pose proof (partial_sums_are_close e (Z.to_nat K) ltac:(lra)) as R.
  assert (TN : W * term e (Datatypes.S (Z.to_nat K)) < 1).
  { rewrite term_next. assert (2 <= INR (Datatypes.S (Z.to_nat K))) by (rewrite INR_IZR_INZ; apply IZR_le; lia).
    set (c := INR (Datatypes.S (Z.to_nat K))) in *. apply Rmult_lt_reg_r with c; [lra|].
    replace (W * (term e (Z.to_nat K) * e / c) * c) with (W * term e (Z.to_nat K) * e) by (field; lra).
    apply Rle_lt_trans with (4 * e); [apply Rmult_le_compat_r; lra|lra]. }
  assert (K2 : (0 <= K / 2 <= 8)%Z) by (split; [apply Z.div_pos; lia|apply Z.lt_succ_r, Z.div_lt_upper_bound; lia]).
  assert (K3 : ((K + 1) / 2 <= 9)%Z) by (apply Z.div_le_upper_bound; lia).
  destruct K2 as [_ K2]. apply IZR_le in K2. apply IZR_le in K3.
  assert (WP : 0 < W) by (rewrite W_val; lra).
  set (x := 1 - exp (- e)) in *. set (p := partial e (Z.to_nat K)) in *.
  assert (Q : Rabs (W * x - W * p) < 1).
  { replace (W * x - W * p) with (W * (x - p)) by ring. rewrite Rabs_mult, (Rabs_pos_eq W) by lra.
    eapply Rle_lt_trans; [apply Rmult_le_compat_l; [lra|exact R]|exact TN]. }
  apply Rabs_def2 in Q. destruct Q as [Q1 Q2], D as [D1 D2]. apply Rabs_def1; lra.
Qed.

(* ---- the verdict ---- *)
Section Verdict.
  Variables (place span j bits curve : Z) (i : nat) (lows highs slopes : list Z).
  (* 2^63 times U, and times the probabilities of the blocks before block i and before the next one *)
  Variables (u c c' : R).
  Hypothesis u_known : IZR place <= u < IZR (place + span).
  Hypothesis place_ok : (0 <= place < 2 ^ 63)%Z.
  Hypothesis span_ok : (0 <= span < 2 ^ 63)%Z.
  Hypothesis c_known : IZR (word lows i) <= c <= IZR (word highs i).
  Hypothesis c'_known : IZR (word lows (i + 1)) <= c' <= IZR (word highs (i + 1)).
  Hypothesis lows_ok : (0 <= word lows i)%Z.
  Hypothesis next_low_ok : (word lows (i + 1) <= 2 ^ 63)%Z.
  Hypothesis next_high_ok : (word highs (i + 1) <= 2 ^ 63 + 2 ^ 32)%Z.
  (* place j of the block's 2^bits, and e = q(wi + j) - q(wi) with its coefficients from below *)
  Hypothesis bits_ok : (0 <= bits <= 63)%Z.
  Hypothesis j_ok : (0 <= j < 2 ^ bits)%Z.
  Variables (slope bend : R).
  Hypothesis slope_pos : 0 <= slope.
  Hypothesis bend_pos : 0 <= bend.
  Hypothesis small : slope + bend < 1 / 2.
  Hypothesis slope_known : IZR (word slopes i) <= W * slope < IZR (word slopes i) + 1.
  Hypothesis bend_known : IZR curve <= W * bend < IZR curve + 1.
  Hypothesis slopes_ok : (0 <= word slopes i)%Z.
  Hypothesis curve_ok : (0 <= curve)%Z.
  Definition share : R := IZR j / IZR (2 ^ bits).
  Definition exponent : R := share * (slope + share * bend).
  (* how much of the block, from its end, refuses place j *)
  Definition refused_part : R := (c' - c) * (1 - exp (- exponent)).

  Lemma share_ok : 0 <= share < 1.
  Proof.
    unfold share. assert (P : 0 < IZR (2 ^ bits)) by (apply IZR_lt, Z.pow_pos_nonneg; lia). destruct j_ok as [J J'].
    apply IZR_le in J. apply IZR_lt in J'. split.
    - apply Rmult_le_pos; [exact J|left; now apply Rinv_0_lt_compat].
    - apply Rmult_lt_reg_r with (IZR (2 ^ bits)); [exact P|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra.
  Qed.
  Lemma exponent_ok : 0 <= exponent < 1 / 2.
  Proof.
    unfold exponent. destruct share_ok as [A B]. assert (share * bend <= 1 * bend) by (apply Rmult_le_compat_r; lra).
    assert (0 <= share * bend) by (apply Rmult_le_pos; lra).
    assert (share * (slope + share * bend) <= 1 * (slope + share * bend)) by (apply Rmult_le_compat_r; lra).
    split; [apply Rmult_le_pos; lra|lra].
  Qed.
  Lemma exponent_computed : (bits <> 0)%Z ->
    let t := left_shift j (64 - bits) in
    let E := high_product t (add (word slopes i) (high_product t curve)) in
    (0 <= E < 2 ^ 63)%Z /\ IZR E <= W * exponent < IZR E + 4.
  Proof.
    intros N. cbn zeta. destruct share_ok as [T0 T1].
    assert (PW : (2 ^ bits * 2 ^ (64 - bits) = 2 ^ 64)%Z) by (rewrite <- Z.pow_add_r by lia; f_equal; lia).
    assert (P2 : (0 < 2 ^ (64 - bits))%Z) by (apply Z.pow_pos_nonneg; lia).
    assert (P1 : (0 < 2 ^ bits)%Z) by (apply Z.pow_pos_nonneg; lia).
    assert (TT : left_shift j (64 - bits) = (j * 2 ^ (64 - bits))%Z).
    { unfold left_shift. rewrite Z.shiftl_mul_pow2 by lia. apply u64_id. split; [nia|]. rewrite <- PW. now apply Z.mul_lt_mono_pos_r. }
    rewrite TT. set (t := (j * 2 ^ (64 - bits))%Z).
    assert (TB : (0 <= t < 2 ^ 64)%Z) by (unfold t; split; [nia|rewrite <- PW; now apply Z.mul_lt_mono_pos_r]).
    assert (TW : IZR t = W * share).
    { unfold t, share, W. rewrite <- PW, !mult_IZR. field. apply not_0_IZR. lia. }
    assert (WP : 0 < W) by (rewrite W_val; lra).
    assert (H63 : IZR (2 ^ 63) = W / 2) by (rewrite W_val; change (IZR (2 ^ 63)) with 9223372036854775808; lra).
    assert (CB : (curve < 2 ^ 63)%Z) by (apply lt_IZR; rewrite H63; assert (W * bend < W * (1 / 2)) by (apply Rmult_lt_compat_l; lra); lra).
    assert (SB : (word slopes i < 2 ^ 63)%Z).
    { apply lt_IZR. rewrite H63. assert (W * slope < W * (1 / 2)) by (apply Rmult_lt_compat_l; lra). lra. }
    rewrite (high_product_is_exact t curve) by lia. set (a := (t * curve / 2 ^ 64)%Z).
    pose proof (floor_div (t * curve) (2 ^ 64) ltac:(lia)) as FA. fold a W in FA. rewrite mult_IZR, TW in FA.
    assert (A1 : IZR a <= W * (share * bend) < IZR a + 2).
    { assert (share * IZR curve <= share * (W * bend)) by (apply Rmult_le_compat_l; lra).
      assert (share * (W * bend) <= share * (IZR curve + 1)) by (apply Rmult_le_compat_l; lra).
      assert (IZR a <= share * IZR curve) by (apply Rmult_le_reg_r with W; [exact WP|]; replace (share * IZR curve * W) with (W * share * IZR curve) by ring; lra).
      assert (share * IZR curve < IZR a + 1) by (apply Rmult_lt_reg_r with W; [exact WP|]; replace (share * IZR curve * W) with (W * share * IZR curve) by ring; lra).
      replace (W * (share * bend)) with (share * (W * bend)) by ring. lra. }
    assert (A0 : (0 <= a)%Z) by (apply Z.div_pos; nia).
    set (x := (word slopes i + a)%Z).
    assert (X1 : IZR x <= W * (slope + share * bend) < IZR x + 3) by (unfold x; rewrite plus_IZR; lra).
    assert (XB : (0 <= x < 2 ^ 63)%Z).
    { split; [unfold x; lia|]. apply lt_IZR. rewrite H63. eapply Rle_lt_trans; [apply X1|].
      assert (share * bend <= 1 * bend) by (apply Rmult_le_compat_r; lra).
      assert (W * (slope + share * bend) < W * (1 / 2)) by (apply Rmult_lt_compat_l; lra). lra. }
    replace (add (word slopes i) a) with x by (unfold add; symmetry; apply u64_id; fold x; lia).
    rewrite high_product_is_exact by lia. set (E := (t * x / 2 ^ 64)%Z).
    pose proof (floor_div (t * x) (2 ^ 64) ltac:(lia)) as FE. fold E W in FE. rewrite mult_IZR, TW in FE.
    assert (E0 : (0 <= E)%Z) by (apply Z.div_pos; nia).
    assert (E1 : IZR E <= share * IZR x) by (apply Rmult_le_reg_r with W; [exact WP|]; replace (share * IZR x * W) with (W * share * IZR x) by ring; lra).
    assert (E2 : share * IZR x < IZR E + 1) by (apply Rmult_lt_reg_r with W; [exact WP|]; replace (share * IZR x * W) with (W * share * IZR x) by ring; lra).
    assert (V : W * exponent = share * (W * (slope + share * bend))) by (unfold exponent; ring).
    assert (share * IZR x <= share * (W * (slope + share * bend))) by (apply Rmult_le_compat_l; lra).
    assert (share * (W * (slope + share * bend)) <= share * (IZR x + 3)) by (apply Rmult_le_compat_l; lra).
    split; [split; [exact E0|]|lra].
    apply Z.le_lt_trans with x; [|lia]. apply Z.lt_succ_r. apply lt_IZR. rewrite succ_IZR.
    assert (share * IZR x <= 1 * IZR x) by (apply Rmult_le_compat_r; [apply IZR_le; lia|lra]). lra.
  Qed.

  Theorem verdict_is_right :
    match verdict place span i j bits lows highs slopes curve with
    | Kept => u < c' - refused_part
    | Refused => c' - refused_part <= u
    | Doubt => True
    end.
  Proof.
    unfold verdict. replace (add place span) with (place + span)%Z by (unfold add; symmetry; apply u64_id; lia).
    destruct (Z.ltb_spec place (word highs i)) as [|HI]; [exact I|]. cbn [orb].
    destruct (i + 1 =? length highs)%nat; [exact I|]. cbn [orb].
    destruct (Z.ltb_spec (word lows (i + 1)) (place + span)) as [|LO]; [exact I|].
    apply IZR_le in HI. pose proof (IZR_le _ _ LO) as LO'.
    assert (CC : c <= c') by lra.
    destruct (Z.eqb_spec bits 0) as [B0|B0].
    { assert (J0 : j = 0%Z) by (rewrite B0 in j_ok; cbn in j_ok; lia).
      unfold refused_part, exponent, share. rewrite J0. replace (0 / IZR (2 ^ bits)) with 0 by (unfold Rdiv; ring).
      rewrite Rmult_0_l, Ropp_0, exp_0. lra. }
    destruct (exponent_computed B0) as [EB EE]. cbn zeta in *.
    set (E := high_product (left_shift j (64 - bits)) (add (word slopes i) (high_product (left_shift j (64 - bits)) curve))) in *.
    pose proof exponent_ok as EO. destruct (series_is_close E exponent ltac:(lia) EO EE) as [SC SB].
    set (S := series 64 E E 1 E) in *. set (r := 1 - exp (- exponent)) in *. apply Rabs_def2 in SC.
    assert (WP : 0 < W) by (rewrite W_val; lra).
    assert (R0 : 0 <= r).
    { unfold r. assert (exp (- exponent) <= exp 0); [|rewrite exp_0 in *; lra].
      destruct (proj1 EO) as [N|Z0]; [left; apply exp_increasing; lra|right; f_equal; lra]. }
    assert (HL : (word lows i <= word highs (i + 1))%Z) by (apply le_IZR; lra).
    set (D := (word highs (i + 1) - word lows i)%Z).
    set (D2 := (word lows (i + 1) - word highs i)%Z).
    assert (HI' : (0 <= D2)%Z) by (unfold D2; apply le_IZR in HI; lia).
    assert (H0 : (0 <= word highs i)%Z) by (apply le_IZR; apply IZR_le in lows_ok; lra).
    replace (sub (word highs (i + 1)) (word lows i)) with D by (unfold sub; symmetry; apply u64_id; fold D; lia).
    replace (sub (word lows (i + 1)) (word highs i)) with D2 by (unfold sub; symmetry; apply u64_id; fold D2; lia).
    unfold margin. replace (add S 64) with (S + 64)%Z by (unfold add; symmetry; apply u64_id; lia).
    rewrite (high_product_is_exact (S + 64) D) by lia. set (q := ((S + 64) * D / 2 ^ 64)%Z).
    pose proof (floor_div ((S + 64) * D) (2 ^ 64) ltac:(lia)) as FQ. fold q W in FQ. rewrite mult_IZR, plus_IZR in FQ.
    assert (Q0 : (0 <= q)%Z) by (apply Z.div_pos; nia).
    assert (Q1 : (q <= 2 ^ 62 + 2 ^ 32)%Z).
    { apply Z.div_le_upper_bound; [lia|]. apply Z.le_trans with ((2 ^ 63 + 64) * (2 ^ 63 + 2 ^ 32))%Z; [|lia].
      apply Z.mul_le_mono_nonneg; unfold D; lia. }
    assert (DR : c' - c <= IZR D) by (unfold D; rewrite minus_IZR; lra).
    replace (add q 1) with (q + 1)%Z by (unfold add; symmetry; apply u64_id; lia).
    replace (add (place + span) (q + 1)) with (place + span + (q + 1))%Z by (unfold add; symmetry; apply u64_id; lia).
    destruct (Z.leb_spec (place + span + (q + 1)) (word lows (i + 1))) as [KP|_].
    - apply IZR_le in KP. rewrite !plus_IZR in *.
      assert (refused_part < IZR q + 1); [|lra].
      apply Rmult_lt_reg_r with W; [exact WP|]. unfold refused_part. fold r.
      assert (S1 : (c' - c) * r <= IZR D * r) by (apply Rmult_le_compat_r; lra).
      assert (S2 : IZR D * (W * r) <= IZR D * (IZR S + 64)) by (apply Rmult_le_compat_l; lra).
      assert (S3 : (c' - c) * r * W <= IZR D * r * W) by (apply Rmult_le_compat_r; lra).
      replace (IZR D * r * W) with (IZR D * (W * r)) in S3 by ring. lra.
    - set (least := if (64 <=? S)%Z then high_product (sub S 64) D2 else 0%Z).
      assert (L : (0 <= least <= 2 ^ 63)%Z /\ IZR least <= refused_part).
      { unfold least. destruct (Z.leb_spec 64 S) as [S64|_].
        - replace (sub S 64) with (S - 64)%Z by (unfold sub; symmetry; apply u64_id; lia).
          rewrite high_product_is_exact by lia. set (p := ((S - 64) * D2 / 2 ^ 64)%Z).
          pose proof (floor_div ((S - 64) * D2) (2 ^ 64) ltac:(lia)) as FP. fold p W in FP. rewrite mult_IZR, minus_IZR in FP.
          split.
          { split; [apply Z.div_pos; nia|]. apply Z.div_le_upper_bound; [lia|].
            apply Z.le_trans with (2 ^ 63 * 2 ^ 63)%Z; [|lia]. apply Z.mul_le_mono_nonneg; unfold D2; lia. }
          apply Rmult_le_reg_r with W; [exact WP|]. unfold refused_part. fold r.
          assert (G : IZR D2 <= c' - c) by (unfold D2; rewrite minus_IZR; lra).
          assert (D20 : 0 <= IZR D2) by (apply IZR_le in HI'; exact HI').
          assert (S1 : IZR D2 * r <= (c' - c) * r) by (apply Rmult_le_compat_r; lra).
          assert (S2 : (IZR S - 64) * IZR D2 <= (W * r) * IZR D2) by (apply Rmult_le_compat_r; lra).
          assert (S3 : IZR D2 * r * W <= (c' - c) * r * W) by (apply Rmult_le_compat_r; lra).
          replace (IZR D2 * r * W) with (W * r * IZR D2) in S3 by ring. lra.
        - split; [lia|]. unfold refused_part. fold r. apply Rmult_le_pos; lra. }
      destruct L as [L1 L2]. replace (add place least) with (place + least)%Z by (unfold add; symmetry; apply u64_id; lia).
      destruct (Z.leb_spec (word highs (i + 1)) (place + least)) as [RF|_]; [|exact I].
      apply IZR_le in RF. rewrite plus_IZR in RF. lra.
  Qed.

  (* c'' is 2^63 times the probability before the block after the next one. Its mass is at most that of place j. *)
  Theorem kept_at_once_is_right (c'' : R) (after keep : Z) : IZR after <= c'' -> c'' - c' <= (c' - c) * exp (- exponent) ->
    keep = Z.max 0 (word lows i + after - word highs (i + 1)) -> (place + span <= keep)%Z -> u < c' - refused_part.
  Proof.
    intros A M K L. unfold refused_part. assert (P : (0 <= place + span)%Z) by lia.
    destruct (Z.le_gt_cases (word lows i + after - word highs (i + 1)) 0) as [Z0|Z0].
    - replace keep with 0%Z in L by lia. assert (PS : (place + span = 0)%Z) by lia. rewrite PS in u_known.
      assert (0 <= IZR place) by (apply IZR_le; lia). lra.
    - replace keep with (word lows i + after - word highs (i + 1))%Z in L by lia. apply IZR_le in L.
      rewrite minus_IZR, (plus_IZR (word lows i)) in L. lra.
  Qed.
End Verdict.
