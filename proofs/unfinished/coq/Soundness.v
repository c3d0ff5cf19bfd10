(* SPDX-License-Identifier: Apache-2.0 *)
(** The theorem: what the checker accepts is clear. *)

Require Import Reals ZArith List Bool Lra Lia Psatz.
From Lastgate Require Import Vectors Motions Kinematics MotionBound Claim Balls BallVectors Checker Placed Separation.
Import ListNotations.
Open Scope R_scope.

(** ** How far joints stray *)

Lemma line_between : forall a b s0 s s1, s0 <= s <= s1 ->
  Rabs (a + s * b) <= Rabs (a + s0 * b) \/ Rabs (a + s * b) <= Rabs (a + s1 * b).
Proof.
  intros a b s0 s s1 [L U].
  destruct (Rle_lt_dec 0 b) as [B|B], (Rle_lt_dec 0 (a + s * b)) as [P|P].
  - right; rewrite !Rabs_right; nra.
  - left; rewrite !Rabs_left1; nra.
  - left; rewrite !Rabs_right; nra.
  - right; rewrite !Rabs_left1; nra.
Qed.

(** Instants are counted in steps, times 2^52. *)
Definition instant_of (i : nat) (s : R) := (INR i + s) * scale.

Lemma deltas_ok : forall p q r from till i s u, even_rows p -> (S i < length (rows p))%nat -> 0 <= s <= 1 ->
  IZR from <= instant_of i s <= IZR till ->
  (forall j, Rabs (u j) <= val (nth j (uncertainty p) d0)) ->
  qcontains q r -> (forall j, (length (uncertainty p) <= j)%nat -> r j = 0) ->
  forall j, below (Rabs (configuration p i s u j - r j)) (nth j (deltas (balls_of p) (uncertainty p) from till q) 0%Z).
Proof.
  intros p q r from till i s u E I Hs [HF HT] U Q R0 j; unfold instant_of in *.
  pose proof scale_pos as SP.
  replace (configuration p i s u j - r j) with ((at_share p i s j - r j) + u j) by (unfold configuration, at_share; ring).
  eapply below_trans; [apply Rabs_triang|].
  destruct (Nat.lt_ge_cases j (length (uncertainty p))) as [J|J].
  2:{ rewrite nth_overflow by (unfold deltas; cbv zeta; rewrite map_length, seq_length; exact J).
      unfold at_share; rewrite !(entry_beyond p _ j E) by lia; rewrite (R0 j J).
      specialize (U j); rewrite (nth_overflow (uncertainty p)) in U by exact J.
      replace (val d0) with 0 in U by (unfold val, d0; simpl; ring).
      replace (0 + s * (0 - 0) - 0) with 0 by ring; rewrite Rabs_R0; unfold below; nra. }
  unfold deltas; cbv zeta; set (points := breakpoints (balls_of p) from till).
  set (g := fun k => (delta points q k + up (of_dyadic (nth k (uncertainty p) d0)))%Z).
  replace (nth j (map g (seq 0 (length (uncertainty p)))) 0%Z) with (g j).
  2:{ rewrite (nth_indep _ 0%Z (g 0%nat)) by (rewrite map_length, seq_length; exact J).
      rewrite map_nth, seq_nth by exact J; reflexivity. }
  unfold g; apply below_add.
  2:{ eapply below_trans; [apply U|]; apply below_up, of_dyadic_ok. }
  set (base := (Z.of_nat i * one)%Z).
  assert (HB : IZR base = INR i * scale) by (unfold base; rewrite mult_IZR, <- INR_IZR_INZ; reflexivity).
  assert (HB1 : IZR (base + one) = (INR i + 1) * scale) by (rewrite plus_IZR, HB; unfold scale; ring).
  set (z0 := (Z.max from base - base)%Z); set (z1 := (Z.min till (base + one) - base)%Z).
  assert (S0 : IZR z0 / scale <= s).
  { apply Rmult_le_reg_r with scale; [exact SP|]; unfold z0; rewrite minus_IZR, HB.
    replace ((IZR (Z.max from base) - INR i * scale) / scale * scale) with (IZR (Z.max from base) - INR i * scale) by (field; lra).
    destruct (Z.max_spec from base) as [[_ ->]|[_ ->]]; [rewrite HB|]; nra. }
  assert (S1 : s <= IZR z1 / scale).
  { apply Rmult_le_reg_r with scale; [exact SP|]; unfold z1; rewrite minus_IZR, HB.
    replace ((IZR (Z.min till (base + one)) - INR i * scale) / scale * scale) with (IZR (Z.min till (base + one)) - INR i * scale) by (field; lra).
    destruct (Z.min_spec till (base + one)) as [[_ ->]|[_ ->]]; [|rewrite HB1]; nra. }
  assert (IN : forall z, z = z0 \/ z = z1 -> In (config_in (balls_of p) i z) points).
  { intros z Z; unfold points, breakpoints; apply in_flat_map; exists i; split.
    - apply in_seq; unfold balls_of; rewrite map_length; lia.
    - cbv beta zeta; fold base.
      assert (C1 : (base <= till)%Z) by (apply le_IZR; rewrite HB; nra).
      assert (C2 : (from <= base + one)%Z) by (apply le_IZR; rewrite HB1; nra).
      apply Z.leb_le in C1; apply Z.leb_le in C2; rewrite C1, C2; cbn [andb].
      fold z0; fold z1; destruct Z as [->| ->]; [left|right; left]; reflexivity. }
  assert (G : forall z, z = z0 \/ z = z1 -> below (Rabs (at_share p i (IZR z / scale) j - r j)) (delta points q j)).
  { intros z Z; unfold delta; eapply below_fold; [apply IN; exact Z|].
    apply below_abs, bsub_ok; [apply config_in_ok; assumption|apply Q]. }
  set (a := entry p i j - r j); set (b := entry p (S i) j - entry p i j).
  assert (X : forall t, at_share p i t j - r j = a + t * b) by (intro t; unfold at_share, a, b; ring).
  rewrite X; destruct (line_between a b (IZR z0 / scale) s (IZR z1 / scale) (conj S0 S1)) as [K|K];
    (eapply below_trans; [exact K|]); rewrite <- X; apply G; [left|right]; reflexivity.
Qed.

(** ** Stretches *)

Section Path.
Variable p : problem.
Variable P : nat -> R -> Prop.
Definition holds_on (l h : Z) := forall i s, (S i < length (rows p))%nat -> 0 <= s <= 1 ->
  IZR l <= instant_of i s <= IZR h -> P i s.

Lemma certify_ok : forall query place_at,
  (forall l h smp r, sample_ok p smp r -> query l h smp = true -> holds_on l h) ->
  (forall t, exists r, sample_ok p (place_at t) r) ->
  forall fuel l h smp r, sample_ok p smp r -> certify fuel query place_at l h smp = true -> holds_on l h.
Proof.
  intros query place_at L A; induction fuel as [|less IH]; intros l h smp r S H; cbn [certify] in H;
    destruct (query l h smp) eqn:E; try (eapply L; eassumption); try discriminate.
  set (m := ((l + h) / 2)%Z) in *.
  destruct (certify less query place_at l m (place_at ((l + m) / 2)%Z)) eqn:E1; [|discriminate].
  destruct (A ((l + m) / 2)%Z) as [r1 R1]; destruct (A ((m + h) / 2)%Z) as [r2 R2].
  intros i s I Hs [T1 T2]; destruct (Rle_dec (instant_of i s) (IZR m)) as [X|X].
  - exact (IH _ _ _ _ R1 E1 i s I Hs (conj T1 X)).
  - exact (IH _ _ _ _ R2 H i s I Hs (conj (Rlt_le _ _ (Rnot_le_lt _ _ X)) T2)).
Qed.

Lemma covers_ok : forall l a e, covers a l e = true -> forall t, IZR a <= t <= IZR e ->
  exists s, In s l /\ IZR (from s) <= t <= IZR (till s).
Proof.
  induction l as [|s l IH]; intros a e H t [T1 T2]; cbn [covers] in H; [discriminate|].
  apply andb_prop in H as [F H]; apply Z.leb_le, IZR_le in F.
  destruct (Rle_dec t (IZR (till s))) as [X|X].
  - exists s; split; [left; reflexivity|lra].
  - destruct (Z.leb_spec e (till s)) as [G|G]; [apply IZR_le in G; lra|].
    destruct (IH _ _ H t ltac:(lra)) as [s' [I T]]; exists s'; split; [right; exact I|exact T].
Qed.

Lemma stretches_ok_holds : forall h query l, even_rows p -> (2 <= length (rows p))%nat ->
  Forall (fun k => axis_ok k = true) (links p) ->
  (forall s a b smp r, sample_ok p smp r -> query s a b smp = true -> holds_on a b) ->
  stretches_ok p h query l = true -> forall i s, (S i < length (rows p))%nat -> 0 <= s <= 1 -> P i s.
Proof.
  intros h query l E L A K H i s I Hs; unfold stretches_ok in H; cbv zeta in H.
  apply andb_prop in H as [C H].
  pose proof scale_pos as SP; pose proof (pos_INR i) as PI.
  assert (T : IZR 0 <= instant_of i s <= IZR (Z.of_nat (length (rows p) - 1) * one)).
  { unfold instant_of; rewrite mult_IZR, <- INR_IZR_INZ; fold scale; split; [nra|].
    assert (INR (S i) <= INR (length (rows p) - 1)) by (apply le_INR; lia); rewrite S_INR in *; nra. }
  destruct (covers_ok _ _ _ C _ T) as [st [IN TT]].
  rewrite forallb_forall in H; specialize (H st IN).
  destruct (nth_error _ (instant st)) as [smp|] eqn:N; [|discriminate].
  apply nth_error_In, in_map_iff in N as [t [<- _]].
  destruct (sample_at_ok p t E L A) as [r R].
  exact (certify_ok _ _ (K st) (fun t => sample_at_ok p t E L A) _ _ _ _ _ R H i s I Hs TT).
Qed.
End Path.

(** ** Bodies *)

Lemma not_met_ok : forall v h hint z, not_met v h hint = true -> in_shape v z -> in_shape h z -> False.
Proof.
  intros v h hint z H V Z; unfold not_met in H.
  pose proof (shapes_apart_ok (fun _ => 0) (fun _ => 0) (fun _ => 0) [] 0 0 0 [] [] [] [] v h hint I I eq_refl) as A.
  assert (X : 0 < norm (vsub (place (placement (fun _ => 0) []) z) (place (placement (fun _ => 0) []) z))).
  { apply A; try assumption; try apply below_zero.
    - intro j; cbn beta; rewrite Rminus_0_r, Rabs_R0; lra.
    - intro j; destruct j; apply below_zero. }
  rewrite norm_zero_sub in X; lra.
Qed.

Lemma parts_ok : forall h i b whole z, in_shape (volume b) z ->
  (hulls b = [] \/ exists jh, In jh (hulls b) /\ in_shape (snd jh) z) ->
  exists part g, In part (parts whole (ebody_of h (i, b))) /\ snd part = eshape_of g /\ in_shape g z.
Proof.
  intros h i b whole z V H; unfold parts, ebody_of; destruct whole; cbn [e_volume e_parts].
  - exists (0%nat, eshape_of (volume b)), (volume b); split; [left; reflexivity|]; split; [reflexivity|exact V].
  - set (keep := fun jh : nat * hull => negb (not_met (volume b) (snd jh) (apart_hint h i (fst jh)))).
    destruct H as [H|[jh [I Z]]].
    + rewrite H; cbn [filter].
      exists (0%nat, eshape_of (volume b)), (volume b); split; [left; reflexivity|]; split; [reflexivity|exact V].
    + assert (F : In jh (filter keep (hulls b))).
      { apply filter_In; split; [exact I|]; unfold keep.
        destruct (not_met (volume b) (snd jh) (apart_hint h i (fst jh))) eqn:E; [|reflexivity].
        exfalso; eapply not_met_ok; eassumption. }
      destruct (filter keep (hulls b)) as [|k met] eqn:M; [contradiction|].
      exists (fst jh, eshape_of (snd jh)), (snd jh); split; [|split; [reflexivity|exact Z]].
      exact (in_map (fun jh : nat * hull => (fst jh, eshape_of (snd jh))) (k :: met) jh F).
Qed.

Lemma numbers_In : forall A (l : list A) i x, nth_error l i = Some x -> In (i, x) (numbers l).
Proof.
  intros A l i x; unfold numbers.
  assert (G : forall n, nth_error l i = Some x -> In ((n + i)%nat, x) (combine (seq n (length l)) l)).
  { revert i; induction l as [|y l IH]; intros [|i] n H; simpl in *; try discriminate.
    - left; inversion H; subst; rewrite Nat.add_0_r; reflexivity.
    - right; rewrite Nat.add_succ_r; apply (IH i (S n)); exact H. }
  apply (G 0%nat).
Qed.

Lemma sample_chain : forall p smp r i, sample_ok p smp r ->
  chain_ok r [] (nth i (s_chains smp) []) (map snd (chain p i)).
Proof.
  intros p smp r i (_&C&_); unfold chain.
  apply (Forall2_nth _ _ (fun ec c => chain_ok r [] ec (links_of c))); [exact C|exact I].
Qed.

(** ** The theorem *)

Section Accepted.
Variable p : problem.
Variable h : hints.
Variable u : nat -> R.
Hypothesis U : forall j, Rabs (u j) <= val (nth j (uncertainty p) d0).
Hypothesis E : even_rows p.

Definition pair_clear (a b : body) (i : nat) (s : R) := forall x y,
  occupies p (configuration p i s u) a x -> occupies p (configuration p i s u) b y ->
  val (self_margin p) < norm (vsub x y).
Definition world_clear (a : body) (o : obstacle) (i : nat) (s : R) := forall x y,
  occupies p (configuration p i s u) a x -> in_obstacle o y -> val (world_margin p) < norm (vsub x y).

Lemma pair_look_ok : forall st m n a b l r smp q, sample_ok p smp q ->
  pair_look p st (of_link (volume a)) (of_link (volume b)) (ebody_of h (m, a)) (ebody_of h (n, b)) l r smp = true ->
  holds_on p (pair_clear a b) l r.
Proof.
  intros st m n a b l r smp q S H i s I Hs T x y (zx&->&VX&HX) (zy&->&VY&HY).
  unfold pair_look in H; cbv zeta in H.
  destruct (parts_ok h m a (negb (by_hulls st)) zx VX HX) as (pa&ga&IA&EA&ZA).
  destruct (parts_ok h n b (negb (by_hulls st)) zy VY HY) as (pb&gb&IB&EB&ZB).
  rewrite forallb_forall in H; specialize (H pa IA); cbn beta in H.
  rewrite forallb_forall in H; specialize (H pb IB); cbn beta in H.
  rewrite EA, EB in H.
  pose proof (sample_chain p smp q (of_link (volume a)) S) as CA.
  pose proof (sample_chain p smp q (of_link (volume b)) S) as CB.
  unfold placed.
  refine (shapes_apart_ok q (configuration p i s u) (fun j => Rabs (configuration p i s u j - q j)) _ _ _ _ _ _ _ _ ga gb _
    CA CB _ (fun j => Rle_refl _) _ (below_up _ _ (of_dyadic_ok (self_margin p))) H zx zy ZA ZB).
  - rewrite !firstn_map; f_equal.
    replace (nth (of_link (volume a)) (map (map fst) (chains p)) []) with (map fst (chain p (of_link (volume a))))
      by (unfold chain; change (@nil nat) with (map (@fst nat link) []); rewrite map_nth; reflexivity).
    replace (nth (of_link (volume b)) (map (map fst) (chains p)) []) with (map fst (chain p (of_link (volume b))))
      by (unfold chain; change (@nil nat) with (map (@fst nat link) []); rewrite map_nth; reflexivity).
    apply (common_firstn (links p)); apply chain_numbered.
  - destruct S as (Q&_&R0); apply deltas_ok; assumption.
Qed.

Lemma world_look_ok : forall st m a o l r smp q, sample_ok p smp q -> obstacle_ok o = true ->
  world_look p st (of_link (volume a)) (ebody_of h (m, a)) (eobstacle_of o) l r smp = true ->
  holds_on p (world_clear a o) l r.
Proof.
  intros st m a o l r smp q S O H i s I Hs T x y (zx&->&VX&HX) Y.
  unfold world_look in H; cbv zeta in H.
  destruct (parts_ok h m a (negb (by_hulls st)) zx VX HX) as (pa&ga&IA&EA&ZA).
  rewrite forallb_forall in H; specialize (H pa IA); cbn beta in H; rewrite EA in H.
  pose proof (sample_chain p smp q (of_link (volume a)) S) as CA; unfold placed.
  refine (obstacle_apart_ok q (configuration p i s u) (fun j => Rabs (configuration p i s u j - q j)) _ _ _ _ _ ga o _
    CA (fun j => Rle_refl _) _ (below_up _ _ (of_dyadic_ok (world_margin p))) O H zx y ZA Y).
  destruct S as (Q&_&R0); apply deltas_ok; assumption.
Qed.
End Accepted.

Theorem accepted_is_clear : forall p h, check p h = true -> clear p.
Proof.
  intros p h H; unfold check in H; cbv zeta in H.
  repeat (apply andb_prop in H as [H ?]).
  rename H into HR, H0 into HW, H1 into HP, H2 into HO, H3 into HA, H4 into HL.
  assert (E : even_rows p).
  { unfold even_rows; rewrite Forall_forall; rewrite forallb_forall in HR; intros r I; apply Nat.eqb_eq, HR, I. }
  assert (L : (2 <= length (rows p))%nat) by (apply Nat.leb_le; exact HL).
  assert (A : Forall (fun k => axis_ok k = true) (links p)) by (apply Forall_forall, forallb_forall; exact HA).
  assert (IB : forall m a, nth_error (bodies p) m = Some a ->
    In ((m, a), ebody_of h (m, a)) (map (fun ib => (ib, ebody_of h ib)) (numbers (bodies p))))
    by (intros m a N; apply (in_map (fun ib => (ib, ebody_of h ib))), numbers_In, N).
  intros i s u I Hs U; cbn zeta; split.
  - intros m n a b MN NA NB [MV MT].
    rewrite forallb_forall in HP; specialize (HP _ (IB m a NA)); cbn beta in HP.
    rewrite forallb_forall in HP; specialize (HP _ (IB n b NB)); cbn beta in HP.
    unfold pair_ok, link_of in HP; cbv zeta in HP; cbn [fst snd] in HP.
    apply Nat.ltb_lt in MN; rewrite MN, MT in HP.
    unfold same_list in HP.
    match type of HP with context [list_eq_dec ?d ?l ?k] => destruct (list_eq_dec d l k) as [X|_] end; [contradiction|].
    cbv beta iota in HP.
    refine (stretches_ok_holds p (pair_clear p u a b) h _ _ E L A _ HP i s I Hs).
    intros; cbn beta in *; eapply pair_look_ok; eassumption.
  - intros a o NA MV IO; apply In_nth_error in NA as [m NA].
    rewrite forallb_forall in HW; specialize (HW _ (IB m a NA)).
    unfold world_ok, link_of in HW; cbv zeta in HW; cbn [fst snd] in HW.
    unfold same_list in HW.
    match type of HW with context [list_eq_dec ?d ?l ?k] => destruct (list_eq_dec d l k) as [X|_] end; [contradiction|].
    cbv beta iota in HW.
    rewrite forallb_forall in HO; specialize (HO o IO).
    apply In_nth_error in IO as [k IO].
    rewrite forallb_forall in HW.
    specialize (HW (k, eobstacle_of o) (numbers_In _ _ _ _ (map_nth_error _ _ _ IO))); cbn [fst snd] in HW.
    refine (stretches_ok_holds p (world_clear p u a o) h _ _ E L A _ HW i s I Hs).
    intros; cbn beta in *; eapply world_look_ok; eassumption.
Qed.
