(* SPDX-License-Identifier: Apache-2.0 *)
(** Prints each theorem and everything that it rests on: the axioms of Coq's real numbers, and no other. *)

From Lastgate Require Import MotionBound Trigonometry.

Check motion_bound.
Print Assumptions motion_bound.
Check common_joints_drop_out.
Print Assumptions common_joints_drop_out.
Check sin_cos_ok.
Print Assumptions sin_cos_ok.
