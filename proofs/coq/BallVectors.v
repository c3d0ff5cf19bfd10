(* SPDX-License-Identifier: Apache-2.0 *)
(** Vectors, matrices and rigid motions of balls, each proved to contain the true ones. *)

Require Import Reals ZArith List Lra Lia Psatz.
From Lastgate Require Import Vectors Motions Kinematics Balls.
Open Scope R_scope.

Record bvec := BV { bx : ball; by_ : ball; bz : ball }.
Record bmat := BM { b1 : bvec; b2 : bvec; b3 : bvec }.
Record bframe := BF { brot : bmat; bpos : bvec }.
Definition vcontains (b : bvec) (v : vec) := contains (bx b) (vx v) /\ contains (by_ b) (vy v) /\ contains (bz b) (vz v).
Definition mcontains (b : bmat) (m : mat) := vcontains (b1 b) (r1 m) /\ vcontains (b2 b) (r2 m) /\ vcontains (b3 b) (r3 m).
Definition fcontains (b : bframe) (f : frame) := mcontains (brot b) (rot f) /\ vcontains (bpos b) (pos f).

Definition of_dvec (d : dvec) := BV (of_dyadic (dx d)) (of_dyadic (dy d)) (of_dyadic (dz d)).
Definition zero_ball := B 0 0.
Definition one_ball := of_Z 1.
Definition bzero := BV zero_ball zero_ball zero_ball.
Definition bvadd a b := BV (badd (bx a) (bx b)) (badd (by_ a) (by_ b)) (badd (bz a) (bz b)).
Definition bvsub a b := BV (bsub (bx a) (bx b)) (bsub (by_ a) (by_ b)) (bsub (bz a) (bz b)).
Definition bvneg a := BV (bneg (bx a)) (bneg (by_ a)) (bneg (bz a)).
Definition bvscale k a := BV (bmul k (bx a)) (bmul k (by_ a)) (bmul k (bz a)).
Definition bdot a b := badd (badd (bmul (bx a) (bx b)) (bmul (by_ a) (by_ b))) (bmul (bz a) (bz b)).
Definition bcross a b :=
  BV (bsub (bmul (by_ a) (bz b)) (bmul (bz a) (by_ b))) (bsub (bmul (bz a) (bx b)) (bmul (bx a) (bz b)))
     (bsub (bmul (bx a) (by_ b)) (bmul (by_ a) (bx b))).
Definition bnorm a := bsqrt (bdot a a).
Definition bcolumn1 m := BV (bx (b1 m)) (bx (b2 m)) (bx (b3 m)).
Definition bcolumn2 m := BV (by_ (b1 m)) (by_ (b2 m)) (by_ (b3 m)).
Definition bcolumn3 m := BV (bz (b1 m)) (bz (b2 m)) (bz (b3 m)).
Definition btranspose m := BM (bcolumn1 m) (bcolumn2 m) (bcolumn3 m).
Definition bapply m v := BV (bdot (b1 m) v) (bdot (b2 m) v) (bdot (b3 m) v).
Definition brow a m := BV (bdot a (bcolumn1 m)) (bdot a (bcolumn2 m)) (bdot a (bcolumn3 m)).
Definition bmmul a b := BM (brow (b1 a) b) (brow (b2 a) b) (brow (b3 a) b).
Definition bidentity := BM (BV one_ball zero_ball zero_ball) (BV zero_ball one_ball zero_ball) (BV zero_ball zero_ball one_ball).
Definition bplace f v := bvadd (bapply (brot f) v) (bpos f).
Definition bcompose f g := BF (bmmul (brot f) (brot g)) (bplace f (bpos g)).
Definition bstill := BF bidentity bzero.
Definition brotation u c s :=
  let k := bsub one_ball c in
  BM (BV (badd c (bmul k (bmul (bx u) (bx u)))) (bsub (bmul k (bmul (bx u) (by_ u))) (bmul s (bz u)))
         (badd (bmul k (bmul (bx u) (bz u))) (bmul s (by_ u))))
     (BV (badd (bmul k (bmul (by_ u) (bx u))) (bmul s (bz u))) (badd c (bmul k (bmul (by_ u) (by_ u))))
         (bsub (bmul k (bmul (by_ u) (bz u))) (bmul s (bx u))))
     (BV (bsub (bmul k (bmul (bz u) (bx u))) (bmul s (by_ u))) (badd (bmul k (bmul (bz u) (by_ u))) (bmul s (bx u)))
         (badd c (bmul k (bmul (bz u) (bz u))))).
Definition brotation_of_rpy cr sr cp sp cy sy :=
  let e0 := zero_ball in let e1 := one_ball in
  bmmul (brotation (BV e0 e0 e1) cy sy) (bmmul (brotation (BV e0 e1 e0) cp sp) (brotation (BV e1 e0 e0) cr sr)).
Definition bquaternion_sqr x y z w := badd (badd (badd (bmul x x) (bmul y y)) (bmul z z)) (bmul w w).
Definition brotation_of_quaternion x y z w :=
  let n := binv (bquaternion_sqr x y z w) in
  let two := of_Z 2 in
  BM (BV (bmul n (bsub (bsub (badd (bmul w w) (bmul x x)) (bmul y y)) (bmul z z)))
         (bmul n (bmul two (bsub (bmul x y) (bmul w z)))) (bmul n (bmul two (badd (bmul x z) (bmul w y)))))
     (BV (bmul n (bmul two (badd (bmul x y) (bmul w z))))
         (bmul n (bsub (badd (bsub (bmul w w) (bmul x x)) (bmul y y)) (bmul z z)))
         (bmul n (bmul two (bsub (bmul y z) (bmul w x)))))
     (BV (bmul n (bmul two (bsub (bmul x z) (bmul w y)))) (bmul n (bmul two (badd (bmul y z) (bmul w x))))
         (bmul n (badd (bsub (bsub (bmul w w) (bmul x x)) (bmul y y)) (bmul z z)))).

Lemma zero_ball_ok : contains zero_ball 0.
Proof. unfold contains, zero_ball; cbn [mid rad]; rewrite Rmult_0_l, Rminus_0_r, Rabs_R0; lra. Qed.
Lemma one_ball_ok : contains one_ball 1. Proof. apply of_Z_ok. Qed.
Lemma two_ball_ok : contains (of_Z 2) 2. Proof. apply of_Z_ok. Qed.

Create HintDb balls.
#[export] Hint Resolve badd_ok bsub_ok bneg_ok bmul_ok zero_ball_ok one_ball_ok two_ball_ok of_dyadic_ok : balls.

Lemma of_dvec_ok : forall d, vcontains (of_dvec d) (vval d).
Proof. intro d; repeat split; apply of_dyadic_ok. Qed.
Lemma bzero_ok : vcontains bzero zero.
Proof. repeat split; apply zero_ball_ok. Qed.
Lemma bvadd_ok : forall a b v w, vcontains a v -> vcontains b w -> vcontains (bvadd a b) (vadd v w).
Proof. intros a b v w (?&?&?) (?&?&?); repeat split; simpl; auto with balls. Qed.
Lemma bvsub_ok : forall a b v w, vcontains a v -> vcontains b w -> vcontains (bvsub a b) (vsub v w).
Proof. intros a b v w (?&?&?) (?&?&?); repeat split; simpl; auto with balls. Qed.
Lemma bvscale_ok : forall k a r v, contains k r -> vcontains a v -> vcontains (bvscale k a) (vscale r v).
Proof. intros k a r v ? (?&?&?); repeat split; simpl; auto with balls. Qed.
Lemma bdot_ok : forall a b v w, vcontains a v -> vcontains b w -> contains (bdot a b) (dot v w).
Proof. intros a b v w (?&?&?) (?&?&?); unfold bdot, dot; auto with balls. Qed.
Lemma bcross_ok : forall a b v w, vcontains a v -> vcontains b w -> vcontains (bcross a b) (cross v w).
Proof. intros a b v w (?&?&?) (?&?&?); repeat split; simpl; auto with balls. Qed.
Lemma bnorm_ok : forall a v, vcontains a v -> contains (bnorm a) (norm v).
Proof. intros; apply bsqrt_ok, bdot_ok; assumption. Qed.
Lemma btranspose_ok : forall b m, mcontains b m -> mcontains (btranspose b) (transpose m).
Proof. intros b m ((?&?&?)&(?&?&?)&(?&?&?)); repeat split; simpl; assumption. Qed.
Lemma bapply_ok : forall b m c v, mcontains b m -> vcontains c v -> vcontains (bapply b c) (mapply m v).
Proof. intros b m c v (?&?&?) ?; repeat split; simpl; apply bdot_ok; assumption. Qed.
Lemma brow_ok : forall a v b m, vcontains a v -> mcontains b m -> vcontains (brow a b) (mrow v m).
Proof.
  intros a v b m Ha Hb; apply btranspose_ok in Hb as (?&?&?); repeat split; simpl; apply bdot_ok; assumption.
Qed.
Lemma bmmul_ok : forall a b m n, mcontains a m -> mcontains b n -> mcontains (bmmul a b) (mmul m n).
Proof. intros a b m n (?&?&?) ?; split; [|split]; apply brow_ok; assumption. Qed.
Lemma bidentity_ok : mcontains bidentity midentity.
Proof. repeat split; simpl; auto with balls. Qed.
Lemma bplace_ok : forall f g a v, fcontains f g -> vcontains a v -> vcontains (bplace f a) (place g v).
Proof. intros f g a v [? ?] ?; apply bvadd_ok; [apply bapply_ok|]; assumption. Qed.
Lemma bcompose_ok : forall f g a b, fcontains f a -> fcontains g b -> fcontains (bcompose f g) (compose a b).
Proof. intros f g a b Hf [? ?]; split; simpl; [apply bmmul_ok; [apply Hf|assumption]|apply bplace_ok; assumption]. Qed.
Lemma bstill_ok : fcontains bstill still.
Proof. split; [apply bidentity_ok|apply bzero_ok]. Qed.
Lemma brotation_ok : forall u v c s x y, vcontains u v -> contains c x -> contains s y ->
  mcontains (brotation u c s) (rotation v x y).
Proof. intros u v c s x y (?&?&?) ? ?; repeat split; simpl; auto 6 with balls. Qed.
Lemma brotation_of_rpy_ok : forall a b c d e f ra rb rc rd re rf,
  contains a ra -> contains b rb -> contains c rc -> contains d rd -> contains e re -> contains f rf ->
  mcontains (brotation_of_rpy a b c d e f) (rotation_of_rpy ra rb rc rd re rf).
Proof.
  intros; unfold brotation_of_rpy, rotation_of_rpy.
  apply bmmul_ok; [|apply bmmul_ok]; apply brotation_ok; auto; (split; [|split]); simpl; auto with balls.
Qed.
Lemma brotation_of_quaternion_ok : forall a b c d x y z w,
  contains a x -> contains b y -> contains c z -> contains d w -> (0 < low (bquaternion_sqr a b c d))%Z ->
  mcontains (brotation_of_quaternion a b c d) (rotation_of_quaternion x y z w).
Proof.
  intros a b c d x y z w Ha Hb Hc Hd Hl.
  assert (N : contains (binv (bquaternion_sqr a b c d)) (/ (x * x + y * y + z * z + w * w)))
    by (apply binv_ok; [exact Hl|]; unfold bquaternion_sqr; auto 6 with balls).
  repeat split; cbn [brotation_of_quaternion rotation_of_quaternion r1 r2 r3 b1 b2 b3 vx vy vz bx by_ bz];
    apply bmul_ok; auto 8 with balls.
Qed.

(** Upper bounds, counted in units of 2^-52. *)
Definition below (x : R) (z : Z) := x * scale <= IZR z.
Definition times_up (a b : Z) : Z := (down (a * b) + 1)%Z.

Lemma below_up : forall b x, contains b x -> below x (up b).
Proof. intros b x H; apply contains_bounds in H; apply H. Qed.
Lemma below_add : forall x y a b, below x a -> below y b -> below (x + y) (a + b).
Proof. unfold below; intros; rewrite plus_IZR; lra. Qed.
Lemma below_trans : forall x y a, x <= y -> below y a -> below x a.
Proof. unfold below; intros; pose proof scale_pos; nra. Qed.
Lemma below_le : forall x a b, below x a -> (a <= b)%Z -> below x b.
Proof. unfold below; intros x a b H L; apply IZR_le in L; lra. Qed.
Lemma below_mul : forall x y a b, 0 <= x -> 0 <= y -> below x a -> below y b -> below (x * y) (times_up a b).
Proof.
  unfold below, times_up; intros x y a b Hx Hy Ha Hb; rewrite plus_IZR.
  pose proof (down_spec (a * b)) as [_ U]; rewrite mult_IZR in U; pose proof scale_pos as P.
  apply Rmult_le_reg_r with scale; [exact P|].
  assert ((x * scale) * (y * scale) <= IZR a * IZR b) by (apply Rmult_le_compat; nra).
  nra.
Qed.
Lemma below_abs : forall b x, contains b x -> below (Rabs x) (Z.abs (mid b) + rad b).
Proof.
  intros b x H; unfold contains in H; unfold below; rewrite plus_IZR, abs_IZR.
  pose proof scale_pos as P.
  replace (Rabs x * scale) with (Rabs (x * scale)) by (rewrite Rabs_mult, (Rabs_right scale); [reflexivity|lra]).
  replace (x * scale) with (IZR (mid b) + (x * scale - IZR (mid b))) by ring.
  eapply Rle_trans; [apply Rabs_triang|]; lra.
Qed.
