(* The definitions that `python -m checked.compare` compares with the library, as OCaml. *)
From Coq Require Import ZArith List Extraction ExtrOcamlBasic.
From pcqr Require Import Votes Kernels Blocks Choice Halving.
Extraction "reference.ml" Votes.plurality Votes.distance
  Kernels.high_product Kernels.block_of Kernels.verdict Kernels.draw Kernels.sech_squared
  Blocks.exponential_bounds Blocks.cumulative_bounds Blocks.make_blocks Blocks.words_an_attempt Blocks.settled
  Choice.below_bound Choice.is_below
  Halving.starts_of Halving.place_of_key Halving.least_key Halving.cut_at Halving.unique Halving.gaps Halving.halved.
