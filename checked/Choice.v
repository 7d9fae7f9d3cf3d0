(* The integer steps of the exact weighted choice.

   In words: an integer below a bound is made of a 64-bit word, and words that would bias are skipped. Then every integer
   below the bound comes of equally many words. A uniform real number u, known by its first bits, is compared with whole
   numbers around 2^bits * p, and with further bits until they decide. Then the answer is right: "yes" only if u < p, "no"
   only if p <= u.
   Proof note: proofs/weighted_choice.md. Code: entropy.py (Entropy.below) and noise/choice.py, which the definitions
   follow line by line. The floats of the code lie outside. *)
From Coq Require Import ZArith Reals List Bool Lia Lra.
Import ListNotations.
Local Open Scope Z_scope.

(* ---- the code, line by line ---- *)
(* Entropy.below for one integer: the words that would bias are skipped. *)
Fixpoint below_bound (bound : Z) (words : list Z) : option Z :=
  let limit := 2 ^ 64 - 2 ^ 64 mod bound in
  match words with
  | [] => None
  | w :: words => if limit <=? w then below_bound bound words else Some (w mod bound)
  end.

(* The loop of _is_below_exponential. `bounds` are, for 64, 128, ... bits, whole numbers around 2^bits * e^l: K + 1 is at
   most the lower bound of the code if it is at most its floor, and K is at least the upper one if at least its ceiling.
   None: the words do not suffice. *)
Fixpoint is_below (known : Z) (bounds : list (Z * Z)) (words : list Z) : option bool :=
  match bounds with
  | [] => None
  | (low, high) :: bounds =>
      if known + 1 <=? low then Some true
      else if negb (known =? 0) && (high <=? known) then Some false
      else match words with [] => None | w :: words => is_below (Z.lor (Z.shiftl known 64) w) bounds words end
  end.

(* ---- each residue has equally many words ---- *)
Theorem below_is_uniform bound r w : 0 < bound -> 0 <= w < 2 ^ 64 ->
  below_bound bound [w] = Some r <-> exists k, 0 <= k < 2 ^ 64 / bound /\ 0 <= r < bound /\ w = r + bound * k.
Proof.
  intros B W. cbn [below_bound]. set (N := 2 ^ 64) in *.
  pose proof (Z.div_mod N bound ltac:(lia)) as E. pose proof (Z.mod_pos_bound N bound B) as M.
  pose proof (Z.div_mod w bound ltac:(lia)) as F. pose proof (Z.mod_pos_bound w bound B) as R.
  destruct (Z.leb_spec (N - N mod bound) w) as [L|L].
  - split; [discriminate|]. intros (k & K & R' & ->). exfalso.
    assert (bound * (k + 1) <= bound * (N / bound)) by (apply Z.mul_le_mono_nonneg_l; lia). lia.
  - split.
    + intros H. injection H as <-. exists (w / bound). repeat split; try lia; [apply Z.div_pos; lia|].
      apply Z.mul_lt_mono_pos_l with bound; lia.
    + intros (k & K & R' & E'). f_equal. symmetry. apply Z.mod_unique with k; [now left|]. lia.
Qed.

Theorem biased_words_are_skipped bound w words : 2 ^ 64 - 2 ^ 64 mod bound <= w ->
  below_bound bound (w :: words) = below_bound bound words.
Proof. intros H. cbn [below_bound]. now rewrite (proj2 (Z.leb_le _ _) H). Qed.

(* ---- what is answered is right ---- *)
(* u has the first `bits` bits `known`, and then `words` of 64 bits each. *)
Fixpoint begins (u : R) (bits known : Z) (words : list Z) : Prop :=
  (IZR known <= IZR (2 ^ bits) * u < IZR known + 1)%R /\
  match words with [] => True | w :: words => begins u (bits + 64) (Z.lor (Z.shiftl known 64) w) words end.
(* With so many bits, p lies between whole numbers. *)
Fixpoint brackets (p : R) (bits : Z) (bounds : list (Z * Z)) : Prop :=
  match bounds with
  | [] => True
  | (low, high) :: bounds => (IZR low <= IZR (2 ^ bits) * p <= IZR high)%R /\ brackets p (bits + 64) bounds
  end.

Theorem comparison_is_right p u bounds words known answer :
  brackets p 64 bounds -> begins u 64 known words -> is_below known bounds words = Some answer ->
  if answer then (u < p)%R else (p <= u)%R.
Proof.
  assert (G : forall bounds bits words known, 0 <= bits -> brackets p bits bounds -> begins u bits known words ->
                is_below known bounds words = Some answer -> if answer then (u < p)%R else (p <= u)%R).
  { clear. induction bounds as [|[low high] bounds IH]; intros bits words known N P U; cbn [is_below]; [discriminate|].
    cbn [brackets] in P. destruct P as [P P']. destruct words as [|w words]; cbn [begins] in U; destruct U as [U U'].
    all: assert (T : (0 < IZR (2 ^ bits))%R) by (apply IZR_lt, Z.pow_pos_nonneg; lia).
    all: destruct (Z.leb_spec (known + 1) low) as [L|_];
      [intros H; injection H as <-; apply Rmult_lt_reg_l with (IZR (2 ^ bits)); [exact T|]; apply IZR_le in L; rewrite plus_IZR in L; lra|].
    all: destruct (negb (known =? 0) && (high <=? known)) eqn:C;
      [intros H; injection H as <-; apply andb_prop in C; destruct C as [_ C]; apply Z.leb_le, IZR_le in C;
       apply Rmult_le_reg_l with (IZR (2 ^ bits)); [exact T|lra]|].
    - discriminate.
    - apply IH with (bits + 64); [lia|exact P'|exact U']. }
  intros P U. apply (G bounds 64 words known ltac:(lia) P U).
Qed.
