(* A secret sub-sample of m of n records, drawn without replacement: an (eps, delta)-DP mechanism on it is
   (ln(1 + q * (e^eps - 1)), q * delta)-DP on all records, q = m/n, under replace one. The order of the records is any
   law that exchanging two places leaves unchanged. Orders.v builds one.
   Proof note: proofs/subsample.md. *)
From Coq Require Import Reals List Lra Lia Bool Arith.
From pcqr Require Import Law Finite.
Import ListNotations.
Local Open Scope R_scope.

Definition swap (k l i : nat) : nat := if i =? k then l else if i =? l then k else i.

(* sums over places *)
Fixpoint upto (N : nat) (g : nat -> R) : R := match N with O => 0 | S N => upto N g + g N end.
Lemma upto_le N g h : (forall k, (k < N)%nat -> g k <= h k) -> upto N g <= upto N h.
Proof. intros H. induction N as [|N IH]; cbn; [lra|]. apply Rplus_le_compat; [apply IH; intros; apply H; lia|apply H; lia]. Qed.
Lemma upto_ext N g h : (forall k, (k < N)%nat -> g k = h k) -> upto N g = upto N h.
Proof. intros H. apply Rle_antisym; apply upto_le; intros k K; rewrite (H k K); lra. Qed.
Lemma upto_const N c : upto N (fun _ => c) = INR N * c.
Proof. induction N as [|N IH]; cbn [upto]; [cbn; ring|]. rewrite IH, S_INR. ring. Qed.
Lemma upto_scale N c g : upto N (fun k => c * g k) = c * upto N g.
Proof. induction N as [|N IH]; cbn; [ring|]. rewrite IH. ring. Qed.
Lemma upto_plus N g h : upto N (fun k => g k + h k) = upto N g + upto N h.
Proof. induction N as [|N IH]; cbn; [ring|]. rewrite IH. ring. Qed.
Lemma upto_split N K g : upto (N + K) g = upto N g + upto K (fun i => g (N + i)%nat).
Proof. induction K as [|K IH]; cbn; [rewrite Nat.add_0_r; ring|]. rewrite Nat.add_succ_r. cbn. rewrite IH. ring. Qed.

(* the note's last step, in numbers *)
Lemma amplify_numbers q e d m0 m1 m1' : 0 <= q <= 1 -> 1 <= e -> 0 <= m0 -> 0 <= m1' ->
  m1 <= e * m1' + d -> m1 <= e * m0 + d ->
  (1 - q) * m0 + q * m1 <= (1 + q * (e - 1)) * ((1 - q) * m0 + q * m1') + q * d.
Proof.
  intros Q E M0 M1' A B. set (mu := Rmin m0 m1').
  assert (mu <= m0 /\ mu <= m1') as [U1 U2] by apply Rmin_bounds.
  assert (U0 : 0 <= mu) by (apply Rmin_glb; lra).
  assert (C : m1 <= e * mu + d) by (unfold mu, Rmin; destruct Rle_dec; lra).
  set (P := (1 - q) * m0 + q * m1').
  assert (P1 : mu <= P).
  { unfold P. assert ((1 - q) * mu <= (1 - q) * m0) by (apply Rmult_le_compat_l; lra).
    assert (q * mu <= q * m1') by (apply Rmult_le_compat_l; lra). lra. }
  assert (P2 : (1 - q) * m0 + q * mu <= P) by (unfold P; assert (q * mu <= q * m1') by (apply Rmult_le_compat_l; lra); lra).
  assert (S1 : q * m1 <= q * (e * mu + d)) by (apply Rmult_le_compat_l; lra).
  assert (S2 : (q * (e - 1)) * mu <= (q * (e - 1)) * P) by (apply Rmult_le_compat_l; [apply Rmult_le_pos; lra|lra]).
  lra.
Qed.

Section Subsample.
  (* m of n records; `place p k` is the position that stands at place k of the order p, the first m are the sample *)
  Context {Record Out Order : Type} (place : Order -> nat -> nat) (n m : nat).
  Hypothesis m_small : (m < n)%nat.
  Hypothesis m_pos : (0 < m)%nat.
  Hypothesis onto : forall p j, (j < n)%nat -> exists k, (k < n)%nat /\ place p k = j.
  Hypothesis once : forall p k l, (k < n)%nat -> (l < n)%nat -> place p k = place p l -> k = l.
  (* a uniform order: exchanging two places changes nothing *)
  Variable exchange : nat -> nat -> Order -> Order.
  Hypothesis exchange_ok : forall k l p i, (k < n)%nat -> (l < n)%nat -> (i < n)%nat -> place (exchange k l p) i = place p (swap k l i).
  Variable U : law Order.
  Hypothesis uniform : forall k l g, (k < n)%nat -> (l < n)%nat -> bounded g -> E U (fun p => g (exchange k l p)) = E U g.

  Variables (M : list Record -> law Out) (eps delta : R).
  Hypothesis M_private : private replaced eps delta M.
  Hypothesis eps_nonneg : 0 <= eps.

  Definition rows (S : nat -> Record) (p : Order) : list Record := map (fun k => S (place p k)) (seq 0 m).
  Definition subsampled (S : nat -> Record) : law Out := bind U (fun p => M (rows S p)).
  Definition adjacent (S S' : nat -> Record) : Prop := exists j, (j < n)%nat /\ forall i, i <> j -> S i = S' i.

  Lemma map_replaced {A} (f g : nat -> A) k : (k < m)%nat -> (forall i, (i < m)%nat -> i <> k -> f i = g i) ->
    replaced (map f (seq 0 m)) (map g (seq 0 m)).
  Proof.
    intros K H. replace m with (k + (1 + (m - k - 1)))%nat by lia. rewrite !seq_app, !map_app. cbn [Nat.add seq map app].
    exists (map f (seq 0 k)), (map f (seq (k + 1) (m - k - 1))), (f k), (g k). split; [easy|].
    f_equal; [|f_equal]; apply map_ext_in; intros i Hi; apply in_seq in Hi; symmetry; apply H; lia.
  Qed.

  Section Neighbours.
    Variables (S S' : nat -> Record) (j : nat) (f : Out -> R).
    Hypothesis j_ok : (j < n)%nat.
    Hypothesis same : forall i, i <> j -> S i = S' i.
    Hypothesis F : test f.

    Definition v (T : nat -> Record) (p : Order) : R := E (M (rows T p)) f.
    Definition at_place (k : nat) (p : Order) : R := if place p k =? j then 1 else 0.
    Definition part (T : nat -> Record) (k : nat) : R := E U (fun p => at_place k p * v T p).

    Lemma v_test T : test (v T).  Proof. intros p. now apply E_test. Qed.
    Lemma at_test k : test (at_place k). Proof. intros p. unfold at_place. destruct Nat.eqb; lra. Qed.
    Lemma b_v T : bounded (v T). Proof. apply bounded_test, v_test. Qed.
    Lemma b_at k : bounded (at_place k). Proof. apply bounded_test, at_test. Qed.
    Lemma b_upto N (g : nat -> Order -> R) : (forall k, bounded (g k)) -> bounded (fun p => upto N (fun k => g k p)).
    Proof. intros B. induction N; cbn; auto with law. Qed.
    Hint Resolve b_v b_at b_upto : law.

    Lemma upto_E N (g : nat -> Order -> R) : (forall k, bounded (g k)) -> upto N (fun k => E U (g k)) = E U (fun p => upto N (fun k => g k p)).
    Proof.
      intros B. induction N as [|N IH]; cbn; [now rewrite E_const|]. rewrite IH, E_plus; auto with law.
    Qed.

    Lemma at_one k : (k < n)%nat -> E U (at_place k) = E U (at_place 0).
    Proof.
      intros K. rewrite <- (uniform k 0 (at_place 0)) by (auto with law; lia). apply E_ext; auto with law.
      intros p. unfold at_place. rewrite exchange_ok by lia. unfold swap.
      destruct (Nat.eqb_spec 0 k) as [<-|]; [easy|]. now rewrite Nat.eqb_refl.
    Qed.

    Lemma one_place p : upto n (fun k => at_place k p) = 1.
    Proof.
      destruct (onto p j j_ok) as (k & K & P).
      assert (G : forall N, (N <= n)%nat -> upto N (fun k => at_place k p) = if k <? N then 1 else 0).
      { induction N as [|N IH]; intros HN; [easy|]. cbn [upto]. rewrite IH by lia. unfold at_place.
        destruct (Nat.eqb_spec (place p N) j) as [Q|Q].
        - assert (N = k) as -> by (apply (once p); [lia|lia|congruence]).
          destruct (Nat.ltb_spec k k), (Nat.ltb_spec k (Datatypes.S k)); try lia; lra.
        - assert (N <> k) by (intros ->; congruence).
          destruct (Nat.ltb_spec k N), (Nat.ltb_spec k (Datatypes.S N)); try lia; lra. }
      rewrite G by lia. destruct (Nat.ltb_spec k n); [easy|lia].
    Qed.

    Lemma n_pos : 0 < INR n. Proof. apply lt_0_INR. lia. Qed.

    Lemma at_chance k : (k < n)%nat -> E U (at_place k) = / INR n.
    Proof.
      intros K. rewrite at_one by easy. pose proof n_pos.
      assert (T : upto n (fun k => E U (at_place k)) = 1).
      { rewrite upto_E by auto with law. rewrite <- (E_const U 1) at 1. apply E_ext; auto with law. intros; apply one_place. }
      rewrite (upto_ext n _ (fun _ => E U (at_place 0))), upto_const in T by (intros; now apply at_one).
      apply Rmult_eq_reg_l with (INR n); [|lra]. rewrite T. field. lra.
    Qed.

    Lemma whole T : E (subsampled T) f = upto n (part T).
    Proof.
      unfold part. rewrite upto_E by auto with law. cbn. fold (v T). apply E_ext; auto with law.
      intros p. rewrite (upto_ext n _ (fun k => v T p * at_place k p)), upto_scale, one_place by (intros; ring). ring.
    Qed.

    (* j in the sample: the same sample on S' *)
    Lemma inside k : (k < m)%nat -> part S k <= exp eps * part S' k + delta * / INR n.
    Proof.
      intros K. unfold part. rewrite <- (at_chance k) by lia. rewrite <- !E_scale, <- E_plus by auto with law.
      apply E_le; auto 6 with law. intros p. unfold at_place. destruct (Nat.eqb_spec (place p k) j) as [P|P]; [|lra].
      rewrite !Rmult_1_l, Rmult_1_r. apply M_private; [|exact F]. apply (map_replaced _ _ k K).
      intros i I N. apply same. intros C. apply N. apply (once p); [lia|lia|congruence].
    Qed.

    (* j in the sample: j exchanged for a position outside *)
    Lemma across k l : (k < m)%nat -> (m <= l < n)%nat -> part S k <= exp eps * part S l + delta * / INR n.
    Proof.
      intros K L. unfold part at 2. rewrite <- (uniform k l (fun p => at_place l p * v S p)) by (auto with law; lia).
      unfold part. rewrite <- (at_chance k) by lia.
      assert (B : bounded (fun p => at_place l (exchange k l p) * v S (exchange k l p))).
      { apply bounded_mult; apply (bounded_after (exchange k l)); auto with law. }
      rewrite <- !E_scale, <- E_plus by auto with law.
      apply E_le; auto 6 with law. intros p.
      assert (X : at_place l (exchange k l p) = at_place k p).
      { unfold at_place. rewrite exchange_ok by lia. unfold swap. destruct (Nat.eqb_spec l k); [lia|]. now rewrite Nat.eqb_refl. }
      rewrite X. unfold at_place. destruct (Nat.eqb_spec (place p k) j) as [P|P]; [|lra].
      rewrite !Rmult_1_l, Rmult_1_r. apply M_private; [|exact F]. apply (map_replaced _ _ k K).
      intros i I N. rewrite exchange_ok by lia. unfold swap.
      destruct (Nat.eqb_spec i k), (Nat.eqb_spec i l); try lia. easy.
    Qed.

    (* j outside: the sample does not see the difference *)
    Lemma outside l : (m <= l < n)%nat -> part S l = part S' l.
    Proof.
      intros L. apply E_ext; auto with law. intros p. unfold at_place. destruct (Nat.eqb_spec (place p l) j) as [P|P]; [|ring].
      f_equal. unfold v. do 2 f_equal. apply map_ext_in. intros i I. apply in_seq in I. apply same.
      intros C. assert (i = l) by (apply (once p); [lia|lia|congruence]). lia.
    Qed.

    Lemma part_nonneg T k : 0 <= part T k.
    Proof. apply E_nonneg; auto with law. intros p. apply Rmult_le_pos; [apply at_test|apply v_test]. Qed.

    Definition q : R := INR m / INR n.

    Lemma amplified : E (subsampled S) f <= (1 + q * (exp eps - 1)) * E (subsampled S') f + q * delta.
    Proof.
      rewrite !whole. replace n with (m + (n - m))%nat by lia. rewrite !upto_split.
      set (a := upto m (part S)). set (a' := upto m (part S')).
      set (b := upto (n - m) (fun i => part S (m + i))).
      replace (upto (n - m) (fun i => part S' (m + i))) with b by (apply upto_ext; intros; apply outside; lia).
      pose proof n_pos as N. assert (HM : 0 < INR m) by (apply lt_0_INR; lia).
      set (r := INR (n - m)). assert (HR : 0 < r) by (apply lt_0_INR; lia).
      assert (NM : INR n = INR m + r) by (unfold r; rewrite <- plus_INR; f_equal; lia).
      assert (A : a <= exp eps * a' + INR m * (delta * / INR n)).
      { unfold a, a'. rewrite <- upto_scale, <- upto_const, <- upto_plus. apply upto_le. intros; now apply inside. }
      assert (B : r * a <= exp eps * (INR m * b) + r * (INR m * (delta * / INR n))).
      { assert (B1 : forall k, (k < m)%nat -> r * part S k <= exp eps * b + r * (delta * / INR n)).
        { intros k K. unfold r, b. rewrite <- !upto_const, <- upto_scale, <- upto_plus. apply upto_le. intros i I. apply across; lia. }
        unfold a. rewrite <- upto_scale. eapply Rle_trans; [apply upto_le; exact B1|]. rewrite upto_plus, !upto_const. right; ring. }
      assert (A0 : 0 <= a') by (rewrite <- (Rmult_0_r (INR m)), <- upto_const; apply upto_le; intros; apply part_nonneg).
      assert (B0 : 0 <= b) by (rewrite <- (Rmult_0_r r); unfold r; rewrite <- upto_const; apply upto_le; intros; apply part_nonneg).
      assert (Q : 0 <= q <= 1).
      { unfold q. split; [apply Rlt_le, Rdiv_lt_0_compat; lra|]. apply Rmult_le_reg_r with (INR n); [lra|]. unfold Rdiv.
        rewrite Rmult_assoc, Rinv_l; lra. }
      (* m₁ = a·n/m and so on *)
      pose proof (amplify_numbers q (exp eps) delta (b * (INR n / r)) (a * (INR n / INR m)) (a' * (INR n / INR m)) Q) as G.
      replace (q * (a * (INR n / INR m))) with a in G by (unfold q; field; lra).
      replace (q * (a' * (INR n / INR m))) with a' in G by (unfold q; field; lra).
      replace ((1 - q) * (b * (INR n / r))) with b in G by (unfold q; rewrite NM; field; lra).
      rewrite (Rplus_comm a b), (Rplus_comm a' b). apply G.
      - pose proof (exp_ineq1_le eps). lra.
      - apply Rmult_le_pos; [exact B0|left; now apply Rdiv_lt_0_compat].
      - apply Rmult_le_pos; [exact A0|left; now apply Rdiv_lt_0_compat].
      - assert (X : a * (INR n / INR m) <= (exp eps * a' + INR m * (delta * / INR n)) * (INR n / INR m)).
        { apply Rmult_le_compat_r; [left; now apply Rdiv_lt_0_compat|exact A]. }
        eapply Rle_trans; [exact X|]. right. field. lra.
      - assert (X : (r * a) * (INR n / (INR m * r)) <= (exp eps * (INR m * b) + r * (INR m * (delta * / INR n))) * (INR n / (INR m * r))).
        { apply Rmult_le_compat_r; [left; apply Rdiv_lt_0_compat; [lra|now apply Rmult_lt_0_compat]|exact B]. }
        replace (a * (INR n / INR m)) with ((r * a) * (INR n / (INR m * r))) by (field; lra).
        eapply Rle_trans; [exact X|]. right. field. lra.
    Qed.
  End Neighbours.

  Theorem subsample_amplifies : private adjacent (ln (1 + INR m / INR n * (exp eps - 1))) (INR m / INR n * delta) subsampled.
  Proof.
    intros S S' (j & J & H) f F. rewrite exp_ln; [now apply (amplified S S' j)|].
    pose proof (exp_ineq1_le eps). assert (0 <= INR m / INR n * (exp eps - 1)); [|lra].
    apply Rmult_le_pos; [|lra]. apply Rlt_le, Rdiv_lt_0_compat; apply lt_0_INR; lia.
  Qed.
End Subsample.
