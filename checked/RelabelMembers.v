(* Relabelling by members made of the private points (proofs/relabel.md, Precondition and Proof; proofs/stumps.md).

   In words: the members depend on the points, and have the extension property: leaving out a point maps the members
   on all points onto those on the others, which keep their labels of the other points; one or two members fall together,
   and two give the point left out different labels. A member is drawn with a chance within a factor e^lambda of one
   proportional to e^(-eta*errors), and the records are relabelled by it. This adds 2*ln(1 + e^eta) + 2*lambda to the eps of
   whatever sees the relabelled records alone, and multiplies no delta. *)
From Coq Require Import Reals List Lra Lia Bool Permutation.
From pcqr Require Import Law Finite Subsample Orders Stability RelabelFixed.
From pcqr Require Relabel.
Import ListNotations.
Local Open Scope R_scope.

Lemma sum_flat_map {A B} (h : A -> list B) l f : sum (flat_map h l) f = sum l (fun c => sum (h c) f).
Proof. induction l as [|a l IH]; cbn; [easy|]. now rewrite sum_app, IH. Qed.

Lemma least {A} (l : list A) (f : A -> R) : l <> [] -> exists a, In a l /\ forall b, In b l -> f a <= f b.
Proof.
  induction l as [|x l IH]; [easy|intros _]. destruct l as [|y l].
  - exists x. split; [now left|]. intros b [->|[]]. lra.
  - destruct IH as (a & I & M); [easy|]. destruct (Rle_dec (f x) (f a)) as [L|L].
    + exists x. split; [now left|]. intros b [->|B]; [lra|]. specialize (M b B). lra.
    + exists a. split; [now right|]. intros b [->|B]; [lra|]. now apply M.
Qed.

(* chances p, p' whose sums are within a factor c; values f, f' of which all pairs are (ln e, d)-close *)
Lemma mixed_close {A B} (l : list A) (l' : list B) p p' f f' c e d : l' <> [] -> 0 < e -> 0 <= c ->
  (forall a, In a l -> 0 <= p a) -> (forall b, In b l' -> 0 <= p' b) -> (forall b, In b l' -> 0 <= f' b) ->
  sum l p <= c * sum l' p' -> (forall a b, In a l -> In b l' -> f a <= e * f' b + d) ->
  sum l (fun a => p a * f a) <= c * e * sum l' (fun b => p' b * f' b) + d * sum l p.
Proof.
  intros N E C P P' F' S H. destruct (least l' f' N) as (m & I & M). set (v := f' m) in *.
  assert (V : 0 <= v) by now apply F'.
  apply Rle_trans with (sum l (fun a => (e * v + d) * p a)).
  { apply sum_le. intros a A1. rewrite (Rmult_comm (e * v + d)). apply Rmult_le_compat_l; [now apply P|now apply H]. }
  rewrite sum_scale.
  assert (B1 : v * sum l' p' <= sum l' (fun b => p' b * f' b)).
  { rewrite <- sum_scale. apply sum_le. intros b B2. rewrite (Rmult_comm v). apply Rmult_le_compat_l; [now apply P'|now apply M]. }
  assert (EV : 0 <= e * v) by (apply Rmult_le_pos; lra).
  assert (S1 : e * v * sum l p <= e * v * (c * sum l' p')) by (apply Rmult_le_compat_l; lra).
  assert (S2 : c * e * (v * sum l' p') <= c * e * sum l' (fun b => p' b * f' b)) by (apply Rmult_le_compat_l; [apply Rmult_le_pos; lra|exact B1]).
  lra.
Qed.

Section Members.
  Context {X Member : Type}.
  Variables (members : list X -> list Member) (says : Member -> X -> bool).

  (* the extensions of a pattern, which labels l by u and r by t, to a point x between them *)
  Definition extends (l r : list X) (x : X) (u t : list bool) (ext : list Member) : Prop :=
    (forall m, In m ext -> map (says m) l = u /\ map (says m) r = t) /\
    ((exists m, ext = [m]) \/ (exists m m', ext = [m; m'] /\ says m x <> says m' x)).
  Definition extension_property : Prop := forall l r, exists (T : Type) (common : list T) (u t : T -> list bool),
    forall x, exists ext : T -> list Member,
      Permutation (members (l ++ x :: r)) (flat_map ext common) /\
      forall c, In c common -> extends l r x (u c) (t c) (ext c).

  Hypothesis extension : extension_property.
  Hypothesis some : forall xs, members xs <> [].
  Variables eta lam : R.
  Hypothesis eta_nonneg : 0 <= eta.

  Definition table := list (X * bool).
  Definition points (S : table) : list X := map fst S.
  Definition labels (S : table) : list bool := map snd S.

  Definition factor (b y : bool) : R := if eqb b y then 1 else exp (- eta).
  (* e^(-eta*errors) *)
  Fixpoint fit (v y : list bool) : R :=
    match v, y with b :: v, c :: y => factor b c * fit v y | _, _ => 1 end.
  Fixpoint wrong (v y : list bool) : nat :=
    match v, y with b :: v, c :: y => ((if eqb b c then 0 else 1) + wrong v y)%nat | _, _ => 0%nat end.
  Lemma fit_is_exp v y : fit v y = exp (- eta * INR (wrong v y)).
  Proof.
    revert y. induction v as [|b v IH]; intros [|c y]; cbn [fit wrong]; try (cbn; now rewrite Rmult_0_r, exp_0).
    rewrite IH. unfold factor. destruct eqb; cbn [Nat.add].
    - lra.
    - rewrite S_INR, <- exp_plus. f_equal. ring.
  Qed.
  Lemma fit_pos v y : 0 < fit v y.
  Proof. rewrite fit_is_exp. apply exp_pos. Qed.
  Lemma fit_app u v y y' c b : length u = length y -> fit (u ++ b :: v) (y ++ c :: y') = factor b c * (fit u y * fit v y').
  Proof.
    revert y. induction u as [|a u IH]; intros [|d y] L; cbn in *; try lia; [ring|]. rewrite IH by lia. ring.
  Qed.

  Definition member_weight (S : table) (m : Member) : R := fit (map (says m) (points S)) (labels S).
  Definition member_chance (S : table) (m : Member) : R := member_weight S m / sum (members (points S)) (member_weight S).

  Lemma member_weight_pos S m : 0 < member_weight S m.
  Proof. apply fit_pos. Qed.
  Lemma member_total_pos S : 0 < sum (members (points S)) (member_weight S).
  Proof. apply sum_pos; [apply some|]. intros; apply member_weight_pos. Qed.

  (* the extensions of one pattern weigh its own weight times a factor in [e^(-eta), 1 + e^(-eta)] *)
  Lemma extensions_weigh l r x y u t ext : extends (points l) (points r) x u t ext ->
    exists g, sum ext (member_weight (l ++ (x, y) :: r)) = g * (fit u (labels l) * fit t (labels r)) /\
      exp (- eta) <= g <= 1 + exp (- eta).
  Proof.
    intros (A & Z).
    assert (P : 0 < exp (- eta) <= 1).
    { split; [apply exp_pos|]. rewrite <- exp_0. destruct eta_nonneg as [N| <-]; [left; apply exp_increasing; lra|right; f_equal; ring]. }
    assert (W : forall m, In m ext -> member_weight (l ++ (x, y) :: r) m = factor (says m x) y * (fit u (labels l) * fit t (labels r))).
    { intros m I. destruct (A m I) as (U & T). unfold member_weight, points, labels. rewrite !map_app. cbn [map fst snd].
      fold (points l) (points r) (labels l) (labels r). rewrite ?map_app. cbn [map]. rewrite U, T. apply fit_app.
      rewrite <- U. unfold points, labels. rewrite !map_length. reflexivity. }
    destruct Z as [(m & ->)|(m & m' & -> & N)].
    - exists (factor (says m x) y). cbn [sum]. rewrite W by now left. split; [ring|]. unfold factor. destruct eqb; lra.
    - exists (factor (says m x) y + factor (says m' x) y). cbn [sum]. rewrite !W by (cbn; auto). split; [ring|].
      unfold factor. destruct (says m x), (says m' x), y; cbn [eqb]; try lra; now destruct N.
  Qed.

  Lemma pattern_ratio l r x y x' y' u t ext ext' :
    extends (points l) (points r) x u t ext -> extends (points l) (points r) x' u t ext' ->
    sum ext (member_weight (l ++ (x, y) :: r)) <= (1 + exp eta) * sum ext' (member_weight (l ++ (x', y') :: r)).
  Proof.
    intros H H'. destruct (extensions_weigh l r x y u t ext H) as (g & -> & G).
    destruct (extensions_weigh l r x' y' u t ext' H') as (g' & -> & G').
    assert (F : 0 <= fit u (labels l) * fit t (labels r)) by (apply Rmult_le_pos; left; apply fit_pos).
    set (k := fit u (labels l) * fit t (labels r)) in *. rewrite <- Rmult_assoc. apply Rmult_le_compat_r.
    - exact F.
    - pose proof (exp_pos eta). pose proof (exp_pos (- eta)).
      assert (I : exp eta * exp (- eta) = 1) by (rewrite <- exp_plus, Rplus_opp_r; apply exp_0).
      assert ((1 + exp eta) * exp (- eta) <= (1 + exp eta) * g') by (apply Rmult_le_compat_l; lra). lra.
  Qed.

  Variable chance : table -> Member -> R.
  Hypothesis chance_nonneg : forall S m, In m (members (points S)) -> 0 <= chance S m.
  Hypothesis chance_one : forall S, sum (members (points S)) (chance S) = 1.
  Hypothesis chance_high : forall S m, In m (members (points S)) -> chance S m <= exp lam * member_chance S m.
  Hypothesis chance_low : forall S m, In m (members (points S)) -> member_chance S m <= exp lam * chance S m.

  Definition drawn_member (S : table) : law Member := chances (members (points S)) (chance S) (chance_nonneg S) (chance_one S).
  Definition relabelled_by_member (S : table) : law table := image (fun m => relabelled_by says m S) (drawn_member S).

  Lemma relabelled_neighbours l r x y x' y' m m' :
    map (says m) (points l) = map (says m') (points l) -> map (says m) (points r) = map (says m') (points r) ->
    replaced (relabelled_by says m (l ++ (x, y) :: r)) (relabelled_by says m' (l ++ (x', y') :: r)).
  Proof.
    assert (G : forall k, map (says m) (points k) = map (says m') (points k) -> relabelled_by says m k = relabelled_by says m' k).
    { unfold relabelled_by, points. induction k as [|[a b] k IH]; intros E; [easy|]. cbn [map fst] in E |- *.
      injection E as E1 E2. now rewrite E1, IH. }
    intros L R. exists (relabelled_by says m l), (relabelled_by says m r), (x, says m x), (x', says m' x').
    unfold relabelled_by at 1 4. rewrite !map_app. cbn [map fst]. split; [easy|].
    fold (relabelled_by says m' l) (relabelled_by says m' r). now rewrite (G l L), (G r R).
  Qed.

  Theorem relabelling_by_members : relabelling_costs (2 * ln (1 + exp eta) + 2 * lam) relabelled_by_member.
  Proof.
    intros Out A eA dA D P S S' (l & r & [x y] & [x' y'] & -> & ->) f F.
    destruct (extension (points l) (points r)) as (T & common & u & t & X0).
    destruct (X0 x) as (ext & PE & EX). destruct (X0 x') as (ext' & PE' & EX').
    set (S := l ++ (x, y) :: r) in *. set (S' := l ++ (x', y') :: r) in *.
    assert (EP : points S = points l ++ x :: points r) by (unfold S, points; now rewrite map_app).
    assert (EP' : points S' = points l ++ x' :: points r) by (unfold S', points; now rewrite map_app).
    rewrite <- EP in PE. rewrite <- EP' in PE'.
    assert (I : forall c m, In c common -> In m (ext c) -> In m (members (points S))).
    { intros c m C M. apply (Permutation_in _ (Permutation_sym PE)). apply in_flat_map. now exists c. }
    assert (I' : forall c m, In c common -> In m (ext' c) -> In m (members (points S'))).
    { intros c m C M. apply (Permutation_in _ (Permutation_sym PE')). apply in_flat_map. now exists c. }
    assert (SUM : forall g, sum (members (points S)) g = sum common (fun c => sum (ext c) g))
      by (intros g; now rewrite (sum_permutation _ _ g PE), sum_flat_map).
    assert (SUM' : forall g, sum (members (points S')) g = sum common (fun c => sum (ext' c) g))
      by (intros g; now rewrite (sum_permutation _ _ g PE'), sum_flat_map).
    set (Z := sum (members (points S)) (member_weight S)). set (Z' := sum (members (points S')) (member_weight S')).
    assert (ZP : 0 < Z) by apply member_total_pos. assert (ZP' : 0 < Z') by apply member_total_pos.
    set (k := 1 + exp eta). assert (K : 0 < k) by (unfold k; pose proof (exp_pos eta); lra).
    assert (ZR : Z' <= k * Z).
    { unfold Z, Z'. rewrite SUM, SUM', <- sum_scale. apply sum_le. intros c C.
      apply (pattern_ratio l r x' y' x y (u c) (t c)); [now apply EX'|now apply EX]. }
    set (price := exp (2 * ln (1 + exp eta) + 2 * lam)).
    assert (ER : price = exp lam * (k * k * exp lam)).
    { unfold price, k. replace (2 * ln (1 + exp eta) + 2 * lam) with (lam + ((ln (1 + exp eta) + ln (1 + exp eta)) + lam)) by ring.
      rewrite !exp_plus, exp_ln by exact K. ring. }
    assert (M : forall c, In c common -> sum (ext c) (chance S) <= price * sum (ext' c) (chance S')).
    { intros c C. pose proof (exp_pos lam).
      apply Rle_trans with (exp lam * sum (ext c) (member_chance S)).
      { rewrite <- sum_scale. apply sum_le. intros m Hm. apply chance_high. now apply (I c). }
      rewrite ER, Rmult_assoc. apply Rmult_le_compat_l; [lra|].
      apply Rle_trans with (k * k * sum (ext' c) (member_chance S')).
      2: { rewrite (Rmult_assoc (k * k) (exp lam)). apply Rmult_le_compat_l; [apply Rmult_le_pos; lra|]. rewrite <- sum_scale. apply sum_le.
           intros m Hm. apply chance_low. now apply (I' c). }
      assert (Q : sum (ext c) (member_weight S) <= k * sum (ext' c) (member_weight S'))
        by (apply (pattern_ratio l r x y x' y' (u c) (t c)); [now apply EX|now apply EX']).
      assert (Q0 : 0 <= sum (ext' c) (member_weight S')) by (apply sum_nonneg; intros; left; apply member_weight_pos).
      unfold member_chance. fold Z Z'.
      rewrite (sum_ext (ext c) _ (fun m => / Z * member_weight S m)) by (intros; unfold Rdiv; ring).
      rewrite (sum_ext (ext' c) _ (fun m => / Z' * member_weight S' m)) by (intros; unfold Rdiv; ring).
      rewrite !sum_scale. set (q := sum (ext c) (member_weight S)) in *. set (q' := sum (ext' c) (member_weight S')) in *.
      apply Rmult_le_reg_l with Z; [exact ZP|]. rewrite <- Rmult_assoc, Rinv_r, Rmult_1_l by lra.
      eapply Rle_trans; [exact Q|].
      replace (Z * (k * k * (/ Z' * q'))) with (k * q' * (k * Z * / Z')) by ring.
      rewrite <- (Rmult_1_r (k * q')) at 1. apply Rmult_le_compat_l; [apply Rmult_le_pos; lra|].
      apply Rmult_le_reg_r with Z'; [exact ZP'|]. rewrite Rmult_1_l, Rmult_assoc, Rinv_l, Rmult_1_r by lra. exact ZR. }
    cbn [bind relabelled_by_member image ret drawn_member chances E]. rewrite exp_plus. fold price.
    set (v := fun m => E (A (relabelled_by says m S)) f). set (v' := fun m => E (A (relabelled_by says m S')) f).
    change (sum (members (points S)) (fun m => chance S m * v m) <=
      price * exp eA * sum (members (points S')) (fun m => chance S' m * v' m) + dA).
    replace dA with (dA * sum (members (points S)) (chance S)) by (rewrite chance_one; ring).
    rewrite !SUM, SUM', <- !sum_scale, <- sum_plus. apply sum_le. intros c C.
    apply mixed_close.
    - destruct (proj2 (EX' c C)) as [(m & ->)|(m & m' & -> & _)]; easy.
    - apply exp_pos.
    - left. apply exp_pos.
    - intros m Hm. apply chance_nonneg. now apply (I c).
    - intros m Hm. apply chance_nonneg. now apply (I' c).
    - intros m _. now apply E_test.
    - now apply M.
    - intros m m' Hm Hm'. apply P; [|exact F].
      destruct (proj1 (EX c C) m Hm) as (U & V). destruct (proj1 (EX' c C) m' Hm') as (U' & V').
      apply relabelled_neighbours; congruence.
  Qed.
End Members.

(* The exact draw, lambda = 0. *)
Section Exactly.
  Context {X Member : Type} (members : list X -> list Member) (says : Member -> X -> bool)
    (extension : extension_property members says) (some : forall xs, members xs <> []) (eta : R) (eta_nonneg : 0 <= eta).
  Let chance := member_chance members says eta.
  Lemma exact_nonneg S m : In m (members (points S)) -> 0 <= chance S m.
  Proof. intros _. apply Rmult_le_pos; [left; apply member_weight_pos|left; apply Rinv_0_lt_compat; now apply member_total_pos]. Qed.
  Lemma exact_one S : sum (members (points S)) (chance S) = 1.
  Proof. apply normal_one. now apply member_total_pos. Qed.

  Theorem relabelling_by_members_exactly :
    relabelling_costs (2 * ln (1 + exp eta)) (relabelled_by_member members says chance exact_nonneg exact_one).
  Proof.
    replace (2 * ln (1 + exp eta)) with (2 * ln (1 + exp eta) + 2 * 0) by ring.
    apply (relabelling_by_members members says extension some eta 0 eta_nonneg); intros; rewrite exp_0; unfold chance; lra.
  Qed.
End Exactly.
