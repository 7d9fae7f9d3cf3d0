(* A law is an expectation: a functional on bounded functions that is monotone, linear and 1 on 1. Two laws are
   (eps, delta)-close if E_P f <= e^eps * E_Q f + delta for every f with values in [0, 1]. Closeness survives
   post-processing and mixing, adds up under adaptive composition, extends to groups, and over the leaves of a plan
   the largest eps and the sum of the deltas suffice.
   Finite and countable laws are instances (Finite.v, Laplace.v). No countable sum and no measurability is needed.
   Proof notes: proofs/guarantee.md; for the leaves, proofs/plans.md. *)
From Coq Require Import Reals List Lra Lia.
Import ListNotations.
Local Open Scope R_scope.

Definition bounded {T} (f : T -> R) : Prop := exists M, forall x, Rabs (f x) <= M.
Definition test {T} (f : T -> R) : Prop := forall x, 0 <= f x <= 1.

Record law (T : Type) := Law {
  E : (T -> R) -> R;
  E_le : forall f g, bounded f -> bounded g -> (forall x, f x <= g x) -> E f <= E g;
  E_plus : forall f g, bounded f -> bounded g -> E (fun x => f x + g x) = E f + E g;
  E_scale : forall c f, bounded f -> E (fun x => c * f x) = c * E f;
  E_one : E (fun _ => 1) = 1 }.
Arguments E {T}. Arguments E_le {T}. Arguments E_plus {T}. Arguments E_scale {T}. Arguments E_one {T}.

Lemma bounded_test {T} (f : T -> R) : test f -> bounded f.
Proof. intros H. exists 1. intros x. destruct (H x). rewrite Rabs_pos_eq; lra. Qed.

Lemma bounded_const {T} c : bounded (fun _ : T => c).
Proof. exists (Rabs c). intros; lra. Qed.

Lemma bounded_plus {T} (f g : T -> R) : bounded f -> bounded g -> bounded (fun x => f x + g x).
Proof.
  intros [M H] [N K]. exists (M + N). intros x. specialize (H x). specialize (K x).
  pose proof (Rabs_triang (f x) (g x)). lra.
Qed.

Lemma bounded_scale {T} c (f : T -> R) : bounded f -> bounded (fun x => c * f x).
Proof.
  intros [M H]. exists (Rabs c * M). intros x. rewrite Rabs_mult. apply Rmult_le_compat_l; [apply Rabs_pos|apply H].
Qed.

Lemma bounded_mult {T} (f g : T -> R) : bounded f -> bounded g -> bounded (fun x => f x * g x).
Proof.
  intros [M H] [N K]. exists (M * N). intros x. rewrite Rabs_mult.
  apply Rmult_le_compat; auto using Rabs_pos.
Qed.

Lemma bounded_after {T U} (h : U -> T) (f : T -> R) : bounded f -> bounded (fun x => f (h x)).
Proof. intros [M H]. exists M. intros; apply H. Qed.

#[export] Hint Resolve bounded_test bounded_const bounded_plus bounded_scale bounded_mult bounded_after : law.

Lemma E_ext {T} (P : law T) f g : bounded f -> bounded g -> (forall x, f x = g x) -> E P f = E P g.
Proof. intros F G H. apply Rle_antisym; apply E_le; auto; intros x; rewrite H; lra. Qed.

Lemma E_const {T} (P : law T) c : E P (fun _ => c) = c.
Proof.
  rewrite (E_ext P (fun _ => c) (fun _ => c * 1)) by (auto with law; intros; ring).
  rewrite E_scale, E_one by auto with law. ring.
Qed.

(* the workhorse: f ≤ c·g + d everywhere, hence in the mean *)
Lemma E_affine {T} (P : law T) f g c d : bounded f -> bounded g ->
  (forall x, f x <= c * g x + d) -> E P f <= c * E P g + d.
Proof.
  intros F G H. apply Rle_trans with (E P (fun x => c * g x + d)); [apply E_le; auto with law|].
  rewrite E_plus, E_scale, E_const by auto with law. lra.
Qed.

Lemma E_test {T} (P : law T) f : test f -> 0 <= E P f <= 1.
Proof.
  intros H. split.
  - rewrite <- (E_const P 0). apply E_le; auto with law. apply H.
  - rewrite <- (E_const P 1). apply E_le; auto with law. apply H.
Qed.

Lemma E_nonneg {T} (P : law T) f : bounded f -> (forall x, 0 <= f x) -> 0 <= E P f.
Proof. intros F H. rewrite <- (E_const P 0). apply E_le; auto with law. Qed.

Lemma bounded_E {T U} (k : T -> law U) f : bounded f -> bounded (fun x => E (k x) f).
Proof.
  intros [M H]. exists M. intros x.
  assert (B : bounded f) by (exists M; exact H).
  assert (G : forall y, - M <= f y <= M) by (intros y; specialize (H y); revert H; unfold Rabs; destruct Rcase_abs; lra).
  apply Rabs_le. split.
  - rewrite <- (E_const (k x) (- M)). apply E_le; auto with law. apply G.
  - rewrite <- (E_const (k x) M). apply E_le; auto with law. apply G.
Qed.
#[export] Hint Resolve bounded_E : law.

Lemma bounded_E2 {T U} (k : T -> law U) (f : T -> U -> R) M : (forall x y, Rabs (f x y) <= M) -> bounded (fun x => E (k x) (f x)).
Proof.
  intros H. exists M. intros x.
  assert (B : bounded (f x)) by (exists M; apply H).
  assert (G : forall y, - M <= f x y <= M) by (intros y; specialize (H x y); revert H; unfold Rabs; destruct Rcase_abs; lra).
  apply Rabs_le. split.
  - rewrite <- (E_const (k x) (- M)). apply E_le; auto with law. apply G.
  - rewrite <- (E_const (k x) M). apply E_le; auto with law. apply G.
Qed.

(* ---- programs ---- *)
Definition ret {T} (x : T) : law T.
Proof.
  refine {| E := fun f => f x |}; auto.
Defined.

Definition bind {T U} (P : law T) (k : T -> law U) : law U.
Proof.
  refine {| E := fun f => E P (fun x => E (k x) f) |}.
  - intros f g F G H. apply E_le; auto with law. intros; apply E_le; auto.
  - intros f g F G. rewrite <- E_plus by auto with law. apply E_ext; auto with law. intros; apply E_plus; auto.
  - intros c f F. rewrite <- E_scale by auto with law. apply E_ext; auto with law. intros; apply E_scale; auto.
  - transitivity (E P (fun _ => 1)); [apply E_ext; auto with law; intros; apply E_one|apply E_one].
Defined.

Definition image {T U} (h : T -> U) (P : law T) : law U := bind P (fun x => ret (h x)).

(* true with chance p *)
Definition coin (p : R) (H : 0 <= p <= 1) : law bool.
Proof.
  refine {| E := fun f => p * f true + (1 - p) * f false |}; intros; try lra.
  apply Rplus_le_compat; apply Rmult_le_compat_l; auto; lra.
Defined.

(* ---- adjacency: one record of a list is replaced ---- *)
Definition replaced {A} (S S' : list A) : Prop := exists l r x x', S = l ++ x :: r /\ S' = l ++ x' :: r.

(* ---- closeness ---- *)
Definition close {T} (eps delta : R) (P Q : law T) : Prop :=
  forall f, test f -> E P f <= exp eps * E Q f + delta.

Definition private {D T} (adjacent : D -> D -> Prop) (eps delta : R) (M : D -> law T) : Prop :=
  forall S S', adjacent S S' -> close eps delta (M S) (M S').

Lemma close_weaken {T} e d e' d' (P Q : law T) : e <= e' -> d <= d' -> close e d P Q -> close e' d' P Q.
Proof.
  intros He Hd H f F. specialize (H f F). destruct (E_test Q f F).
  assert (exp e <= exp e') by (destruct He as [He| ->]; [left; now apply exp_increasing|lra]).
  assert (exp e * E Q f <= exp e' * E Q f) by (apply Rmult_le_compat_r; lra). lra.
Qed.

Theorem close_refl {T} (P : law T) : close 0 0 P P.
Proof. intros f F. rewrite exp_0. lra. Qed.

(* groups of two; more by induction, below *)
Theorem close_trans {T} e1 d1 e2 d2 (P Q W : law T) :
  close e1 d1 P Q -> close e2 d2 Q W -> close (e1 + e2) (d1 + exp e1 * d2) P W.
Proof.
  intros H K f F. specialize (H f F). specialize (K f F). rewrite exp_plus.
  pose proof (exp_pos e1). assert (exp e1 * E Q f <= exp e1 * (exp e2 * E W f + d2)) by (apply Rmult_le_compat_l; lra). lra.
Qed.

Theorem post_processing {T U} e d (P Q : law T) (k : T -> law U) : close e d P Q -> close e d (bind P k) (bind Q k).
Proof. intros H f F. cbn. apply (H (fun x => E (k x) f)). intros x. now apply E_test. Qed.

(* coins that are the same on both sides *)
Theorem mixture {T U} e d (C : law T) (P Q : T -> law U) : (forall c, close e d (P c) (Q c)) -> close e d (bind C P) (bind C Q).
Proof. intros H f F. cbn. apply E_affine; auto with law. intros x. now apply H. Qed.

Lemma Rmin_bounds a b : Rmin a b <= a /\ Rmin a b <= b.
Proof. split; [apply Rmin_l|apply Rmin_r]. Qed.

(* adaptive composition, δ₁ not multiplied: the section's bound is cut at 1 before the first guarantee is used *)
Lemma compose_tests {T U} e1 d1 e2 d2 (P Q : law T) (K L : T -> law U) (f : T -> U -> R) :
  0 <= d2 -> close e1 d1 P Q -> (forall x, close e2 d2 (K x) (L x)) -> (forall x, test (f x)) ->
  E P (fun x => E (K x) (f x)) <= exp (e1 + e2) * E Q (fun x => E (L x) (f x)) + (d1 + d2).
Proof.
  intros D2 H1 H2 F.
  assert (B : forall x y, Rabs (f x y) <= 1) by (intros x y; destruct (F x y); rewrite Rabs_pos_eq; lra).
  assert (BK : bounded (fun x => E (K x) (f x))) by (eapply bounded_E2; apply B).
  assert (BL : bounded (fun x => E (L x) (f x))) by (eapply bounded_E2; apply B).
  set (g := fun x => Rmin 1 (exp e2 * E (L x) (f x))).
  assert (G : test g).
  { intros x. unfold g. split; [|apply Rmin_l]. apply Rmin_glb; [lra|].
    apply Rmult_le_pos; [left; apply exp_pos|apply E_test, F]. }
  assert (S1 : E P (fun x => E (K x) (f x)) <= 1 * E P g + d2).
  { apply E_affine; auto with law. intros x. rewrite Rmult_1_l. unfold g.
    destruct (E_test (K x) (f x) (F x)). specialize (H2 x (f x) (F x)).
    unfold Rmin; destruct Rle_dec; lra. }
  specialize (H1 g G).
  assert (S2 : E Q g <= exp e2 * E Q (fun x => E (L x) (f x)) + 0).
  { apply E_affine; auto with law. intros x. unfold g. pose proof (Rmin_bounds 1 (exp e2 * E (L x) (f x))). lra. }
  pose proof (exp_pos e1). rewrite exp_plus.
  assert (exp e1 * E Q g <= exp e1 * (exp e2 * E Q (fun x => E (L x) (f x)))) by (apply Rmult_le_compat_l; lra).
  lra.
Qed.

Definition both {T U} (P : law T) (K : T -> law U) : law (T * U) := bind P (fun x => image (pair x) (K x)).

Theorem composition {T U} e1 d1 e2 d2 (P Q : law T) (K L : T -> law U) :
  0 <= d2 -> close e1 d1 P Q -> (forall x, close e2 d2 (K x) (L x)) -> close (e1 + e2) (d1 + d2) (both P K) (both Q L).
Proof.
  intros D2 H1 H2 f F. cbn. apply (compose_tests e1 d1 e2 d2 P Q K L (fun x y => f (x, y))); auto. intros x y. apply F.
Qed.

(* any number of stages, each chosen by what came out before *)
Fixpoint run {T} (K : list T -> law T) (n : nat) (past : list T) : law (list T) :=
  match n with O => ret past | S n => bind (K past) (fun x => run K n (x :: past)) end.

Theorem adaptive_composition {T} e d (K L : list T -> law T) : 0 <= d -> (forall past, close e d (K past) (L past)) ->
  forall n past, close (INR n * e) (INR n * d) (run K n past) (run L n past).
Proof.
  intros D H n. induction n as [|n IH]; intros past f F.
  - cbn [run INR]. rewrite Rmult_0_l, exp_0. cbn. lra.
  - cbn [run]. rewrite S_INR.
    replace ((INR n + 1) * e) with (e + INR n * e) by ring. replace ((INR n + 1) * d) with (d + INR n * d) by ring.
    cbn. apply (compose_tests e d (INR n * e) (INR n * d) (K past) (L past) (fun x => run K n (x :: past)) (fun x => run L n (x :: past)) (fun _ => f)).
    + apply Rmult_le_pos; [apply pos_INR|exact D].
    + apply H.
    + intros x. apply IH.
    + intros _. exact F.
Qed.

(* groups: proofs/guarantee.md, `group` *)
Fixpoint geometric_sum (e : R) (g : nat) : R := match g with O => 0 | S g => 1 + exp e * geometric_sum e g end.

Theorem group {D T} (adjacent : D -> D -> Prop) e d (M : D -> law T) : private adjacent e d M ->
  forall g (chain : nat -> D), (forall i, (i < g)%nat -> adjacent (chain i) (chain (S i))) ->
  close (INR g * e) (d * geometric_sum e g) (M (chain O)) (M (chain g)).
Proof.
  intros H g. induction g as [|g IH]; intros chain A.
  - cbn. intros f F. rewrite Rmult_0_l, exp_0. lra.
  - rewrite S_INR. cbn [geometric_sum].
    replace ((INR g + 1) * e) with (e + INR g * e) by ring.
    replace (d * (1 + exp e * geometric_sum e g)) with (d + exp e * (d * geometric_sum e g)) by ring.
    apply close_trans with (M (chain 1%nat)).
    + apply H, A. lia.
    + apply (IH (fun i => chain (S i))). intros i Hi. apply A. lia.
Qed.

(* Leaves of a plan: a run that ends in one of k leaves. *)
Fixpoint total (k : nat) (d : nat -> R) : R := match k with O => 0 | S k => total k d + d k end.
Definition on (leaf j : nat) : R := if Nat.eqb leaf j then 1 else 0.

Theorem leaves {T} (P Q : law T) (leaf : T -> nat) k (Pj Qj : nat -> law T) (e : R) (d : nat -> R) :
  (forall x, (leaf x < k)%nat) ->
  (forall j f, (j < k)%nat -> test f -> E P (fun x => on (leaf x) j * f x) = E (Pj j) (fun x => on (leaf x) j * f x)) ->
  (forall j f, (j < k)%nat -> test f -> E Q (fun x => on (leaf x) j * f x) = E (Qj j) (fun x => on (leaf x) j * f x)) ->
  (forall j, (j < k)%nat -> close e (d j) (Pj j) (Qj j)) ->
  close e (total k d) P Q.
Proof.
  intros W HP HQ H f F.
  assert (O : forall j, test (fun x => on (leaf x) j * f x)).
  { intros j x. unfold on. destruct (F x). destruct Nat.eqb; lra. }
  assert (B : forall j, bounded (fun x => on (leaf x) j * f x)) by auto with law.
  set (upto := fun n x => if Nat.ltb (leaf x) n then f x else 0).
  assert (U : forall n, test (upto n)) by (intros n x; unfold upto; destruct (F x), Nat.ltb; lra).
  assert (S : forall n, (n <= k)%nat -> E P (upto n) <= exp e * E Q (upto n) + total n d).
  { induction n as [|n IH]; intros Hn.
    - cbn [total]. rewrite (E_ext P (upto 0%nat) (fun _ => 0)), (E_ext Q (upto 0%nat) (fun _ => 0)), !E_const by auto with law. lra.
    - assert (X : forall W : law T, E W (upto (S n)) = E W (upto n) + E W (fun x => on (leaf x) n * f x)).
      { intros V. rewrite <- E_plus by auto with law. apply E_ext; auto with law. intros x. unfold upto, on.
        destruct (Nat.ltb_spec (leaf x) (S n)), (Nat.ltb_spec (leaf x) n), (Nat.eqb_spec (leaf x) n); try lia; lra. }
      rewrite !X. cbn [total]. specialize (IH ltac:(lia)).
      rewrite HP, HQ by (auto; lia). pose proof (H n ltac:(lia) _ (O n)). lra. }
  specialize (S k ltac:(lia)).
  assert (X : forall W : law T, E W (upto k) = E W f).
  { intros V. apply E_ext; auto with law. intros x. unfold upto. destruct (Nat.ltb_spec (leaf x) k); [easy|]. specialize (W x). lia. }
  now rewrite !X in S.
Qed.
