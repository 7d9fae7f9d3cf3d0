(* SSPP, and relabelling over a fixed class (proofs/sspp.md; proofs/exponential.md; proofs/relabel.md, Fixed case).

   In words: the members of the class do not depend on the private records: they are declared, or made of public points.
   A member h is drawn with a chance within a factor e^lambda of one proportional to prior(h)*e^(-eta*errors(h; S)). Then h
   is (2*eta + 2*lambda, 0)-DP and may be shown: SSPP. If the records are relabelled by h, h is forgotten, and an
   (eps_A, delta_A)-DP algorithm A sees the relabelled records, then the whole is (2*eta + 2*lambda + eps_A, delta_A)-DP. Any
   number of labels. *)
From Coq Require Import Reals List Lra Lia Bool.
From pcqr Require Import Law Finite Stability Adversary.
From pcqr Require Relabel.
Import ListNotations.
Local Open Scope R_scope.

(* Relabelling adds `cost` to the eps of whatever sees the relabelled records, and multiplies no delta. *)
Definition relabelling_costs {X Label : Type} (cost : R) (relabelled : list (X * Label) -> law (list (X * Label))) : Prop :=
  forall (Out : Type) (A : list (X * Label) -> law Out) eA dA, 0 <= dA -> private replaced eA dA A ->
  private replaced (cost + eA) dA (fun S => bind (relabelled S) A).

Theorem relabelling_costs_interactively {X Label Query Answer : Type} cost (relabelled : list (X * Label) -> law (list (X * Label)))
    (M : list (X * Label) -> law (behaviour Query Answer)) eA dA :
  relabelling_costs cost relabelled -> 0 <= dA -> interactively_private replaced eA dA M ->
  interactively_private replaced (cost + eA) dA (fun S => bind (relabelled S) M).
Proof.
  intros C D H Memory move hear n m.
  exact (C _ (fun S => bind (M S) (fun b => interact move hear b n [] m)) eA dA D (H Memory move hear n m)).
Qed.

Section Fixed.
  Context {X Label Member : Type}.
  Definition records := list (X * Label).
  Variable same : Label -> Label -> bool.
  Variables (members : list Member) (says : Member -> X -> Label) (prior : Member -> R).
  Hypothesis some : members <> [].
  Hypothesis prior_pos : forall h, In h members -> 0 < prior h.
  Variables eta lam : R.
  Hypothesis eta_nonneg : 0 <= eta.

  Definition is_wrong (h : Member) (record : X * Label) : R := if same (says h (fst record)) (snd record) then 0 else 1.
  Definition errors (S : records) (h : Member) : R := sum S (is_wrong h).

  Lemma errors_move S S' h : replaced S S' -> Rabs (errors S h - errors S' h) <= 1.
  Proof.
    intros (l & r & x & x' & -> & ->). unfold errors. rewrite !sum_app. cbn [sum].
    assert (B : forall x, 0 <= is_wrong h x <= 1) by (intros y; unfold is_wrong; destruct same; lra).
    pose proof (B x). pose proof (B x'). apply Rabs_le. lra.
  Qed.

  Definition exact_draw : records -> law Member := exponential members prior errors eta some prior_pos.
  Definition exact_chance (S : records) (h : Member) : R := weight prior errors eta S h / sum members (weight prior errors eta S).

  (* the draw that is made *)
  Variable chance : records -> Member -> R.
  Hypothesis chance_nonneg : forall S h, In h members -> 0 <= chance S h.
  Hypothesis chance_one : forall S, sum members (chance S) = 1.
  Hypothesis chance_high : forall S h, In h members -> chance S h <= exp lam * exact_chance S h.
  Hypothesis chance_low : forall S h, In h members -> exact_chance S h <= exp lam * chance S h.

  Definition sspp (S : records) : law Member := chances members (chance S) (chance_nonneg S) (chance_one S).

  Theorem sspp_is_private : private replaced (2 * eta + 2 * lam) 0 sspp.
  Proof.
    intros S S' A. apply inexact_draw with (exact_draw S) (exact_draw S').
    - intros f F. cbn. rewrite Rplus_0_r, <- sum_scale. apply sum_le. intros h I. rewrite <- Rmult_assoc.
      apply Rmult_le_compat_r; [apply F|now apply chance_high].
    - replace (2 * eta) with (2 * eta * 1) by ring. apply exponential_is_private; [exact eta_nonneg|].
      intros h _. now apply errors_move.
    - intros f F. cbn. rewrite Rplus_0_r, <- sum_scale. apply sum_le. intros h I. rewrite <- Rmult_assoc.
      apply Rmult_le_compat_r; [apply F|now apply chance_low].
  Qed.

  Definition relabelled_by (h : Member) (S : records) : records := map (fun record => (fst record, says h (fst record))) S.
  Lemma relabelled_by_replaced h S S' : replaced S S' -> replaced (relabelled_by h S) (relabelled_by h S').
  Proof.
    intros (l & r & x & x' & -> & ->). unfold relabelled_by. rewrite !map_app. cbn [map].
    exists (map (fun record => (fst record, says h (fst record))) l), (map (fun record => (fst record, says h (fst record))) r).
    eexists. eexists. split; reflexivity.
  Qed.

  Definition relabelled_fixed (S : records) : law records := image (fun h => relabelled_by h S) (sspp S).

  Theorem relabelling_by_a_fixed_class : relabelling_costs (2 * eta + 2 * lam) relabelled_fixed.
  Proof.
    intros Out A eA dA D P S S' R f F.
    pose proof (compose_tests (2 * eta + 2 * lam) 0 eA dA (sspp S) (sspp S') (fun h => A (relabelled_by h S))
      (fun h => A (relabelled_by h S')) (fun _ => f) D (sspp_is_private S S' R)) as G.
    rewrite Rplus_0_l in G. apply G; [|intros _; exact F].
    intros h. apply P. now apply relabelled_by_replaced.
  Qed.
End Fixed.

(* The exact draw, lambda = 0: nothing is left to suppose. *)
Section Exactly.
  Context {X Label Member : Type} (same : Label -> Label -> bool) (members : list Member) (says : Member -> X -> Label)
    (some : members <> []) (eta : R) (eta_nonneg : 0 <= eta).
  Let prior := fun _ : Member => 1.
  Let prior_pos : forall h, In h members -> 0 < prior h. Proof. intros; unfold prior; lra. Qed.
  Let chance := exact_chance same members says prior eta.

  Lemma total_pos S : 0 < sum members (weight prior (errors same says) eta S).
  Proof. apply sum_pos; [exact some|]. intros h I. apply Rmult_lt_0_compat; [now apply prior_pos|apply exp_pos]. Qed.
  Lemma exactly_nonneg S h : In h members -> 0 <= chance S h.
  Proof.
    intros I. apply Rmult_le_pos; [|left; apply Rinv_0_lt_compat, total_pos].
    apply Rmult_le_pos; [left; now apply prior_pos|left; apply exp_pos].
  Qed.
  Lemma exactly_one S : sum members (chance S) = 1.
  Proof. apply normal_one, total_pos. Qed.

  Definition sspp_exactly : list (X * Label) -> law Member := sspp members chance exactly_nonneg exactly_one.
  Theorem sspp_exactly_is_private : private replaced (2 * eta) 0 sspp_exactly.
  Proof.
    replace (2 * eta) with (2 * eta + 2 * 0) by ring.
    apply (sspp_is_private same members says prior some prior_pos eta 0 eta_nonneg); intros; rewrite exp_0; unfold chance; lra.
  Qed.
  Theorem relabelling_by_a_fixed_class_exactly :
    relabelling_costs (2 * eta) (relabelled_fixed members says chance exactly_nonneg exactly_one).
  Proof.
    replace (2 * eta) with (2 * eta + 2 * 0) by ring.
    apply (relabelling_by_a_fixed_class same members says prior some prior_pos eta 0 eta_nonneg); intros; rewrite exp_0; unfold chance; lra.
  Qed.
End Exactly.

(* Relabel.v in these words: the dichotomies of the private points. *)
Theorem relabelling_by_dichotomies {X : Type} (H : (X -> bool) -> Prop) is_dichotomy
    (is_dichotomy_ok : forall xs v, is_dichotomy xs v = true <-> exists h, H h /\ map h xs = v)
    (member : X -> bool) (member_in : H member) eta lam (eta_nonneg : 0 <= eta)
    (chance : list (X * bool) -> list bool -> R)
    (nonneg : forall S v, In v (Relabel.vectors (length S)) -> 0 <= chance S v)
    (one : forall S, sum (Relabel.vectors (length S)) (chance S) = 1) :
  (forall S v, In v (Relabel.vectors (length S)) -> chance S v <= exp lam * Relabel.exact is_dichotomy eta S v) ->
  (forall S v, In v (Relabel.vectors (length S)) -> Relabel.exact is_dichotomy eta S v <= exp lam * chance S v) ->
  relabelling_costs (2 * ln (1 + exp eta) + 2 * lam) (fun S => image (Relabel.relabelled S) (Relabel.draw chance nonneg one S)).
Proof.
  intros High Low Out A eA dA _ P.
  exact (Relabel.relabel_is_private H is_dichotomy is_dichotomy_ok member member_in eta lam eta_nonneg chance nonneg one High Low A eA dA P).
Qed.
