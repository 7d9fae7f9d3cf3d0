(* The compiled steps of integer noise, in 64-bit words that wrap around: the high word of a product, the block of a
   uniform number, the verdict on an attempt, and the draws made of words.

   In words: the product by halves of 32 bits is exact, as no operation of it wraps around. The block of a place is the one
   that begins at or before it, by the bounds from below, and whose next one begins after it.
   Proof note: proofs/noise.md. Code: noise/kernels.py, which the definitions follow line by line. *)
From Coq Require Import ZArith List Bool Lia.
Import ListNotations.
Local Open Scope Z_scope.

Definition u64 (x : Z) : Z := x mod 2 ^ 64.
Definition add x y := u64 (x + y).
Definition mul x y := u64 (x * y).
Definition sub x y := u64 (x - y).
Definition left_shift x n := u64 (Z.shiftl x n).
Definition half (x : Z) := Z.shiftr x 32.
Definition lowhalf (x : Z) := Z.land x (2 ^ 32 - 1).
Definition half_bit (x : Z) := Z.shiftr x 1.

(* ---- the code, line by line ---- *)
Definition high_product (a b : Z) : Z :=
  let a_high := half a in let a_low := lowhalf a in
  let b_high := half b in let b_low := lowhalf b in
  let middle := add (mul a_high b_low) (half (mul a_low b_low)) in
  let other := add (mul a_low b_high) (lowhalf middle) in
  add (add (mul a_high b_high) (half middle)) (half other).

(* A loop of the code has as much fuel as it can need, and a little more. *)
Definition word (l : list Z) (i : nat) : Z := nth i l 0.

Fixpoint block_from (fuel : nat) (place : Z) (lows : list Z) (i : nat) : nat :=
  match fuel with O => i | S fuel => if word lows (i + 1) <=? place then block_from fuel place lows (i + 1) else i end.
Definition block_of (place : Z) (lows guide : list Z) : nat :=
  block_from (length lows) place lows (Z.to_nat (word guide (Z.to_nat (Z.shiftr place 53)))).

Definition margin : Z := 64.

(* The alternating series of 1 - e^(-exponent), in units of 2^(-64). *)
Fixpoint series (fuel : nat) (term exponent order total : Z) : Z :=
  match fuel with
  | O => total
  | S fuel =>
      if 0 <? term then
        let order := order + 1 in
        let term := high_product term exponent / order in
        let total := if order mod 2 =? 1 then add total term else sub total term in
        series fuel term exponent order total
      else total
  end.

Inductive outcome := Kept | Refused | Doubt.

Definition verdict (place span : Z) (i : nat) (j bits : Z) (lows highs slopes : list Z) (curve : Z) : outcome :=
  if (place <? word highs i) || (i + 1 =? length highs)%nat || (word lows (i + 1) <? add place span) then Doubt
  else if bits =? 0 then Kept
  else
    let t := left_shift j (64 - bits) in
    let exponent := high_product t (add (word slopes i) (high_product t curve)) in
    let total := series 64 exponent exponent 1 exponent in
    let most := add (high_product (add total margin) (sub (word highs (i + 1)) (word lows i))) 1 in
    if add (add place span) most <=? word lows (i + 1) then Kept
    else
      let least := if margin <=? total
                   then high_product (sub total margin) (sub (word lows (i + 1)) (word highs i)) else 0 in
      if word highs (i + 1) <=? add place least then Refused else Doubt.

Inductive form := Magnitude | Signed | With_coin.

(* The draw that a magnitude and a coin become, if they become one. *)
Definition append (magnitude : Z) (coin : bool) (f : form) : option Z :=
  match f with
  | Signed => if (magnitude =? 0) && coin then None else Some (if coin then - magnitude else magnitude)
  | With_coin => Some (if coin then - magnitude - 1 else magnitude)
  | Magnitude => Some magnitude
  end.

(* Attempts until the words or the room for draws are used up or an attempt is in doubt: how many words were read, the
   draws, the last one first, and whether the last attempt read is in doubt. *)
Fixpoint draw (fuel : nat) (words lows highs keeps guide slopes : list Z) (curve bits : Z) (two_words : bool) (f : form)
    (read room : nat) (drawn : list Z) : nat * list Z * bool :=
  match fuel with
  | O => (read, drawn, false)
  | S fuel =>
      if (read <? length words)%nat && negb (room =? 0)%nat then
        let span := if two_words then 1 else left_shift 1 bits in
        let below_u := sub span 1 in
        let first := word words read in
        let place := Z.land (half_bit first) (Z.lxor below_u (2 ^ 64 - 1)) in
        let j := if two_words then Z.shiftr (word words (read + 1)) (64 - bits) else Z.land (half_bit first) below_u in
        let read := (read + (if two_words then 2 else 1))%nat in
        let i := block_of place lows guide in
        let said := if (place <? word highs i) || (word keeps i <? add place span)
                    then verdict place span i j bits lows highs slopes curve else Kept in
        match said with
        | Doubt => (read, drawn, true)
        | Refused => draw fuel words lows highs keeps guide slopes curve bits two_words f read room drawn
        | Kept =>
            match append (Z.lor (Z.shiftl (Z.of_nat i) bits) j) (Z.odd first) f with
            | Some d => draw fuel words lows highs keeps guide slopes curve bits two_words f read (room - 1) (d :: drawn)
            | None => draw fuel words lows highs keeps guide slopes curve bits two_words f read room drawn
            end
        end
      else (read, drawn, false)
  end.

(* The sech^2 law from geometric draws with a coin each: one item of the supply, (step, candidate, first) before and
   after it, and the draw if one is complete. *)
Definition sech_squared_step (state : Z * Z * Z) (item : Z) : (Z * Z * Z) * option Z :=
  let '(step, candidate, first) := state in
  let coin := item <? 0 in
  let magnitude := if coin then - item - 1 else item in
  let '(step, candidate) :=
    if step =? 0 then (1, magnitude)
    else if coin then (step + 1, candidate)
    else if (candidate <? magnitude) || ((step =? 1) && (magnitude =? candidate)) then (0, candidate)
    else (step, candidate) in
  if step =? 3 then
    if first <? 0 then ((0, candidate, candidate), None) else ((0, candidate, -1), Some (Z.max first candidate))
  else ((step, candidate, first), None).
Fixpoint sech_squared (supply : list Z) (state : Z * Z * Z) (room : nat) : (Z * Z * Z) * list Z :=
  match supply, room with
  | [], _ | _, O => (state, [])
  | item :: supply, S room' =>
      let '(state, drawn) := sech_squared_step state item in
      match drawn with
      | Some d => let '(state, rest) := sech_squared supply state room' in (state, d :: rest)
      | None => sech_squared supply state room
      end
  end.

(* ---- the product is exact ---- *)

Lemma half_div x : half x = x / 2 ^ 32. Proof. unfold half. now rewrite Z.shiftr_div_pow2. Qed.
Lemma low_mod x : lowhalf x = x mod 2 ^ 32.
Proof. unfold lowhalf. change (2 ^ 32 - 1) with (Z.ones 32). now rewrite Z.land_ones. Qed.

Lemma half_bounds x n : 0 <= x < 2 ^ 32 * n -> 0 <= x / 2 ^ 32 < n.
Proof. intros H. split; [apply Z.div_pos; lia|apply Z.div_lt_upper_bound; lia]. Qed.

Theorem high_product_is_exact a b : 0 <= a < 2 ^ 64 -> 0 <= b < 2 ^ 64 -> high_product a b = a * b / 2 ^ 64.
Proof.
  intros A B. unfold high_product. rewrite !half_div, !low_mod.
  pose proof (half_bounds a (2 ^ 32) ltac:(lia)) as AH. pose proof (half_bounds b (2 ^ 32) ltac:(lia)) as BH.
  pose proof (Z.mod_pos_bound a (2 ^ 32) ltac:(lia)) as AL. pose proof (Z.mod_pos_bound b (2 ^ 32) ltac:(lia)) as BL.
  pose proof (Z.div_mod a (2 ^ 32) ltac:(lia)) as EA. pose proof (Z.div_mod b (2 ^ 32) ltac:(lia)) as EB.
  set (ah := a / 2 ^ 32) in *. set (bh := b / 2 ^ 32) in *. set (al := a mod 2 ^ 32) in *. set (bl := b mod 2 ^ 32) in *.
  clearbody ah bh al bl. unfold add, mul, u64.
  assert (P : forall x y, 0 <= x < 2 ^ 32 -> 0 <= y < 2 ^ 32 -> 0 <= x * y <= (2 ^ 32 - 1) * (2 ^ 32 - 1)) by (intros; nia).
  pose proof (P al bl AL BL) as P1. pose proof (P ah bl AH BL) as P2. pose proof (P al bh AL BH) as P3. pose proof (P ah bh AH BH) as P4.
  rewrite (Z.mod_small (al * bl)), (Z.mod_small (ah * bl)), (Z.mod_small (al * bh)), (Z.mod_small (ah * bh)) by lia.
  pose proof (half_bounds (al * bl) (2 ^ 32) ltac:(lia)) as C1.
  pose proof (Z.div_mod (al * bl) (2 ^ 32) ltac:(lia)) as E1. pose proof (Z.mod_pos_bound (al * bl) (2 ^ 32) ltac:(lia)) as R1.
  set (c1 := al * bl / 2 ^ 32) in *. set (r1 := al * bl mod 2 ^ 32) in *. clearbody c1 r1.
  rewrite (Z.mod_small (ah * bl + c1)) by lia.
  pose proof (half_bounds (ah * bl + c1) (2 ^ 32) ltac:(lia)) as C2.
  pose proof (Z.div_mod (ah * bl + c1) (2 ^ 32) ltac:(lia)) as E2. pose proof (Z.mod_pos_bound (ah * bl + c1) (2 ^ 32) ltac:(lia)) as R2.
  set (c2 := (ah * bl + c1) / 2 ^ 32) in *. set (r2 := (ah * bl + c1) mod 2 ^ 32) in *. clearbody c2 r2.
  rewrite (Z.mod_small (al * bh + r2)) by lia.
  pose proof (half_bounds (al * bh + r2) (2 ^ 32) ltac:(lia)) as C3.
  pose proof (Z.div_mod (al * bh + r2) (2 ^ 32) ltac:(lia)) as E3. pose proof (Z.mod_pos_bound (al * bh + r2) (2 ^ 32) ltac:(lia)) as R3.
  set (c3 := (al * bh + r2) / 2 ^ 32) in *. set (r3 := (al * bh + r2) mod 2 ^ 32) in *. clearbody c3 r3.
  rewrite (Z.mod_small (ah * bh + c2)) by lia. rewrite Z.mod_small by lia.
  apply Z.div_unique with (2 ^ 32 * r3 + r1); [lia|]. subst a b. 
  replace ((2 ^ 32 * ah + al) * (2 ^ 32 * bh + bl)) with (2 ^ 64 * (ah * bh) + 2 ^ 32 * (ah * bl) + 2 ^ 32 * (al * bh) + al * bl) by ring.
  lia.
Qed.

(* ---- the block: where the guide begins at or before the place, and a bound follows that lies beyond it ---- *)
Lemma block_from_ok fuel place lows i : word lows i <= place ->
  (exists k, (i < k <= i + fuel)%nat /\ place < word lows k) ->
  let b := block_from fuel place lows i in (i <= b < i + fuel)%nat /\ word lows b <= place < word lows (b + 1).
Proof.
  revert i. induction fuel as [|fuel IH]; intros i L (k & K & P); [lia|]. cbn [block_from].
  destruct (Z.leb_spec (word lows (i + 1)) place) as [H|H].
  - destruct (IH (i + 1)%nat H) as [A B]; [|cbn zeta in *; split; [lia|exact B]].
    exists k. split; [|exact P]. assert (k <> (i + 1)%nat) by (intros ->; lia). lia.
  - cbn zeta. split; [lia|auto].
Qed.

Theorem block_of_is_right place lows guide :
  word lows (Z.to_nat (word guide (Z.to_nat (Z.shiftr place 53)))) <= place ->
  (Z.to_nat (word guide (Z.to_nat (Z.shiftr place 53))) < length lows - 1)%nat -> place < word lows (length lows - 1) ->
  word lows (block_of place lows guide) <= place < word lows (block_of place lows guide + 1).
Proof.
  intros L K P. apply block_from_ok; [exact L|]. exists (length lows - 1)%nat. split; [lia|exact P].
Qed.
