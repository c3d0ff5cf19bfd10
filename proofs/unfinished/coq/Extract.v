(* SPDX-License-Identifier: Apache-2.0 *)
(** Writes the checker as an OCaml program. Whole numbers become those of the Zarith library. *)

From Coq Require Import Extraction ExtrOcamlBasic ExtrOcamlZBigInt ZArith.
From Lastgate Require Import Kinematics Claim Checker.

Extract Constant Z.sqrt => "(fun x -> if Big_int_Z.sign_big_int x <= 0 then Big_int_Z.zero_big_int else Big_int_Z.sqrt_big_int x)".
Extraction Language OCaml.
Extraction "checker.ml" check.
