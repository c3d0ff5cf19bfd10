(* SPDX-License-Identifier: Apache-2.0 *)
(** A robot as its file gives it, and what the file means: where every link stands at a configuration.

    The numbers of a file are IEEE doubles, which are whole numbers times powers of two. Their meaning is exact. *)

Require Import Reals ZArith List Lra.
From Lastgate Require Import Vectors Motions.
Import ListNotations.
Open Scope R_scope.

Record dyadic := D { mantissa : Z; exponent : Z }.
Definition val (x : dyadic) : R := IZR (mantissa x) * powerRZ 2 (exponent x).
Record dvec := DV { dx : dyadic; dy : dyadic; dz : dyadic }.
Definition vval (v : dvec) : vec := V (val (dx v)) (val (dy v)) (val (dz v)).
Definition d0 := D 0 0.

Inductive joint_kind := Fixed | Revolute | Prismatic.

(** A link and the joint that carries it. The joint stands at an origin in the frame of its parent and turns about its
    axis, or slides along it, by [multiplier * variable + offset]. *)
Record link := {
  parent : nat; kind : joint_kind; dof : nat; multiplier : dyadic; offset : dyadic;
  origin_xyz : dvec; origin_rpy : dvec; axis : dvec }.

(** An axis is brought to unit length. *)
Definition unit_axis (l : link) : vec := vscale (/ norm (vval (axis l))) (vval (axis l)).
Definition has_axis (l : link) := kind l <> Fixed -> norm (vval (axis l)) <> 0.
Definition joint_value (q : nat -> R) (l : link) : R := val (multiplier l) * q (dof l) + val (offset l).

Definition origin (l : link) : frame :=
  let rpy := vval (origin_rpy l) in
  F (rotation_of_rpy (cos (vx rpy)) (sin (vx rpy)) (cos (vy rpy)) (sin (vy rpy)) (cos (vz rpy)) (sin (vz rpy)))
    (vval (origin_xyz l)).

Definition joint (q : nat -> R) (l : link) : frame :=
  match kind l with
  | Fixed => still
  | Revolute => F (rotation (unit_axis l) (cos (joint_value q l)) (sin (joint_value q l))) zero
  | Prismatic => F midentity (vscale (joint_value q l) (unit_axis l))
  end.

Definition step (q : nat -> R) (l : link) : frame := compose (origin l) (joint q l).

(** Where the last link of a chain stands, seen from where the chain begins. *)
Fixpoint placement (q : nat -> R) (chain : list link) : frame :=
  match chain with
  | [] => still
  | l :: rest => compose (step q l) (placement q rest)
  end.

(** ** What follows *)

Lemma unit_axis_unit : forall l, norm (vval (axis l)) <> 0 -> dot (unit_axis l) (unit_axis l) = 1.
Proof.
  intros l H; unfold unit_axis; rewrite dot_scale_l, dot_scale_r, <- norm_sqr; field; exact H.
Qed.

Lemma cos_sin_one : forall a, cos a * cos a + sin a * sin a = 1.
Proof. intro a; pose proof (sin2_cos2 a) as A; unfold Rsqr in A; lra. Qed.

Lemma rigid_origin : forall l, rigid (origin l).
Proof. intro l; apply rpy_isometry. Qed.

Lemma rigid_joint : forall q l, has_axis l -> rigid (joint q l).
Proof.
  intros q l H; unfold joint, has_axis in *; destruct (kind l).
  - apply rigid_still.
  - apply rotation_isometry; [apply unit_axis_unit, H; discriminate|apply cos_sin_one].
  - apply isometry_identity.
Qed.

Lemma rigid_step : forall q l, has_axis l -> rigid (step q l).
Proof. intros; apply rigid_compose; [apply rigid_origin|apply rigid_joint; assumption]. Qed.

Lemma rigid_placement : forall q chain, Forall has_axis chain -> rigid (placement q chain).
Proof.
  induction 1; simpl; [apply rigid_still|]; apply rigid_compose; [apply rigid_step; assumption|assumption].
Qed.

Lemma place_app : forall q a b v, place (placement q (a ++ b)) v = place (placement q a) (place (placement q b) v).
Proof.
  induction a; intros; simpl; [rewrite place_still; reflexivity|].
  rewrite !place_compose, IHa; reflexivity.
Qed.
