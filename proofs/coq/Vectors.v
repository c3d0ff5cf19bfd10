(* SPDX-License-Identifier: Apache-2.0 *)
(** Vectors of space: dot product, cross product, length. Real numbers throughout: nothing here is computed, it is what
    the theorem speaks about. *)

Require Import Reals Lra Psatz.
Open Scope R_scope.

Record vec := V { vx : R; vy : R; vz : R }.

Definition vadd a b := V (vx a + vx b) (vy a + vy b) (vz a + vz b).
Definition vsub a b := V (vx a - vx b) (vy a - vy b) (vz a - vz b).
Definition vscale k a := V (k * vx a) (k * vy a) (k * vz a).
Definition dot a b := vx a * vx b + vy a * vy b + vz a * vz b.
Definition cross a b :=
  V (vy a * vz b - vz a * vy b) (vz a * vx b - vx a * vz b) (vx a * vy b - vy a * vx b).
Definition norm a := sqrt (dot a a).
Definition zero := V 0 0 0.

Lemma vec_eq : forall a b, vx a = vx b -> vy a = vy b -> vz a = vz b -> a = b.
Proof. intros [a1 a2 a3] [b1 b2 b3]; simpl; intros; subst; reflexivity. Qed.

Lemma dot_self_nonneg : forall a, 0 <= dot a a.
Proof. intros [x y z]; unfold dot; simpl; nra. Qed.

Lemma norm_nonneg : forall a, 0 <= norm a.
Proof. intros; apply sqrt_pos. Qed.

Lemma norm_sqr : forall a, norm a * norm a = dot a a.
Proof. intros; apply sqrt_sqrt, dot_self_nonneg. Qed.

Lemma norm_of_sqr : forall a k, 0 <= k -> dot a a = k * k -> norm a = k.
Proof. intros a k Hk H; unfold norm; rewrite H; apply sqrt_square; exact Hk. Qed.

(** A length is at most k when its square is at most the square of k. *)
Lemma norm_le : forall a k, 0 <= k -> dot a a <= k * k -> norm a <= k.
Proof.
  intros a k Hk H; unfold norm; rewrite <- (sqrt_square k Hk); apply sqrt_le_1_alt; exact H.
Qed.

(** Lagrange's identity. *)
Lemma cross_sqr : forall a b, dot (cross a b) (cross a b) = dot a a * dot b b - dot a b * dot a b.
Proof. intros [a1 a2 a3] [b1 b2 b3]; unfold dot, cross; simpl; ring. Qed.

Lemma cauchy_schwarz_sqr : forall a b, dot a b * dot a b <= dot a a * dot b b.
Proof. intros a b; pose proof (dot_self_nonneg (cross a b)) as H; rewrite cross_sqr in H; lra. Qed.

Lemma cauchy_schwarz : forall a b, dot a b <= norm a * norm b.
Proof.
  intros a b.
  destruct (Rle_dec (dot a b) 0) as [Hn|Hp].
  - apply Rle_trans with 0; auto.
    apply Rmult_le_pos; apply norm_nonneg.
  - unfold norm; rewrite <- sqrt_mult by apply dot_self_nonneg.
    rewrite <- (sqrt_square (dot a b)) by lra.
    apply sqrt_le_1_alt, cauchy_schwarz_sqr.
Qed.

Lemma dot_add_r : forall a b c, dot a (vadd b c) = dot a b + dot a c.
Proof. intros [] [] []; unfold dot, vadd; simpl; ring. Qed.
Lemma dot_sub_r : forall a b c, dot a (vsub b c) = dot a b - dot a c.
Proof. intros [] [] []; unfold dot, vsub; simpl; ring. Qed.
Lemma dot_scale_r : forall a k b, dot a (vscale k b) = k * dot a b.
Proof. intros [] k []; unfold dot, vscale; simpl; ring. Qed.
Lemma dot_scale_l : forall a k b, dot (vscale k a) b = k * dot a b.
Proof. intros [] k []; unfold dot, vscale; simpl; ring. Qed.
Lemma dot_zero_r : forall a, dot a zero = 0.
Proof. intros []; unfold dot, zero; simpl; ring. Qed.

Lemma triangle : forall a b, norm (vadd a b) <= norm a + norm b.
Proof.
  intros a b; apply norm_le.
  - pose proof (norm_nonneg a); pose proof (norm_nonneg b); lra.
  - replace (dot (vadd a b) (vadd a b)) with (dot a a + 2 * dot a b + dot b b)
      by (destruct a, b; unfold dot, vadd; simpl; ring).
    pose proof (cauchy_schwarz a b); pose proof (norm_sqr a); pose proof (norm_sqr b); nra.
Qed.

Lemma norm_sub_sym : forall a b, norm (vsub a b) = norm (vsub b a).
Proof. intros [] []; unfold norm; f_equal; unfold dot, vsub; simpl; ring. Qed.

Lemma norm_zero_sub : forall a, norm (vsub a a) = 0.
Proof. intros [x y z]; apply norm_of_sqr; [lra|]; unfold dot, vsub; simpl; ring. Qed.

Lemma triangle_sub : forall a b c, norm (vsub a c) <= norm (vsub a b) + norm (vsub b c).
Proof.
  intros a b c; replace (vsub a c) with (vadd (vsub a b) (vsub b c)); [apply triangle|].
  destruct a, b, c; unfold vadd, vsub; simpl; apply vec_eq; simpl; ring.
Qed.

(** How far a cross product with a unit vector changes: at most as far as its argument. *)
Lemma cross_norm_le : forall u a, dot u u = 1 -> norm (cross u a) <= norm a.
Proof.
  intros u a Hu; apply norm_le; [apply norm_nonneg|].
  rewrite cross_sqr, Hu, norm_sqr; nra.
Qed.

Lemma cross_near : forall u a b, dot u u = 1 -> norm (cross u a) <= norm (cross u b) + norm (vsub a b).
Proof.
  intros u a b Hu.
  replace (cross u a) with (vadd (cross u b) (cross u (vsub a b))).
  - apply Rle_trans with (1 := triangle _ _).
    pose proof (cross_norm_le u (vsub a b) Hu); lra.
  - destruct u, a, b; unfold vadd, vsub, cross; simpl; apply vec_eq; simpl; ring.
Qed.
