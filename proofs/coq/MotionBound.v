(* SPDX-License-Identifier: Apache-2.0 *)
(** The motion bound: how far a point of a link can be from where it stood at a sampled configuration, when every joint
    variable j is within [delta j] of its sampled value:

        sum over the joints of the chain of  |multiplier| * delta * (distance of the point from the joint's axis)

    with the distance taken at the sampled configuration; it is 1 for a joint that slides. No limits of joints are needed,
    and no derivative: joints are brought to their new values one by one, the last of the chain first. *)

Require Import Reals List Lra Psatz.
From Lastgate Require Import Vectors Motions Kinematics.
Import ListNotations.
Open Scope R_scope.

(** Distance of a point, given in the frame of a link, from the axis of the link's own joint. *)
Definition reach (l : link) (y : vec) : R :=
  match kind l with Fixed => 0 | Revolute => norm (cross (unit_axis l) y) | Prismatic => 1 end.

Fixpoint bound (q delta : nat -> R) (chain : list link) (x : vec) : R :=
  match chain with
  | [] => 0
  | l :: rest => Rabs (val (multiplier l)) * delta (dof l) * reach l (place (placement q rest) x) + bound q delta rest x
  end.

Lemma joint_moves : forall q q' l y, has_axis l ->
  norm (vsub (place (joint q' l) y) (place (joint q l) y))
  <= Rabs (val (multiplier l)) * Rabs (q' (dof l) - q (dof l)) * reach l y.
Proof.
  intros q q' l y H; unfold joint, reach, has_axis in *.
  assert (E : Rabs (joint_value q' l - joint_value q l) = Rabs (val (multiplier l)) * Rabs (q' (dof l) - q (dof l))).
  { rewrite <- Rabs_mult; unfold joint_value; f_equal; ring. }
  destruct (kind l).
  - rewrite norm_zero_sub; lra.
  - unfold place; simpl.
    replace (vsub _ _) with (vsub (mapply (rotation (unit_axis l) (cos (joint_value q' l)) (sin (joint_value q' l))) y)
      (mapply (rotation (unit_axis l) (cos (joint_value q l)) (sin (joint_value q l))) y)).
    + rewrite <- E; apply rotation_moves, unit_axis_unit, H; discriminate.
    + set (a := mapply _ _); set (b := mapply _ _); destruct a, b; unfold vsub, vadd; simpl; apply vec_eq; simpl; ring.
  - unfold place; simpl.
    replace (vsub _ _) with (vscale (joint_value q' l - joint_value q l) (unit_axis l)).
    + rewrite <- E; apply Req_le.
      apply norm_of_sqr; [pose proof (Rabs_pos (joint_value q' l - joint_value q l)); lra|].
      rewrite dot_scale_l, dot_scale_r, unit_axis_unit by (apply H; discriminate).
      rewrite !Rmult_1_r, <- Rabs_mult, Rabs_right; [reflexivity|apply Rle_ge, Rle_0_sqr].
    + rewrite mapply_identity; destruct y, (unit_axis l); unfold vsub, vadd, vscale; simpl; apply vec_eq; simpl; ring.
Qed.

Lemma reach_nonneg : forall l y, 0 <= reach l y.
Proof. intros l y; unfold reach; destruct (kind l); try lra; apply norm_nonneg. Qed.

(** The theorem of this file. *)
Theorem motion_bound : forall q q' delta chain x,
  Forall has_axis chain -> (forall j, Rabs (q' j - q j) <= delta j) ->
  norm (vsub (place (placement q' chain) x) (place (placement q chain) x)) <= bound q delta chain x.
Proof.
  intros q q' delta chain x H Hd; induction H as [|l rest Hl Hrest IH]; simpl.
  - rewrite norm_zero_sub; lra.
  - rewrite !place_compose; unfold step; rewrite !place_compose, rigid_distance by apply rigid_origin.
    eapply Rle_trans; [apply (triangle_sub _ (place (joint q' l) (place (placement q rest) x)))|].
    rewrite rigid_distance by (apply rigid_joint; exact Hl).
    pose proof (joint_moves q q' l (place (placement q rest) x) Hl) as J.
    pose proof (Hd (dof l)) as D.
    pose proof (reach_nonneg l (place (placement q rest) x)) as R.
    pose proof (Rabs_pos (val (multiplier l))) as A.
    assert (Rabs (val (multiplier l)) * Rabs (q' (dof l) - q (dof l)) * reach l (place (placement q rest) x)
       <= Rabs (val (multiplier l)) * delta (dof l) * reach l (place (placement q rest) x)).
    { apply Rmult_le_compat_r; [exact R|]; apply Rmult_le_compat_l; assumption. }
    lra.
Qed.

(** Two links with a common beginning of their chains: its joints move both alike and drop out. *)
Theorem common_joints_drop_out : forall q q' common a b x y, Forall has_axis common ->
  norm (vsub (place (placement q' (common ++ a)) x) (place (placement q' (common ++ b)) y)) =
  norm (vsub (place (placement q common) (place (placement q' a) x)) (place (placement q common) (place (placement q' b) y))).
Proof.
  intros q q' common a b x y H; rewrite !place_app, !rigid_distance by (apply rigid_placement; exact H); reflexivity.
Qed.

(** ** The same sum, with everything seen from the base *)

Definition reach_at (f : frame) (l : link) (p : vec) : R :=
  match kind l with
  | Fixed => 0
  | Revolute => norm (cross (mapply (rot f) (unit_axis l)) (vsub p (pos f)))
  | Prismatic => 1
  end.

Fixpoint bound_at (q delta : nat -> R) (before chain : list link) (p : vec) : R :=
  match chain with
  | [] => 0
  | l :: rest => Rabs (val (multiplier l)) * delta (dof l) * reach_at (placement q (before ++ [l])) l p
      + bound_at q delta (before ++ [l]) rest p
  end.

Lemma reach_at_base : forall f l y, rigid f -> reach_at f l (place f y) = reach l y.
Proof.
  intros f l y H; unfold reach_at, reach; destruct (kind l); try reflexivity.
  replace (vsub (place f y) (pos f)) with (mapply (rot f) y); [apply isometry_cross; exact H|].
  unfold place; destruct (mapply (rot f) y), (pos f); unfold vsub, vadd; simpl; apply vec_eq; simpl; ring.
Qed.

Lemma bound_at_base : forall q delta chain before x, Forall has_axis (before ++ chain) ->
  bound_at q delta before chain (place (placement q (before ++ chain)) x) = bound q delta chain x.
Proof.
  induction chain as [|l rest IH]; intros before x H; simpl; [reflexivity|].
  assert (E : before ++ l :: rest = (before ++ [l]) ++ rest) by (rewrite <- app_assoc; reflexivity).
  rewrite E, IH by (rewrite <- E; exact H).
  f_equal; f_equal.
  rewrite place_app; apply reach_at_base, rigid_placement.
  rewrite E in H; apply Forall_app in H; apply H.
Qed.

(** What a checker uses of one side of a pair. [common] stands still, and the others stray by at most [delta]. *)
Theorem side_moves : forall q q' delta common own x,
  Forall has_axis (common ++ own) -> (forall j, Rabs (q' j - q j) <= delta j) ->
  let p := place (placement q (common ++ own)) x in
  norm (vsub (place (placement q common) (place (placement q' own) x)) p) <= bound_at q delta common own p.
Proof.
  intros q q' delta common own x H Hd p; subst p.
  rewrite bound_at_base by exact H.
  apply Forall_app in H as [Hc Ho].
  rewrite place_app, rigid_distance by (apply rigid_placement; exact Hc).
  apply motion_bound; assumption.
Qed.
