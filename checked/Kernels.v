(* The high word of the product of two 64-bit words, computed by halves of 32 bits, is exact: every operation of uint64
   wraps around, and none does.
   Proof note: proofs/noise.md. Code: noise/kernels.py, which the definition follows line by line. *)
From Coq Require Import ZArith Lia.
Local Open Scope Z_scope.

Definition u64 (x : Z) : Z := x mod 2 ^ 64.
Definition add x y := u64 (x + y).
Definition mul x y := u64 (x * y).
Definition half (x : Z) := Z.shiftr x 32.
Definition lowhalf (x : Z) := Z.land x (2 ^ 32 - 1).

(* noise/kernels.py, line by line *)
Definition high_product (a b : Z) : Z :=
  let a_high := half a in let a_low := lowhalf a in
  let b_high := half b in let b_low := lowhalf b in
  let middle := add (mul a_high b_low) (half (mul a_low b_low)) in
  let other := add (mul a_low b_high) (lowhalf middle) in
  add (add (mul a_high b_high) (half middle)) (half other).

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
