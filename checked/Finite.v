(* Laws on finite sets. Events suffice to judge closeness. The exponential mechanism over a fixed class, with any prior,
   is (2 * eta * step)-close for neighbours, and its log-ratios lie within 2 * eta * step of one another (bounded
   range). What an inexact draw costs: log-weights off by tau, log-probabilities off by 2 * tau, and e grows by 2 * lambda.
   Proof notes: proofs/exponential.md, proofs/bounded_range.md, proofs/weighted_choice.md (postconditions B and C). *)
From Coq Require Import Reals List Lra Lia Bool.
From pcqr Require Import Law.
Import ListNotations.
Local Open Scope R_scope.

Fixpoint sum {T} (l : list T) (f : T -> R) : R := match l with [] => 0 | x :: r => f x + sum r f end.

Lemma sum_le {T} (l : list T) f g : (forall x, In x l -> f x <= g x) -> sum l f <= sum l g.
Proof.
  induction l as [|a r IH]; intros H; cbn; [lra|]. apply Rplus_le_compat; [apply H; now left|apply IH; intros; apply H; now right].
Qed.
Lemma sum_ext {T} (l : list T) f g : (forall x, In x l -> f x = g x) -> sum l f = sum l g.
Proof. intros H. apply Rle_antisym; apply sum_le; intros x Hx; rewrite (H x Hx); lra. Qed.
Lemma sum_plus {T} (l : list T) f g : sum l (fun x => f x + g x) = sum l f + sum l g.
Proof. induction l as [|a r IH]; cbn; [lra|]. rewrite IH. lra. Qed.
Lemma sum_scale {T} (l : list T) c f : sum l (fun x => c * f x) = c * sum l f.
Proof. induction l as [|a r IH]; cbn; [lra|]. rewrite IH. lra. Qed.
Lemma sum_zero {T} (l : list T) : sum l (fun _ => 0) = 0.
Proof. induction l; cbn; lra. Qed.
Lemma sum_nonneg {T} (l : list T) f : (forall x, In x l -> 0 <= f x) -> 0 <= sum l f.
Proof. intros H. rewrite <- (sum_zero l). apply sum_le; auto. Qed.
Lemma sum_app {T} (l r : list T) f : sum (l ++ r) f = sum l f + sum r f.
Proof. induction l as [|a l IH]; cbn; [lra|]. rewrite IH. lra. Qed.
Lemma sum_map {T U} (h : T -> U) l f : sum (map h l) f = sum l (fun x => f (h x)).
Proof. induction l as [|a l IH]; cbn; [lra|]. now rewrite IH. Qed.
Lemma sum_pos {T} (l : list T) f : l <> [] -> (forall x, In x l -> 0 < f x) -> 0 < sum l f.
Proof.
  destruct l as [|a r]; [congruence|]. intros _ H. cbn.
  assert (0 <= sum r f) by (apply sum_nonneg; intros; left; apply H; now right).
  specialize (H a (or_introl eq_refl)). lra.
Qed.

(* a law by its chances on a list *)
Definition chances {T} (l : list T) (p : T -> R) (P0 : forall x, In x l -> 0 <= p x) (P1 : sum l p = 1) : law T.
Proof.
  refine {| E := fun f => sum l (fun x => p x * f x) |}.
  - intros f g _ _ H. apply sum_le. intros x Hx. apply Rmult_le_compat_l; auto.
  - intros f g _ _. rewrite <- sum_plus. apply sum_ext. intros; ring.
  - intros c f _. rewrite <- sum_scale. apply sum_ext. intros; ring.
  - transitivity (sum l p); [apply sum_ext; intros; ring|exact P1].
Defined.

Lemma normal_nonneg {T} (l : list T) w : (forall x, In x l -> 0 <= w x) -> 0 < sum l w -> forall x, In x l -> 0 <= w x / sum l w.
Proof. intros H Z x Hx. apply Rmult_le_pos; [auto|left; now apply Rinv_0_lt_compat]. Qed.
Lemma normal_one {T} (l : list T) w : 0 < sum l w -> sum l (fun x => w x / sum l w) = 1.
Proof.
  intros Z. unfold Rdiv. rewrite (sum_ext l _ (fun x => / sum l w * w x)) by (intros; ring). rewrite sum_scale. field. lra.
Qed.
Definition weighted {T} (l : list T) (w : T -> R) (H : forall x, In x l -> 0 <= w x) (Z : 0 < sum l w) : law T :=
  chances l (fun x => w x / sum l w) (normal_nonneg l w H Z) (normal_one l w Z).

Lemma E_weighted {T} (l : list T) w H Z f : E (weighted l w H Z) f = sum l (fun x => w x * f x) / sum l w.
Proof.
  cbn. unfold Rdiv. rewrite (sum_ext l _ (fun x => / sum l w * (w x * f x))) by (intros; ring). rewrite sum_scale. ring.
Qed.

(* events are enough: the worst test is an indicator *)
Definition ind (b : bool) : R := if b then 1 else 0.

Theorem events_are_enough {T} (l : list T) p q P0 P1 Q0 Q1 e d :
  (forall O : T -> bool, E (chances l p P0 P1) (fun x => ind (O x)) <= exp e * E (chances l q Q0 Q1) (fun x => ind (O x)) + d) ->
  close e d (chances l p P0 P1) (chances l q Q0 Q1).
Proof.
  intros H f F. set (O := fun x => if Rlt_dec (exp e * q x) (p x) then true else false).
  specialize (H O). cbn in *. rewrite <- sum_scale in *.
  assert (K : sum l (fun x => p x * f x) + - 1 * sum l (fun x => exp e * (q x * f x)) <=
              sum l (fun x => p x * ind (O x)) + - 1 * sum l (fun x => exp e * (q x * ind (O x)))).
  { rewrite <- !sum_scale, <- !sum_plus. apply sum_le. intros x _. destruct (F x) as [F0 F1]. unfold O, ind.
    destruct (Rlt_dec (exp e * q x) (p x)) as [L|L].
    - assert ((p x - exp e * q x) * f x <= (p x - exp e * q x) * 1) by (apply Rmult_le_compat_l; lra). lra.
    - assert ((p x - exp e * q x) * f x <= 0).
      { rewrite <- (Rmult_0_r (p x - exp e * q x)). apply Rmult_le_compat_neg_l; lra. }
      lra. }
  lra.
Qed.

(* ---- weights that differ by a factor ---- *)
Theorem weights_close {T} (l : list T) w w' H Z H' Z' c c' :
  (forall x, In x l -> w x <= exp c * w' x) -> (forall x, In x l -> w' x <= exp c' * w x) ->
  close (c + c') 0 (weighted l w H Z) (weighted l w' H' Z').
Proof.
  intros A B f F. rewrite !E_weighted, Rplus_0_r, exp_plus.
  assert (N : sum l (fun x => w x * f x) <= exp c * sum l (fun x => w' x * f x)).
  { rewrite <- sum_scale. apply sum_le. intros x Hx. rewrite <- Rmult_assoc. apply Rmult_le_compat_r; [apply F|auto]. }
  assert (D : sum l w' <= exp c' * sum l w) by (rewrite <- sum_scale; apply sum_le; auto).
  assert (N0 : 0 <= sum l (fun x => w' x * f x)).
  { apply sum_nonneg. intros x Hx. apply Rmult_le_pos; [auto|apply F]. }
  apply Rmult_le_reg_r with (sum l w); [exact Z|]. unfold Rdiv.
  rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra. eapply Rle_trans; [exact N|].
  set (S' := sum l w') in *. set (S := sum l w) in *. set (V := sum l (fun x => w' x * f x)) in *.
  replace (exp c * exp c' * (V * / S') * S) with (exp c * V * (exp c' * S * / S')) by (field; lra).
  rewrite <- (Rmult_1_r (exp c * V)) at 1. apply Rmult_le_compat_l.
  - apply Rmult_le_pos; [left; apply exp_pos|exact N0].
  - apply Rmult_le_reg_r with S'; [exact Z'|]. rewrite Rmult_1_l, Rmult_assoc, Rinv_l, Rmult_1_r by lra. exact D.
Qed.

(* ---- the exponential mechanism: any prior, scores that differ by at most `step` ---- *)
Section Exponential.
  Context {D T : Type} (members : list T) (prior : T -> R) (score : D -> T -> R) (eta step : R).
  Hypothesis some : members <> [].
  Hypothesis prior_pos : forall h, In h members -> 0 < prior h.
  Hypothesis eta_nonneg : 0 <= eta.

  Definition weight (S : D) (h : T) : R := prior h * exp (- eta * score S h).
  Lemma weight_pos S h : In h members -> 0 < weight S h.
  Proof. intros. apply Rmult_lt_0_compat; [auto|apply exp_pos]. Qed.
  Definition exponential (S : D) : law T :=
    weighted members (weight S) (fun h I => Rlt_le _ _ (weight_pos S h I)) (sum_pos members (weight S) some (weight_pos S)).

  Lemma weight_ratio S S' h : In h members -> Rabs (score S h - score S' h) <= step ->
    weight S h <= exp (eta * step) * weight S' h.
  Proof.
    intros I B. unfold weight. rewrite <- Rmult_assoc, (Rmult_comm (exp _)), Rmult_assoc.
    apply Rmult_le_compat_l; [left; auto|]. rewrite <- exp_plus.
    assert (- eta * score S h <= eta * step + - eta * score S' h).
    { assert (eta * (score S' h - score S h) <= eta * step); [|lra]. apply Rmult_le_compat_l; [exact eta_nonneg|].
      revert B. unfold Rabs. destruct Rcase_abs; lra. }
    destruct (Rle_lt_or_eq_dec _ _ H) as [L|L]; [left; now apply exp_increasing|rewrite L; lra].
  Qed.

  Theorem exponential_is_private S S' : (forall h, In h members -> Rabs (score S h - score S' h) <= step) ->
    close (2 * eta * step) 0 (exponential S) (exponential S').
  Proof.
    intros B. replace (2 * eta * step) with (eta * step + eta * step) by ring.
    apply weights_close; intros h I; apply weight_ratio; auto. rewrite Rabs_minus_sym. auto.
  Qed.

  (* bounded range: the log-ratios of any two members are within 2·η·step of each other *)
  Theorem exponential_has_bounded_range S S' h g : (forall h, In h members -> Rabs (score S h - score S' h) <= step) ->
    In h members -> In g members ->
    weight S h / sum members (weight S) * (weight S' g / sum members (weight S')) <=
    exp (2 * eta * step) * (weight S g / sum members (weight S) * (weight S' h / sum members (weight S'))).
  Proof.
    intros B I J.
    pose proof (weight_ratio S S' h I (B h I)) as A1.
    assert (A2 : weight S' g <= exp (eta * step) * weight S g) by (apply weight_ratio; [auto|rewrite Rabs_minus_sym; auto]).
    pose proof (weight_pos S h I). pose proof (weight_pos S' g J). pose proof (weight_pos S g J). pose proof (weight_pos S' h I).
    pose proof (sum_pos members (weight S) some (weight_pos S)) as Z. pose proof (sum_pos members (weight S') some (weight_pos S')) as Z'.
    assert (P : weight S h * weight S' g <= exp (2 * eta * step) * (weight S g * weight S' h)).
    { replace (2 * eta * step) with (eta * step + eta * step) by ring. rewrite exp_plus.
      apply Rle_trans with ((exp (eta * step) * weight S' h) * (exp (eta * step) * weight S g)); [|right; ring].
      apply Rmult_le_compat; lra. }
    unfold Rdiv. set (i := / sum members (weight S)). set (i' := / sum members (weight S')).
    assert (0 < i) by (now apply Rinv_0_lt_compat). assert (0 < i') by (now apply Rinv_0_lt_compat).
    replace (weight S h * i * (weight S' g * i')) with ((weight S h * weight S' g) * (i * i')) by ring.
    replace (exp (2 * eta * step) * (weight S g * i * (weight S' h * i'))) with ((exp (2 * eta * step) * (weight S g * weight S' h)) * (i * i')) by ring.
    apply Rmult_le_compat_r; [left; now apply Rmult_lt_0_compat|exact P].
  Qed.
End Exponential.

(* postcondition C: a law drawn within λ of each of two close laws *)
Theorem inexact_draw {T} e lam (P Q P' Q' : law T) : close lam 0 P' P -> close e 0 P Q -> close lam 0 Q Q' -> close (e + 2 * lam) 0 P' Q'.
Proof.
  intros A B C. replace (e + 2 * lam) with (lam + (e + lam)) by ring.
  replace 0 with (0 + exp lam * (0 + exp e * 0)) by ring. eapply close_trans; [exact A|]. eapply close_trans; [exact B|exact C].
Qed.

(* postcondition B: log-weights off by at most τ, chances by at most 2τ *)
Theorem inexact_weights {T} (l : list T) w w' H Z H' Z' tau :
  (forall x, In x l -> w x <= exp tau * w' x) -> (forall x, In x l -> w' x <= exp tau * w x) ->
  close (2 * tau) 0 (weighted l w H Z) (weighted l w' H' Z').
Proof. intros A B. replace (2 * tau) with (tau + tau) by ring. now apply weights_close. Qed.
