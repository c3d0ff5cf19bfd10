(* SPDX-License-Identifier: Apache-2.0 *)
(** One query of the checker is right: if it says that two shapes are apart along a direction at a sampled instant, by more
    than both can stray, then no two of their points are closer than the margin at any configuration near the sample. *)

Require Import Reals ZArith List Bool Lra Lia Psatz.
From Lastgate Require Import Vectors Motions Kinematics MotionBound Claim Balls BallVectors Checker Placed.
Import ListNotations.
Open Scope R_scope.

Lemma below_max_l : forall x a b, below x a -> below x (Z.max a b).
Proof. intros; eapply below_le; [eassumption|lia]. Qed.
Lemma below_max_r : forall x a b, below x b -> below x (Z.max a b).
Proof. intros; eapply below_le; [eassumption|lia]. Qed.

Lemma below_fold : forall A (f : A -> Z) l base x a, In a l -> below x (f a) -> below x (fold_right Z.max base (map f l)).
Proof.
  induction l as [|b l IH]; intros base x a H Hb; simpl in *; [contradiction|].
  destruct H as [->|H]; [apply below_max_l; exact Hb|apply below_max_r; eapply IH; eassumption].
Qed.

Lemma below_zero : below 0 0.
Proof. unfold below; lra. Qed.

(** ** Motion of one vertex *)

Lemma moved_ok : forall r d (dr : nat -> R) own c before v p k x,
  Forall has_axis before -> chain_ok r before own c -> (forall j, 0 <= dr j) ->
  (forall j, below (dr j) (nth j d 0%Z)) -> vcontains v p -> below (norm (vsub x p)) k ->
  below (bound_at r dr before c x) (moved d own v k).
Proof.
  intros r d dr own; induction own as [|j own IH]; intros [|l c] before v p k x HB C D0 D V X; simpl in C; try contradiction.
  - cbn [bound_at moved]; apply below_zero.
  - destruct C as [(K&W&J&F&A&HA) C]; cbn [bound_at moved]; rewrite K.
    assert (HB' : Forall has_axis (before ++ [l])) by (apply Forall_app; split; [exact HB|constructor; [exact HA|constructor]]).
    pose proof (IH c (before ++ [l]) v p k x HB' C D0 D V X) as T.
    assert (WD : below (Rabs (val (multiplier l)) * dr (dof l)) (times_up (j_weight j) (nth (j_dof j) d 0%Z)))
      by (rewrite J; apply below_mul; [apply Rabs_pos|apply D0|exact W|apply D]).
    assert (WP : 0 <= Rabs (val (multiplier l)) * dr (dof l)) by (apply Rmult_le_pos; [apply Rabs_pos|apply D0]).
    unfold reach_at; destruct (kind l) eqn:KL.
    + rewrite Rmult_0_r, Rplus_0_l; exact T.
    + apply below_add; [|exact T]; apply below_mul; [exact WP|apply norm_nonneg|exact WD|].
      set (f := placement r (before ++ [l])) in *.
      set (u := mapply (rot f) (unit_axis l)).
      assert (UU : dot u u = 1).
      { unfold u; rewrite isometry_dot by (apply rigid_placement; exact HB').
        apply unit_axis_unit, HA; rewrite KL; discriminate. }
      eapply below_trans; [apply (cross_near u (vsub x (pos f)) (vsub p (pos f)) UU)|].
      apply below_add.
      * apply below_up, bnorm_ok, bcross_ok; [apply A; discriminate|].
        apply bvsub_ok; [exact V|apply F].
      * replace (vsub (vsub x (pos f)) (vsub p (pos f))) with (vsub x p); [exact X|].
        destruct x, p, (pos f); unfold vsub; simpl; apply vec_eq; simpl; ring.
    + apply below_add; [|exact T]; apply below_mul; [exact WP|lra|exact WD|].
      unfold below; rewrite Rmult_1_l; apply Rle_refl.
Qed.

(** ** Reach of one shape along a direction *)

Lemma exactly_ok : forall v, exists c, vcontains (exactly v) c.
Proof.
  intro v; exists (V (IZR (mid (bx v)) / scale) (IZR (mid (by_ v)) / scale) (IZR (mid (bz v)) / scale)).
  split; [|split]; apply share_ok.
Qed.

Lemma bdirection_ok : forall d, exists c, vcontains (bdirection d) c.
Proof.
  intros [[x y] z]; exists (V (IZR x / scale) (IZR y / scale) (IZR z / scale)); split; [|split]; apply share_ok.
Qed.

Lemma grouped_ok : forall l dv, In dv l -> exists k b m, In k (grouped (map of_dvec l)) /\ In b (some_vertices k) /\
  vcontains b (vval dv) /\ vcontains (middle k) m /\ below (norm (vsub (vval dv) m)) (spread k).
Proof.
  intros l dv H; unfold grouped.
  assert (I : In (of_dvec dv) (map of_dvec l)) by (apply in_map; exact H).
  destruct (Nat.leb (length (map of_dvec l)) 2).
  - exists (single (of_dvec dv)), (of_dvec dv), (vval dv); cbn [single some_vertices middle spread].
    split; [apply in_map; exact I|]; split; [left; reflexivity|].
    split; [apply of_dvec_ok|]; split; [apply of_dvec_ok|].
    rewrite norm_zero_sub; apply below_zero.
  - assert (HM : exists m, vcontains (average (map of_dvec l)) m) by (unfold average; apply exactly_ok).
    destruct HM as [m Hm]; cbv zeta.
    eexists; exists (of_dvec dv), m; split; [left; reflexivity|]; cbn [some_vertices middle spread].
    split; [exact I|]; split; [apply of_dvec_ok|]; split; [exact Hm|].
    unfold spread_of; eapply below_fold; [exact I|].
    apply below_up, bnorm_ok, bvsub_ok; [apply of_dvec_ok|exact Hm].
Qed.

Lemma place_between : forall d f a b t,
  dot d (place f (vadd a (vscale t (vsub b a)))) = (1 - t) * dot d (place f a) + t * dot d (place f b).
Proof. intros d [m p] a b t; unfold place; cbn [rot pos]; coordinates; ring. Qed.

Lemma hull_below : forall d f cs z, (forall c, In c cs -> below (dot d (place f c)) z) ->
  forall y, in_hull cs y -> below (dot d (place f y)) z.
Proof.
  intros d f cs z H y Y; induction Y as [c I|a b t _ IA _ IB T]; [apply H; exact I|].
  rewrite place_between; unfold below in *.
  assert (X : (1 - t) * (dot d (place f a) * scale) <= (1 - t) * IZR z) by (apply Rmult_le_compat_l; [lra|exact IA]).
  assert (X' : t * (dot d (place f b) * scale) <= t * IZR z) by (apply Rmult_le_compat_l; [lra|exact IB]).
  lra.
Qed.

Lemma place_vertex : forall d f v, dot d (place f v) = dot (mapply (transpose (rot f)) d) v + dot d (pos f).
Proof. intros d f v; unfold place; rewrite dot_add_r, dot_mapply; reflexivity. Qed.

Lemma dot_near : forall d x y, dot d x <= dot d y + norm d * norm (vsub x y).
Proof. intros d x y; pose proof (cauchy_schwarz d (vsub x y)) as C; rewrite dot_sub_r in C; lra. Qed.

Theorem side_top_ok : forall r r' dr ds d bd len n ec c h,
  chain_ok r [] ec c -> (forall j, Rabs (r' j - r j) <= dr j) -> (forall j, below (dr j) (nth j ds 0%Z)) ->
  vcontains bd d -> below (norm d) len -> forall z, in_shape h z ->
  below (dot d (place (placement r (firstn n c)) (place (placement r' (skipn n c)) z)))
        (side_top ds bd len n ec (eshape_of h)).
Proof.
  intros r r' dr ds d bd len n ec c h C Hd Hds Hbd Hlen z [y [Y Z]].
  pose proof (chain_has_axes _ _ _ _ C) as AX.
  assert (AX' : Forall has_axis (firstn n c ++ skipn n c)) by (rewrite firstn_skipn; exact AX).
  assert (D0 : forall j, 0 <= dr j) by (intro j; eapply Rle_trans; [apply Rabs_pos|apply Hd]).
  pose proof (proj1 (Forall_app _ _ _) AX') as [AC AO].
  assert (F : fcontains (last_frame bstill ec) (placement r c)) by (apply (last_frame_ok r ec c [] bstill C), bstill_ok).
  rewrite <- place_compose.
  set (T := compose (placement r (firstn n c)) (placement r' (skipn n c))).
  assert (RT : rigid T) by (apply rigid_compose; apply rigid_placement; assumption).
  set (G := placement r c) in *.
  assert (RG : rigid G) by (apply rigid_placement; exact AX).
  unfold side_top; cbv zeta; cbn [eshape_of clusters e_radius].
  set (f := last_frame bstill ec) in *.
  set (dl := bapply (btranspose (brot f)) bd).
  assert (DL : vcontains dl (mapply (transpose (rot G)) d))
    by (apply bapply_ok; [apply btranspose_ok, F|exact Hbd]).
  eapply below_trans; [apply (dot_near d (place T z) (place T y))|].
  rewrite rigid_distance by exact RT.
  apply below_add.
  2:{ apply below_mul; [apply norm_nonneg|apply norm_nonneg|exact Hlen|].
      eapply below_trans; [exact Z|]; apply below_up, of_dyadic_ok. }
  clear Z; revert y Y; apply hull_below.
  intros v I; apply in_map_iff in I as [dv [<- I]].
  destruct (grouped_ok _ _ I) as (k&b&m&K&B&BV&M&SP).
  eapply below_trans; [apply (dot_near d (place T (vval dv)) (place G (vval dv)))|].
  rewrite place_vertex.
  set (away := norm d * norm (vsub (place T (vval dv)) (place G (vval dv)))).
  replace (dot (mapply (transpose (rot G)) d) (vval dv) + dot d (pos G) + away)
    with ((dot (mapply (transpose (rot G)) d) (vval dv) + away) + dot d (pos G)) by ring.
  apply below_add; [|apply below_up, bdot_ok; [exact Hbd|apply F]].
  eapply below_fold; [exact K|].
  apply below_add.
  - unfold vertex_top; eapply below_fold; [exact B|]; apply below_up, bdot_ok; assumption.
  - apply below_mul; [apply norm_nonneg|apply norm_nonneg|exact Hlen|].
    pose proof (side_moves r r' dr (firstn n c) (skipn n c) (vval dv) AX' Hd) as S1.
    cbn zeta in S1; rewrite firstn_skipn in S1; fold G in S1; rewrite <- place_compose in S1; fold T in S1.
    eapply below_trans; [exact S1|].
    eapply moved_ok with (p := place G m); try assumption.
    + apply (chain_ok_split r n ec c [] C).
    + apply bplace_ok; [exact F|exact M].
    + rewrite rigid_distance by exact RG; exact SP.
Qed.

(** ** Two sides *)

Definition vneg (d : vec) := vscale (-1) d.
Lemma bvneg_ok : forall b d, vcontains b d -> vcontains (bvneg b) (vneg d).
Proof.
  intros b d (X&Y&Z); unfold vneg, vscale; split; [|split]; cbn [vx vy vz bvneg bx by_ bz];
    (match goal with |- contains _ (-1 * ?a) => replace (-1 * a) with (- a) by ring end); apply bneg_ok; assumption.
Qed.
Lemma norm_vneg : forall d, norm (vneg d) = norm d.
Proof. intros []; unfold norm, vneg; f_equal; unfold dot, vscale; simpl; ring. Qed.

Lemma apart_ok : forall d x y a b len m margin, below (dot d x) a -> below (dot (vneg d) y) b ->
  below (norm d) len -> below margin m -> apart a b len m = true -> margin < norm (vsub x y).
Proof.
  intros d x y a b len m margin A B L M H; unfold apart in H; apply Z.ltb_lt in H.
  destruct (Rlt_dec margin 0) as [N|N]; [pose proof (norm_nonneg (vsub x y)); lra|].
  apply Rnot_lt_le in N.
  pose proof (below_add _ _ _ _ (below_add _ _ _ _ A B) (below_mul _ _ _ _ (norm_nonneg d) N L M)) as T.
  unfold below in T; apply IZR_lt in H.
  assert (E : dot (vneg d) y = - dot d y) by (unfold vneg; rewrite dot_scale_l; ring).
  rewrite E in T; pose proof scale_pos as P.
  assert (G : dot d x - dot d y + norm d * margin < 0) by nra.
  pose proof (cauchy_schwarz d (vsub y x)) as C; rewrite dot_sub_r in C; rewrite norm_sub_sym.
  pose proof (norm_nonneg d) as ND.
  destruct (Rlt_dec margin (norm (vsub y x))) as [|F]; [assumption|].
  apply Rnot_lt_le in F.
  assert (norm d * norm (vsub y x) <= norm d * margin) by (apply Rmult_le_compat_l; lra); lra.
Qed.

Theorem shapes_apart_ok : forall r r' dr ds m margin n ca cb ea eb ha hb hint,
  chain_ok r [] ea ca -> chain_ok r [] eb cb -> firstn n ca = firstn n cb ->
  (forall j, Rabs (r' j - r j) <= dr j) -> (forall j, below (dr j) (nth j ds 0%Z)) -> below margin m ->
  shapes_apart m ds n ea eb (eshape_of ha) (eshape_of hb) hint = true ->
  forall za zb, in_shape ha za -> in_shape hb zb ->
  margin < norm (vsub (place (placement r' ca) za) (place (placement r' cb) zb)).
Proof.
  intros r r' dr ds m margin n ca cb ea eb ha hb [h|] CA CB E Hd Hds M H za zb ZA ZB; [|discriminate].
  cbn [shapes_apart] in H; destruct (bdirection_ok h) as [d D].
  assert (L : below (norm d) (up (bnorm (bdirection h)))) by (apply below_up, bnorm_ok; exact D).
  pose proof (chain_has_axes _ _ _ _ CA) as AX.
  rewrite <- (firstn_skipn n ca), <- (firstn_skipn n cb), <- E.
  rewrite (common_joints_drop_out r) by (rewrite <- (firstn_skipn n ca) in AX; apply Forall_app in AX; apply AX).
  eapply apart_ok; [| |exact L|exact M|exact H].
  - eapply side_top_ok; eassumption.
  - rewrite E; eapply side_top_ok; try eassumption; [apply bvneg_ok; exact D|rewrite norm_vneg; exact L].
Qed.

(** ** Obstacles *)

Lemma quaternion_nonzero : forall o, obstacle_ok o = true ->
  val (qx o) * val (qx o) + val (qy o) * val (qy o) + val (qz o) * val (qz o) + val (qw o) * val (qw o) <> 0.
Proof.
  intros o H; unfold obstacle_ok in H; apply Z.ltb_lt, IZR_lt in H.
  assert (C : contains (bquaternion_sqr (of_dyadic (qx o)) (of_dyadic (qy o)) (of_dyadic (qz o)) (of_dyadic (qw o)))
    (val (qx o) * val (qx o) + val (qy o) * val (qy o) + val (qz o) * val (qz o) + val (qw o) * val (qw o)))
    by (unfold bquaternion_sqr; auto 6 with balls).
  apply contains_bounds in C; intro E; rewrite E in C; lra.
Qed.

Lemma bturned_ok : forall o, obstacle_ok o = true -> mcontains (bturned o) (turned o).
Proof.
  intros o H; apply brotation_of_quaternion_ok; try apply of_dyadic_ok.
  unfold obstacle_ok in H; apply Z.ltb_lt; exact H.
Qed.

Lemma box_top : forall bd d len at_ a c1 c2 c3 m h1 h2 h3 r z1 z2 z3 zr y t1 t2 t3 w,
  vcontains bd d -> below (norm d) len -> vcontains at_ a ->
  vcontains c1 (column1 m) -> vcontains c2 (column2 m) -> vcontains c3 (column3 m) ->
  below h1 z1 -> below h2 z2 -> below h3 z3 -> below r zr ->
  Rabs t1 <= h1 -> Rabs t2 <= h2 -> Rabs t3 <= h3 -> norm w <= r ->
  y = vadd (vadd a (mapply m (V t1 t2 t3))) w ->
  below (dot (vneg d) y) (obstacle_top bd len (EBox at_ c1 c2 c3 z1 z2 z3 zr)).
Proof.
  intros bd d len at_ a c1 c2 c3 m h1 h2 h3 r z1 z2 z3 zr y t1 t2 t3 w D L A C1 C2 C3 B1 B2 B3 BR T1 T2 T3 W E.
  assert (X : dot (vneg d) y = - dot d a + - (t1 * dot d (column1 m)) + - (t2 * dot d (column2 m))
      + - (t3 * dot d (column3 m)) + - dot d w) by (rewrite E; unfold vneg; coordinates; ring).
  assert (N : forall t h c, Rabs t <= h -> - (t * dot d c) <= Rabs (dot d c) * h).
  { intros t h c T; eapply Rle_trans; [apply Rle_abs|]; rewrite Rabs_Ropp, Rabs_mult, Rmult_comm.
    apply Rmult_le_compat_l; [apply Rabs_pos|exact T]. }
  assert (K : - dot d w <= norm d * r).
  { pose proof (cauchy_schwarz (vneg d) w) as C; unfold vneg at 1 in C; rewrite dot_scale_l, norm_vneg in C.
    pose proof (norm_nonneg d). assert (norm d * norm w <= norm d * r) by (apply Rmult_le_compat_l; assumption). lra. }
  cbn [obstacle_top]; rewrite X.
  pose proof (Rabs_pos t1); pose proof (Rabs_pos t2); pose proof (Rabs_pos t3); pose proof (norm_nonneg w).
  repeat apply below_add.
  - apply below_up, bneg_ok, bdot_ok; assumption.
  - eapply below_trans; [apply N; exact T1|]; apply below_mul; [apply Rabs_pos|lra|apply below_abs, bdot_ok; assumption|exact B1].
  - eapply below_trans; [apply N; exact T2|]; apply below_mul; [apply Rabs_pos|lra|apply below_abs, bdot_ok; assumption|exact B2].
  - eapply below_trans; [apply N; exact T3|]; apply below_mul; [apply Rabs_pos|lra|apply below_abs, bdot_ok; assumption|exact B3].
  - eapply below_trans; [exact K|]; apply below_mul; [apply norm_nonneg|lra|exact L|exact BR].
Qed.

Lemma obstacle_direction_ok : forall o h bd len, obstacle_ok o = true ->
  obstacle_direction (eobstacle_of o) h = (bd, len) ->
  exists d, vcontains bd d /\ below (norm d) len /\
    forall y, in_obstacle o y -> below (dot (vneg d) y) (obstacle_top bd len (eobstacle_of o)).
Proof.
  intros o h bd len H E.
  pose proof (bturned_ok o H) as M; pose proof (of_dvec_ok (centre o)) as A.
  pose proof (btranspose_ok _ _ M) as (C1&C2&C3).
  cbn [btranspose transpose b1 b2 b3 r1 r2 r3] in C1, C2, C3.
  revert E; unfold eobstacle_of, in_obstacle; cbv zeta.
  destruct (shape o) as [r|r hl|hx|]; cbn [obstacle_direction]; intro E; injection E as <- <-.
  1, 2, 3: destruct (bdirection_ok h) as [d D]; exists d; split; [exact D|];
    assert (L : below (norm d) (up (bnorm (bdirection h)))) by (apply below_up, bnorm_ok; exact D);
    split; [exact L|]; intros y Y.
  - eapply (box_top _ d _ _ _ _ _ _ (turned o) 0 0 0 (val r)) with (t1 := 0) (t2 := 0) (t3 := 0) (w := vsub y (vval (centre o)));
      try eassumption; try apply below_zero; try (rewrite Rabs_R0; lra); try (apply below_up, of_dyadic_ok).
    clear; generalize (vval (centre o)) (turned o); intros a k; coordinates; apply vec_eq; simpl; ring.
  - destruct Y as [t [T N]].
    eapply (box_top _ d _ _ _ _ _ _ (turned o) 0 0 (val hl) (val r)) with (t1 := 0) (t2 := 0) (t3 := t)
      (w := vsub y (vadd (vval (centre o)) (vscale t (column3 (turned o)))));
      try eassumption; try apply below_zero; try (rewrite Rabs_R0; lra); try (apply below_up, of_dyadic_ok).
    clear; generalize (vval (centre o)) (turned o); intros a k; coordinates; apply vec_eq; simpl; ring.
  - destruct Y as (a&b&c&TA&TB&TC&->).
    eapply (box_top _ d _ _ _ _ _ _ (turned o) (val (dx hx)) (val (dy hx)) (val (dz hx)) 0) with (t1 := a) (t2 := b) (t3 := c) (w := zero);
      try eassumption; try apply below_zero; try (apply below_up, of_dyadic_ok).
    + apply norm_le; [lra|]; unfold dot, zero; simpl; lra.
    + generalize (vadd (vval (centre o)) (mapply (turned o) (V a b c))); intros []; unfold vadd, zero; simpl; apply vec_eq; simpl; ring.
  - exists (vneg (column3 (turned o))); split; [apply bvneg_ok, C3|]; split.
    + rewrite norm_vneg; replace (norm (column3 (turned o))) with 1; [unfold below; rewrite Rmult_1_l; apply Rle_refl|].
      symmetry; apply norm_of_sqr; [lra|]; unfold turned; rewrite quaternion_column3_unit by (apply quaternion_nonzero; exact H); ring.
    + intros y Y; cbn [obstacle_top].
      eapply below_trans; [|apply below_up, bdot_ok; [exact C3|exact A]].
      rewrite dot_sub_r in Y; unfold vneg; rewrite !dot_scale_l; lra.
Qed.

Theorem obstacle_apart_ok : forall r r' dr ds m margin c ec h o hint,
  chain_ok r [] ec c -> (forall j, Rabs (r' j - r j) <= dr j) -> (forall j, below (dr j) (nth j ds 0%Z)) ->
  below margin m -> obstacle_ok o = true -> obstacle_apart m ds ec (eshape_of h) (eobstacle_of o) hint = true ->
  forall z y, in_shape h z -> in_obstacle o y -> margin < norm (vsub (place (placement r' c) z) y).
Proof.
  intros r r' dr ds m margin c ec h o hint C Hd Hds M O H z y Z Y; unfold obstacle_apart in H.
  match type of H with context [obstacle_direction ?a ?b] => destruct (obstacle_direction a b) as [bd len] eqn:E end.
  destruct (obstacle_direction_ok _ _ _ _ O E) as (d&D&L&T).
  eapply apart_ok; [|apply T; exact Y|exact L|exact M|exact H].
  pose proof (side_top_ok r r' dr ds d bd len 0 ec c h C Hd Hds D L z Z) as ST.
  cbn [firstn skipn placement] in ST; rewrite place_still in ST; exact ST.
Qed.
