(* The stability test (proofs/stability.md), and Stab, the test on the votes of teachers (src/pcqr/releases/subsample/run.py).

   In words: f(S) is any value, d(S) an integer. On neighbours d moves by at most 1, and d = 0 on both sides where f
   differs. Z is discrete Laplace noise, P(Z = z) proportional to a^|z|, a = exp(-epsilon). The test shows f(S) where
   d(S) + Z > w, and nothing else where not. Then it is (epsilon, P(Z > w))-private, P(Z > w) = a^(w+1)/(1 + a), and the
   two are not paid at the same time: neighbours are (epsilon, 0)-close or (0, delta)-close. *)
From Coq Require Import Reals List Lra Lia ZArith FunctionalExtensionality.
From Coquelicot Require Import Coquelicot.
From pcqr Require Import Law Laplace.
From pcqr Require Votes.
Import ListNotations.
Local Open Scope R_scope.

Lemma E_same {T} (P : law T) f g : (forall x, f x = g x) -> E P f = E P g.
Proof. intros H. f_equal. now apply functional_extensionality. Qed.

(* ---- discrete Laplace noise: its mirror image, its upper tail ---- *)
Section Noise.
  Variable a : R.
  Hypothesis a_pos : 0 < a.
  Hypothesis a_below : a < 1.
  Let Z_ := laplace a a_pos a_below.

  Lemma laplace_mirror f : bounded f -> E Z_ (fun z => f (- z)%Z) = E Z_ f.
  Proof.
    intros F. cbn. f_equal.
    assert (BU : bounded (up f)) by (unfold up; auto with law).
    assert (BM : bounded (up (fun z => f (- z)%Z))) by (unfold up; apply (bounded_after (fun n : nat => - Z.of_nat n)%Z f F)).
    rewrite (side_first a a_pos a_below (up f)) by exact BU. rewrite (side_first a a_pos a_below (up (fun z => f (- z)%Z))) by exact BM.
    assert (D : side a (fun n => up (fun z => f (- z)%Z) (Datatypes.S n)) = side a (down f)).
    { unfold side. apply Series_ext. intros n. f_equal. unfold up, down. f_equal. lia. }
    assert (U : side a (down (fun z => f (- z)%Z)) = side a (fun n => up f (Datatypes.S n))).
    { unfold side. apply Series_ext. intros n. f_equal. unfold up, down. f_equal. lia. }
    rewrite D, U. unfold up. cbn [Z.of_nat Z.opp]. ring.
  Qed.

  Lemma laplace_shift_up f : test f -> E Z_ (fun z => f (z + 1)%Z) <= / a * E Z_ f.
  Proof.
    intros F. assert (G : test (fun z => f (- z)%Z)) by (intros z; apply F).
    pose proof (laplace_shift a a_pos a_below (fun z => f (- z)%Z) G) as H. fold Z_ in H.
    rewrite (laplace_mirror f) in H by auto with law.
    assert (X : E Z_ (fun z => f (- (z - 1))%Z) = E Z_ (fun z => f (z + 1)%Z)).
    { rewrite <- (laplace_mirror (fun z => f (z + 1)%Z)) by (apply (bounded_after (fun z => z + 1)%Z f); auto with law).
      apply E_same. intros z. f_equal. lia. }
    rewrite X in H. exact H.
  Qed.

  (* P(Z > w) = a^(w+1)/(1 + a) for w >= 0 *)
  Theorem laplace_upper_tail (w : nat) : E Z_ (fun z => if (Z.of_nat w <? z)%Z then 1 else 0) = a ^ (w + 1) / (1 + a).
  Proof.
    rewrite <- (laplace_tail a a_pos a_below w). fold Z_.
    rewrite <- (laplace_mirror (fun z => if (z <? - Z.of_nat w)%Z then 1 else 0)).
    - apply E_same. intros z. destruct (Z.ltb_spec (Z.of_nat w) z), (Z.ltb_spec (- z) (- Z.of_nat w)); try lia; lra.
    - apply bounded_test. intros z. destruct Z.ltb; lra.
  Qed.
End Noise.

Lemma decay_pos e : 0 < exp (- e).
Proof. apply exp_pos. Qed.
Lemma decay_below e : 0 < e -> exp (- e) < 1.
Proof. intros H. rewrite <- exp_0. apply exp_increasing. lra. Qed.
(* discrete Laplace noise of scale 1/e *)
Definition noise (e : R) (H : 0 < e) : law Z := laplace (exp (- e)) (decay_pos e) (decay_below e H).
(* P(Z > w) *)
Definition tail (e : R) (w : nat) : R := exp (- e) ^ (w + 1) / (1 + exp (- e)).

Lemma tail_pos e w : 0 < tail e w.
Proof.
  pose proof (exp_pos (- e)). apply Rdiv_lt_0_compat; [now apply pow_lt|lra].
Qed.

Section StabilityTest.
  Context {D Value : Type}.
  Variables (value : D -> Value) (distance : D -> Z) (adjacent : D -> D -> Prop).
  Hypothesis moves : forall S S', adjacent S S' -> (Z.abs (distance S - distance S') <= 1)%Z.
  Hypothesis flips : forall S S', adjacent S S' -> value S <> value S' -> distance S = 0%Z /\ distance S' = 0%Z.
  Variables (epsilon : R) (w : nat).
  Hypothesis epsilon_pos : 0 < epsilon.

  Definition stability_test (S : D) : law (option Value) :=
    bind (noise epsilon epsilon_pos) (fun z => ret (if (Z.of_nat w <? distance S + z)%Z then Some (value S) else None)).

  Lemma same_value S S' : adjacent S S' -> value S = value S' -> close epsilon 0 (stability_test S) (stability_test S').
  Proof.
    intros A V f F. cbn [stability_test bind ret E]. rewrite Rplus_0_r. rewrite <- V.
    set (g := fun t : Z => f (if (Z.of_nat w <? t)%Z then Some (value S) else None)).
    assert (G : test g) by (intros t; apply F).
    set (h := fun z => g (distance S' + z)%Z). assert (HH : test h) by (intros z; apply G).
    assert (X : exp epsilon = / exp (- epsilon)) by (rewrite exp_Ropp, Rinv_inv; reflexivity).
    pose proof (exp_pos (- epsilon)) as EP.
    pose proof (moves S S' A) as M.
    change (E (noise epsilon epsilon_pos) (fun z => g (distance S + z)%Z) <= exp epsilon * E (noise epsilon epsilon_pos) h).
    assert (C : (distance S = distance S' + 1 \/ distance S = distance S' - 1 \/ distance S = distance S')%Z) by lia.
    destruct C as [C|[C|C]].
    - rewrite (E_same _ _ (fun z => h (z + 1)%Z)) by (intros z; unfold h; f_equal; lia). rewrite X. now apply laplace_shift_up.
    - rewrite (E_same _ _ (fun z => h (z - 1)%Z)) by (intros z; unfold h; f_equal; lia). rewrite X. now apply laplace_shift.
    - rewrite C. fold h. assert (0 <= E (noise epsilon epsilon_pos) h) by (apply E_test; exact HH).
      assert (1 <= exp epsilon) by (pose proof (exp_ineq1_le epsilon); lra).
      assert (1 * E (noise epsilon epsilon_pos) h <= exp epsilon * E (noise epsilon epsilon_pos) h) by (apply Rmult_le_compat_r; lra).
      lra.
  Qed.

  Lemma other_value S S' : adjacent S S' -> value S <> value S' -> close 0 (tail epsilon w) (stability_test S) (stability_test S').
  Proof.
    intros A V f F. destruct (flips S S' A V) as [D0 D0']. cbn [stability_test bind ret E]. rewrite D0, D0', exp_0.
    unfold tail. rewrite <- (laplace_upper_tail (exp (- epsilon)) (decay_pos epsilon) (decay_below epsilon epsilon_pos) w).
    change (laplace _ _ _) with (noise epsilon epsilon_pos).
    set (p := fun z : Z => if (Z.of_nat w <? z)%Z then 1 else 0).
    assert (P : test p) by (intros z; unfold p; destruct Z.ltb; lra).
    set (g' := fun z => f (if (Z.of_nat w <? 0 + z)%Z then Some (value S') else None)).
    assert (G' : test g') by (intros z; apply F).
    set (g := fun z => f (if (Z.of_nat w <? 0 + z)%Z then Some (value S) else None)).
    assert (G : test g) by (intros z; apply F).
    change (E (noise epsilon epsilon_pos) g <= 1 * E (noise epsilon epsilon_pos) g' + E (noise epsilon epsilon_pos) p).
    rewrite <- E_scale, <- E_plus by auto with law.
    apply E_le; [auto with law|auto with law|].
    intros z. unfold g, g', p. destruct (F (Some (value S))). destruct (F (Some (value S'))). destruct (F None).
    rewrite Z.add_0_l. destruct (Z.of_nat w <? z)%Z; lra.
  Qed.

  (* Any pair of neighbours is either (epsilon, 0)- or (0, delta)-close. *)
  Theorem stability_test_pays_one_of_both S S' : adjacent S S' ->
    (value S = value S' -> close epsilon 0 (stability_test S) (stability_test S')) /\
    (value S <> value S' -> close 0 (tail epsilon w) (stability_test S) (stability_test S')).
  Proof. intros A. split; intros V; [now apply same_value|now apply other_value]. Qed.

  Theorem stability_test_is_private : private adjacent epsilon (tail epsilon w) stability_test.
  Proof.
    intros S S' A. pose proof (tail_pos epsilon w).
    destruct (Classical_Prop.classic (value S = value S')) as [V|V].
    - apply close_weaken with epsilon 0; [lra|lra|]. now apply same_value.
    - apply close_weaken with 0 (tail epsilon w); [lra|lra|]. now apply other_value.
  Qed.

  (* No smaller delta holds, whatever eps is: on S' the value of S does not come up. *)
  Theorem stability_test_attains_delta S S' (is_it : Value -> bool) e d : adjacent S S' ->
    is_it (value S) = true -> is_it (value S') = false -> close e d (stability_test S) (stability_test S') -> tail epsilon w <= d.
  Proof.
    intros A Y N C. assert (V : value S <> value S') by congruence. destruct (flips S S' A V) as [D0 D0'].
    set (f := fun o : option Value => match o with Some v => if is_it v then 1 else 0 | None => 0 end).
    assert (F : test f) by (intros [v|]; unfold f; [destruct (is_it v)|]; lra).
    specialize (C f F). cbn [stability_test bind ret E] in C. rewrite D0, D0' in C.
    rewrite (E_same _ (fun z => f (if (Z.of_nat w <? 0 + z)%Z then Some (value S) else None)) (fun z => if (Z.of_nat w <? z)%Z then 1 else 0)) in C.
    2: { intros z. rewrite Z.add_0_l. unfold f. destruct (Z.of_nat w <? z)%Z; [now rewrite Y|reflexivity]. }
    rewrite (E_same _ (fun z => f (if (Z.of_nat w <? 0 + z)%Z then Some (value S') else None)) (fun _ => 0)) in C.
    2: { intros z. unfold f. destruct (Z.of_nat w <? 0 + z)%Z; [now rewrite N|reflexivity]. }
    rewrite E_const in C. unfold noise in C. rewrite laplace_upper_tail in C. fold (tail epsilon w) in C. lra.
  Qed.
End StabilityTest.

(* Stab: one test of the teachers' votes. One record moves one vote (Ensemble.v says when). *)
Section Stab.
  Context {D : Type}.
  Variables (votes : D -> list Z) (adjacent : D -> D -> Prop).
  Hypothesis two_labels : forall S, (2 <= length (votes S))%nat.
  Hypothesis one_vote : forall S S', adjacent S S' -> Votes.one_vote_moves (votes S) (votes S').
  Variables (epsilon : R) (w : nat).
  Hypothesis epsilon_pos : 0 < epsilon.

  Definition stab : D -> law (option nat) :=
    stability_test (fun S => Votes.plurality (votes S)) (fun S => Votes.distance (votes S)) epsilon w epsilon_pos.

  Theorem stable_votes_are_private : private adjacent epsilon (tail epsilon w) stab.
  Proof.
    apply stability_test_is_private.
    - intros S S' A. apply Votes.distance_moves_by_at_most_one; auto.
    - intros S S' A N. split.
      + apply Votes.distance_zero_at_a_flip with (votes S'); auto.
      + apply Votes.distance_zero_at_a_flip with (votes S); auto using Votes.one_vote_moves_sym.
  Qed.
End Stab.

