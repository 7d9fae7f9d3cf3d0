(* UnvPrivCl: votes until publication is due, then a classifier (proofs/unv_priv_cl.md).

   In words: queries are answered by votes, an interactive (e1, d1)-DP mechanism, until publication is due, which is a
   function of the queries and replies so far. Then a classifier is drawn from the records by a mechanism that the queries
   and replies so far choose. It is (e2, d2)-DP for each such choice. It is shown, and answers every later query. All that a
   randomised adversary sees, before and after publication, the time of publication included, is (e1 + e2, d1 + d2)-DP. *)
From Coq Require Import Reals List Lra Lia Bool.
From pcqr Require Import Law Stability Adversary.
Import ListNotations.
Local Open Scope R_scope.

(* A classifier that a private mechanism draws answers any number of queries, chosen in any way, and costs nothing more. *)
Theorem a_published_classifier_answers_everything {D Query Label Classifier : Type} (adjacent : D -> D -> Prop) eps delta
    (publish : D -> law Classifier) (says : Classifier -> Query -> Label) :
  private adjacent eps delta publish ->
  interactively_private adjacent eps delta (fun S => image (fun h (_ : list (Query * Label)) q => ret (says h q)) (publish S)).
Proof.
  intros P Memory move hear n m S S' A.
  exact (post_processing eps delta _ _ (fun h => interact move hear (fun (_ : list (Query * Label)) q => ret (says h q)) n [] m) (P S S' A)).
Qed.

Section Universal.
  Context {D Query Reply Classifier : Type}.
  Variables (adjacent : D -> D -> Prop) (e1 d1 e2 d2 : R).
  Variable votes : D -> law (behaviour Query Reply).
  Variable due : list (Query * Reply) -> bool.
  Variable publish : list (Query * Reply) -> D -> law Classifier.
  Hypothesis votes_private : interactively_private adjacent e1 d1 votes.
  Hypothesis publish_private : forall past, private adjacent e2 d2 (publish past).
  Hypothesis e2_nonneg : 0 <= e2.
  Hypothesis d2_nonneg : 0 <= d2.

  (* a reply of the votes, or the whole classifier, of which every label is a function *)
  Inductive response : Type := by_votes (r : Reply) | published (h : Classifier).

  Fixpoint votes_of (past : list (Query * response)) : list (Query * Reply) :=
    match past with
    | [] => []
    | (q, by_votes r) :: past => (q, r) :: votes_of past
    | (_, published _) :: past => votes_of past
    end.
  Fixpoint classifier_of (past : list (Query * response)) : option Classifier :=
    match past with
    | [] => None
    | (_, published h) :: _ => Some h
    | _ :: past => classifier_of past
    end.

  (* the classifier is drawn once, and from then on it answers *)
  Definition publication (S : D) : behaviour Query response := fun past q =>
    match classifier_of past with
    | Some h => ret (published h)
    | None => image published (publish (votes_of past) S)
    end.
  Definition both_stages (S : D) (b : behaviour Query Reply) : behaviour Query response := fun past q =>
    match classifier_of past with
    | Some h => ret (published h)
    | None => if due (votes_of past) then publication S past q else image by_votes (b (votes_of past) q)
    end.
  Definition unv_priv_cl (S : D) : law (behaviour Query response) := image (both_stages S) (votes S).

  Section Adversary.
    Context {Memory : Type}.
    Variables (move : Memory -> law (Memory * option Query)) (hear : Memory -> Query -> response -> Memory).

    (* what is asked after publication is post-processing *)
    Lemma after_publication S S' : adjacent S S' -> forall f, test f -> forall n past m,
      (classifier_of past <> None -> E (interact move hear (publication S) n past m) f = E (interact move hear (publication S') n past m) f) /\
      E (interact move hear (publication S) n past m) f <= exp e2 * E (interact move hear (publication S') n past m) f + d2.
    Proof.
      intros A f F n. induction n as [|n IH]; intros past m; cbn [interact].
      - split; [reflexivity|]. cbn [ret E]. destruct (F m). pose proof (exp_ineq1_le e2).
        assert (1 * f m <= exp e2 * f m) by (apply Rmult_le_compat_r; lra). lra.
      - split.
        + intros C. cbn [bind E]. apply E_same. intros [m' [q|]]; cbn [fst snd]; [|now apply IH].
          cbn [bind E]. unfold publication at 1 3. destruct (classifier_of past) as [h|]; [|easy]. cbn [ret E].
          apply IH. cbn. discriminate.
        + cbn [bind E]. apply E_affine; [auto with law|auto with law|]. intros [m' [q|]]; cbn [fst snd]; [|apply IH].
          cbn [bind E]. unfold publication at 1 3. destruct (classifier_of past) as [h|] eqn:C; cbn [ret image bind E].
          * apply IH.
          * rewrite (E_same (publish (votes_of past) S) _
              (fun h => E (interact move hear (publication S') n ((q, published h) :: past) (hear m' q (published h))) f)).
            2: { intros h. apply IH. cbn. discriminate. }
            apply (publish_private (votes_of past) S S' A). intros h. now apply E_test.
    Qed.

    (* the adversary against the votes, who stops when publication is due and counts the steps that are left *)
    Definition waiting := (Memory * list (Query * response) * nat)%type.
    Definition move_before (s : waiting) : law (waiting * option Query) :=
      let '(m, past, k) := s in
      if due (votes_of past) then ret ((m, past, S k), None)
      else bind (move m) (fun c => ret ((fst c, past, k), snd c)).
    Definition hear_before (s : waiting) (q : Query) (r : Reply) : waiting :=
      let '(m, past, k) := s in (hear m q (by_votes r), (q, by_votes r) :: past, k).

    Lemma waits b n past p m k f : due (votes_of past) = true ->
      E (interact move_before hear_before b n p (m, past, k)) f = f (m, past, (n + k)%nat).
    Proof.
      intros H. revert k. induction n as [|n IH]; intros k; cbn [interact]; [reflexivity|].
      cbn [bind E move_before]. rewrite H. cbn [ret E fst snd]. rewrite IH. do 2 f_equal. lia.
    Qed.

    Definition rest (S : D) (s : waiting) : law Memory := let '(m, past, k) := s in interact move hear (publication S) k past m.

    Lemma same_when_due S b f n past m : classifier_of past = None -> due (votes_of past) = true ->
      E (interact move hear (both_stages S b) n past m) f = E (interact move hear (publication S) n past m) f.
    Proof.
      intros C H. assert (G : forall past, classifier_of past <> None \/ due (votes_of past) = true ->
        forall m, E (interact move hear (both_stages S b) n past m) f = E (interact move hear (publication S) n past m) f).
      2: { apply G. auto. }
      clear past m C H. induction n as [|n IH]; intros past H m; [reflexivity|]. cbn [interact bind E].
      apply E_same. intros [m' [q|]]; cbn [fst snd]; [|now apply IH].
      cbn [bind E]. unfold both_stages at 1. unfold publication at 2. destruct (classifier_of past) as [h|] eqn:C.
      - cbn [ret E]. apply IH. left. cbn. discriminate.
      - destruct H as [H|H]; [easy|]. rewrite H. unfold publication at 1. rewrite C. cbn [image bind ret E].
        apply E_same. intros h. apply IH. left. cbn. discriminate.
    Qed.

    Lemma in_two_stages S b f n past m : classifier_of past = None ->
      E (interact move hear (both_stages S b) n past m) f =
      E (interact move_before hear_before b n (votes_of past) (m, past, 0%nat)) (fun s => E (rest S s) f).
    Proof.
      revert past m. induction n as [|n IH]; intros past m C; [reflexivity|].
      destruct (due (votes_of past)) eqn:H.
      - rewrite waits by exact H. cbn [rest]. rewrite Nat.add_0_r. now apply same_when_due.
      - cbn [interact bind E move_before]. rewrite H. cbn [bind ret E]. apply E_same. intros [m' [q|]]; cbn [fst snd]; [|now apply IH].
        cbn [bind E]. unfold both_stages at 1. rewrite C, H. cbn [image bind ret E]. apply E_same. intros r.
        apply (IH ((q, by_votes r) :: past)). exact C.
    Qed.
  End Adversary.

  Theorem two_stages_are_private : interactively_private adjacent (e1 + e2) (d1 + d2) unv_priv_cl.
  Proof.
    intros Memory move hear n m S S' A f F. cbn [unv_priv_cl image bind ret E].
    rewrite (E_same (votes S) _ (fun b =>
        E (interact (move_before move) (hear_before hear) b n [] (m, [], 0%nat)) (fun s => E (rest move hear S s) f)))
      by (intros b; apply (in_two_stages move hear S b f n [] m); reflexivity).
    rewrite (E_same (votes S') _ (fun b =>
        E (interact (move_before move) (hear_before hear) b n [] (m, [], 0%nat)) (fun s => E (rest move hear S' s) f)))
      by (intros b; apply (in_two_stages move hear S' b f n [] m); reflexivity).
    pose proof (votes_private _ (move_before move) (hear_before hear) n (m, [], 0%nat) S S' A) as V.
    apply (compose_tests e1 d1 e2 d2 _ _ (rest move hear S) (rest move hear S') (fun _ => f) d2_nonneg V).
    - intros [[m' past] k] g G. now apply after_publication.
    - intros _. exact F.
  Qed.
End Universal.
