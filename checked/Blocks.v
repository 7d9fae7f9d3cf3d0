(* The tables of the noise sampler in whole numbers: bounds of e^(-x), bounds of the probability of the blocks before
   each block, and what is made of them; and the exact path for an attempt in doubt.
   Proof note: proofs/noise.md. Code: noise/exponential.py and noise/blocks.py, which the definitions follow line by line.
   A rational number is a pair (numerator, denominator) with a denominator above 0. *)
From Coq Require Import ZArith List Bool Lia.
From pcqr Require Import Kernels.
Import ListNotations.
Local Open Scope Z_scope.

(* ---- noise/exponential.py ---- *)
Definition upwards (value places : Z) : Z := - Z.shiftr (- value) places.
Definition ceiling (n d : Z) : Z := - ((- n) / d).
Definition bit_length (n : Z) : Z := if n =? 0 then 0 else Z.log2 n + 1.

(* The loop of _small_exponential_bounds. *)
Fixpoint small_exponential (fuel : nat) (low_y high_y precision order low_term high_term low high : Z) : Z * Z :=
  match fuel with
  | O => (low, high)
  | S fuel =>
      if 1 <? high_term then
        let order := order + 1 in
        let low_term := Z.shiftr (low_term * low_y) precision / order in
        let high_term := - ((- upwards (high_term * high_y) precision) / order) in
        if order mod 2 =? 1
        then small_exponential fuel low_y high_y precision order low_term high_term (low - high_term) (high - low_term)
        else small_exponential fuel low_y high_y precision order low_term high_term (low + low_term) (high + high_term)
      else (low, high)
  end.
Definition small_exponential_bounds (low_y high_y precision : Z) : Z * Z :=
  let one := 2 ^ precision in
  let '(low, high) := small_exponential (Z.to_nat (precision + 2)) low_y high_y precision 0 one one one one in
  (low - 1, high + 1).

Fixpoint squared (halvings : nat) (precision low high : Z) : Z * Z :=
  match halvings with
  | O => (low, high)
  | S halvings => squared halvings precision (Z.shiftr (low * low) precision) (upwards (high * high) precision)
  end.

Definition exponential_bounds (x : Z * Z) (places : Z) : Z * Z :=
  let '(n, d) := x in
  if places * d <? n then (0, 1)
  else if n =? 0 then (2 ^ places, 2 ^ places)
  else
    let halvings := bit_length (ceiling n d) + 1 in
    let spare := halvings + 2 * bit_length places + 8 in
    let precision := places + spare in
    let scaled := n * 2 ^ (precision - halvings) in
    let '(low, high) := small_exponential_bounds (scaled / d) (ceiling scaled d) precision in
    let '(low, high) := squared (Z.to_nat halvings) precision low high in
    (Z.shiftr low spare, upwards high spare).

(* ---- noise/blocks.py ---- *)
Definition spare_bits : Z := 33.
Definition negligible : Z := 64.

(* The loop of cumulative_bounds: sums of masses, the last one first, and what is known when it ends. *)
Fixpoint masses (fuel : nat) (places low_change high_change low_mass high_mass low_ratio high_ratio : Z)
    (low_sums high_sums : list Z) : list Z * list Z * (Z * Z) :=
  match fuel with
  | O => (low_sums, high_sums, (high_mass, high_ratio))
  | S fuel =>
      if negligible <? high_mass then
        masses fuel places low_change high_change
          (Z.shiftr (low_mass * low_ratio) places) (upwards (high_mass * high_ratio) places)
          (Z.shiftr (low_ratio * low_change) places) (upwards (high_ratio * high_change) places)
          (hd 0 low_sums + low_mass :: low_sums) (hd 0 high_sums + high_mass :: high_sums)
      else (low_sums, high_sums, (high_mass, high_ratio))
  end.
Definition most_blocks : nat := Z.to_nat 16384.

Definition cumulative_bounds (power : Z) (unit : Z * Z) (bits : Z) : list Z * list Z :=
  let places := bits + spare_bits in
  let one := 2 ^ places in
  let '(low_ratio, high_ratio) := exponential_bounds unit places in
  let '(low_change, high_change) := exponential_bounds (2 * (power - 1) * fst unit, snd unit) places in
  let '(low_sums, high_sums, (high_mass, high_ratio)) :=
    masses most_blocks places low_change high_change one one low_ratio high_ratio [0] [0] in
  let left_out := - ((- (high_mass * 2 ^ places)) / (one - high_ratio)) in
  let low_total := hd 0 low_sums in
  let high_total := hd 0 high_sums + left_out in
  (map (fun s => s * 2 ^ bits / high_total) (rev low_sums), map (fun s => - ((- (s * 2 ^ bits)) / low_total)) (rev high_sums)).

(* _exponents *)
Definition exponents (power : Z) (unit : Z * Z) (count : nat) : list Z * Z :=
  let '(n, d) := unit in
  if power =? 1 then (repeat (n * 2 ^ 64 / d) count, 0)
  else (map (fun i => 2 * Z.of_nat i * n * 2 ^ 64 / d) (seq 0 count), n * 2 ^ 64 / d).

(* _keeps *)
Fixpoint shares_kept (lows ends afters : list Z) : list Z :=
  match lows, ends, afters with
  | low :: lows, end_ :: ends, after :: afters => Z.max 0 (low + after - end_) :: shares_kept lows ends afters
  | _, _, _ => []
  end.
Definition keeps_of (lows highs : list Z) (bits : Z) : list Z :=
  if bits =? 0 then skipn 1 lows ++ [0] else shares_kept lows (skipn 1 highs) (skipn 2 lows) ++ [0; 0].

Definition blocks_in_a_scale (power : Z) : Z := if power =? 1 then 8 else 32.

(* numpy's searchsorted and Python's bisect_right in an ascending list *)
Definition at_most (x : Z) (l : list Z) : nat := length (filter (fun y => y <=? x) l).

Record blocks := Blocks {
  power : Z; bits : Z; width : Z * Z; lows : list Z; highs : list Z; keeps : list Z; guide : list Z; slopes : list Z; curve : Z }.

(* math.frexp's exponent of n/d where that is at least 1; where it is not, no bit is left of it *)
Definition exponent_of (n d : Z) : Z := Z.log2 (n / d) + 1.

Definition make_blocks (power : Z) (scale : Z * Z) : blocks :=
  let '(n, d) := scale in
  let bits := Z.max 0 (exponent_of n d - bit_length (blocks_in_a_scale power)) in
  let unit := ((2 ^ bits * d) ^ power, power * n ^ power) in
  let '(lows, highs) := cumulative_bounds power unit 63 in
  let starts := lows ++ [2 ^ 63] in
  let grid := map (fun g => Z.shiftl (Z.of_nat g) 53) (seq 0 1024) in
  let '(slopes, curve) := if bits =? 0 then ([], 0) else exponents power unit (length lows) in
  Blocks power bits unit starts highs (keeps_of lows highs bits) (map (fun p => Z.of_nat (at_most p starts) - 1) grid) slopes curve.

Definition words_an_attempt (b : blocks) : Z := if bits b <=? 32 then 1 else 2.

Definition largest_magnitude : Z := 2 ^ 63 - 1.

(* unit * (at^p - i^p), at = i + j / 2^bits *)
Definition refused_exponent (b : blocks) (i j : Z) : Z * Z :=
  let p := power b in
  let at_ := i * 2 ^ bits b + j in
  (fst (width b) * (at_ ^ p - (i * 2 ^ bits b) ^ p), snd (width b) * (2 ^ bits b) ^ p).
Definition shares_refused (b : blocks) (i j many_bits : Z) : Z * Z :=
  let '(low, high) := exponential_bounds (refused_exponent b i j) many_bits in
  (Z.max 0 (2 ^ many_bits - high), 2 ^ many_bits - low).

(* One turn of the loop of settled. None: doubt. Some None: refused. *)
Definition settled_now (b : blocks) (j span place many_bits : Z) (lows highs : list Z) : option (option Z) :=
  let i := Z.of_nat (at_most place lows) - 1 in
  let k := Z.to_nat i in
  if (word highs k <=? place) && (k + 1 <? length lows)%nat && (place + span <=? word lows (k + 1)) then
    let '(least, most) := shares_refused b i j many_bits in
    if place + span + upwards (most * (word highs (k + 1) - word lows k)) many_bits <=? word lows (k + 1)
    then Some (Some (Z.min (Z.shiftl i (bits b) + j) largest_magnitude))
    else if word highs (k + 1) <=? place + Z.shiftr (least * (word lows (k + 1) - word highs k)) many_bits
    then Some None
    else None
  else None.
(* The loop. None: the words do not suffice. *)
Fixpoint settle (b : blocks) (j span place many_bits : Z) (lows highs more : list Z) : option (option Z) :=
  match settled_now b j span place many_bits lows highs, more with
  | Some found, _ => Some found
  | None, [] => None
  | None, w :: more =>
      let many_bits := many_bits + 64 in
      let '(lows, highs) := cumulative_bounds (power b) (width b) many_bits in
      settle b j span (Z.shiftl place 64 + span * w) many_bits lows highs more
  end.
Definition settled (b : blocks) (words more : list Z) : option (option Z) :=
  let place := Z.shiftr (word words 0) 1 in
  let '(place, j, span) :=
    if words_an_attempt b =? 2 then (place, Z.shiftr (word words 1) (64 - bits b), 1)
    else let span := Z.shiftl 1 (bits b) in (Z.land place (- span), Z.land place (span - 1), span) in
  settle b j span place 63 (firstn (length (lows b) - 1) (lows b)) (highs b) more.
