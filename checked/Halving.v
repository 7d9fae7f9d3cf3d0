(* Cuts of a column by recursive halving, and the floats that stand for them.

   In words: a column's values stand at whole numbers, their places. A node [a, b) draws t in it with
   P(t) proportional to e^(-(eps_0 / 4) * |2 * #(values in [a, t)) - #(values in [a, b))|). Replacing one record, whose cell
   has one value or none, moves the utilities of all nodes of a level together so that the loss lies in an interval of
   length eps_0: Lemma 1 of the note, in whole numbers. Every t of a gap between values has the gap's utility, as the code
   computes it. A float's place is at least p if and only if its bits are at least those that the code finds for p.
   Proof note: proofs/predicates.md. Code: mechanisms/halving.py, which the definitions follow line by line. *)
From Coq Require Import ZArith List Bool Lia.
Import ListNotations.
Local Open Scope Z_scope.

(* ---- the code, line by line ---- *)
Definition entry (l : list Z) (i : nat) : Z := nth i l 0.
(* numpy's searchsorted, left and right, in an ascending list *)
Definition count_below (x : Z) (l : list Z) : nat := length (filter (fun y => y <? x) l).
Definition count_up_to (x : Z) (l : list Z) : nat := length (filter (fun y => y <=? x) l).

(* The place of each power of two, from the weights of the binades. *)
Fixpoint sums_from (s : Z) (l : list Z) : list Z := match l with [] => [s] | x :: r => s :: sums_from (s + x) r end.
Definition starts_of (weights : list Z) : list Z := sums_from 0 (map (fun w => Z.shiftl w 44) weights).

(* `key` is the bits of |x|, a float without its sign. *)
Definition place_of_key (weights starts : list Z) (key : Z) : Z :=
  let binade := Z.to_nat (Z.shiftr key 52) in
  let mantissa := Z.land key (2 ^ 52 - 1) in
  entry starts binade + entry weights binade * Z.shiftr mantissa 8.

Definition least_key (weights starts : list Z) (place : Z) : Z :=
  let binade := (count_up_to place starts - 1)%nat in
  let mantissa := - ((- (place - entry starts binade)) / entry weights binade) in
  Z.shiftl (Z.of_nat binade) 52 + Z.shiftl mantissa 8.

(* The cut as its sign and the bits of its absolute value. *)
Definition cut_at (weights starts : list Z) (place : Z) : bool * Z :=
  if 1 <=? place then (false, least_key weights starts place - 1) else (true, least_key weights starts (1 - place)).

(* numpy's unique with counts *)
Fixpoint insert (x : Z) (l : list (Z * Z)) : list (Z * Z) :=
  match l with
  | [] => [(x, 1)]
  | (y, n) :: r => if x <? y then (x, 1) :: (y, n) :: r else if x =? y then (y, n + 1) :: r else (y, n) :: insert x r
  end.
Definition unique (at_ : list Z) : list (Z * Z) := fold_right insert [] at_.

(* One node: the borders of its gaps, their sizes, and |2 * #(values below) - #(values)| of each. *)
Fixpoint differences (l : list Z) : list Z :=
  match l with x :: ((y :: _) as r) => (y - x) :: differences r | _ => [] end.
Definition gaps (values below : list Z) (start end_ : Z) : list Z * list Z * list Z :=
  let first := count_below start values in
  let last := count_below end_ values in
  let borders := start :: firstn (last - first) (skipn first values) ++ [end_ - 1] in
  let utility := map (fun b => Z.abs (2 * b - (entry below first + entry below last)))
                   (firstn (last + 1 - first) (skipn first below)) in
  (borders, differences borders, utility).
(* The cut that a gap and a number below its size stand for. *)
Definition cut_of (borders : list Z) (gap : nat) (offset : Z) : Z := entry borders gap + 1 + offset.

(* All levels, given what is drawn in each node: `draws` are the gaps and offsets in the order of the nodes. *)
Fixpoint level (values below : list Z) (borders : list Z) (draws : list (nat * Z)) : list Z * list (nat * Z) :=
  match borders with
  | start :: ((end_ :: _) as rest) =>
      if 2 <=? end_ - start then
        match draws with
        | [] => (borders, [])
        | (gap, offset) :: draws =>
            let '(cuts, _, _) := gaps values below start end_ in
            let '(after, draws) := level values below rest draws in
            (start :: cut_of cuts gap offset :: after, draws)
        end
      else let '(after, draws) := level values below rest draws in (start :: after, draws)
  | _ => (borders, draws)
  end.
Fixpoint levels_of (levels : nat) (values below borders : list Z) (draws : list (nat * Z)) : list Z :=
  match levels with
  | O => borders
  | S levels => let '(borders, draws) := level values below borders draws in levels_of levels values below borders draws
  end.
Definition halved (at_ : list Z) (levels : nat) (low high : Z) (draws : list (nat * Z)) : list Z :=
  let counted := unique at_ in
  let all := levels_of levels (map fst counted) (sums_from 0 (map snd counted)) [low; high] draws in
  firstn (length all - 2) (skipn 1 all).

(* ---- the note's quantities ---- *)
(* How many of the values v lie in [a, b). *)
Definition inside (a b : Z) (v : list Z) : Z := Z.of_nat (length (filter (fun x => (a <=? x) && (x <? b)) v)).
Definition utility (a b t : Z) (v : list Z) : Z := Z.abs (2 * inside a t v - inside a b v).

Lemma inside_app a b v v' : inside a b (v ++ v') = inside a b v + inside a b v'.
Proof. unfold inside. rewrite filter_app, app_length. lia. Qed.
Lemma inside_nonneg a b v : 0 <= inside a b v.
Proof. unfold inside. lia. Qed.
Lemma inside_one a b x : inside a b [x] = if (a <=? x) && (x <? b) then 1 else 0.
Proof. unfold inside. cbn. now destruct (_ && _). Qed.
Lemma few (u : list Z) : (length u <= 1)%nat -> u = [] \/ exists x, u = [x].
Proof. destruct u as [|x [|y u]]; cbn; [now left|right; now exists x|lia]. Qed.

(* u is the cell of one record: at most one value. A gap has none. *)
Theorem utility_moves l u u' r a b t : (length u <= 1)%nat -> (length u' <= 1)%nat -> a <= t <= b ->
  Z.abs (utility a b t (l ++ u ++ r) - utility a b t (l ++ u' ++ r)) <= inside a b u + inside a b u'.
Proof.
  intros U U' T. unfold utility. rewrite !inside_app.
  assert (G : forall w, (length w <= 1)%nat -> Z.abs (2 * inside a t w - inside a b w) <= inside a b w).
  { intros w W. destruct (few w W) as [->|[x ->]]; [cbn; lia|]. rewrite !inside_one.
    destruct (Z.leb_spec a x), (Z.ltb_spec x t), (Z.ltb_spec x b); cbn [andb]; lia. }
  specialize (G u U) as G1. specialize (G u' U') as G2. lia.
Qed.

(* The nodes that borders make, and one cut in each. *)
Fixpoint cuts_ok (borders cuts : list Z) : Prop :=
  match borders, cuts with
  | a :: ((b :: _) as rest), t :: cuts => a <= t <= b /\ cuts_ok rest cuts
  | a :: ((_ :: _) as rest), [] => False
  | _, _ => cuts = []
  end.
(* Half the loss, in units of eps_0 / 2, up to the normalisers: by how much the utilities of all cuts together differ. *)
Fixpoint loss (v v' borders cuts : list Z) : Z :=
  match borders, cuts with
  | a :: ((b :: _) as rest), t :: cuts => (utility a b t v' - utility a b t v) + loss v v' rest cuts
  | _, _ => 0
  end.
Fixpoint ascending (l : list Z) : Prop := match l with a :: ((b :: _) as r) => a <= b /\ ascending r | _ => True end.
Fixpoint in_nodes (borders : list Z) (v : list Z) : Z :=
  match borders with a :: ((b :: _) as rest) => inside a b v + in_nodes rest v | _ => 0 end.

Lemma in_nodes_step a b rest v : in_nodes (a :: b :: rest) v = inside a b v + in_nodes (b :: rest) v.
Proof. reflexivity. Qed.
Lemma loss_step v v' a b rest t cuts :
  loss v v' (a :: b :: rest) (t :: cuts) = (utility a b t v' - utility a b t v) + loss v v' (b :: rest) cuts.
Proof. reflexivity. Qed.

Lemma in_nodes_below borders x : ascending borders -> x < hd 0 borders -> in_nodes borders [x] = 0.
Proof.
  induction borders as [|a [|b rest] IH]; [easy..|]. intros [A H] X. cbn [hd] in X. rewrite in_nodes_step, inside_one.
  rewrite IH by (cbn [hd]; auto; lia). destruct (Z.leb_spec a x); [lia|easy].
Qed.
Lemma in_nodes_at_most_one borders u : ascending borders -> (length u <= 1)%nat -> in_nodes borders u <= 1.
Proof.
  intros A U. destruct (few u U) as [->|[x ->]].
  - induction borders as [|a [|b rest] IH]; [cbn; lia..|]. destruct A as [_ A]. rewrite in_nodes_step. exact (IH A).
  - induction borders as [|a [|b rest] IH]; [cbn; lia..|]. destruct A as [L A]. rewrite in_nodes_step, inside_one.
    destruct (Z.leb_spec a x), (Z.ltb_spec x b); cbn [andb]; [rewrite in_nodes_below by (cbn [hd]; auto; lia); lia|auto..].
Qed.

(* Lemma 1: (eps_0 / 4) times this is the length of the interval of the loss. *)
Theorem one_level_has_range l u u' r borders cuts cuts' : (length u <= 1)%nat -> (length u' <= 1)%nat ->
  ascending borders -> cuts_ok borders cuts -> cuts_ok borders cuts' ->
  Z.abs (loss (l ++ u ++ r) (l ++ u' ++ r) borders cuts - loss (l ++ u ++ r) (l ++ u' ++ r) borders cuts') <= 4.
Proof.
  intros U U' A. set (v := l ++ u ++ r). set (v' := l ++ u' ++ r).
  assert (G : forall borders, ascending borders -> forall cuts cuts', cuts_ok borders cuts -> cuts_ok borders cuts' ->
                Z.abs (loss v v' borders cuts - loss v v' borders cuts') <= 2 * (in_nodes borders u + in_nodes borders u')).
  { clear A borders cuts cuts'. induction borders as [|a [|b rest] IH]; intros A cuts cuts' C C'; [cbn in *; subst; cbn; lia..|].
    destruct cuts as [|t cuts], cuts' as [|t' cuts']; cbn [cuts_ok] in C, C'; [easy..|].
    destruct A as [L A], C as [T C], C' as [T' C']. specialize (IH A cuts cuts' C C').
    pose proof (utility_moves l u u' r a b t U U' T) as M. pose proof (utility_moves l u u' r a b t' U U' T') as M'.
    fold v v' in M, M'. rewrite !loss_step, !in_nodes_step. lia. }
  intros C C'. specialize (G borders A cuts cuts' C C').
  pose proof (in_nodes_at_most_one borders u A U). pose proof (in_nodes_at_most_one borders u' A U'). lia.
Qed.

(* ---- the gaps of the code have the note's utility ---- *)
Fixpoint rising (l : list Z) : Prop := match l with a :: ((b :: _) as r) => a < b /\ rising r | _ => True end.
Lemma rising_tail a l : rising (a :: l) -> rising l.
Proof. destruct l; [easy|now intros []]. Qed.
Lemma rising_above a l x : rising (a :: l) -> In x l -> a < x.
Proof.
  revert a. induction l as [|b l IH]; intros a R I; [easy|]. destruct R as [L R]. destruct I as [<-|I]; [exact L|].
  specialize (IH b R I). lia.
Qed.

Lemma insert_head x c y : In y (map fst (insert x c)) -> y = x \/ In y (map fst c).
Proof.
  induction c as [|[z n] c IH]; cbn [insert].
  - cbn. intuition.
  - destruct (x <? z); [cbn; intuition|]. destruct (x =? z); [cbn; intuition|]. cbn. intuition.
Qed.
Lemma insert_rising x c : rising (map fst c) -> rising (map fst (insert x c)).
Proof.
  induction c as [|[z n] c IH]; intros R; [easy|]. cbn [insert].
  destruct (Z.ltb_spec x z); [cbn [map fst]; split; [exact H|exact R]|].
  destruct (Z.eqb_spec x z); [exact R|]. pose proof (rising_tail _ _ R) as R'. specialize (IH R').
  cbn [map fst] in *. destruct (map fst (insert x c)) as [|b l] eqn:E; [easy|]. split; [|exact IH].
  assert (I : In b (map fst (insert x c))) by (rewrite E; now left).
  destruct (insert_head x c b I) as [->|I']; [lia|]. now apply (rising_above z (map fst c)).
Qed.
Lemma unique_rising v : rising (map fst (unique v)).
Proof. induction v as [|x v IH]; [easy|]. cbn [unique fold_right]. now apply insert_rising. Qed.

(* counts below t, weighted *)
Definition below_in (t : Z) (c : list (Z * Z)) : Z := fold_right (fun p s => (if fst p <? t then snd p else 0) + s) 0 c.
Lemma below_insert t x c : below_in t (insert x c) = (if x <? t then 1 else 0) + below_in t c.
Proof.
  induction c as [|[z n] c IH]; cbn [insert]; [reflexivity|].
  destruct (x <? z); [reflexivity|]. destruct (Z.eqb_spec x z) as [->|].
  - cbn. destruct (z <? t); lia.
  - cbn [below_in fold_right fst snd]. fold (below_in t (insert x c)). rewrite IH. fold (below_in t c). lia.
Qed.
Lemma below_unique t v : below_in t (unique v) = Z.of_nat (length (filter (fun x => x <? t) v)).
Proof.
  induction v as [|x v IH]; [reflexivity|]. change (unique (x :: v)) with (insert x (unique v)). rewrite below_insert, IH.
  cbn [filter]. destruct (x <? t); cbn [length]; lia.
Qed.

Lemma none_below t l : (forall x, In x l -> t <= x) -> filter (fun x => x <? t) l = [].
Proof.
  induction l as [|x l IH]; intros H; [easy|]. cbn [filter]. destruct (Z.ltb_spec x t) as [L|].
  - specialize (H x (or_introl eq_refl)). lia.
  - apply IH. intros y Y. apply H. now right.
Qed.
Lemma below_none t c : (forall x, In x (map fst c) -> t <= x) -> below_in t c = 0.
Proof.
  induction c as [|[z n] c IH]; intros H; [easy|]. cbn [below_in fold_right fst snd]. fold (below_in t c).
  rewrite IH by (intros x X; apply H; now right). destruct (Z.ltb_spec z t) as [L|]; [|lia].
  specialize (H z (or_introl eq_refl)). lia.
Qed.
(* the code's array `below`, at the index that searchsorted finds *)
Lemma entry_below t s c : rising (map fst c) -> entry (sums_from s (map snd c)) (count_below t (map fst c)) = s + below_in t c.
Proof.
  unfold entry, count_below. revert s. induction c as [|[z n] c IH]; intros s R; cbn [map fst snd filter].
  - cbn. lia.
  - pose proof (rising_tail _ _ R) as R'. cbn [below_in fold_right fst snd]. fold (below_in t c).
    destruct (Z.ltb_spec z t) as [L|L]; cbn [length sums_from nth].
    + rewrite IH by exact R'. lia.
    + assert (N : forall x, In x (map fst c) -> t <= x) by (intros x X; pose proof (rising_above z _ x R X); lia).
      rewrite none_below, below_none by exact N. cbn. lia.
Qed.
Lemma below_is_count t v : entry (sums_from 0 (map snd (unique v))) (count_below t (map fst (unique v))) = Z.of_nat (length (filter (fun x => x <? t) v)).
Proof. rewrite entry_below by apply unique_rising. now rewrite below_unique. Qed.
Lemma inside_difference a b v : a <= b ->
  inside a b v = Z.of_nat (length (filter (fun x => x <? b) v)) - Z.of_nat (length (filter (fun x => x <? a) v)).
Proof.
  intros L. unfold inside. induction v as [|x v IH]; [reflexivity|]. cbn [filter].
  destruct (Z.leb_spec a x), (Z.ltb_spec x b), (Z.ltb_spec x a); cbn [andb length]; lia.
Qed.

(* where t stands among rising values *)
Lemma count_below_at t l n : rising l -> (n <= length l)%nat ->
  (forall i, (i < n)%nat -> entry l i < t) -> ((n < length l)%nat -> t <= entry l n) -> count_below t l = n.
Proof.
  unfold count_below, entry. revert n. induction l as [|a l IH]; intros n R N B A; cbn [length] in *.
  - cbn. lia.
  - destruct n as [|n].
    + specialize (A ltac:(lia)). cbn [nth] in A. rewrite none_below; [easy|].
      intros x [<-|X]; [exact A|]. pose proof (rising_above a l x R X). lia.
    + pose proof (B 0%nat ltac:(lia)) as B0. cbn [nth] in B0. cbn [filter]. rewrite (proj2 (Z.ltb_lt _ _) B0). cbn [length].
      f_equal. apply IH; [now apply (rising_tail a)|lia| |].
      * intros i I. exact (B (S i) ltac:(lia)).
      * intros I. exact (A ltac:(lia)).
Qed.
Lemma count_below_spec t l : rising l ->
  (count_below t l <= length l)%nat /\ (forall i, (i < count_below t l)%nat -> entry l i < t) /\
  (forall i, (count_below t l <= i < length l)%nat -> t <= entry l i).
Proof.
  unfold count_below, entry. induction l as [|a l IH]; intros R; cbn [filter length]; [cbn; repeat split; intros; lia|].
  destruct (IH (rising_tail a l R)) as (A & B & C). destruct (Z.ltb_spec a t) as [L|L]; cbn [length].
  - repeat split; [lia| |].
    + intros [|i] I; [exact L|]. apply B. lia.
    + intros [|i] I; [lia|]. apply C. lia.
  - rewrite none_below in * by (intros x X; pose proof (rising_above a l x R X); lia). cbn [length] in *.
    repeat split; [lia|intros; lia|]. intros [|i] I; [exact L|]. apply C. lia.
Qed.
Lemma count_below_le s t l : s <= t -> (count_below s l <= count_below t l)%nat.
Proof.
  intros L. unfold count_below. induction l as [|a l IH]; [easy|]. cbn [filter].
  destruct (Z.ltb_spec a s), (Z.ltb_spec a t); cbn [length]; lia.
Qed.

Lemma sums_length s l : length (sums_from s l) = S (length l).
Proof. revert s. induction l as [|x l IH]; intros s; cbn; [easy|]. now rewrite IH. Qed.
Lemma nth_slice {A} (l : list A) d i j k : (i < k)%nat -> nth i (firstn k (skipn j l)) d = nth (j + i) l d.
Proof.
  intros K. revert l. induction j as [|j IH]; intros l; cbn [skipn Nat.add].
  - revert i k K. induction l as [|x l IHl]; intros [|i] [|k] K; try lia; cbn; try easy. apply IHl. lia.
  - destruct l as [|x l]; [rewrite firstn_nil; now destruct i|]. cbn. apply IH.
Qed.

Theorem a_gap_has_the_utility_of_the_note v a b k t : a < b ->
  let '(borders, _, utilities) := gaps (map fst (unique v)) (sums_from 0 (map snd (unique v))) a b in
  (k < length utilities)%nat -> entry borders k < t <= entry borders (k + 1) -> entry utilities k = utility a b t v.
Proof.
  intros AB. unfold gaps. set (values := map fst (unique v)). set (below := sums_from 0 (map snd (unique v))).
  set (first := count_below a values). set (last := count_below b values).
  pose proof (unique_rising v) as R. fold values in R.
  destruct (count_below_spec a values R) as (F1 & F2 & F3). fold first in F1, F2, F3.
  destruct (count_below_spec b values R) as (L1 & L2 & L3). fold last in L1, L2, L3.
  assert (FL : (first <= last)%nat) by (apply count_below_le; lia).
  assert (LB : length below = S (length values)) by (unfold below, values; now rewrite sums_length, !map_length).
  intros K T. rewrite map_length, firstn_length, skipn_length in K.
  assert (KL : (first + k <= last)%nat) by lia.
  set (middle := firstn (last - first) (skipn first values)) in *.
  assert (LM : length middle = (last - first)%nat) by (unfold middle; rewrite firstn_length, skipn_length; lia).
  (* where t stands *)
  assert (C : count_below t values = (first + k)%nat).
  { assert (B0 : entry (a :: middle ++ [b - 1]) k < t) by apply T. assert (B1 : t <= entry (a :: middle ++ [b - 1]) (k + 1)) by apply T.
    unfold entry in B0, B1. rewrite Nat.add_1_r in B1. cbn [nth] in B1.
    apply count_below_at; [exact R|lia| |].
    - intros i I. destruct k as [|k]; [cbn [nth] in B0; pose proof (F2 i ltac:(lia)); lia|].
      cbn [nth] in B0. rewrite app_nth1 in B0 by lia. unfold middle in B0. rewrite nth_slice in B0 by lia.
      destruct (Nat.eq_dec i (first + k)) as [->|N]; [exact B0|].
      assert (RI : forall l i j, rising l -> (i < j < length l)%nat -> entry l i < entry l j).
      { clear. unfold entry. induction l as [|x l IH]; intros [|i] [|j] R J; cbn [length] in J; try lia.
        - cbn [nth]. apply (rising_above x l _ R). apply nth_In. lia.
        - cbn [nth]. apply IH; [now apply (rising_tail x)|lia]. }
      pose proof (RI values i (first + k)%nat R ltac:(lia)) as RI'. unfold entry in RI' |- *. lia.
    - intros I. destruct (Nat.eq_dec (first + k) last) as [E|N].
      + rewrite E in *. pose proof (L3 last ltac:(lia)). rewrite app_nth2 in B1 by lia.
        replace (k - length middle)%nat with 0%nat in B1 by lia. cbn in B1. lia.
      + rewrite app_nth1 in B1 by lia. unfold middle in B1. rewrite nth_slice in B1 by lia. exact B1. }
  assert (AT : a < t).
  { destruct k as [|k]; [apply T|]. destruct T as [T _]. unfold entry in T. cbn [nth] in T. rewrite app_nth1 in T by lia.
    unfold middle in T. rewrite nth_slice in T by lia. pose proof (F3 (first + k)%nat ltac:(lia)) as F. unfold entry in F. lia. }
  unfold entry at 1. rewrite (nth_indep _ 0 (Z.abs (2 * 0 - (entry below first + entry below last)))) by
    (rewrite map_length, firstn_length, skipn_length; lia).
  rewrite (map_nth (fun x => Z.abs (2 * x - (entry below first + entry below last)))), nth_slice by lia.
  fold (entry below (first + k)). rewrite <- C. unfold first, last, below, values. rewrite !below_is_count.
  unfold utility. rewrite !inside_difference by lia. lia.
Qed.

(* ---- places and cuts of floats ---- *)
Lemma entry_sums s l i : (i < length l)%nat -> entry (sums_from s l) (S i) = entry (sums_from s l) i + entry l i.
Proof.
  unfold entry. revert s i. induction l as [|x l IH]; intros s i I; cbn [length] in I; [lia|].
  destruct i as [|i]; cbn [sums_from nth]; [destruct l; reflexivity|]. apply IH. lia.
Qed.
Lemma nth_skip {A} (l : list A) d i j : nth i (skipn j l) d = nth (j + i) l d.
Proof. revert l. induction j as [|j IH]; intros l; [easy|]. destruct l as [|x l]; [now destruct i|]. cbn. apply IH. Qed.
Lemma filter_all {A} (f : A -> bool) l : (forall x, In x l -> f x = true) -> filter f l = l.
Proof.
  induction l as [|x l IH]; intros H; [easy|]. cbn [filter]. rewrite (H x (or_introl eq_refl)), IH; [easy|].
  intros y Y. apply H. now right.
Qed.
Lemma filter_none {A} (f : A -> bool) l : (forall x, In x l -> f x = false) -> filter f l = [].
Proof.
  induction l as [|x l IH]; intros H; [easy|]. cbn [filter]. rewrite (H x (or_introl eq_refl)). apply IH.
  intros y Y. apply H. now right.
Qed.
Section Places.
  Variable weights : list Z.
  Hypothesis weights_pos : forall i, (i < length weights)%nat -> 0 < entry weights i.
  Let starts := starts_of weights.

  Lemma starts_step i : (i < length weights)%nat -> entry starts (S i) = entry starts i + entry weights i * 2 ^ 44.
  Proof.
    intros I. unfold starts, starts_of. rewrite entry_sums by now rewrite map_length. f_equal. unfold entry.
    rewrite (nth_indep _ 0 (Z.shiftl 0 44)) by now rewrite map_length. rewrite (map_nth (fun w => Z.shiftl w 44)).
    now rewrite Z.shiftl_mul_pow2.
  Qed.
  Lemma starts_le i j : (i <= j <= length weights)%nat -> entry starts i <= entry starts j.
  Proof.
    induction j as [|j IH]; intros J; [replace i with 0%nat by lia; lia|].
    destruct (Nat.eq_dec i (S j)) as [->|]; [lia|]. specialize (IH ltac:(lia)). rewrite starts_step by lia.
    pose proof (weights_pos j ltac:(lia)). nia.
  Qed.
  Lemma starts_length : length starts = S (length weights).
  Proof. unfold starts, starts_of. now rewrite sums_length, map_length. Qed.

  Lemma binade_spec place : 0 <= place < entry starts (length weights) ->
    let b := (count_up_to place starts - 1)%nat in
    (b < length weights)%nat /\ entry starts b <= place < entry starts (S b).
  Proof.
    intros P.
    assert (G : forall n, (n <= length weights)%nat -> place < entry starts n ->
      exists b, (b < n)%nat /\ entry starts b <= place < entry starts (S b)).
    { induction n as [|n IH]; intros N H.
      - unfold entry, starts, starts_of in H. destruct weights; cbn in H; lia.
      - destruct (Z.le_gt_cases (entry starts n) place); [exists n; lia|].
        destruct (IH ltac:(lia) ltac:(lia)) as (b & B & H'). exists b. lia. }
    destruct (G (length weights) ltac:(lia) ltac:(lia)) as (b & B & H).
    enough (C : count_up_to place starts = S b) by (rewrite C; cbn; rewrite Nat.sub_0_r; auto).
    assert (E : starts = firstn (S b) starts ++ skipn (S b) starts) by (symmetry; apply firstn_skipn).
    unfold count_up_to. rewrite E, filter_app, app_length.
    assert (A1 : filter (fun y => y <=? place) (firstn (S b) starts) = firstn (S b) starts).
    { apply filter_all. intros y Y. apply Z.leb_le. apply In_nth with (d := 0) in Y.
      destruct Y as (i & I & <-). rewrite firstn_length, starts_length in I.
      replace (nth i (firstn (S b) starts) 0) with (entry starts i).
      - pose proof (starts_le i b ltac:(lia)). lia.
      - symmetry. exact (nth_slice starts 0 i 0 (S b) ltac:(lia)). }
    assert (A2 : filter (fun y => y <=? place) (skipn (S b) starts) = []).
    { apply filter_none. intros y Y. apply Z.leb_gt. apply In_nth with (d := 0) in Y. destruct Y as (i & I & <-).
      rewrite skipn_length, starts_length in I. rewrite nth_skip.
      pose proof (starts_le (S b) (S b + i) ltac:(lia)) as L. unfold entry in L, H. lia. }
    rewrite A1, A2, firstn_length, starts_length. cbn [length]. lia.
  Qed.

  Theorem least_key_is_least place key : 0 <= place < entry starts (length weights) ->
    0 <= key < 2 ^ 52 * Z.of_nat (length weights) ->
    place <= place_of_key weights starts key <-> least_key weights starts place <= key.
  Proof.
    intros P K. destruct (binade_spec place P) as [B S]. unfold least_key, place_of_key.
    set (b := (count_up_to place starts - 1)%nat) in *. rewrite starts_step in S by exact B.
    rewrite Z.shiftr_div_pow2 by lia. change (2 ^ 52 - 1) with (Z.ones 52). rewrite Z.land_ones by lia.
    rewrite Z.shiftr_div_pow2, !Z.shiftl_mul_pow2 by lia.
    set (e := Z.to_nat (key / 2 ^ 52)). set (m := key mod 2 ^ 52).
    pose proof (Z.div_mod key (2 ^ 52) ltac:(lia)) as KE. pose proof (Z.mod_pos_bound key (2 ^ 52) ltac:(lia)) as KM. fold m in KE, KM.
    assert (KQ : 0 <= key / 2 ^ 52 < Z.of_nat (length weights)) by (split; [apply Z.div_pos; lia|apply Z.div_lt_upper_bound; lia]).
    assert (EE : Z.of_nat e = key / 2 ^ 52) by (unfold e; lia). rewrite <- EE in KE. assert (EL : (e < length weights)%nat) by lia.
    pose proof (Z.div_mod m (2 ^ 8) ltac:(lia)) as ME. pose proof (Z.mod_pos_bound m (2 ^ 8) ltac:(lia)) as MM.
    set (q := m / 2 ^ 8) in *. assert (Q : 0 <= q < 2 ^ 44) by (change (2 ^ 52) with (2 ^ 44 * 2 ^ 8) in KM; nia).
    set (d := place - entry starts b) in *. set (w := entry weights b) in *.
    pose proof (weights_pos b B) as WB. fold w in WB. pose proof (weights_pos e EL) as WE.
    pose proof (Z.div_mod (- d) w ltac:(lia)) as DE. pose proof (Z.mod_pos_bound (- d) w WB) as DM.
    set (c := - (- d / w)). assert (CD : w * (c - 1) < d <= w * c) by (unfold c; nia).
    assert (C : 0 <= c <= 2 ^ 44) by (unfold d in *; nia).
    clearbody c q m. change (2 ^ 52) with (2 ^ 44 * 2 ^ 8) in *.
    destruct (Nat.lt_trichotomy e b) as [L|[->|L]].
    - pose proof (starts_le (Datatypes.S e) b ltac:(lia)) as SL. rewrite starts_step in SL by exact EL.
      assert (entry weights e * q < entry weights e * 2 ^ 44) by (apply Z.mul_lt_mono_pos_l; lia). split; intros; nia.
    - fold w. unfold d in CD. split; intros H; [assert (c <= q) by nia; nia|]. assert (c <= q) by nia. nia.
    - pose proof (starts_le (Datatypes.S b) e ltac:(lia)) as SL. rewrite starts_step in SL by exact B. fold w in SL.
      assert (0 <= entry weights e * q) by (apply Z.mul_nonneg_nonneg; lia). split; intros; nia.
  Qed.
End Places.
