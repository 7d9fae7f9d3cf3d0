(* A randomised adversary, the protocol that logs its queries, and the sparse vector against it
   (proofs/sparse_vector.md, Precondition and One-sided; proofs/priv_class.md).

   In words: an adversary has a memory of any kind. In each step it draws its next query, or none, by coins of its own and
   from all that it remembers, hears the answer, and remembers what it likes. What it remembers in the end is its view. An
   interactive mechanism draws its secrets from the records and then answers each query by the earlier queries and answers
   and by fresh coins. It is (eps, delta)-DP if the view of every such adversary is, after any number of steps.
   1. The one-sided sparse vector, with the draws of the code, is (e1 + 2*E*e2, P(rho < -w))-DP.
   2. PrivClass around a labeller: repeated queries get the logged answer, a coin comes with every decision, queries are
      refused once the labeller is exhausted. This has the (eps, delta) of the labeller. Rows that are decided together are
      those of an adversary who does not look at the answers between them. Quotas and tokens are not modelled: they are
      functions of earlier requests and replies, hence a part of the adversary. *)
From Coq Require Import Reals List Lra Lia ZArith Bool.
From pcqr Require Import Law SparseVector Laplace Stability Geometric.
From pcqr Require Votes.
Import ListNotations.
Local Open Scope R_scope.

(* ---- interaction ---- *)
(* answers by the earlier queries and answers, the latest first *)
Definition behaviour (Query Answer : Type) := list (Query * Answer) -> Query -> law Answer.

Section Interact.
  Context {Query Answer Memory : Type}.
  Variables (move : Memory -> law (Memory * option Query)) (hear : Memory -> Query -> Answer -> Memory).

  Fixpoint interact (b : behaviour Query Answer) (n : nat) (past : list (Query * Answer)) (m : Memory) : law Memory :=
    match n with
    | O => ret m
    | S n => bind (move m) (fun c =>
        match snd c with
        | None => interact b n past (fst c)
        | Some q => bind (b past q) (fun a => interact b n ((q, a) :: past) (hear (fst c) q a))
        end)
    end.
End Interact.

Definition interactively_private {D Query Answer : Type} (adjacent : D -> D -> Prop) (eps delta : R)
    (M : D -> law (behaviour Query Answer)) : Prop :=
  forall (Memory : Type) (move : Memory -> law (Memory * option Query)) (hear : Memory -> Query -> Answer -> Memory)
    (n : nat) (m : Memory),
  private adjacent eps delta (fun S => bind (M S) (fun b => interact move hear b n [] m)).

(* The definition refuses something: a mechanism that tells the record is private for no eps and no delta below 1. *)
Example telling_is_not_private eps delta : delta < 1 ->
  ~ interactively_private (fun _ _ : bool => True) eps delta (fun S => ret (fun (_ : list (unit * bool)) (_ : unit) => ret S)).
Proof.
  intros H P.
  pose proof (P (option bool) (fun m => ret (m, Some tt)) (fun _ _ a => Some a) 1%nat None true false I
    (fun m => match m with Some true => 1 | _ => 0 end)) as G.
  cbn in G. assert (1 <= exp eps * 0 + delta); [apply G|lra]. intros [[|]|]; lra.
Qed.

(* An adversary without coins who remembers everything: the law of the transcript. *)
Definition transcript_of {D Query Answer : Type} (M : D -> law (behaviour Query Answer))
    (adversary : list (Query * Answer) -> Query) (n : nat) (S : D) : law (list (Query * Answer)) :=
  bind (M S) (fun b => interact (fun past => ret (past, Some (adversary past))) (fun past q a => (q, a) :: past) b n [] []).

Theorem transcripts_are_private {D Query Answer : Type} (adjacent : D -> D -> Prop) eps delta
    (M : D -> law (behaviour Query Answer)) :
  interactively_private adjacent eps delta M -> forall adversary n, private adjacent eps delta (transcript_of M adversary n).
Proof. intros H adversary n. apply H. Qed.

(* secrets that do not depend on the records *)
Theorem interactive_mixture {C D Query Answer : Type} (adjacent : D -> D -> Prop) eps delta (coins : law C)
    (M : C -> D -> law (behaviour Query Answer)) :
  (forall c, interactively_private adjacent eps delta (M c)) ->
  interactively_private adjacent eps delta (fun S => bind coins (fun c => M c S)).
Proof.
  intros H Memory move hear n m S S' A.
  apply (mixture eps delta coins (fun c => bind (M c S) (fun b => interact move hear b n [] m))
    (fun c => bind (M c S') (fun b => interact move hear b n [] m))).
  intros c. now apply H.
Qed.

(* ---- the sparse vector ---- *)
Inductive decision (Label : Type) : Type := stable (l : Label) | unstable | refused.
Arguments stable {Label}. Arguments unstable {Label}. Arguments refused {Label}.

Definition is_bottom {Label} (a : decision Label) : bool := match a with unstable => true | _ => false end.
Definition bottoms {Query Label} (past : list (Query * decision Label)) : nat :=
  length (filter (fun qa => is_bottom (snd qa)) past).

Section SparseVector.
  Context {D Query Label : Type}.
  Variables (label : Query -> D -> Label) (distance : Query -> D -> Z) (adjacent : D -> D -> Prop).
  Hypothesis moves : forall q S S', adjacent S S' -> (Z.abs (distance q S - distance q S') <= 1)%Z.
  Hypothesis flips : forall q S S', adjacent S S' -> label q S <> label q S' -> distance q S = 0%Z /\ distance q S' = 0%Z.
  Variables (e1 e2 : R) (w most : nat).
  Hypothesis e1_pos : 0 < e1.
  Hypothesis e2_pos : 0 < e2.

  (* z is the noise of the threshold; at most `most` answers are unstable *)
  Definition test_behaviour (S : D) (z : Z) : behaviour Query (decision Label) := fun past q =>
    if (bottoms past <? most)%nat
    then bind (query_noise e2 e2_pos) (fun g =>
           ret (if is_unstable (distance q S) (Z.of_nat w) z g then unstable else stable (label q S)))
    else ret refused.
  Definition threshold_test (S : D) : law (behaviour Query (decision Label)) := image (test_behaviour S) (noise e1 e1_pos).

  Definition chance (S : D) (z : Z) (q : Query) : R := geometric_fails e2 (distance q S - Z.of_nat w - z).
  Lemma e2_nonneg : 0 <= e2. Proof. lra. Qed.
  Lemma chance_01 S z q : 0 <= chance S z q <= 1.
  Proof. apply (geometric_fails_ok e2 e2_nonneg). Qed.

  Lemma E_test_behaviour S z past q f : (bottoms past < most)%nat ->
    E (test_behaviour S z past q) f = chance S z q * f unstable + (1 - chance S z q) * f (stable (label q S)).
  Proof.
    intros B. unfold test_behaviour. destruct (Nat.ltb_spec (bottoms past) most); [|lia].
    pose proof (unstable_is_a_coin e2 e2_pos (distance q S) (Z.of_nat w) z (chance_01 S z q)
      (fun b => f (if b then unstable else stable (label q S)))) as H0. cbn in H0 |- *. exact H0.
  Qed.

  Section Adversary.
    Context {Memory : Type}.
    Variables (move : Memory -> law (Memory * option Query)) (hear : Memory -> Query -> decision Label -> Memory).

    (* z on S against z - 1 on S', where no query whose label flips can pass on S *)
    Lemma interact_close S S' z f : adjacent S S' -> (- Z.of_nat w <= z)%Z -> test f ->
      forall n past m, E (interact move hear (test_behaviour S z) n past m) f <=
        exp (INR (most - bottoms past) * (2 * e2)) * E (interact move hear (test_behaviour S' (z - 1)) n past m) f.
    Proof.
      intros A Hz F n. induction n as [|n IH]; intros past m; cbn [interact].
      - cbn [ret E]. destruct (F m). set (r := INR (most - bottoms past) * (2 * e2)).
        assert (0 <= r) by (apply Rmult_le_pos; [apply pos_INR|lra]). pose proof (exp_ineq1_le r).
        assert (1 * f m <= exp r * f m) by (apply Rmult_le_compat_r; lra). lra.
      - set (k := exp (INR (most - bottoms past) * (2 * e2))). cbn [bind E].
        rewrite <- (Rplus_0_r (k * _)). apply E_affine; [auto with law|auto with law|].
        intros [m' [q|]]; cbn [fst snd]; rewrite Rplus_0_r; [|apply IH].
        cbn [bind E]. destruct (Nat.lt_ge_cases (bottoms past) most) as [L|L].
        2: { unfold test_behaviour at 1 3. destruct (Nat.ltb_spec (bottoms past) most); [lia|]. cbn [ret E].
             apply (IH ((q, refused) :: past)). }
        rewrite !E_test_behaviour by exact L.
        set (p := chance S z q). set (p' := chance S' (z - 1) q).
        pose proof (moves q S S' A) as M.
        destruct (geometric_fails_ok e2 e2_nonneg) as (G1 & G2 & G3 & G4).
        assert (P : 0 <= p <= 1) by apply chance_01. assert (P' : 0 <= p' <= 1) by apply chance_01.
        assert (Q1 : p' <= p) by (apply G3; lia).
        assert (Q2 : p <= exp (2 * e2) * p').
        { eapply Rle_trans; [apply G4|]. apply Rmult_le_compat_l; [left; apply exp_pos|]. apply G3; lia. }
        pose proof (IH ((q, unstable) :: past) (hear m' q unstable)) as B.
        set (x := E (interact move hear (test_behaviour S z) n ((q, unstable) :: past) (hear m' q unstable)) f) in *.
        set (x' := E (interact move hear (test_behaviour S' (z - 1)) n ((q, unstable) :: past) (hear m' q unstable)) f) in *.
        assert (X0 : 0 <= x) by (apply E_test, F). assert (X0' : 0 <= x') by (apply E_test, F).
        set (c := exp (2 * e2)) in *.
        set (K := exp (INR (most - bottoms ((q, @unstable Label) :: past)) * (2 * e2))) in *.
        assert (EK : k = K * c).
        { unfold k, K, c. rewrite <- exp_plus. f_equal. unfold bottoms. cbn [filter is_bottom snd length]. fold (bottoms past).
          replace (most - bottoms past)%nat with (Datatypes.S (most - Datatypes.S (bottoms past))) by lia. rewrite S_INR. ring. }
        assert (HK : 0 < K) by apply exp_pos. assert (Hc : 0 < c) by apply exp_pos.
        assert (L1 : p * x <= k * (p' * x')).
        { rewrite EK. apply Rle_trans with ((c * p') * (K * x')); [apply Rmult_le_compat; lra|right; ring]. }
        set (y := E (interact move hear (test_behaviour S z) n ((q, stable (label q S)) :: past) (hear m' q (stable (label q S)))) f).
        set (y' := E (interact move hear (test_behaviour S' (z - 1)) n ((q, stable (label q S')) :: past) (hear m' q (stable (label q S')))) f).
        assert (Y0 : 0 <= y <= 1) by (apply E_test, F). assert (Y0' : 0 <= y') by (apply E_test, F).
        assert (L2 : (1 - p) * y <= k * ((1 - p') * y')).
        { assert (Hk : 0 < k) by apply exp_pos.
          destruct (Req_dec p 1) as [E1|np].
          - rewrite E1, Rminus_diag_eq, Rmult_0_l by easy. repeat apply Rmult_le_pos; lra.
          - assert (EL : ~ label q S <> label q S').
            { intros C. destruct (flips q S S' A C) as [Z0 _]. apply np. unfold p, chance. rewrite Z0. apply G2. lia. }
            assert (Y : y <= k * y').
            { pose proof (IH ((q, stable (label q S)) :: past) (hear m' q (stable (label q S)))) as G.
              change (bottoms ((q, stable (label q S)) :: past)) with (bottoms past) in G. fold k in G. fold y in G.
              unfold y'. destruct (Rle_dec y (k * E (interact move hear (test_behaviour S' (z - 1)) n
                ((q, stable (label q S')) :: past) (hear m' q (stable (label q S')))) f)) as [|N]; [easy|].
              exfalso. apply EL. intros EQ. apply N. now rewrite <- EQ. }
            apply Rle_trans with ((1 - p') * (k * y')); [|right; ring]. apply Rmult_le_compat; lra. }
        lra.
    Qed.
  End Adversary.

  Theorem sparse_vector_is_interactively_private :
    interactively_private adjacent (e1 + INR most * (2 * e2)) (tail e1 w) threshold_test.
  Proof.
    intros Memory move hear n m S S' A f F. cbn [threshold_test image bind ret E].
    set (v := fun z => E (interact move hear (test_behaviour S z) n [] m) f).
    set (v' := fun z => E (interact move hear (test_behaviour S' z) n [] m) f).
    set (rho := noise e1 e1_pos). set (low := fun z : Z => if (z <? - Z.of_nat w)%Z then 1 else 0).
    assert (T : E rho low = tail e1 w) by apply laplace_tail. rewrite <- T.
    assert (V : test v) by (intros z; now apply E_test). assert (V' : test v') by (intros z; now apply E_test).
    assert (L : test low) by (intros z; unfold low; destruct Z.ltb; lra).
    set (K := exp (INR most * (2 * e2))). assert (HK : 0 < K) by apply exp_pos.
    assert (B : E rho v <= E rho (fun z => K * v' (z - 1)%Z + 1 * low z)).
    { apply E_le; [auto with law|auto 6 with law|]. intros z. destruct (V z). destruct (V' (z - 1)%Z).
      unfold low. destruct (Z.ltb_spec z (- Z.of_nat w)).
      - assert (0 <= K * v' (z - 1)%Z) by (apply Rmult_le_pos; lra). lra.
      - pose proof (interact_close move hear S S' z f A ltac:(lia) F n [] m) as G. cbn [bottoms filter length] in G.
        rewrite Nat.sub_0_r in G. fold (v z) (v' (z - 1)%Z) K in G. lra. }
    rewrite E_plus, !E_scale in B by auto 6 with law.
    assert (SH : E rho (fun z => v' (z - 1)%Z) <= exp e1 * E rho v').
    { replace (exp e1) with (/ exp (- e1)) by (rewrite exp_Ropp, Rinv_inv; reflexivity). now apply laplace_shift. }
    assert (C : K * E rho (fun z => v' (z - 1)%Z) <= K * (exp e1 * E rho v')) by (apply Rmult_le_compat_l; lra).
    rewrite exp_plus. fold K. change (E rho v <= exp e1 * K * E rho v' + E rho low). lra.
  Qed.
End SparseVector.

(* the sparse vector on votes of which one record moves one *)
Section Votes.
  Context {D Query : Type}.
  Variables (votes : Query -> D -> list Z) (adjacent : D -> D -> Prop).
  Hypothesis two_labels : forall q S, (2 <= length (votes q S))%nat.
  Hypothesis one_vote : forall q S S', adjacent S S' -> Votes.one_vote_moves (votes q S) (votes q S').
  Variables (e1 e2 : R) (w most : nat).
  Hypothesis e1_pos : 0 < e1.
  Hypothesis e2_pos : 0 < e2.

  Definition vote_test : D -> law (behaviour Query (decision nat)) :=
    threshold_test (fun q S => Votes.plurality (votes q S)) (fun q S => Votes.distance (votes q S)) e1 e2 w most e1_pos e2_pos.

  Theorem votes_are_interactively_private :
    interactively_private adjacent (e1 + INR most * (2 * e2)) (tail e1 w) vote_test.
  Proof.
    apply sparse_vector_is_interactively_private.
    - intros q S S' A. apply Votes.distance_moves_by_at_most_one; auto.
    - intros q S S' A N. split.
      + apply Votes.distance_zero_at_a_flip with (votes q S'); auto.
      + apply Votes.distance_zero_at_a_flip with (votes q S); auto using Votes.one_vote_moves_sym.
  Qed.
End Votes.

(* ---- PrivClass ---- *)
(* the reply to a query: a new decision with its coin, the logged ones, or that the labeller is exhausted; besides, how many
   distinct queries were decided by then *)
Inductive reply (Answer Coin : Type) : Type :=
  | decided (a : Answer) (coin : Coin) (asked : nat)
  | repeated (a : Answer) (coin : Coin) (asked : nat)
  | exhausted (asked : nat).
Arguments decided {Answer Coin}. Arguments repeated {Answer Coin}. Arguments exhausted {Answer Coin}.

Section PrivClass.
  Context {D Query Answer Coin : Type}.
  (* which queries are one query; nothing is asked of it *)
  Variable same : Query -> Query -> bool.
  (* whether the labeller may decide no more: a function of the decisions so far *)
  Variable is_exhausted : list (Query * Answer) -> bool.
  (* the coin that stands in for an unstable answer *)
  Variable coins : law Coin.

  Definition log := list (Query * (Answer * Coin)).
  Fixpoint log_of (past : list (Query * reply Answer Coin)) : log :=
    match past with
    | [] => []
    | (q, decided a c _) :: past => (q, (a, c)) :: log_of past
    | _ :: past => log_of past
    end.
  Definition decisions (l : log) : list (Query * Answer) := map (fun e => (fst e, fst (snd e))) l.
  Definition logged (q : Query) (l : log) : option (Query * (Answer * Coin)) := find (fun e => same q (fst e)) l.

  Definition priv_class (b : behaviour Query Answer) : behaviour Query (reply Answer Coin) := fun past q =>
    let l := log_of past in
    match logged q l with
    | Some (_, (a, c)) => ret (repeated a c (length l))
    | None => if is_exhausted (decisions l) then ret (exhausted (length l))
              else bind coins (fun c => bind (b (decisions l) q) (fun a => ret (decided a c (S (length l)))))
    end.

  Section Adversary.
    Context {Memory : Type}.
    Variables (move : Memory -> law (Memory * option Query)) (hear : Memory -> Query -> reply Answer Coin -> Memory).

    (* the adversary against the labeller, who runs PrivClass by itself and asks what has to be decided *)
    Definition state := (Memory * list (Query * reply Answer Coin) * option Coin)%type.
    Definition responded (m : Memory) (past : list (Query * reply Answer Coin)) (q : Query) (r : reply Answer Coin) : state :=
      (hear m q r, (q, r) :: past, None).
    Definition move_inside (s : state) : law (state * option Query) :=
      let '(m, past, _) := s in
      bind (move m) (fun c =>
        match snd c with
        | None => ret ((fst c, past, None), None)
        | Some q =>
            let l := log_of past in
            match logged q l with
            | Some (_, (a, k)) => ret (responded (fst c) past q (repeated a k (length l)), None)
            | None => if is_exhausted (decisions l) then ret (responded (fst c) past q (exhausted (length l)), None)
                      else bind coins (fun k => ret ((fst c, past, Some k), Some q))
            end
        end).
    Definition hear_inside (s : state) (q : Query) (a : Answer) : state :=
      let '(m, past, k) := s in
      match k with Some k => responded m past q (decided a k (S (length (log_of past)))) | None => s end.

    Lemma runs_inside b f n past m k :
      E (interact move hear (priv_class b) n past m) f =
      E (interact move_inside hear_inside b n (decisions (log_of past)) (m, past, k)) (fun s => f (fst (fst s))).
    Proof.
      revert past m k. induction n as [|n IH]; intros past m k; [reflexivity|].
      cbn [interact bind E move_inside]. apply E_same. intros [m' [q|]]; cbn [fst snd].
      2: { cbn [ret E fst snd]. apply IH. }
      unfold priv_class at 1. destruct (logged q (log_of past)) as [[q' [a c]]|] eqn:LG.
      - cbn [bind ret E fst snd]. unfold responded. apply (IH ((q, repeated a c (length (log_of past))) :: past)).
      - destruct (is_exhausted (decisions (log_of past))).
        + cbn [bind ret E fst snd]. unfold responded. apply (IH ((q, exhausted (length (log_of past))) :: past)).
        + cbn [bind ret E fst snd]. apply E_same. intros c. apply E_same. intros a.
          unfold hear_inside at 2, responded. apply (IH ((q, decided a c (S (length (log_of past)))) :: past)).
    Qed.
  End Adversary.

  Theorem priv_class_is_private (adjacent : D -> D -> Prop) eps delta (labeller : D -> law (behaviour Query Answer)) :
    interactively_private adjacent eps delta labeller ->
    interactively_private adjacent eps delta (fun S => image priv_class (labeller S)).
  Proof.
    intros H Memory move hear n m S S' A f F.
    pose proof (H _ (move_inside move hear) (hear_inside hear) n (m, [], None) S S' A (fun s => f (fst (fst s)))) as G.
    cbn [image bind ret E] in G |- *.
    rewrite (E_same (labeller S) _ (fun b =>
      E (interact (move_inside move hear) (hear_inside hear) b n [] (m, [], None)) (fun s => f (fst (fst s))))).
    - rewrite (E_same (labeller S') _ (fun b =>
        E (interact (move_inside move hear) (hear_inside hear) b n [] (m, [], None)) (fun s => f (fst (fst s))))).
      + apply G. intros s. apply F.
      + intros b. apply (runs_inside move hear b f n [] m None).
    - intros b. apply (runs_inside move hear b f n [] m None).
  Qed.
End PrivClass.
