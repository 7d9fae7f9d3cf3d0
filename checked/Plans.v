(* Plans: stages one after the other, or one of several options (proofs/plans.md; src/pcqr/privacy/composition.py).

   In words: a stage looks at the records and at all that was shown before it, and shows an outcome. For each history it
   is (eps, delta)-DP. A sequence runs its parts in order; what each shows is added to the history. A branch runs one of its
   options, and which one is a function of the history. Then everything that a plan shows is (eps, delta)-DP, where eps and
   delta add up over a sequence and are the largest over the options of a branch: basic composition and the worst leaf. Seen
   path by path: a plan is (eps, delta)-DP if on each path from its beginning to its end the eps of the stages add up
   to at most eps and their delta to at most delta. The Renyi and Gaussian figures of the note are proved on paper. *)
From Coq Require Import Reals List Lra Lia Arith.
From pcqr Require Import Law Finite Stability RelabelFixed.
Import ListNotations.
Local Open Scope R_scope.

Section Plans.
  Context {D Outcome : Type}.
  (* all that was shown, the latest first *)
  Definition history := list Outcome.

  Inductive plan : Type :=
    | Stage (show : history -> D -> law Outcome) (eps delta : R)
    | Sequence (parts : list plan)
    | Branch (choose : history -> nat) (first : plan) (others : list plan).

  Section Induction.
    Variable P : plan -> Prop.
    Hypothesis on_stage : forall show eps delta, P (Stage show eps delta).
    Hypothesis on_sequence : forall parts, Forall P parts -> P (Sequence parts).
    Hypothesis on_branch : forall choose first others, P first -> Forall P others -> P (Branch choose first others).
    Fixpoint plan_induction (p : plan) : P p :=
      let all := fix all (l : list plan) : Forall P l :=
        match l with [] => Forall_nil P | p :: l => Forall_cons p (plan_induction p) (all l) end in
      match p with
      | Stage show eps delta => on_stage show eps delta
      | Sequence parts => on_sequence parts (all parts)
      | Branch choose first others => on_branch choose first others (plan_induction first) (all others)
      end.
  End Induction.

  (* everything shown, the history before the plan included; options are numbered from 0, which is `first`, and so is a number
     beyond them *)
  Fixpoint run (p : plan) (S : D) (h : history) : law history :=
    match p with
    | Stage show _ _ => image (fun o => o :: h) (show h S)
    | Sequence parts => (fix all (l : list plan) (h : history) : law history :=
        match l with [] => ret h | p :: l => bind (run p S h) (all l) end) parts h
    | Branch choose first others =>
        match choose h with O => run first S h | Datatypes.S j => nth j (map (fun p => run p S h) others) (run first S h) end
    end.

  Fixpoint sum_of (l : list R) : R := match l with [] => 0 | x :: l => x + sum_of l end.
  Fixpoint largest (x : R) (l : list R) : R := match l with [] => x | y :: l => Rmax y (largest x l) end.

  Fixpoint eps_of (p : plan) : R :=
    match p with
    | Stage _ eps _ => eps
    | Sequence parts => sum_of (map eps_of parts)
    | Branch _ first others => largest (eps_of first) (map eps_of others)
    end.
  Fixpoint delta_of (p : plan) : R :=
    match p with
    | Stage _ _ delta => delta
    | Sequence parts => sum_of (map delta_of parts)
    | Branch _ first others => largest (delta_of first) (map delta_of others)
    end.

  Variable adjacent : D -> D -> Prop.

  (* what every stage promises, for each history *)
  Fixpoint sound (p : plan) : Prop :=
    match p with
    | Stage show eps delta => 0 <= delta /\ forall h, private adjacent eps delta (show h)
    | Sequence parts => fold_right (fun p rest => sound p /\ rest) True parts
    | Branch _ first others => sound first /\ fold_right (fun p rest => sound p /\ rest) True others
    end.

  Lemma largest_first x l : x <= largest x l.
  Proof. induction l as [|y l IH]; cbn; [lra|]. pose proof (Rmax_r y (largest x l)). lra. Qed.
  Lemma largest_in x l y : In y l -> y <= largest x l.
  Proof.
    induction l as [|z l IH]; [easy|]. intros [->|I]; cbn; [apply Rmax_l|].
    pose proof (Rmax_r z (largest x l)). specialize (IH I). lra.
  Qed.

  Lemma sound_delta p : sound p -> 0 <= delta_of p.
  Proof.
    induction p as [show eps delta|parts IH|choose first others IHf IHo] using plan_induction; cbn [sound delta_of].
    - tauto.
    - intros H. induction IH as [|p parts Hp _ IH]; cbn in *; [lra|]. destruct H as [H1 H2]. specialize (Hp H1). specialize (IH H2). lra.
    - intros [H _]. specialize (IHf H). pose proof (largest_first (delta_of first) (map delta_of others)). lra.
  Qed.

  Lemma sound_in parts p : fold_right (fun p rest => sound p /\ rest) True parts -> In p parts -> sound p.
  Proof.
    induction parts as [|o parts IH]; [easy|]. intros [H1 H2] [->|I]; [exact H1|now apply IH].
  Qed.

  Theorem plan_is_private p : sound p -> forall h, private adjacent (eps_of p) (delta_of p) (fun S => run p S h).
  Proof.
    induction p as [show eps delta|parts IH|choose first others IHf IHo] using plan_induction; cbn [sound].
    - intros [_ H] h S S' A. cbn [run eps_of delta_of]. apply post_processing. now apply H.
    - cbn [run eps_of delta_of]. induction IH as [|p parts Hp _ IH]; intros H h S S' A.
      + cbn. apply close_refl.
      + cbn [map sum_of]. destruct H as [H1 H2]. intros f F.
        assert (D2 : 0 <= sum_of (map delta_of parts)) by (apply (sound_delta (Sequence parts)); exact H2).
        apply (compose_tests (eps_of p) (delta_of p) _ _ (run p S h) (run p S' h) _ _ (fun _ => f) D2).
        * now apply Hp.
        * intros h'. exact (IH H2 h' S S' A).
        * intros _. exact F.
    - intros [H1 H2] h S S' A. cbn [run eps_of delta_of].
      pose proof (largest_first (eps_of first) (map eps_of others)) as E0.
      pose proof (largest_first (delta_of first) (map delta_of others)) as D0.
      assert (FIRST : close (largest (eps_of first) (map eps_of others)) (largest (delta_of first) (map delta_of others))
        (run first S h) (run first S' h)).
      { apply close_weaken with (eps_of first) (delta_of first); [exact E0|exact D0|]. now apply IHf. }
      destruct (choose h) as [|j]; [exact FIRST|].
      destruct (Nat.lt_ge_cases j (length others)) as [L|L].
      + rewrite (map_nth (fun p => run p S h) others first), (map_nth (fun p => run p S' h) others first).
        pose proof (nth_In others first L) as I. set (p := nth j others first) in *.
        apply close_weaken with (eps_of p) (delta_of p).
        * apply largest_in. now apply in_map.
        * apply largest_in. now apply in_map.
        * rewrite Forall_forall in IHo. apply IHo; [exact I| |exact A]. now apply (sound_in others).
      + rewrite !nth_overflow by (rewrite map_length; exact L). exact FIRST.
  Qed.

  (* ---- path by path ---- *)
  (* the sums of eps over the paths of a plan: every combination of options *)
  Fixpoint paths (figure : plan -> R) (p : plan) : list R :=
    match p with
    | Stage _ _ _ => [figure p]
    | Sequence parts => fold_right (fun p rest => flat_map (fun x => map (Rplus x) rest) (paths figure p)) [0] parts
    | Branch _ first others => paths figure first ++ flat_map (paths figure) others
    end.

  Lemma largest_is_one x l : largest x l = x \/ In (largest x l) l.
  Proof.
    induction l as [|y l IH]; cbn; [now left|]. unfold Rmax. destruct Rle_dec; [destruct IH; auto|now right; left].
  Qed.

  Lemma eps_is_a_path p : In (eps_of p) (paths eps_of p).
  Proof.
    induction p as [show eps delta|parts IH|choose first others IHf IHo] using plan_induction; cbn [paths eps_of].
    - now left.
    - induction IH as [|p parts Hp _ IH]; cbn [map sum_of fold_right]; [now left|].
      apply in_flat_map. exists (eps_of p). split; [exact Hp|]. now apply in_map.
    - apply in_or_app. destruct (largest_is_one (eps_of first) (map eps_of others)) as [->|I]; [now left|right].
      apply in_map_iff in I. destruct I as (p & E & I). apply in_flat_map. exists p. split; [exact I|].
      rewrite <- E. rewrite Forall_forall in IHo. now apply IHo.
  Qed.
  Lemma delta_is_a_path p : In (delta_of p) (paths delta_of p).
  Proof.
    induction p as [show eps delta|parts IH|choose first others IHf IHo] using plan_induction; cbn [paths delta_of].
    - now left.
    - induction IH as [|p parts Hp _ IH]; cbn [map sum_of fold_right]; [now left|].
      apply in_flat_map. exists (delta_of p). split; [exact Hp|]. now apply in_map.
    - apply in_or_app. destruct (largest_is_one (delta_of first) (map delta_of others)) as [->|I]; [now left|right].
      apply in_map_iff in I. destruct I as (p & E & I). apply in_flat_map. exists p. split; [exact I|].
      rewrite <- E. rewrite Forall_forall in IHo. now apply IHo.
  Qed.

  Theorem worst_path p e d : sound p -> (forall x, In x (paths eps_of p) -> x <= e) -> (forall x, In x (paths delta_of p) -> x <= d) ->
    forall h, private adjacent e d (fun S => run p S h).
  Proof.
    intros H A B h S S' R. apply close_weaken with (eps_of p) (delta_of p).
    - apply A, eps_is_a_path.
    - apply B, delta_is_a_path.
    - now apply plan_is_private.
  Qed.

  Theorem sequence_is_private p1 p2 : sound p1 -> sound p2 -> forall h,
    private adjacent (eps_of p1 + eps_of p2) (delta_of p1 + delta_of p2) (fun S => run (Sequence [p1; p2]) S h).
  Proof.
    intros H1 H2 h. pose proof (plan_is_private (Sequence [p1; p2]) (conj H1 (conj H2 I)) h) as G. cbn [eps_of delta_of map sum_of] in G.
    now rewrite !Rplus_0_r in G.
  Qed.
  Theorem branch_is_private choose p1 p2 : sound p1 -> sound p2 -> forall h,
    private adjacent (Rmax (eps_of p2) (eps_of p1)) (Rmax (delta_of p2) (delta_of p1)) (fun S => run (Branch choose p1 [p2]) S h).
  Proof. intros H1 H2 h. exact (plan_is_private (Branch choose p1 [p2]) (conj H1 (conj H2 I)) h). Qed.
End Plans.

(* The stage of a release that draws a classifier (DrawStage; proofs/sspp.md): its class, prior and draw may depend on what
   was shown before. *)
Section Draw.
  Context {X Label Member Outcome : Type}.
  Variable same : Label -> Label -> bool.
  Variables (members : history (Outcome := Outcome) -> list Member) (says : Member -> X -> Label) (prior : history (Outcome := Outcome) -> Member -> R).
  Hypothesis some : forall h, members h <> [].
  Hypothesis prior_pos : forall h m, In m (members h) -> 0 < prior h m.
  Variables eta lam : R.
  Hypothesis eta_nonneg : 0 <= eta.
  Variable chance : history (Outcome := Outcome) -> list (X * Label) -> Member -> R.
  Variable nonneg : forall h S m, In m (members h) -> 0 <= chance h S m.
  Variable one : forall h S, sum (members h) (chance h S) = 1.
  Hypothesis high : forall h S m, In m (members h) -> chance h S m <= exp lam * exact_chance same (members h) says (prior h) eta S m.
  Hypothesis low : forall h S m, In m (members h) -> exact_chance same (members h) says (prior h) eta S m <= exp lam * chance h S m.
  Variable shown : Member -> Outcome.

  Definition draw_stage : plan (D := list (X * Label)) (Outcome := Outcome) :=
    Stage (fun h S => image shown (sspp (members h) (chance h) (nonneg h) (one h) S)) (2 * eta + 2 * lam) 0.

  Theorem a_draw_is_a_sound_stage : sound replaced draw_stage.
  Proof.
    split; [lra|]. intros h S S' A. apply post_processing.
    apply (sspp_is_private same (members h) says (prior h) (some h) (prior_pos h) eta lam eta_nonneg); auto.
  Qed.
End Draw.

(* A coin that says a bit with the chance 3/4 is (ln 3, 0)-DP. Shown twice, then once more or not, as the first says. *)
Section Example_plan.
  Lemma three_quarters : 0 <= 3 / 4 <= 1. Proof. lra. Qed.
  Lemma one_quarter : 0 <= 1 / 4 <= 1. Proof. lra. Qed.
  Definition response (S : bool) : law bool := if S then coin (3 / 4) three_quarters else coin (1 / 4) one_quarter.
  Lemma response_is_private : private (fun _ _ : bool => True) (ln 3) 0 response.
  Proof.
    intros S S' _ f F. rewrite exp_ln by lra. destruct (F true). destruct (F false).
    destruct S, S'; cbn; lra.
  Qed.
  Definition respond : plan (D := bool) (Outcome := bool) := Stage (fun _ => response) (ln 3) 0.
  Definition example_plan : plan :=
    Sequence [respond; respond; Branch (fun h => match h with true :: _ => 0%nat | _ => 1%nat end) respond [Sequence []]].
  Example example_plan_is_private : forall h, private (fun _ _ : bool => True) (3 * ln 3) 0 (fun S => run example_plan S h).
  Proof.
    intros h. assert (L : 0 < ln 3) by (rewrite <- ln_1; apply ln_increasing; lra).
    assert (H : sound (fun _ _ : bool => True) respond) by (split; [lra|intros _; exact response_is_private]).
    apply worst_path; [cbn [example_plan sound fold_right]; tauto| |]; cbn [example_plan paths fold_right flat_map map app eps_of delta_of respond];
      intros x [<-|[<-|[]]]; lra.
  Qed.
End Example_plan.
