(* SPDX-License-Identifier: Apache-2.0 *)
(** Rigid motions: a rotation and a displacement. Rotations about an axis (Rodrigues' formula), from roll, pitch and yaw,
    and from a quaternion. What is proved: they keep lengths, and turning a point by a small angle moves it by at most
    the angle times its distance from the axis. *)

Require Import Reals Lra Psatz Ranalysis.
From Lastgate Require Import Vectors.
Open Scope R_scope.

(** A matrix is its three rows. *)
Record mat := M { r1 : vec; r2 : vec; r3 : vec }.
Definition mapply (m : mat) (v : vec) := V (dot (r1 m) v) (dot (r2 m) v) (dot (r3 m) v).
Definition column1 m := V (vx (r1 m)) (vx (r2 m)) (vx (r3 m)).
Definition column2 m := V (vy (r1 m)) (vy (r2 m)) (vy (r3 m)).
Definition column3 m := V (vz (r1 m)) (vz (r2 m)) (vz (r3 m)).
Definition transpose m := M (column1 m) (column2 m) (column3 m).
Definition mrow (a : vec) (b : mat) := V (dot a (column1 b)) (dot a (column2 b)) (dot a (column3 b)).
Definition mmul (a b : mat) := M (mrow (r1 a) b) (mrow (r2 a) b) (mrow (r3 a) b).
Definition midentity := M (V 1 0 0) (V 0 1 0) (V 0 0 1).

Ltac coordinates :=
  repeat match goal with v : vec |- _ => destruct v | m : mat |- _ => destruct m end;
  unfold mapply, mmul, mrow, transpose, column1, column2, column3, midentity, dot, cross, vadd, vsub, vscale, zero in *;
  simpl in *.

Lemma mapply_mmul : forall a b v, mapply (mmul a b) v = mapply a (mapply b v).
Proof. intros; coordinates; apply vec_eq; simpl; ring. Qed.
Lemma mapply_add : forall a v w, mapply a (vadd v w) = vadd (mapply a v) (mapply a w).
Proof. intros; coordinates; apply vec_eq; simpl; ring. Qed.
Lemma mapply_sub : forall a v w, mapply a (vsub v w) = vsub (mapply a v) (mapply a w).
Proof. intros; coordinates; apply vec_eq; simpl; ring. Qed.
Lemma mapply_scale : forall a k v, mapply a (vscale k v) = vscale k (mapply a v).
Proof. intros; coordinates; apply vec_eq; simpl; ring. Qed.
Lemma mapply_identity : forall v, mapply midentity v = v.
Proof. intros; coordinates; apply vec_eq; simpl; ring. Qed.
Lemma dot_mapply : forall d a v, dot d (mapply a v) = dot (mapply (transpose a) d) v.
Proof. intros; coordinates; ring. Qed.

(** A matrix that keeps lengths. *)
Definition isometry (m : mat) := forall v, dot (mapply m v) (mapply m v) = dot v v.

Lemma isometry_norm : forall m v, isometry m -> norm (mapply m v) = norm v.
Proof. intros m v H; unfold norm; rewrite H; reflexivity. Qed.

Lemma isometry_dot : forall m v w, isometry m -> dot (mapply m v) (mapply m w) = dot v w.
Proof.
  intros m v w H; pose proof (H (vadd v w)) as S; rewrite mapply_add in S.
  pose proof (H v) as Hv; pose proof (H w) as Hw.
  assert (P : forall a b, dot (vadd a b) (vadd a b) = dot a a + 2 * dot a b + dot b b)
    by (intros; coordinates; ring).
  rewrite !P in S; lra.
Qed.

(** The distance from an axis is the same wherever both are carried. *)
Lemma isometry_cross : forall m u v, isometry m -> norm (cross (mapply m u) (mapply m v)) = norm (cross u v).
Proof.
  intros m u v H; unfold norm; rewrite !cross_sqr, !(isometry_dot m) by exact H; reflexivity.
Qed.

Lemma isometry_mmul : forall a b, isometry a -> isometry b -> isometry (mmul a b).
Proof. intros a b Ha Hb v; rewrite mapply_mmul, Ha, Hb; reflexivity. Qed.
Lemma isometry_identity : isometry midentity.
Proof. intro v; rewrite mapply_identity; reflexivity. Qed.

(** ** Rotation about an axis of unit length by an angle with a given cosine and sine. *)
Definition rotation (u : vec) (c s : R) : mat :=
  let k := 1 - c in
  M (V (c + k * (vx u * vx u)) (k * (vx u * vy u) - s * vz u) (k * (vx u * vz u) + s * vy u))
    (V (k * (vy u * vx u) + s * vz u) (c + k * (vy u * vy u)) (k * (vy u * vz u) - s * vx u))
    (V (k * (vz u * vx u) - s * vy u) (k * (vz u * vy u) + s * vx u) (c + k * (vz u * vz u))).

Lemma rotation_apply : forall u c s v,
  mapply (rotation u c s) v = vadd (vscale c v) (vadd (vscale s (cross u v)) (vscale ((1 - c) * dot u v) u)).
Proof. intros; unfold rotation; coordinates; apply vec_eq; simpl; ring. Qed.

Lemma rotation_isometry : forall u c s, dot u u = 1 -> c * c + s * s = 1 -> isometry (rotation u c s).
Proof.
  intros u c s Hu Hc v; rewrite rotation_apply.
  assert (E : forall a b k, dot (vadd (vscale c v) (vadd (vscale a (cross u v)) (vscale k u)))
      (vadd (vscale b v) (vadd (vscale a (cross u v)) (vscale k u)))
      = b * c * dot v v + a * a * dot (cross u v) (cross u v) + k * k * dot u u + (c + b) * k * dot u v)
    by (intros; coordinates; ring).
  rewrite E, cross_sqr, Hu.
  replace (s * s) with (1 - c * c) by lra; ring.
Qed.

Lemma rotation_axis : forall u c s, dot u u = 1 -> mapply (rotation u c s) u = u.
Proof.
  intros u c s Hu; rewrite rotation_apply, Hu.
  coordinates; apply vec_eq; simpl; ring.
Qed.

(** The chord is not longer than the arc. *)
Lemma chord_le_arc : forall a b,
  (cos a - cos b) * (cos a - cos b) + (sin a - sin b) * (sin a - sin b) <= (a - b) * (a - b).
Proof.
  intros a b.
  replace ((cos a - cos b) * (cos a - cos b) + (sin a - sin b) * (sin a - sin b)) with (2 - 2 * cos (a - b)).
  2:{ rewrite cos_minus. pose proof (sin2_cos2 a) as A; pose proof (sin2_cos2 b) as B; unfold Rsqr in A, B; nra. }
  replace (a - b) with (2 * ((a - b) / 2)) at 1 by field.
  rewrite cos_2a_sin.
  set (x := (a - b) / 2).
  replace ((a - b) * (a - b)) with (4 * (x * x)) by (unfold x; field).
  assert (S : sin x * sin x <= x * x).
  { assert (P : forall y, 0 <= y -> sin y * sin y <= y * y).
    { intros y Hy. destruct (Rle_dec y 1) as [H1|H1].
      - destruct (Req_dec y 0) as [->|Hn]; [rewrite sin_0; lra|].
        assert (0 < y) by lra.
        assert (0 <= sin y) by (apply sin_ge_0; [lra|]; pose proof PI2_1; lra).
        pose proof (sin_lt_x y H) as HS; nra.
      - pose proof (SIN_bound y); nra. }
    destruct (Rle_dec 0 x) as [H|H]; [apply P; exact H|].
    replace (sin x * sin x) with (sin (-x) * sin (-x)) by (rewrite sin_neg; ring).
    replace (x * x) with ((-x) * (-x)) by ring; apply P; lra. }
  nra.
Qed.

(** Turning a point from one angle to another moves it by at most the angle times its distance from the axis. *)
Lemma rotation_moves : forall u a b v, dot u u = 1 ->
  norm (vsub (mapply (rotation u (cos a) (sin a)) v) (mapply (rotation u (cos b) (sin b)) v))
  <= Rabs (a - b) * norm (cross u v).
Proof.
  intros u a b v Hu; apply norm_le.
  - apply Rmult_le_pos; [apply Rabs_pos|apply norm_nonneg].
  - rewrite !rotation_apply.
    replace (dot _ _) with
      (((cos a - cos b) * (cos a - cos b) + (sin a - sin b) * (sin a - sin b)) * dot (cross u v) (cross u v)
       + (cos a - cos b) * (cos a - cos b) * (1 - dot u u) * (dot v v - dot u v * dot u v)).
    2:{ rewrite cross_sqr.
        set (ca := cos a); set (cb := cos b); set (sa := sin a); set (sb := sin b).
        coordinates; ring [Hu]. }
    rewrite Hu.
    pose proof (chord_le_arc a b) as C.
    pose proof (dot_self_nonneg (cross u v)) as D.
    replace (Rabs (a - b) * norm (cross u v) * (Rabs (a - b) * norm (cross u v)))
      with ((Rabs (a - b) * Rabs (a - b)) * (norm (cross u v) * norm (cross u v))) by ring.
    rewrite norm_sqr.
    replace (Rabs (a - b) * Rabs (a - b)) with ((a - b) * (a - b))
      by (rewrite <- Rabs_mult, Rabs_right; [reflexivity|]; apply Rle_ge, Rle_0_sqr).
    nra.
Qed.

(** ** Rigid motions *)
Record frame := F { rot : mat; pos : vec }.
Definition place (f : frame) (v : vec) := vadd (mapply (rot f) v) (pos f).
Definition compose (f g : frame) := F (mmul (rot f) (rot g)) (place f (pos g)).
Definition still := F midentity zero.
Definition rigid (f : frame) := isometry (rot f).

Lemma place_compose : forall f g v, place (compose f g) v = place f (place g v).
Proof.
  intros [a p] [b q] v; unfold place, compose; simpl; rewrite mapply_mmul, mapply_add.
  destruct p, q, (mapply a (mapply b v)); unfold place, vadd; simpl; apply vec_eq; simpl; ring.
Qed.
Lemma place_still : forall v, place still v = v.
Proof. intros [x y z]; unfold place, still; simpl; rewrite mapply_identity; apply vec_eq; simpl; ring. Qed.
Lemma place_sub : forall f v w, vsub (place f v) (place f w) = mapply (rot f) (vsub v w).
Proof. intros [a p] v w; unfold place; rewrite mapply_sub; simpl; coordinates; apply vec_eq; simpl; ring. Qed.
Lemma rigid_compose : forall f g, rigid f -> rigid g -> rigid (compose f g).
Proof. intros f g; apply isometry_mmul. Qed.
Lemma rigid_still : rigid still.
Proof. apply isometry_identity. Qed.
Lemma rigid_distance : forall f v w, rigid f -> norm (vsub (place f v) (place f w)) = norm (vsub v w).
Proof. intros; rewrite place_sub; apply isometry_norm; assumption. Qed.

(** Roll, pitch and yaw as robot descriptions use them: about x first, then y, then z. *)
Definition rotation_of_rpy (cr sr cp sp cy sy : R) : mat :=
  mmul (rotation (V 0 0 1) cy sy) (mmul (rotation (V 0 1 0) cp sp) (rotation (V 1 0 0) cr sr)).

Lemma rpy_isometry : forall r p y, isometry (rotation_of_rpy (cos r) (sin r) (cos p) (sin p) (cos y) (sin y)).
Proof.
  intros; unfold rotation_of_rpy.
  assert (T : forall a, cos a * cos a + sin a * sin a = 1)
    by (intro a; pose proof (sin2_cos2 a) as A; unfold Rsqr in A; lra).
  repeat apply isometry_mmul; apply rotation_isometry; try apply T; unfold dot; simpl; ring.
Qed.

(** The rotation of a quaternion, which need not have unit length: [w] is the real part. *)
Definition rotation_of_quaternion (x y z w : R) : mat :=
  let n := / (x * x + y * y + z * z + w * w) in
  M (V (n * (w * w + x * x - y * y - z * z)) (n * (2 * (x * y - w * z))) (n * (2 * (x * z + w * y))))
    (V (n * (2 * (x * y + w * z))) (n * (w * w - x * x + y * y - z * z)) (n * (2 * (y * z - w * x))))
    (V (n * (2 * (x * z - w * y))) (n * (2 * (y * z + w * x))) (n * (w * w - x * x - y * y + z * z))).

Lemma quaternion_column3_unit : forall x y z w, x * x + y * y + z * z + w * w <> 0 ->
  dot (column3 (rotation_of_quaternion x y z w)) (column3 (rotation_of_quaternion x y z w)) = 1.
Proof. intros x y z w H; unfold rotation_of_quaternion, column3, dot; simpl; field; exact H. Qed.
