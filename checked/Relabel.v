(* Draw a dichotomy of the private points, relabel them by it, run A: 2 * ln(1 + e^eta) + 2 * lambda + eps_A, and
   delta_A is not multiplied. Any class with a member, any replaced record, any draw within lambda of the exact law.
   Proof note: proofs/relabel.md. *)
From Coq Require Import Reals List Lra Lia Bool.
From pcqr Require Import Law Finite.
Import ListNotations.
Local Open Scope R_scope.

(* ---- all 0/1-vectors of a length; a sum over them, one place set apart ---- *)
Fixpoint vectors (n : nat) : list (list bool) :=
  match n with O => [[]] | S n => map (cons true) (vectors n) ++ map (cons false) (vectors n) end.

Lemma in_vectors v : In v (vectors (length v)).
Proof. induction v as [|[] v IH]; cbn; [now left| |]; apply in_or_app; [left|right]; now apply in_map. Qed.
Lemma vectors_length n v : In v (vectors n) -> length v = n.
Proof.
  revert v. induction n as [|n IH]; intros v; cbn.
  - now intros [<-|[]].
  - intros H. apply in_app_or in H. destruct H as [H|H]; apply in_map_iff in H; destruct H as (u & <- & H); cbn; now rewrite (IH u H).
Qed.

Lemma sum_vectors n m f :
  sum (vectors (n + S m)) f = sum (vectors n) (fun u => sum (vectors m) (fun t => f (u ++ true :: t) + f (u ++ false :: t))).
Proof.
  revert f. induction n as [|n IH]; intros f.
  - cbn [Nat.add vectors]. rewrite sum_app, !sum_map, <- sum_plus. cbn [sum app]. lra.
  - cbn [Nat.add vectors]. rewrite !sum_app, !sum_map, !IH. reflexivity.
Qed.


Section Relabel.
  Context {X Out : Type}.
  Definition table := list (X * bool).
  Definition points (S : table) : list X := map fst S.
  Definition labels (S : table) : list bool := map snd S.

  (* the class: any set of hypotheses, with a member; its dichotomies of a list of points, each once *)
  Variable H : (X -> bool) -> Prop.
  Variable is_dichotomy : list X -> list bool -> bool.
  Hypothesis is_dichotomy_ok : forall xs v, is_dichotomy xs v = true <-> exists h, H h /\ map h xs = v.
  Variable member : X -> bool.
  Hypothesis member_in : H member.

  Variables (eta lam : R).
  Hypothesis eta_nonneg : 0 <= eta.

  Definition factor (b y : bool) : R := if eqb b y then 1 else exp (- eta).
  (* e^{−η·errors} *)
  Fixpoint fit (v y : list bool) : R :=
    match v, y with b :: v, c :: y => factor b c * fit v y | _, _ => 1 end.
  Fixpoint errors (v y : list bool) : nat :=
    match v, y with b :: v, c :: y => ((if eqb b c then 0 else 1) + errors v y)%nat | _, _ => 0%nat end.
  Lemma fit_is_exp v y : fit v y = exp (- eta * INR (errors v y)).
  Proof.
    revert y. induction v as [|b v IH]; intros [|c y]; cbn [fit errors]; try (cbn; now rewrite Rmult_0_r, exp_0).
    rewrite IH. unfold factor. destruct eqb; cbn [Nat.add].
    - lra.
    - rewrite S_INR, <- exp_plus. f_equal. ring.
  Qed.

  Definition weight (S : table) (v : list bool) : R := ind (is_dichotomy (points S) v) * fit v (labels S).
  Definition exact (S : table) (v : list bool) : R := weight S v / sum (vectors (length S)) (weight S).

  Lemma factor_pos b y : 0 < factor b y.
  Proof. unfold factor. destruct eqb; [lra|apply exp_pos]. Qed.
  Lemma fit_pos v y : 0 < fit v y.
  Proof. revert y. induction v as [|b v IH]; intros [|c y]; cbn; try lra. apply Rmult_lt_0_compat; [apply factor_pos|apply IH]. Qed.
  Lemma ind_nonneg b : 0 <= ind b.
  Proof. destruct b; cbn; lra. Qed.
  Lemma weight_nonneg S v : 0 <= weight S v.
  Proof. apply Rmult_le_pos; [apply ind_nonneg|left; apply fit_pos]. Qed.

  Lemma sum_in {T} (l : list T) f x : (forall y, In y l -> 0 <= f y) -> In x l -> f x <= sum l f.
  Proof.
    induction l as [|a l IH]; intros P; [intros []|]. intros [->|I]; cbn.
    - assert (0 <= sum l f) by (apply sum_nonneg; intros; apply P; now right). lra.
    - specialize (IH (fun y Y => P y (or_intror Y)) I). specialize (P a (or_introl eq_refl)). lra.
  Qed.
  Lemma total_pos S : 0 < sum (vectors (length S)) (weight S).
  Proof.
    set (v := map member (points S)).
    assert (I : In v (vectors (length S))).
    { replace (length S) with (length v) by (unfold v, points; now rewrite !map_length). apply in_vectors. }
    apply Rlt_le_trans with (weight S v); [|apply sum_in; auto using weight_nonneg].
    unfold weight. assert (is_dichotomy (points S) v = true) as -> by (apply is_dichotomy_ok; now exists member).
    cbn [ind]. rewrite Rmult_1_l. apply fit_pos.
  Qed.
  Lemma exact_nonneg S v : 0 <= exact S v.
  Proof. apply Rmult_le_pos; [apply weight_nonneg|left; apply Rinv_0_lt_compat, total_pos]. Qed.

  (* ---- the pattern (u, t) on the common points l, r; both labels of the point between them ---- *)
  Definition marginal (p : list bool -> R) (u t : list bool) : R := p (u ++ true :: t) + p (u ++ false :: t).

  Lemma fit_app u v y y' c b : length u = length y -> fit (u ++ b :: v) (y ++ c :: y') = factor b c * (fit u y * fit v y').
  Proof.
    revert y. induction u as [|a u IH]; intros [|d y] L; cbn in *; try lia; [ring|].
    rewrite IH by lia. ring.
  Qed.

  Definition seen (l r : table) (u t : list bool) : Prop := exists h, H h /\ map h (points l) = u /\ map h (points r) = t.

  Lemma app_cons_inv {A} (l l' : list A) a a' r r' : length l = length l' -> l ++ a :: r = l' ++ a' :: r' -> l = l' /\ a = a' /\ r = r'.
  Proof.
    revert l'. induction l as [|b l IH]; intros [|b' l'] L E; cbn in *; try lia.
    - injection E; auto.
    - injection E as -> E. destruct (IH l' ltac:(lia) E) as (-> & -> & ->). auto.
  Qed.

  Lemma dichotomy_at l r x y u t b : length u = length l ->
    is_dichotomy (points (l ++ (x, y) :: r)) (u ++ b :: t) = true <-> exists h, H h /\ map h (points l) = u /\ h x = b /\ map h (points r) = t.
  Proof.
    intros L. rewrite is_dichotomy_ok. unfold points. rewrite map_app. cbn [map fst].
    split; intros (h & Hh & E).
    - rewrite map_app in E. cbn [map] in E.
      apply app_cons_inv in E; [|rewrite !map_length; now symmetry]. destruct E as (A & B & C). exists h. auto.
    - exists h. destruct E as (A & B & C). split; [easy|]. rewrite map_app. cbn [map]. now rewrite A, B, C.
  Qed.

  (* g lies in [e^{−η}, 1 + e^{−η}] if some member has the pattern, and is 0 if none has: whatever the point is *)
  Lemma marginal_weight l r x y u t : length u = length l -> length t = length r ->
    exists g, marginal (weight (l ++ (x, y) :: r)) u t = g * (fit u (labels l) * fit t (labels r)) /\
    (seen l r u t -> exp (- eta) <= g <= 1 + exp (- eta)) /\ (~ seen l r u t -> g = 0).
  Proof.
    intros L L'. set (S := l ++ (x, y) :: r).
    exists (ind (is_dichotomy (points S) (u ++ true :: t)) * factor true y + ind (is_dichotomy (points S) (u ++ false :: t)) * factor false y).
    assert (P : 0 < exp (- eta) <= 1).
    { split; [apply exp_pos|]. rewrite <- exp_0. destruct eta_nonneg as [N| <-]; [left; apply exp_increasing; lra|right; f_equal; ring]. }
    pose proof (dichotomy_at l r x y u t true L) as DT. pose proof (dichotomy_at l r x y u t false L) as DF. fold S in DT, DF.
    split; [|split].
    - unfold marginal, weight, labels, S. rewrite map_app. cbn [map snd].
      rewrite !fit_app by (now rewrite map_length). fold S. ring.
    - intros (h & Hh & A & B).
      destruct (is_dichotomy (points S) (u ++ true :: t)) eqn:ET, (is_dichotomy (points S) (u ++ false :: t)) eqn:EF;
        cbn [ind]; unfold factor; destruct y; cbn [eqb]; try lra; exfalso.
      all: destruct (h x) eqn:E; [assert (false = true) by (apply DT; exists h; auto)|assert (false = true) by (apply DF; exists h; auto)]; discriminate.
    - intros N.
      destruct (is_dichotomy (points S) (u ++ true :: t)) eqn:ET; [exfalso; apply N; destruct (proj1 DT eq_refl) as (h & ? & ? & ? & ?); now exists h|].
      destruct (is_dichotomy (points S) (u ++ false :: t)) eqn:EF; [exfalso; apply N; destruct (proj1 DF eq_refl) as (h & ? & ? & ? & ?); now exists h|].
      cbn [ind]. ring.
  Qed.

  Definition relabel_cost : R := 2 * ln (1 + exp eta).
  Lemma exp_half : exp (ln (1 + exp eta)) = 1 + exp eta.
  Proof. apply exp_ln. pose proof (exp_pos eta). lra. Qed.

  Lemma marginal_ratio l r x y x' y' u t : length u = length l -> length t = length r ->
    marginal (weight (l ++ (x, y) :: r)) u t <= (1 + exp eta) * marginal (weight (l ++ (x', y') :: r)) u t.
  Proof.
    intros L L'. destruct (marginal_weight l r x y u t L L') as (g & -> & G1 & G0).
    destruct (marginal_weight l r x' y' u t L L') as (g' & -> & G1' & G0').
    assert (F : 0 < fit u (labels l) * fit t (labels r)) by (apply Rmult_lt_0_compat; apply fit_pos).
    set (c := fit u (labels l) * fit t (labels r)) in *. rewrite <- Rmult_assoc. apply Rmult_le_compat_r; [lra|].
    pose proof (exp_pos eta). pose proof (exp_pos (- eta)).
    assert (I : exp eta * exp (- eta) = 1) by (rewrite <- exp_plus, Rplus_opp_r; apply exp_0).
    destruct (is_dichotomy (points (l ++ (x, y) :: r)) (u ++ true :: t)) eqn:ET;
      [|destruct (is_dichotomy (points (l ++ (x, y) :: r)) (u ++ false :: t)) eqn:EF].
    3: { assert (N : ~ seen l r u t).
         { intros (h & Hh & A & B). destruct (h x) eqn:E.
           - rewrite (proj2 (dichotomy_at l r x y u t true L)) in ET; [discriminate|exists h; auto].
           - rewrite (proj2 (dichotomy_at l r x y u t false L)) in EF; [discriminate|exists h; auto]. }
         rewrite (G0 N), (G0' N). lra. }
    all: assert (Y : seen l r u t).
    1: { apply (dichotomy_at l r x y u t true L) in ET. destruct ET as (h & ? & ? & ? & ?). now exists h. }
    2: { apply (dichotomy_at l r x y u t false L) in EF. destruct EF as (h & ? & ? & ? & ?). now exists h. }
    all: specialize (G1 Y); specialize (G1' Y);
      assert ((1 + exp eta) * exp (- eta) <= (1 + exp eta) * g') by (apply Rmult_le_compat_l; lra); lra.
  Qed.

  Definition sum2 (n m : nat) (f : list bool -> list bool -> R) : R := sum (vectors n) (fun u => sum (vectors m) (f u)).
  Lemma sum2_le n m f g : (forall u t, length u = n -> length t = m -> f u t <= g u t) -> sum2 n m f <= sum2 n m g.
  Proof. intros L. apply sum_le. intros u U. apply sum_le. intros t T. apply L; now apply vectors_length. Qed.
  Lemma sum2_scale n m c f : sum2 n m (fun u t => c * f u t) = c * sum2 n m f.
  Proof. unfold sum2. rewrite <- sum_scale. apply sum_ext. intros. apply sum_scale. Qed.
  Lemma sum2_plus n m f g : sum2 n m (fun u t => f u t + g u t) = sum2 n m f + sum2 n m g.
  Proof. unfold sum2. rewrite <- sum_plus. apply sum_ext. intros. apply sum_plus. Qed.
  Lemma sum_marginal l r (x : X * bool) p : sum (vectors (length (l ++ x :: r))) p = sum2 (length l) (length r) (marginal p).
  Proof. rewrite app_length. cbn [length]. rewrite sum_vectors. reflexivity. Qed.

  (* the law of the pattern moves by R = 2·ln(1 + e^η) at most *)
  Lemma exact_marginal_ratio l r x y x' y' u t : length u = length l -> length t = length r ->
    marginal (exact (l ++ (x, y) :: r)) u t <= exp relabel_cost * marginal (exact (l ++ (x', y') :: r)) u t.
  Proof.
    intros L L'. set (S := l ++ (x, y) :: r). set (S' := l ++ (x', y') :: r).
    set (Z := sum (vectors (length S)) (weight S)). set (Z' := sum (vectors (length S')) (weight S')).
    assert (P : 0 < Z) by apply total_pos. assert (P' : 0 < Z') by apply total_pos.
    assert (R : Z' <= (1 + exp eta) * Z).
    { unfold Z, Z', S, S'. rewrite !sum_marginal, <- sum2_scale. apply sum2_le. intros; now apply marginal_ratio. }
    pose proof (marginal_ratio l r x y x' y' u t L L') as M. fold S S' in M.
    assert (M0 : 0 <= marginal (weight S') u t) by (apply Rplus_le_le_0_compat; apply weight_nonneg).
    replace (marginal (exact S) u t) with (marginal (weight S) u t / Z) by (unfold marginal, exact; fold Z; field; lra).
    replace (marginal (exact S') u t) with (marginal (weight S') u t / Z') by (unfold marginal, exact; fold Z'; field; lra).
    replace (exp relabel_cost) with ((1 + exp eta) * (1 + exp eta))
      by (unfold relabel_cost; replace (2 * ln (1 + exp eta)) with (ln (1 + exp eta) + ln (1 + exp eta)) by ring; now rewrite exp_plus, exp_half).
    set (c := 1 + exp eta) in *. assert (C : 0 < c) by (unfold c; pose proof (exp_pos eta); lra).
    apply Rmult_le_reg_r with Z; [exact P|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
    eapply Rle_trans; [exact M|]. set (m := marginal (weight S') u t) in *.
    replace (c * c * (m * / Z') * Z) with (c * m * (c * Z * / Z')) by (field; lra).
    rewrite <- (Rmult_1_r (c * m)) at 1. apply Rmult_le_compat_l; [apply Rmult_le_pos; lra|].
    apply Rmult_le_reg_r with Z'; [exact P'|]. rewrite Rmult_1_l, Rmult_assoc, Rinv_l, Rmult_1_r by lra. exact R.
  Qed.

  (* ---- the mechanism: any sampler within λ of the exact law ---- *)
  Variable chance : table -> list bool -> R.
  Hypothesis chance_nonneg : forall S v, In v (vectors (length S)) -> 0 <= chance S v.
  Hypothesis chance_one : forall S, sum (vectors (length S)) (chance S) = 1.
  Hypothesis chance_high : forall S v, In v (vectors (length S)) -> chance S v <= exp lam * exact S v.
  Hypothesis chance_low : forall S v, In v (vectors (length S)) -> exact S v <= exp lam * chance S v.

  Variables (A : table -> law Out) (eA dA : R).
  Hypothesis A_private : private replaced eA dA A.

  Definition draw (S : table) : law (list bool) := chances (vectors (length S)) (chance S) (chance_nonneg S) (chance_one S).
  Definition relabelled (S : table) (v : list bool) : table := combine (points S) v.
  Definition relabel (S : table) : law Out := bind (draw S) (fun v => A (relabelled S v)).

  Lemma relabelled_at l r x y u b t : length u = length l -> length t = length r ->
    relabelled (l ++ (x, y) :: r) (u ++ b :: t) = combine (points l) u ++ (x, b) :: combine (points r) t.
  Proof.
    intros L _. unfold relabelled, points. rewrite map_app. cbn [map fst].
    revert u L. induction l as [|[a c] l IH]; intros [|d u] L; cbn in *; try lia; [easy|]. f_equal. apply IH. lia.
  Qed.

  Lemma two_labels e c d g1 g2 g1' g2' f1 f2 f1' f2' :
    0 < e -> 0 <= c -> 0 <= g1 -> 0 <= g2 -> 0 <= g1' -> 0 <= g2' -> 0 <= f1 -> 0 <= f2 -> 0 <= f1' -> 0 <= f2' ->
    g1 + g2 <= c * (g1' + g2') ->
    f1 <= e * f1' + d -> f1 <= e * f2' + d -> f2 <= e * f1' + d -> f2 <= e * f2' + d ->
    g1 * f1 + g2 * f2 <= c * e * (g1' * f1' + g2' * f2') + d * (g1 + g2).
  Proof.
    intros E C G1 G2 G1' G2' F1 F2 F1' F2' G A11 A12 A21 A22.
    set (m := Rmin f1' f2').
    assert (M1 : m <= f1' /\ m <= f2') by apply Rmin_bounds.
    assert (M0 : 0 <= m) by (unfold m; apply Rmin_glb; lra).
    assert (B1 : f1 <= e * m + d) by (unfold m, Rmin; destruct Rle_dec; lra).
    assert (B2 : f2 <= e * m + d) by (unfold m, Rmin; destruct Rle_dec; lra).
    assert (S1 : g1 * f1 <= g1 * (e * m + d)) by (apply Rmult_le_compat_l; lra).
    assert (S2 : g2 * f2 <= g2 * (e * m + d)) by (apply Rmult_le_compat_l; lra).
    assert (EM : 0 <= e * m) by (apply Rmult_le_pos; lra).
    assert (S3 : (g1 + g2) * (e * m) <= (c * (g1' + g2')) * (e * m)) by (apply Rmult_le_compat_r; lra).
    assert (S4 : g1' * m + g2' * m <= g1' * f1' + g2' * f2') by (apply Rplus_le_compat; apply Rmult_le_compat_l; lra).
    assert (S5 : c * e * (g1' * m + g2' * m) <= c * e * (g1' * f1' + g2' * f2')) by (apply Rmult_le_compat_l; [apply Rmult_le_pos; lra|exact S4]).
    lra.
  Qed.

  Theorem relabel_is_private : private replaced (relabel_cost + 2 * lam + eA) dA relabel.
  Proof.
    intros S S' (l & r & [x y] & [x' y'] & -> & ->) f F. cbn [relabel bind draw chances E].
    set (S := l ++ (x, y) :: r). set (S' := l ++ (x', y') :: r).
    assert (I : forall u b t, length u = length l -> length t = length r ->
      In (u ++ b :: t) (vectors (length S)) /\ In (u ++ b :: t) (vectors (length S'))).
    { intros u b t L L'. assert (N : length (u ++ b :: t) = length S) by (unfold S; rewrite !app_length; cbn; lia).
      assert (N' : length (u ++ b :: t) = length S') by (unfold S'; rewrite !app_length; cbn; lia).
      split; [rewrite <- N|rewrite <- N']; apply in_vectors. }
    set (C := exp (relabel_cost + 2 * lam)). assert (PC : 0 < C) by apply exp_pos.
    assert (M : forall u t, length u = length l -> length t = length r -> marginal (chance S) u t <= C * marginal (chance S') u t).
    { intros u t L L'. pose proof (exp_pos lam).
      apply Rle_trans with (exp lam * marginal (exact S) u t).
      { unfold marginal. rewrite Rmult_plus_distr_l. apply Rplus_le_compat; apply chance_high; now apply I. }
      apply Rle_trans with (exp lam * (exp relabel_cost * (exp lam * marginal (chance S') u t))).
      2: { right. unfold C. replace (relabel_cost + 2 * lam) with (lam + (relabel_cost + lam)) by ring. rewrite !exp_plus. ring. }
      apply Rmult_le_compat_l; [lra|]. eapply Rle_trans; [apply (exact_marginal_ratio l r x y x' y'); auto|].
      apply Rmult_le_compat_l; [left; apply exp_pos|].
      unfold marginal. rewrite Rmult_plus_distr_l. apply Rplus_le_compat; apply chance_low; now apply I. }
    rewrite exp_plus. fold C.
    unfold S, S'. rewrite !sum_marginal. fold S S'.
    assert (ONE : sum2 (length l) (length r) (marginal (chance S)) = 1) by (unfold S; rewrite <- (sum_marginal l r (x, y)); apply chance_one).
    replace dA with (dA * 1) by ring. rewrite <- ONE, <- !sum2_scale, <- sum2_plus.
    apply sum2_le. intros u t L L'. unfold marginal.
    assert (NA : forall b b', E (A (relabelled S (u ++ b :: t))) f <= exp eA * E (A (relabelled S' (u ++ b' :: t))) f + dA).
    { intros b b'. apply A_private; [|exact F]. unfold S, S'. rewrite !relabelled_at by assumption.
      exists (combine (points l) u), (combine (points r) t), (x, b), (x', b'). auto. }
    apply two_labels; try (apply chance_nonneg; now apply I); try (now apply E_test); auto using exp_pos; try lra.
    now apply M.
  Qed.
End Relabel.
