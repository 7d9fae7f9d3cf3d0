(* The uniform law on all n! orders exists and has what Subsample.v supposes. So amplification holds with nothing left
   to suppose of the sample.
   Proof note: proofs/subsample.md. *)
From Coq Require Import Reals List Lra Lia Bool Arith Permutation Eqdep_dec.
From pcqr Require Import Law Finite Subsample.
Import ListNotations.
Local Open Scope R_scope.

Lemma nodup_app {A} (l r : list A) : NoDup l -> NoDup r -> (forall x, In x l -> ~ In x r) -> NoDup (l ++ r).
Proof.
  induction l as [|a l IH]; intros L R D; cbn; [easy|]. inversion L; subst. constructor.
  - intros I. apply in_app_or in I. destruct I as [I|I]; [easy|]. now apply (D a (or_introl eq_refl)).
  - apply IH; auto. intros x X. apply D. now right.
Qed.
Lemma sum_permutation {A} (l r : list A) f : Permutation l r -> sum l f = sum r f.
Proof. induction 1; cbn; lra. Qed.

Section Orders.
  Variable n : nat.

  Fixpoint words (k : nat) : list (list nat) :=
    match k with O => [[]] | S k => flat_map (fun x => map (cons x) (words k)) (seq 0 n) end.
  Lemma in_words k p : length p = k -> (forall x, In x p -> (x < n)%nat) -> In p (words k).
  Proof.
    revert p. induction k as [|k IH]; intros p L B; cbn [words]; [destruct p; [now left|easy]|].
    apply in_flat_map. destruct p as [|x t]; [easy|]. exists x.
    split; [apply in_seq; specialize (B x (or_introl eq_refl)); lia|].
    apply in_map, IH; [cbn in L; lia|]. intros y Y. apply B. now right.
  Qed.
  Lemma nodup_words k : NoDup (words k).
  Proof.
    induction k as [|k IH]; cbn [words]; [constructor; [easy|constructor]|].
    assert (G : forall l, NoDup l -> NoDup (flat_map (fun x => map (cons x) (words k)) l)).
    { induction l as [|x l IHl]; intros N; cbn; [constructor|]. inversion N; subst.
      apply nodup_app; [|now apply IHl|].
      - apply FinFun.Injective_map_NoDup; [|exact IH]. intros u v E. now injection E.
      - intros p P Q. apply in_map_iff in P. destruct P as (t & <- & T). apply in_flat_map in Q. destruct Q as (y & Y & Q).
        apply in_map_iff in Q. destruct Q as (s & E & _). injection E as -> _. easy. }
    apply G, seq_NoDup.
  Qed.

  Fixpoint distinct (p : list nat) : bool := match p with [] => true | x :: r => negb (existsb (Nat.eqb x) r) && distinct r end.
  Lemma distinct_ok p : distinct p = true <-> NoDup p.
  Proof.
    induction p as [|x r IH]; cbn; [split; [constructor|easy]|]. rewrite andb_true_iff, negb_true_iff, IH.
    assert (existsb (Nat.eqb x) r = false <-> ~ In x r).
    { rewrite <- not_true_iff_false, existsb_exists. split; intros N I; apply N.
      - exists x. split; [easy|apply Nat.eqb_refl].
      - destruct I as (y & Y & E). apply Nat.eqb_eq in E. now subst. }
    rewrite H. split; [intros []; now constructor|inversion 1; auto].
  Qed.
  Definition ok (p : list nat) : bool := (length p =? n) && forallb (fun x => x <? n) p && distinct p.
  Lemma ok_spec p : ok p = true <-> length p = n /\ (forall x, In x p -> (x < n)%nat) /\ NoDup p.
  Proof.
    unfold ok. rewrite !andb_true_iff, Nat.eqb_eq, forallb_forall, distinct_ok. setoid_rewrite Nat.ltb_lt. tauto.
  Qed.

  Definition order := {p : list nat | ok p = true}.
  Definition place (p : order) (k : nat) : nat := nth k (proj1_sig p) 0%nat.
  Lemma order_eq (p r : order) : proj1_sig p = proj1_sig r -> p = r.
  Proof. destruct p as [p P], r as [r Q]. cbn. intros ->. f_equal. apply UIP_dec, bool_dec. Qed.

  Lemma once (p : order) k l : (k < n)%nat -> (l < n)%nat -> place p k = place p l -> k = l.
  Proof.
    destruct p as [p P]. unfold place. cbn. apply ok_spec in P. destruct P as (L & _ & N). intros K K' E.
    apply (proj1 (NoDup_nth p 0%nat) N); lia.
  Qed.
  Lemma onto (p : order) j : (j < n)%nat -> exists k, (k < n)%nat /\ place p k = j.
  Proof.
    destruct p as [p P]. unfold place. cbn. apply ok_spec in P. destruct P as (L & B & N). intros J.
    assert (I : In j p).
    { apply (NoDup_length_incl N (l' := seq 0 n)); [rewrite seq_length; lia| |apply in_seq; lia].
      intros x X. apply in_seq. specialize (B x X). lia. }
    destruct (In_nth p j 0%nat I) as (k & K & E). exists k. split; [lia|exact E].
  Qed.

  (* exchanging two places, where there are such places *)
  Definition moved (k l : nat) (p : list nat) : list nat := map (fun i => nth (swap k l i) p 0%nat) (seq 0 n).
  Lemma swap_lt k l i : (k < n)%nat -> (l < n)%nat -> (i < n)%nat -> (swap k l i < n)%nat.
  Proof. unfold swap. destruct (i =? k), (i =? l); lia. Qed.
  Lemma swap_swap k l i : swap k l (swap k l i) = i.
  Proof. unfold swap. destruct (Nat.eqb_spec i k), (Nat.eqb_spec i l); subst; rewrite ?Nat.eqb_refl; try easy;
    repeat (match goal with |- context [?a =? ?b] => destruct (Nat.eqb_spec a b) end); lia. Qed.
  Lemma nth_moved k l p i : (i < n)%nat -> nth i (moved k l p) 0%nat = nth (swap k l i) p 0%nat.
  Proof.
    intros I. unfold moved. rewrite nth_indep with (d' := (fun i => nth (swap k l i) p 0%nat) 0%nat) by (rewrite map_length, seq_length; lia).
    rewrite (map_nth (fun i => nth (swap k l i) p 0%nat)). now rewrite seq_nth.
  Qed.
  Lemma moved_ok k l p : (k < n)%nat -> (l < n)%nat -> ok p = true -> ok (moved k l p) = true.
  Proof.
    intros K L P. apply ok_spec. apply ok_spec in P. destruct P as (LP & B & N).
    assert (LM : length (moved k l p) = n) by (unfold moved; now rewrite map_length, seq_length).
    repeat split; [exact LM| |].
    - intros x X. unfold moved in X. apply in_map_iff in X. destruct X as (i & <- & I). apply in_seq in I.
      apply B, nth_In. rewrite LP. apply swap_lt; lia.
    - apply (NoDup_nth _ 0%nat). rewrite LM. intros i j I J. rewrite !nth_moved by assumption. intros E.
      assert (swap k l i = swap k l j) by (apply (proj1 (NoDup_nth p 0%nat) N); auto; rewrite LP; now apply swap_lt).
      rewrite <- (swap_swap k l i), <- (swap_swap k l j). congruence.
  Qed.
  Definition exchange (k l : nat) (o : order) : order :=
    match lt_dec k n, lt_dec l n with
    | left K, left L => exist _ (moved k l (proj1_sig o)) (moved_ok k l _ K L (proj2_sig o)) | _, _ => o end.
  Lemma exchange_ok k l o i : (k < n)%nat -> (l < n)%nat -> (i < n)%nat -> place (exchange k l o) i = place o (swap k l i).
  Proof.
    intros K L I. unfold exchange. destruct (lt_dec k n), (lt_dec l n); try lia. unfold place. cbn [proj1_sig]. now apply nth_moved.
  Qed.
  Lemma exchange_twice k l o : exchange k l (exchange k l o) = o.
  Proof.
    unfold exchange. destruct (lt_dec k n) as [K|], (lt_dec l n) as [L|]; try easy. apply order_eq. cbn [proj1_sig].
    destruct o as [p P]. cbn [proj1_sig]. apply ok_spec in P. destruct P as (LP & _ & _).
    apply (nth_ext _ _ 0%nat 0%nat); [unfold moved; now rewrite map_length, seq_length|].
    unfold moved at 1. rewrite map_length, seq_length. intros i I. rewrite nth_moved, nth_moved by (auto using swap_lt). now rewrite swap_swap.
  Qed.

  (* all of them *)
  Definition keep (p : list nat) : list order := match bool_dec (ok p) true with left H => [exist _ p H] | right _ => [] end.
  Lemma in_keep o p : In o (keep p) -> proj1_sig o = p.
  Proof. unfold keep. destruct bool_dec; [intros [<-|[]]; easy|intros []]. Qed.
  Definition orders : list order := flat_map keep (words n).
  Lemma in_orders o : In o orders.
  Proof.
    destruct o as [p P]. apply in_flat_map. exists p. split.
    - apply ok_spec in P. apply in_words; tauto.
    - unfold keep. destruct (bool_dec (ok p) true) as [Q|Q]; [left; now apply order_eq|easy].
  Qed.
  Lemma nodup_orders : NoDup orders.
  Proof.
    unfold orders. assert (G : forall l, NoDup l -> NoDup (flat_map keep l)).
    { induction l as [|x l IH]; intros N; cbn; [constructor|]. inversion N; subst. apply nodup_app; [|now apply IH|].
      - unfold keep. destruct bool_dec; repeat constructor. easy.
      - intros o X Y. assert (E : proj1_sig o = x) by (apply in_keep in X; exact X).
        apply in_flat_map in Y. destruct Y as (y & Y & Z).
        assert (E' : proj1_sig o = y) by (apply in_keep in Z; exact Z). congruence. }
    apply G, nodup_words.
  Qed.
  Lemma exchanged k l : Permutation (map (exchange k l) orders) orders.
  Proof.
    apply NoDup_Permutation.
    - apply FinFun.Injective_map_NoDup; [|apply nodup_orders]. intros o r E. rewrite <- (exchange_twice k l o), E. apply exchange_twice.
    - apply nodup_orders.
    - intros o. split; [intros; apply in_orders|]. intros _. apply in_map_iff. exists (exchange k l o).
      split; [apply exchange_twice|apply in_orders].
  Qed.

  Lemma some : orders <> [].
  Proof.
    assert (P : ok (seq 0 n) = true).
    { apply ok_spec. repeat split; [apply seq_length| |apply seq_NoDup]. intros x X. apply in_seq in X. lia. }
    intros E. pose proof (in_orders (exist _ (seq 0 n) P)) as I. rewrite E in I. easy.
  Qed.
  Definition uniform_order : law order :=
    weighted orders (fun _ => 1) (fun _ _ => Rle_0_1) (sum_pos orders (fun _ => 1) some (fun _ _ => Rlt_0_1)).
  Lemma uniform k l g : E uniform_order (fun o => g (exchange k l o)) = E uniform_order g.
  Proof.
    unfold uniform_order. rewrite !E_weighted. f_equal.
    rewrite <- (sum_permutation _ _ (fun o => 1 * g o) (exchanged k l)), sum_map. reflexivity.
  Qed.
End Orders.

(* subsample.md, with nothing left to suppose of the sample *)
Theorem amplification {Record Out : Type} (n m : nat) (M : list Record -> law Out) eps delta :
  (0 < m < n)%nat -> 0 <= eps -> private replaced eps delta M ->
  private (adjacent n) (ln (1 + INR m / INR n * (exp eps - 1))) (INR m / INR n * delta)
    (subsampled (place n) m (uniform_order n) M).
Proof.
  intros [M0 M1] P H. apply (subsample_amplifies (place n) n m M1 M0 (onto n) (once n) (exchange n)); auto.
  - apply exchange_ok.
  - intros. apply uniform.
Qed.
