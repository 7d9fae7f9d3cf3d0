(* Bounds of the probability of the blocks before each block.

   In words: block i has the mass T_i = e^(-unit * i^p), p = 1 or 2. For each block the code's two whole numbers lie on both
   sides of 2^bits * (T_0 + ... + T_(i-1)) / (T_0 + T_1 + ...), by the direction of each of its roundings, wherever its loop
   ends. Supposed is that the first ratio is known to be below 1 at so many places, as it is for every table.
   Proof note: proofs/noise.md, Borders of blocks. Code: noise/blocks.py, cumulative_bounds, in Blocks.v. *)
From Coq Require Import Reals ZArith List Bool Lia Lra.
From Coquelicot Require Import Coquelicot.
From pcqr Require Import Kernels Blocks Verdict Bounds.
Import ListNotations.
Local Open Scope R_scope.

Section Cumulative.
  Variables (power n d bits : Z).
  Hypothesis power_ok : (power = 1 \/ power = 2)%Z.
  Hypothesis n_ok : (0 < n)%Z.
  Hypothesis d_ok : (0 < d)%Z.
  Hypothesis bits_ok : (0 <= bits)%Z.
  Definition step : R := IZR n / IZR d.
  Definition mass (i : nat) : R := exp (- (step * IZR (Z.of_nat i ^ power))).
  Definition ratio (i : nat) : R := exp (- (step * (IZR (Z.of_nat (S i) ^ power) - IZR (Z.of_nat i ^ power)))).
  Definition change : R := exp (- (2 * (IZR power - 1) * step)).

  Lemma step_pos : 0 < step.
  Proof. apply Rdiv_lt_0_compat; apply IZR_lt; lia. Qed.
  Lemma mass_pos i : 0 < mass i. Proof. apply exp_pos. Qed.
  Lemma mass_next i : mass (S i) = mass i * ratio i.
  Proof. unfold mass, ratio. rewrite <- exp_plus. f_equal. ring. Qed.
  Lemma ratio_next i : ratio (S i) = ratio i * change.
  Proof.
    unfold ratio, change. rewrite <- exp_plus. f_equal. destruct power_ok as [->| ->].
    - rewrite !Z.pow_1_r, !Nat2Z.inj_succ, !succ_IZR. ring.
    - rewrite !Z.pow_2_r, !mult_IZR, !Nat2Z.inj_succ, !succ_IZR. ring.
  Qed.
  Lemma ratio_first : ratio 0 = exp (- step).
  Proof. unfold ratio. f_equal. destruct power_ok as [->| ->]; cbn; ring. Qed.
  Lemma change_ok : 0 < change <= 1.
  Proof.
    unfold change. split; [apply exp_pos|]. pose proof step_pos. apply Rle_trans with (exp 0); [|rewrite exp_0; lra].
    destruct power_ok as [->| ->].
    - right. f_equal. ring.
    - left. apply exp_increasing. lra.
  Qed.
  Lemma ratio_ok i : 0 < ratio i <= exp (- step).
  Proof.
    split; [apply exp_pos|]. induction i as [|i IH]; [rewrite ratio_first; lra|]. rewrite ratio_next.
    pose proof change_ok. assert (0 < ratio i) by apply exp_pos.
    assert (ratio i * change <= ratio i * 1) by (apply Rmult_le_compat_l; lra). lra.
  Qed.
  Lemma ratio_below : exp (- step) < 1.
  Proof. rewrite <- exp_0. apply exp_increasing. pose proof step_pos. lra. Qed.
  Lemma ratio_decreases i k : ratio (i + k) <= ratio i.
  Proof.
    induction k as [|k IH]; [rewrite Nat.add_0_r; lra|]. rewrite Nat.add_succ_r, ratio_next. pose proof change_ok.
    assert (0 < ratio (i + k)) by apply exp_pos.
    assert (ratio (i + k) * change <= ratio (i + k) * 1) by (apply Rmult_le_compat_l; lra). lra.
  Qed.
  Lemma mass_tail i k : mass (i + k) <= mass i * ratio i ^ k.
  Proof.
    induction k as [|k IH]; [rewrite Nat.add_0_r; cbn; lra|]. rewrite Nat.add_succ_r, mass_next. cbn [pow].
    pose proof (mass_pos (i + k)). pose proof (ratio_decreases i k). assert (0 < ratio (i + k)) by apply exp_pos.
    apply Rle_trans with ((mass i * ratio i ^ k) * ratio i); [apply Rmult_le_compat; lra|right; ring].
  Qed.

  Lemma masses_ex i : ex_series (fun k => mass (i + k)).
  Proof.
    apply (ex_series_le (K := R_AbsRing) (V := R_CompleteNormedModule) _ (fun k => mass i * ratio i ^ k)).
    - intros k. change (norm (mass (i + k))) with (Rabs (mass (i + k))). rewrite Rabs_pos_eq by (left; apply mass_pos). apply mass_tail.
    - apply (ex_series_scal_l (K := R_AbsRing) (mass i) (fun k => ratio i ^ k)). apply ex_series_geom.
      pose proof (ratio_ok i). pose proof ratio_below. rewrite Rabs_pos_eq; lra.
  Qed.
  Definition whole : R := Series mass.
  Fixpoint before (i : nat) : R := match i with O => 0 | S i => before i + mass i end.
  Lemma before_pos i : 0 <= before i.
  Proof. induction i as [|i IH]; cbn; [lra|]. pose proof (mass_pos i). lra. Qed.
  Lemma whole_split i : whole = before i + Series (fun k => mass (i + k)).
  Proof.
    induction i as [|i IH]; [cbn [before]; rewrite Rplus_0_l; reflexivity|]. rewrite IH, (Series_incr_1 (fun k => mass (i + k))) by apply masses_ex.
    cbn [before]. rewrite Nat.add_0_r, Rplus_assoc. f_equal. f_equal. apply Series_ext. intros k. now rewrite Nat.add_succ_r.
  Qed.
  Lemma tail_bounds i : 0 <= Series (fun k => mass (i + k)) <= mass i / (1 - ratio i).
  Proof.
    pose proof (ratio_ok i). pose proof ratio_below. split.
    - replace 0 with (Series (fun _ : nat => 0 * 1)) by (rewrite Series_scal_l; ring).
      apply Series_le; [|apply masses_ex]. intros k. pose proof (mass_pos (i + k)). lra.
    - unfold Rdiv. rewrite <- (Series_geom (ratio i)) by (rewrite Rabs_pos_eq; lra). rewrite <- Series_scal_l.
      apply Series_le.
      + intros k. split; [left; apply mass_pos|apply mass_tail].
      + apply (ex_series_scal_l (K := R_AbsRing) (mass i) (fun k => ratio i ^ k)). apply ex_series_geom. rewrite Rabs_pos_eq; lra.
  Qed.

  (* ---- the loop ---- *)
  Let places : Z := (bits + spare_bits)%Z.
  Let one : Z := (2 ^ places)%Z.
  Let Q : R := IZR one.
  Lemma one_pos : (0 < one)%Z. Proof. apply Z.pow_pos_nonneg; unfold places, spare_bits; lia. Qed.
  Lemma Q_pos : 0 < Q. Proof. apply IZR_lt, one_pos. Qed.

  (* sums, the last one first, of the blocks before i, i - 1, ... *)
  Fixpoint bounds_sums (i : nat) (lows highs : list Z) : Prop :=
    match lows, highs with
    | l :: lows, h :: highs => IZR l <= Q * before i <= IZR h /\ match i with O => lows = [] /\ highs = [] | S i => bounds_sums i lows highs end
    | _, _ => False
    end.
  Lemma sums_head i l h lows highs : bounds_sums i (l :: lows) (h :: highs) -> IZR l <= Q * before i <= IZR h.
  Proof. destruct i; cbn [bounds_sums]; now intros [H _]. Qed.
  Lemma sums_lengths i lows highs : bounds_sums i lows highs -> length lows = S i /\ length highs = S i.
  Proof.
    revert lows highs. induction i as [|i IH]; intros [|l lows] [|h highs] B; cbn [bounds_sums] in B; try easy.
    - destruct B as [_ [-> ->]]. easy.
    - destruct B as [_ B]. destruct (IH lows highs B). cbn [length]. lia.
  Qed.
  Lemma nth_sums i lows highs k : bounds_sums i lows highs -> (k <= i)%nat ->
    IZR (nth k (rev lows) 0%Z) <= Q * before k <= IZR (nth k (rev highs) 0%Z).
  Proof.
    revert lows highs. induction i as [|i IH]; intros [|l lows] [|h highs] B K; cbn [bounds_sums] in B; try easy.
    - destruct B as [B [-> ->]]. replace k with 0%nat by lia. exact B.
    - destruct B as [B B']. destruct (sums_lengths i lows highs B') as [L L']. cbn [rev].
      destruct (Nat.eq_dec k (S i)) as [->|NE].
      + rewrite !app_nth2 by (rewrite rev_length; lia). rewrite !rev_length, L, L', Nat.sub_diag. exact B.
      + rewrite !app_nth1 by (rewrite rev_length; lia). apply IH; [exact B'|lia].
  Qed.
  Variables low_change high_change : Z.
  Hypothesis change_known : IZR low_change <= Q * change <= IZR high_change.
  Hypothesis low_change_ok : (0 <= low_change)%Z.
  Hypothesis high_change_ok : (high_change <= one)%Z.

  Definition reached (i : nat) (lm hm lr hr : Z) (lows highs : list Z) : Prop :=
    (0 <= lm)%Z /\ (0 <= lr)%Z /\ (hr < one)%Z /\ IZR lm <= Q * mass i <= IZR hm /\ IZR lr <= Q * ratio i <= IZR hr /\
    bounds_sums i lows highs /\ (0 <= hd 0 lows)%Z /\ (i = O -> (1 <= lm)%Z) /\ ((0 < i)%nat -> (1 <= hd 0 lows)%Z).

  Lemma product_below a b (x y : R) : (0 <= a)%Z -> (0 <= b)%Z -> IZR a <= Q * x -> IZR b <= Q * y ->
    IZR (Z.shiftr (a * b) places) <= Q * (x * y) /\ (0 <= Z.shiftr (a * b) places)%Z.
  Proof.
    intros A B X Y. assert (P : (0 <= places)%Z) by (unfold places, spare_bits; lia). rewrite Z.shiftr_div_pow2 by exact P. fold one.
    pose proof one_pos. split; [|apply Z.div_pos; [apply Z.mul_nonneg_nonneg; lia|lia]].
    apply below_quotient; [lia|]. fold Q. rewrite mult_IZR. replace (Q * (x * y) * Q) with ((Q * x) * (Q * y)) by ring.
    apply IZR_le in A. apply IZR_le in B. apply Rmult_le_compat; lra.
  Qed.
  Lemma product_above a b (x y : R) : 0 <= x -> 0 <= y -> Q * x <= IZR a -> Q * y <= IZR b ->
    Q * (x * y) <= IZR (upwards (a * b) places).
  Proof.
    intros A B X Y. assert (P : (0 <= places)%Z) by (unfold places, spare_bits; lia). rewrite upwards_div by exact P. fold one.
    pose proof one_pos. pose proof Q_pos. apply above_quotient; [lia|]. fold Q. rewrite mult_IZR.
    replace (Q * (x * y) * Q) with ((Q * x) * (Q * y)) by ring.
    apply Rmult_le_compat; try lra; apply Rmult_le_pos; lra.
  Qed.

  Lemma reached_next i lm hm lr hr l h lows highs : reached i lm hm lr hr (l :: lows) (h :: highs) ->
    reached (S i) (Z.shiftr (lm * lr) places) (upwards (hm * hr) places) (Z.shiftr (lr * low_change) places)
      (upwards (hr * high_change) places) (l + lm :: l :: lows)%Z (h + hm :: h :: highs)%Z.
  Proof.
    intros (A & B & C & M & RR & SS & Z1 & Z2 & Z3). pose proof (mass_pos i) as MP. assert (RP : 0 < ratio i) by apply exp_pos. pose proof change_ok as CO.
    destruct (product_below lm lr (mass i) (ratio i)) as [P1 P2]; [lia|lia|lra|lra|].
    destruct (product_below lr low_change (ratio i) change) as [P3 P4]; [lia|lia|lra|lra|].
    split; [exact P2|]. split; [exact P4|]. split.
    - assert (P : (0 <= places)%Z) by (unfold places, spare_bits; lia). rewrite upwards_div by exact P. fold one. pose proof one_pos.
      apply Z.le_lt_trans with hr; [|exact C]. apply ceiling_le; [lia|].
      assert (0 <= hr)%Z.
      { apply le_IZR. pose proof Q_pos as QP. assert (0 <= Q * ratio i) by (apply Rmult_le_pos; lra). lra. }
      apply Z.mul_le_mono_nonneg_l; lia.
    - rewrite mass_next, ratio_next. split; [split; [exact P1|apply product_above; lra]|].
      split; [split; [exact P3|apply product_above; lra]|]. cbn [hd] in *. split.
      + pose proof (sums_head _ _ _ _ _ SS). cbn [bounds_sums before]. rewrite !plus_IZR. split; [lra|exact SS].
      + destruct i as [|i]; [specialize (Z2 eq_refl)|specialize (Z3 ltac:(lia))]; repeat split; lia.
  Qed.

  Lemma masses_reach fuel i lm hm lr hr l h lows highs : reached i lm hm lr hr (l :: lows) (h :: highs) ->
    exists i' lm' lr' l' h' lows' highs',
      let '(low_sums, high_sums, (high_mass, high_ratio)) := masses fuel places low_change high_change lm hm lr hr (l :: lows) (h :: highs) in
      low_sums = (l' :: lows') /\ high_sums = (h' :: highs') /\ reached i' lm' high_mass lr' high_ratio low_sums high_sums /\ (i <= i')%nat /\
      (fuel <> O -> (negligible < hm)%Z -> (i < i')%nat).
  Proof.
    revert i lm hm lr hr l h lows highs. induction fuel as [|fuel IH]; intros i lm hm lr hr l h lows highs R; cbn [masses].
    - exists i, lm, lr, l, h, lows, highs. split; [reflexivity|split; [reflexivity|split; [exact R|split; [lia|intros C; now elim C]]]].
    - destruct (Z.ltb_spec negligible hm) as [H|H].
      + cbn [hd]. destruct (IH (S i) _ _ _ _ _ _ _ _ (reached_next i lm hm lr hr l h lows highs R)) as (i' & lm' & lr' & l' & h' & lows' & highs' & X).
        exists i', lm', lr', l', h', lows', highs'. destruct (masses fuel _ _ _ _ _ _ _ _ _) as [[ls hs] [hm' hr']].
        destruct X as (X1 & X2 & X3 & X4 & _). split; [exact X1|split; [exact X2|split; [exact X3|split; lia]]].
      + exists i, lm, lr, l, h, lows, highs. split; [reflexivity|split; [reflexivity|split; [exact R|split; lia]]].
  Qed.

End Cumulative.

Theorem cumulative_bounds_are_right power n d bits k :
  (power = 1 \/ power = 2)%Z -> (0 < n)%Z -> (0 < d)%Z -> (0 <= bits)%Z ->
  (snd (exponential_bounds (n, d) (bits + spare_bits)) < 2 ^ (bits + spare_bits))%Z ->
  (snd (exponential_bounds (2 * (power - 1) * n, d) (bits + spare_bits)) <= 2 ^ (bits + spare_bits))%Z ->
  (0 <= fst (exponential_bounds (n, d) (bits + spare_bits)))%Z ->
  (0 <= fst (exponential_bounds (2 * (power - 1) * n, d) (bits + spare_bits)))%Z ->
  let '(lows, highs) := cumulative_bounds power (n, d) bits in
  (k < length lows)%nat ->
  length highs = length lows /\
  IZR (word lows k) <= IZR (2 ^ bits) * (before power n d k / whole power n d) <= IZR (word highs k).
Proof.
  intros PO N D B. unfold cumulative_bounds. cbn [fst snd]. set (places := (bits + spare_bits)%Z).
  assert (P0 : (0 <= places)%Z) by (unfold places, spare_bits; lia).
  assert (STEP : exp (- (IZR n / IZR d)) = ratio power n d 0) by (rewrite ratio_first; auto).
  pose proof (exponential_bounds_are_right n d places ltac:(lia) D P0) as G.
  pose proof (exponential_bounds_are_right (2 * (power - 1) * n) d places ltac:(nia) D P0) as C.
  destruct (exponential_bounds (n, d) places) as [lr hr]. destruct (exponential_bounds (2 * (power - 1) * n, d)%Z places) as [lc hc].
  cbn [fst snd]. intros G1 C1 G0 C0. rewrite STEP in G.
  assert (CE : exp (- (IZR (2 * (power - 1) * n) / IZR d)) = change power n d).
  { unfold change, step. f_equal. rewrite !mult_IZR, minus_IZR. unfold Rdiv. ring. }
  rewrite CE in C.
  set (Q := IZR (2 ^ places)). assert (QP : 0 < Q) by (apply IZR_lt, Z.pow_pos_nonneg; lia).
  assert (R0 : reached power n d bits 0 (2 ^ places) (2 ^ places) lr hr [0%Z] [0%Z]).
  { unfold reached. fold places. assert (0 <= 2 ^ places)%Z by (apply Z.pow_nonneg; lia).
    assert (M0 : mass power n d 0 = 1).
    { unfold mass. transitivity (exp 0); [f_equal; destruct PO as [->| ->]; cbn; ring|apply exp_0]. }
    rewrite M0. fold Q in G |- *. cbn [bounds_sums before hd]. fold places Q. assert (0 < 2 ^ places)%Z by (apply Z.pow_pos_nonneg; lia). repeat split; auto; try lia; lra. }
  destruct (masses_reach power n d bits PO N D B lc hc C C0 C1 most_blocks 0 _ _ _ _ _ _ _ _ R0) as (i & lm & lr' & l & h & lows & highs & X).
  fold places in X. destruct (masses most_blocks places lc hc (2 ^ places) (2 ^ places) lr hr [0%Z] [0%Z]) as [[ls hs] [hm hr']].
  destruct X as (-> & -> & R & _ & I). cbn [hd].
  assert (I0 : (0 < i)%nat).
  { apply I; [unfold most_blocks; lia|]. unfold negligible. apply Z.lt_le_trans with (2 ^ 33)%Z; [lia|].
    apply Z.pow_le_mono_r; unfold places, spare_bits; lia. }
  destruct R as (_ & _ & H1 & M & RR & S & _ & _ & LP). specialize (LP I0). cbn [hd] in LP. rewrite map_length, rev_length. intros K.
  destruct (sums_lengths power n d bits i (l :: lows) (h :: highs) S) as [L1 L2]. rewrite L1 in K.
  rewrite !map_length, !rev_length. split; [congruence|].
  assert (T : IZR l <= Q * before power n d i <= IZR h).
  { exact (sums_head power n d bits i l h lows highs S). }
  fold places in H1. set (left_out := (- (- (hm * 2 ^ places) / (2 ^ places - hr')))%Z).
  pose proof (mass_pos power n d i) as MP. pose proof (ratio_ok power n d PO N D i) as RO. pose proof (ratio_below n d N D) as RB.
  pose proof (whole_split power n d PO N D i) as WS. pose proof (tail_bounds power n d PO N D i) as [T0 T1].
  fold places in M, RR. fold Q in M, RR.
  assert (LO : Q * (mass power n d i / (1 - ratio power n d i)) <= IZR left_out).
  { apply above_quotient; [lia|]. rewrite mult_IZR, minus_IZR. fold Q.
    apply IZR_lt in H1. fold Q in H1.
    apply Rle_trans with (Q * (mass power n d i / (1 - ratio power n d i)) * (Q - Q * ratio power n d i)).
    - apply Rmult_le_compat_l; [|lra]. apply Rmult_le_pos; [lra|]. apply Rlt_le, Rdiv_lt_0_compat; lra.
    - replace (Q * (mass power n d i / (1 - ratio power n d i)) * (Q - Q * ratio power n d i)) with (Q * mass power n d i * Q) by (field; lra).
      apply Rmult_le_compat_r; lra. }
  set (Z_ := whole power n d) in *. set (b := before power n d i) in *.
  assert (B1 : 1 <= b).
  { unfold b. destruct i as [|i']; [lia|]. clear - PO. induction i' as [|i' IH].
    - cbn [before]. unfold mass. rewrite Rplus_0_l. right. transitivity (exp 0); [now rewrite exp_0|]. f_equal. destruct PO as [->| ->]; cbn; ring.
    - cbn [before] in *. pose proof (mass_pos power n d (Datatypes.S i')). lra. }
  assert (HT : Q * Z_ <= IZR (h + left_out)).
  { rewrite plus_IZR, WS, Rmult_plus_distr_l. apply Rplus_le_compat; [lra|].
    eapply Rle_trans; [|exact LO]. apply Rmult_le_compat_l; [lra|exact T1]. }
  assert (LT : IZR l <= Q * Z_) by (rewrite WS, Rmult_plus_distr_l; assert (0 <= Q * Series (fun k => mass power n d (i + k))) by (apply Rmult_le_pos; lra); lra).
  assert (ZP : 0 < Z_) by lra.
  destruct (nth_sums power n d bits i (l :: lows) (h :: highs) k S ltac:(lia)) as [NL NH]. fold places Q in NL, NH.
  assert (W2 : 0 < IZR (2 ^ bits)) by (apply IZR_lt, Z.pow_pos_nonneg; lia).
  assert (BK : 0 <= before power n d k) by apply before_pos.
  unfold word. set (x := before power n d k) in *.
  rewrite (nth_indep _ 0%Z ((fun s => s * 2 ^ bits / (h + left_out))%Z 0%Z)) by (rewrite map_length, rev_length; lia).
  rewrite (nth_indep (map _ (rev (h :: highs))) 0%Z ((fun s => - (- (s * 2 ^ bits) / l))%Z 0%Z)) by (rewrite map_length, rev_length; lia).
  rewrite (map_nth (fun s => s * 2 ^ bits / (h + left_out))%Z), (map_nth (fun s => - (- (s * 2 ^ bits) / l))%Z).
  set (sl := nth k (rev (l :: lows)) 0%Z) in *. set (sh := nth k (rev (h :: highs)) 0%Z) in *.
  assert (HP : (0 < h + left_out)%Z) by (apply lt_IZR; assert (0 < Q * Z_) by (apply Rmult_lt_0_compat; lra); lra).
  split.
  - apply below_quotient; [exact HP|]. rewrite mult_IZR.
    apply Rle_trans with (IZR (2 ^ bits) * (x / Z_) * (Q * Z_)).
    + replace (IZR (2 ^ bits) * (x / Z_) * (Q * Z_)) with (Q * x * IZR (2 ^ bits)) by (field; lra). apply Rmult_le_compat_r; lra.
    + apply Rmult_le_compat_l; [|exact HT]. repeat apply Rmult_le_pos; try lra. left. now apply Rinv_0_lt_compat.
  - apply above_quotient; [lia|]. rewrite mult_IZR.
    apply Rle_trans with (IZR (2 ^ bits) * (x / Z_) * (Q * Z_)).
    + apply Rmult_le_compat_l; [|exact LT]. repeat apply Rmult_le_pos; try lra. left. now apply Rinv_0_lt_compat.
    + replace (IZR (2 ^ bits) * (x / Z_) * (Q * Z_)) with (Q * x * IZR (2 ^ bits)) by (field; lra). apply Rmult_le_compat_r; lra.
Qed.
