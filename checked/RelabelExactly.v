(* Relabelling with the dichotomies of a finite class and the exact draw: nothing is left to suppose but that A is
   (eps_A, delta_A)-DP. The cost is 2 * ln(1 + e^eta) + eps_A, and delta_A.
   Proof note: proofs/relabel.md. *)
From Coq Require Import Reals List Lra Lia Bool.
From pcqr Require Import Law Finite Relabel.
Import ListNotations.
Local Open Scope R_scope.

Section Finite_class.
  Context {X Out : Type} (class : list (X -> bool)) (member : X -> bool) (member_in : In member class) (eta : R) (eta_nonneg : 0 <= eta).
  Definition is_dichotomy (xs : list X) (v : list bool) : bool :=
    existsb (fun h => if list_eq_dec bool_dec (map h xs) v then true else false) class.
  Lemma is_dichotomy_ok xs v : is_dichotomy xs v = true <-> exists h, In h class /\ map h xs = v.
  Proof.
    unfold is_dichotomy. rewrite existsb_exists. split; intros (h & I & E); exists h; split; auto.
    - destruct list_eq_dec; easy.
    - destruct list_eq_dec; easy.
  Qed.
  Let chance := exact is_dichotomy eta.
  Lemma nonneg S v : In v (vectors (length S)) -> 0 <= chance S v.
  Proof. intros _. apply (exact_nonneg (fun h => In h class) is_dichotomy is_dichotomy_ok member member_in eta). Qed.
  Lemma one S : sum (vectors (length S)) (chance S) = 1.
  Proof. apply normal_one, (total_pos (fun h => In h class) is_dichotomy is_dichotomy_ok member member_in eta). Qed.

  Theorem relabel_exactly (A : list (X * bool) -> law Out) eA dA : private replaced eA dA A ->
    private replaced (2 * ln (1 + exp eta) + eA) dA (relabel chance nonneg one A).
  Proof.
    intros P. replace (2 * ln (1 + exp eta) + eA) with (relabel_cost eta + 2 * 0 + eA) by (unfold relabel_cost; ring).
    apply (relabel_is_private (fun h => In h class) is_dichotomy is_dichotomy_ok member member_in eta 0 eta_nonneg); auto;
      intros; rewrite exp_0; unfold chance; lra.
  Qed.
End Finite_class.
