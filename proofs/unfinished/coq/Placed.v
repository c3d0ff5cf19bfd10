(* SPDX-License-Identifier: Apache-2.0 *)
(** The checker places the robot where it stands: frames, axes and configurations that it computes contain the true ones. *)

Require Import Reals ZArith List Bool Lra Lia Psatz.
From Lastgate Require Import Vectors Motions Kinematics MotionBound Claim Balls BallVectors Trigonometry Checker.
Import ListNotations.
Open Scope R_scope.

Definition elink_ok (e : elink) (l : link) : Prop :=
  e_parent e = parent l /\ e_kind e = kind l /\ e_dof e = dof l /\ contains (e_mult e) (val (multiplier l)) /\
  contains (e_off e) (val (offset l)) /\ fcontains (e_origin e) (origin l) /\
  (kind l <> Fixed -> vcontains (e_axis e) (unit_axis l)) /\ has_axis l.

Lemma trig_ok : forall b x, contains b x -> contains (fst (trig b)) (sin x) /\ contains (snd (trig b)) (cos x).
Proof. intros; apply sin_cos_ok; assumption. Qed.

Lemma borigin_ok : forall l, fcontains (borigin l) (origin l).
Proof.
  intro l; unfold borigin, origin.
  pose proof (trig_ok _ _ (of_dyadic_ok (dx (origin_rpy l)))) as [A1 A2].
  pose proof (trig_ok _ _ (of_dyadic_ok (dy (origin_rpy l)))) as [B1 B2].
  pose proof (trig_ok _ _ (of_dyadic_ok (dz (origin_rpy l)))) as [C1 C2].
  destruct (trig (of_dyadic (dx (origin_rpy l)))), (trig (of_dyadic (dy (origin_rpy l)))),
    (trig (of_dyadic (dz (origin_rpy l)))); cbn [fst snd] in *.
  split; cbn [brot bpos rot pos]; [|apply of_dvec_ok].
  apply brotation_of_rpy_ok; assumption.
Qed.

Lemma axis_ok_nonzero : forall v, (0 < low (bnorm (of_dvec v)))%Z -> norm (vval v) <> 0 /\ vcontains (bunit (of_dvec v)) (vscale (/ norm (vval v)) (vval v)).
Proof.
  intros v H; pose proof (bnorm_ok _ _ (of_dvec_ok v)) as N; split.
  - apply contains_bounds in N; apply IZR_lt in H; pose proof scale_pos; intro E; rewrite E in N; nra.
  - apply bvscale_ok; [apply binv_ok; assumption|apply of_dvec_ok].
Qed.

Lemma elink_of_ok : forall l, axis_ok l = true -> elink_ok (elink_of l) l.
Proof.
  intros l H; unfold elink_ok, elink_of, axis_ok, has_axis in *.
  cbn [e_parent e_kind e_dof e_mult e_off e_origin e_axis].
  repeat (split; [reflexivity|]).
  split; [apply of_dyadic_ok|]; split; [apply of_dyadic_ok|]; split; [apply borigin_ok|].
  split; intro K; destruct (kind l); try (exfalso; apply K; reflexivity); apply Z.ltb_lt in H;
    apply axis_ok_nonzero in H as [A B]; assumption.
Qed.

Definition qcontains (q : list ball) (r : nat -> R) := forall j, contains (nth j q zero_ball) (r j).

Lemma bvalue_ok : forall q r e l, qcontains q r -> elink_ok e l -> contains (bvalue q e) (joint_value r l).
Proof.
  intros q r e l Q (_&_&D&M&O&_); unfold bvalue, joint_value; rewrite D.
  apply badd_ok; [apply bmul_ok; [exact M|apply Q]|exact O].
Qed.

Lemma bjoint_ok : forall q r e l, qcontains q r -> elink_ok e l -> fcontains (bjoint q e) (joint r l).
Proof.
  intros q r e l Q E; pose proof (bvalue_ok _ _ _ _ Q E) as V; destruct E as (_&K&_&_&_&_&A&_).
  unfold bjoint, joint; rewrite K; destruct (kind l).
  - apply bstill_ok.
  - pose proof (trig_ok _ _ V) as [TS TC]; destruct (trig (bvalue q e)); cbn [fst snd] in *.
    split; cbn [brot bpos rot pos]; [|apply bzero_ok].
    apply brotation_ok; [apply A; discriminate|assumption|assumption].
  - split; cbn [brot bpos rot pos]; [apply bidentity_ok|].
    apply bvscale_ok; [exact V|apply A; discriminate].
Qed.

(** ** Chains *)

Definition joint_ok (r : nat -> R) (upto : list link) (j : jinfo) (l : link) : Prop :=
  j_kind j = kind l /\ below (Rabs (val (multiplier l))) (j_weight j) /\ j_dof j = dof l /\
  fcontains (j_frame j) (placement r upto) /\
  (kind l <> Fixed -> vcontains (j_axis j) (mapply (rot (placement r upto)) (unit_axis l))) /\ has_axis l.
Fixpoint chain_ok (r : nat -> R) (before : list link) (ec : list jinfo) (c : list link) : Prop :=
  match ec, c with
  | [], [] => True
  | j :: ec', l :: c' => joint_ok r (before ++ [l]) j l /\ chain_ok r (before ++ [l]) ec' c'
  | _, _ => False
  end.

Lemma mmul_assoc : forall a b c, mmul (mmul a b) c = mmul a (mmul b c).
Proof. intros; coordinates; f_equal; apply vec_eq; simpl; ring. Qed.
Lemma mmul_identity_l : forall a, mmul midentity a = a.
Proof. intros; coordinates; f_equal; apply vec_eq; simpl; ring. Qed.
Lemma mmul_identity_r : forall a, mmul a midentity = a.
Proof. intros; coordinates; f_equal; apply vec_eq; simpl; ring. Qed.
Lemma compose_assoc : forall f g h, compose (compose f g) h = compose f (compose g h).
Proof.
  intros [a p] [b q] [c r]; unfold compose; cbn [rot pos]; f_equal; [apply mmul_assoc|].
  exact (place_compose (F a p) (F b q) r).
Qed.
Lemma compose_still_l : forall f, compose still f = f.
Proof. intros [a p]; unfold compose; cbn [rot pos]; rewrite place_still; unfold still; cbn [rot]; rewrite mmul_identity_l; reflexivity. Qed.
Lemma compose_still_r : forall f, compose f still = f.
Proof.
  intros [a p]; unfold compose, still, place; cbn [rot pos]; rewrite mmul_identity_r; f_equal.
  coordinates; apply vec_eq; simpl; ring.
Qed.
Lemma placement_app : forall q a b, placement q (a ++ b) = compose (placement q a) (placement q b).
Proof.
  induction a; intro b; simpl; [rewrite compose_still_l; reflexivity|].
  rewrite IHa, compose_assoc; reflexivity.
Qed.

Lemma last_frame_ok : forall r ec c before f, chain_ok r before ec c -> fcontains f (placement r before) ->
  fcontains (last_frame f ec) (placement r (before ++ c)).
Proof.
  induction ec as [|j ec IH]; intros [|l c] before f H F; simpl in H; try contradiction.
  - rewrite app_nil_r; exact F.
  - destruct H as [J H]; simpl.
    replace (before ++ l :: c) with ((before ++ [l]) ++ c) by (rewrite <- app_assoc; reflexivity).
    apply IH; [exact H|apply J].
Qed.

Lemma chain_ok_snoc : forall r ec c before j l, chain_ok r before ec c -> joint_ok r (before ++ c ++ [l]) j l ->
  chain_ok r before (ec ++ [j]) (c ++ [l]).
Proof.
  induction ec as [|k ec IH]; intros [|m c] before j l H J; simpl in H; try contradiction; simpl.
  - split; [exact J|trivial].
  - destruct H as [K H]; split; [exact K|]; apply IH; [exact H|].
    rewrite <- app_assoc; exact J.
Qed.

Lemma next_joint_ok : forall q r e l ec c, qcontains q r -> elink_ok e l -> chain_ok r [] ec c ->
  joint_ok r (c ++ [l]) (next_joint q ec e) l.
Proof.
  intros q r e l ec c Q E C; unfold next_joint, joint_ok.
  pose proof (bjoint_ok _ _ _ _ Q E) as J.
  assert (F : fcontains (bcompose (last_frame bstill ec) (bcompose (e_origin e) (bjoint q e))) (placement r (c ++ [l]))).
  { rewrite placement_app; simpl placement; rewrite compose_still_r.
    apply bcompose_ok; [apply (last_frame_ok r ec c [] bstill C), bstill_ok|].
    apply bcompose_ok; [apply E|exact J]. }
  destruct E as (_&K&D&M&_&_&A&HA); cbn [j_kind j_weight j_dof j_frame j_axis].
  split; [exact K|]; split; [apply below_abs; exact M|]; split; [exact D|]; split; [exact F|]; split; [|exact HA].
  intro NF; apply bapply_ok; [apply F|apply A; exact NF].
Qed.

Definition links_of (c : list (nat * link)) := map snd c.

Lemma Forall2_nth : forall A B (P : A -> B -> Prop) l m i a b, Forall2 P l m -> P a b -> P (nth i l a) (nth i m b).
Proof.
  intros A B P l m i a b H; revert i; induction H; intros [|i] D; simpl; auto.
Qed.

Lemma echains_ok : forall q r rest erest found efound, qcontains q r -> Forall2 elink_ok erest rest ->
  Forall2 (fun ec c => chain_ok r [] ec (links_of c)) efound found ->
  Forall2 (fun ec c => chain_ok r [] ec (links_of c)) (echains_from q efound erest) (chains_from found rest).
Proof.
  intros q r rest erest found efound Q H; revert found efound; induction H as [|e l erest rest E H IH]; intros found efound F; simpl; [exact F|].
  apply IH, Forall2_app; [exact F|].
  constructor; [|constructor].
  assert (P : e_parent e = parent l) by apply E; rewrite P.
  assert (C : chain_ok r [] (nth (parent l) efound []) (links_of (nth (parent l) found [])))
    by (apply (Forall2_nth _ _ (fun ec c => chain_ok r [] ec (links_of c))); [exact F|exact I]).
  unfold links_of; rewrite map_app; simpl.
  apply chain_ok_snoc; [exact C|]; simpl; apply next_joint_ok; assumption.
Qed.

(** Numbers of links tell links: equal numbers are equal links. *)
Definition numbered_right (ls : list link) (c : list (nat * link)) :=
  Forall (fun il => nth_error ls (fst il) = Some (snd il)) c.

Lemma chains_numbered : forall ls rest found base,
  ls = base ++ rest -> length base = length found ->
  Forall (numbered_right ls) found -> Forall (numbered_right ls) (chains_from found rest).
Proof.
  induction rest as [|l rest IH]; intros found base E L F; simpl; [exact F|].
  apply (IH _ (base ++ [l])); [rewrite <- app_assoc; exact E|rewrite !app_length, L; reflexivity|].
  apply Forall_app; split; [exact F|]; constructor; [|constructor].
  apply Forall_app; split.
  - destruct (nth_in_or_default (parent l) found []) as [Hin| ->]; [|constructor].
    rewrite Forall_forall in F; apply F; exact Hin.
  - constructor; [|constructor]; simpl; rewrite E, nth_error_app2 by lia.
    rewrite L, Nat.sub_diag; reflexivity.
Qed.

Lemma chain_numbered : forall p i, numbered_right (links p) (chain p i).
Proof.
  intros p i; unfold chain, chains.
  destruct (links p) as [|b rest] eqn:E.
  - simpl; destruct i as [|[|i]]; simpl; constructor.
  - simpl tl.
    assert (A : Forall (numbered_right (b :: rest)) (chains_from [[]] rest))
      by (apply (chains_numbered (b :: rest) rest [[]] [b]); [reflexivity|reflexivity|repeat constructor]).
    destruct (nth_in_or_default i (chains_from [[]] rest) []) as [Hin| ->]; [|constructor].
    rewrite Forall_forall in A; apply A; exact Hin.
Qed.

Lemma common_firstn : forall ls a b, numbered_right ls a -> numbered_right ls b ->
  let n := common_length (map fst a) (map fst b) in firstn n a = firstn n b.
Proof.
  intros ls a; induction a as [|x a IH]; intros [|y b] Ha Hb; simpl; try reflexivity.
  destruct (Nat.eqb_spec (fst x) (fst y)) as [E|]; [|reflexivity].
  inversion Ha; inversion Hb; subst; simpl; f_equal; [|apply IH; assumption].
  destruct x as [i l], y as [j m]; simpl in *; subst; congruence.
Qed.

Lemma chain_ok_split : forall r n ec c before, chain_ok r before ec c ->
  chain_ok r (before ++ firstn n c) (skipn n ec) (skipn n c).
Proof.
  induction n as [|n IH]; intros [|j ec] [|l c] before H; simpl in *; try contradiction; try (rewrite app_nil_r); auto.
  destruct H as [_ H]; apply IH in H; rewrite <- app_assoc in H; exact H.
Qed.

Lemma chain_has_axes : forall r ec c before, chain_ok r before ec c -> Forall has_axis c.
Proof.
  induction ec as [|j ec IH]; intros [|l c] before H; simpl in H; try contradiction; constructor.
  - apply H.
  - destruct H as [_ H]; exact (IH _ _ H).
Qed.

(** ** The path *)

Definition at_share (p : problem) (i : nat) (s : R) (j : nat) : R := entry p i j + s * (entry p (S i) j - entry p i j).
Definition balls_of (p : problem) := map (map of_dyadic) (rows p).
Definition even_rows (p : problem) := Forall (fun r => length r = length (uncertainty p)) (rows p).

Lemma row_ok : forall p i j, contains (nth j (nth i (balls_of p) []) zero_ball) (entry p i j).
Proof.
  intros p i j; unfold balls_of, entry.
  replace (nth i (map (map of_dyadic) (rows p)) []) with (map of_dyadic (nth i (rows p) []))
    by (change (@nil ball) with (map of_dyadic []); rewrite map_nth; reflexivity).
  destruct (nth_in_or_default j (map of_dyadic (nth i (rows p) [])) zero_ball) as [_|_].
  all: destruct (Nat.lt_ge_cases j (length (nth i (rows p) []))) as [L|G].
  all: try (rewrite (nth_indep _ zero_ball (of_dyadic d0)) by (rewrite map_length; exact L); rewrite map_nth; apply of_dyadic_ok).
  all: rewrite nth_overflow by (rewrite map_length; exact G); rewrite nth_overflow by exact G;
    replace (val d0) with 0 by (unfold val, d0; simpl; ring); apply zero_ball_ok.
Qed.

Lemma lerp_nth : forall s a b j, length a = length b -> (j < length a)%nat ->
  nth j (lerp s a b) zero_ball = badd (nth j a zero_ball) (bmul s (bsub (nth j b zero_ball) (nth j a zero_ball))).
Proof.
  induction a as [|x a IH]; intros [|y b] [|j] E L; simpl in *; try lia; [reflexivity|].
  apply IH; lia.
Qed.
Lemma lerp_length : forall s a b, length a = length b -> length (lerp s a b) = length a.
Proof. induction a as [|x a IH]; intros [|y b] E; simpl in *; try lia; rewrite IH; lia. Qed.

Lemma row_length : forall p i, even_rows p -> (i < length (rows p))%nat -> length (nth i (balls_of p) []) = length (uncertainty p).
Proof.
  intros p i E L; unfold balls_of.
  replace (nth i (map (map of_dyadic) (rows p)) []) with (map of_dyadic (nth i (rows p) []))
    by (change (@nil ball) with (map of_dyadic []); rewrite map_nth; reflexivity).
  rewrite map_length; unfold even_rows in E; rewrite Forall_forall in E; apply E, nth_In, L.
Qed.

Lemma entry_beyond : forall p k j, even_rows p -> (k < length (rows p))%nat -> (length (uncertainty p) <= j)%nat -> entry p k j = 0.
Proof.
  intros p k j E K J; unfold entry; rewrite nth_overflow.
  - unfold val, d0; simpl; ring.
  - unfold even_rows in E; rewrite Forall_forall in E; rewrite (E (nth k (rows p) [])); [exact J|apply nth_In, K].
Qed.

Lemma share_ok : forall z, contains (B z 0) (IZR z / scale).
Proof.
  intro z; unfold contains; cbn [mid rad]; pose proof scale_pos.
  replace (IZR z / scale * scale - IZR z) with 0 by (field; lra); rewrite Rabs_R0; lra.
Qed.

Lemma config_in_ok : forall p i share, even_rows p -> (S i < length (rows p))%nat ->
  qcontains (config_in (balls_of p) i share) (at_share p i (IZR share / scale)).
Proof.
  intros p i share E L j; unfold config_in, at_share; pose proof scale_pos as SP.
  destruct (Z.eqb_spec share 0) as [->|N0].
  { replace (0 / scale) with 0 by (field; lra); rewrite Rmult_0_l, Rplus_0_r; apply row_ok. }
  destruct (Z.eqb_spec share one) as [->|N1].
  { fold scale; replace (scale / scale) with 1 by (field; lra).
    replace (entry p i j + 1 * (entry p (S i) j - entry p i j)) with (entry p (S i) j) by ring; apply row_ok. }
  pose proof (row_length p i E ltac:(lia)) as LA; pose proof (row_length p (S i) E L) as LB.
  destruct (Nat.lt_ge_cases j (length (uncertainty p))) as [J|J].
  - rewrite lerp_nth by lia.
    apply badd_ok; [apply row_ok|]; apply bmul_ok; [apply share_ok|]; apply bsub_ok; apply row_ok.
  - rewrite nth_overflow by (rewrite lerp_length; lia).
    rewrite !(entry_beyond p _ j E) by lia; replace (0 + IZR share / scale * (0 - 0)) with 0 by ring; apply zero_ball_ok.
Qed.

(** A sample stands for some configuration of the path. *)
Definition sample_ok (p : problem) (s : sample) (r : nat -> R) :=
  qcontains (s_q s) r /\ Forall2 (fun ec c => chain_ok r [] ec (links_of c)) (s_chains s) (chains p)
  /\ (forall j, (length (uncertainty p) <= j)%nat -> r j = 0).

Lemma sample_at_ok : forall p t, even_rows p -> (2 <= length (rows p))%nat -> Forall (fun l => axis_ok l = true) (links p) ->
  exists r, sample_ok p (sample_at (map elink_of (links p)) (balls_of p) t) r.
Proof.
  intros p t E L A; unfold sample_at.
  set (i := Nat.min (Z.to_nat (t / one)) (length (balls_of p) - 2)).
  assert (I : (S i < length (rows p))%nat) by (unfold i, balls_of; rewrite map_length; lia).
  exists (at_share p i (IZR (t - Z.of_nat i * one) / scale)).
  pose proof (config_in_ok p i (t - Z.of_nat i * one) E I) as Q.
  split; cbn [s_q s_chains]; [exact Q|]; split.
  2:{ intros j J; unfold at_share; rewrite !(entry_beyond p _ j E) by lia; ring. }
  unfold chains; apply echains_ok; [exact Q| |repeat constructor].
  revert A; destruct (links p) as [|b rest]; simpl; intro A; [constructor|].
  inversion A as [|? ? _ A2]; subst.
  clear -A2; induction A2; simpl; constructor; [apply elink_of_ok; assumption|assumption].
Qed.
