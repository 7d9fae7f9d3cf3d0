(* The sparse vector whose threshold is noised once, and on one side: every query is chosen by the answers so far,
   stable answers carry their label and cost nothing, each unstable one costs 2 * e2. The whole is
   (e1 + 2 * E * e2, P(rho < -w))-DP, however many queries there are.
   Proof note: proofs/sparse_vector.md, One-sided. *)
From Coq Require Import Reals List Lra Lia ZArith.
From pcqr Require Import Law.
Import ListNotations.
Local Open Scope R_scope.

Section SparseVector.
  Context {D Query Label : Type}.
  Variables (label : Query -> D -> Label) (distance : Query -> D -> Z) (adjacent : D -> D -> Prop).
  Hypothesis moves : forall q S S', adjacent S S' -> (Z.abs (distance q S - distance q S') <= 1)%Z.
  Hypothesis flips : forall q S S', adjacent S S' -> label q S <> label q S' -> distance q S = 0%Z /\ distance q S' = 0%Z.

  (* the query's noise: ν = −G, and fails t = P(G ≥ t), the chance of ⊥ when d − w − ρ = t *)
  Variables (e1 e2 : R) (w : Z) (fails : Z -> R).
  Hypothesis fails_chance : forall t, 0 <= fails t <= 1.
  Hypothesis fails_below : forall t, (t <= 0)%Z -> fails t = 1.
  Hypothesis fails_decreases : forall t u, (t <= u)%Z -> fails u <= fails t.
  Hypothesis fails_slowly : forall t, fails t <= exp (2 * e2) * fails (t + 2).
  Hypothesis e2_nonneg : 0 <= e2.

  (* the threshold's noise: a law on the integers that a shift by one changes by a factor e^{e₁} at most *)
  Variable rho : law Z.
  Hypothesis shift : forall f, test f -> E rho (fun z => f (z - 1)%Z) <= exp e1 * E rho f.

  Definition answer := option Label.                       (* None is ⊥ *)
  Variable adversary : list answer -> Query.               (* the next query, by the answers so far *)

  (* n more queries at most, e more ⊥ at most, the threshold's noise being z *)
  Fixpoint transcript (S : D) (z : Z) (n e : nat) (past : list answer) : law (list answer) :=
    match n, e with
    | O, _ | _, O => ret past
    | Datatypes.S n, Datatypes.S e' =>
        let q := adversary past in
        bind (coin (fails (distance q S - w - z)) (fails_chance _))
             (fun bottom : bool => if bottom then transcript S z n e' (None :: past)
                                   else transcript S z n e (Some (label q S) :: past))
    end.
  Definition sparse_vector (n e : nat) (S : D) : law (list answer) := bind rho (fun z => transcript S z n e []).

  (* z on S against z − 1 on S', where no flipped query can pass on S: stable answers are free, each ⊥ costs 2e₂ *)
  Lemma transcript_close S S' z f : adjacent S S' -> (- w <= z)%Z -> test f ->
    forall n e past, E (transcript S z n e past) f <= exp (INR e * (2 * e2)) * E (transcript S' (z - 1) n e past) f.
  Proof.
    intros A Hz F n. induction n as [|n IH]; intros [|e] past; cbn [transcript].
    1-3: cbn [E ret]; destruct (F past).
    - cbn [INR]. rewrite Rmult_0_l, exp_0. lra.
    - assert (0 <= INR (Datatypes.S e) * (2 * e2)) by (apply Rmult_le_pos; [apply pos_INR|lra]).
      pose proof (exp_ineq1_le (INR (Datatypes.S e) * (2 * e2))).
      assert (1 * f past <= exp (INR (Datatypes.S e) * (2 * e2)) * f past) by (apply Rmult_le_compat_r; lra). lra.
    - cbn [INR]. rewrite Rmult_0_l, exp_0. lra.
    - cbn [E bind coin]. set (q := adversary past).
      set (p := fails (distance q S - w - z)). set (p' := fails (distance q S' - w - (z - 1))).
      pose proof (moves q S S' A) as M.
      assert (P : 0 <= p <= 1) by apply fails_chance. assert (P' : 0 <= p' <= 1) by apply fails_chance.
      assert (Q1 : p' <= p) by (apply fails_decreases; lia).
      assert (Q2 : p <= exp (2 * e2) * p').
      { eapply Rle_trans; [apply fails_slowly|]. apply Rmult_le_compat_l; [left; apply exp_pos|]. apply fails_decreases; lia. }
      rewrite S_INR. set (k := exp (2 * e2)) in *. set (K := exp (INR e * (2 * e2))).
      replace (exp ((INR e + 1) * (2 * e2))) with (K * k) by (unfold K, k; rewrite <- exp_plus; f_equal; ring).
      assert (HK : 0 < K) by apply exp_pos. assert (Hk : 0 < k) by apply exp_pos.
      pose proof (IH e (None :: past)) as B. fold K in B.
      set (x := E (transcript S z n e (None :: past)) f) in *. set (x' := E (transcript S' (z - 1) n e (None :: past)) f) in *.
      assert (X0 : 0 <= x) by (apply E_test, F). assert (X0' : 0 <= x') by (apply E_test, F).
      assert (L1 : p * x <= K * k * (p' * x')).
      { apply Rle_trans with ((k * p') * (K * x')); [apply Rmult_le_compat; lra|right; ring]. }
      set (y := E (transcript S z n (Datatypes.S e) (Some (label q S) :: past)) f).
      set (y' := E (transcript S' (z - 1) n (Datatypes.S e) (Some (label q S') :: past)) f).
      assert (Y0 : 0 <= y <= 1) by (apply E_test, F). assert (Y0' : 0 <= y') by (apply E_test, F).
      assert (L2 : (1 - p) * y <= K * k * ((1 - p') * y')).
      { destruct (Req_dec p 1) as [->|np].
        - rewrite Rminus_diag_eq, Rmult_0_l by easy. repeat apply Rmult_le_pos; lra.
        - assert (EL : ~ label q S <> label q S').
          { intros C. destruct (flips q S S' A C) as [Z0 _]. apply np. unfold p. rewrite Z0. apply fails_below. lia. }
          assert (Y : y <= K * k * y').
          { pose proof (IH (Datatypes.S e) (Some (label q S) :: past)) as G. fold y in G. rewrite S_INR in G.
            replace (exp ((INR e + 1) * (2 * e2))) with (K * k) in G by (unfold K, k; rewrite <- exp_plus; f_equal; ring).
            unfold y'. destruct (Rle_dec y (K * k * E (transcript S' (z - 1) n (Datatypes.S e) (Some (label q S') :: past)) f)) as [|N]; [easy|].
            exfalso. apply EL. intros EQ. apply N. now rewrite <- EQ. }
          apply Rle_trans with ((1 - p') * (K * k * y')); [|right; ring].
          apply Rmult_le_compat; lra. }
      fold y y'. lra.
  Qed.

  Definition low (z : Z) : R := if (z <? - w)%Z then 1 else 0.    (* ρ ≤ −w − 1 *)

  Theorem one_sided_sparse_vector_is_private n e :
    private adjacent (e1 + INR e * (2 * e2)) (E rho low) (sparse_vector n e).
  Proof.
    intros S S' A f F. cbn [sparse_vector bind E].
    set (v := fun z => E (transcript S z n e []) f). set (v' := fun z => E (transcript S' z n e []) f).
    assert (V : test v) by (intros z; now apply E_test). assert (V' : test v') by (intros z; now apply E_test).
    assert (L : test low) by (intros z; unfold low; destruct Z.ltb; lra).
    set (K := exp (INR e * (2 * e2))). assert (HK : 0 < K) by apply exp_pos.
    assert (B : E rho v <= E rho (fun z => K * v' (z - 1)%Z + 1 * low z)).
    { apply E_le; auto 6 with law. intros z. destruct (V z). destruct (V' (z - 1)%Z).
      unfold low. destruct (Z.ltb_spec z (- w)).
      - assert (0 <= K * v' (z - 1)%Z) by (apply Rmult_le_pos; lra). lra.
      - pose proof (transcript_close S S' z f A ltac:(lia) F n e []) as G. fold (v z) (v' (z - 1)%Z) K in G. lra. }
    rewrite E_plus, !E_scale in B by auto 6 with law.
    assert (C : K * E rho (fun z => v' (z - 1)%Z) <= K * (exp e1 * E rho v')) by (apply Rmult_le_compat_l; [lra|now apply shift]).
    rewrite exp_plus. fold K. lra.
  Qed.
End SparseVector.

(* the geometric law: P(G ≥ t) = e^{−e₂·max(0, t)} *)
Definition geometric_fails (e2 : R) (t : Z) : R := exp (- e2 * IZR (Z.max 0 t)).

Lemma exp_le a b : a <= b -> exp a <= exp b.
Proof. intros [H| ->]; [left; now apply exp_increasing|lra]. Qed.

Lemma geometric_fails_ok e2 : 0 <= e2 ->
  (forall t, 0 <= geometric_fails e2 t <= 1) /\
  (forall t, (t <= 0)%Z -> geometric_fails e2 t = 1) /\
  (forall t u, (t <= u)%Z -> geometric_fails e2 u <= geometric_fails e2 t) /\
  (forall t, geometric_fails e2 t <= exp (2 * e2) * geometric_fails e2 (t + 2)).
Proof.
  intros H. unfold geometric_fails.
  assert (D : forall t u, (t <= u)%Z -> exp (- e2 * IZR (Z.max 0 u)) <= exp (- e2 * IZR (Z.max 0 t))).
  { intros t u L. apply exp_le. assert (e2 * IZR (Z.max 0 t) <= e2 * IZR (Z.max 0 u)); [|lra].
    apply Rmult_le_compat_l; [exact H|]. apply IZR_le. lia. }
  assert (Z0 : forall t, (t <= 0)%Z -> exp (- e2 * IZR (Z.max 0 t)) = 1).
  { intros t L. rewrite Z.max_l by lia. rewrite Rmult_0_r. apply exp_0. }
  repeat split.
  - left; apply exp_pos.
  - destruct (Z.le_ge_cases t 0); [right; now apply Z0|]. rewrite <- (Z0 0%Z) by lia. now apply D.
  - exact Z0.
  - exact D.
  - intros t. rewrite <- exp_plus. apply exp_le.
    assert (e2 * IZR (Z.max 0 (t + 2)) <= e2 * (IZR (Z.max 0 t) + 2)); [|lra].
    apply Rmult_le_compat_l; [exact H|]. rewrite <- plus_IZR. apply IZR_le. lia.
Qed.
