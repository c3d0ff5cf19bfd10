(* SPDX-License-Identifier: Apache-2.0 *)
(** Sine and cosine of a ball. Angles are halved until they are at most 1/2, the Taylor series with its alternating bounds
    (in Coq's library of the reals) is summed there, and the result is doubled again by sin 2x = 2 sin x cos x and
    cos 2x = 1 - 2 (sin x)^2. The number pi is not needed. *)

Require Import Reals ZArith Lra Lia Psatz.
From Lastgate Require Import Kinematics Balls.
Open Scope R_scope.

(** The n-th term of the series and the sum up to it, for an argument and its square. *)
Fixpoint sin_series (a a2 : ball) (n : nat) : ball * ball :=
  match n with
  | O => (a, a)
  | S m =>
      let (t, s) := sin_series a a2 m in
      let t' := bneg (bdiv_Z (Z.of_nat ((2 * m + 2) * (2 * m + 3))) (bmul t a2)) in (t', badd s t')
  end.
Fixpoint cos_series (a2 : ball) (n : nat) : ball * ball :=
  match n with
  | O => (of_Z 1, of_Z 1)
  | S m =>
      let (t, s) := cos_series a2 m in
      let t' := bneg (bdiv_Z (Z.of_nat ((2 * m + 1) * (2 * m + 2))) (bmul t a2)) in (t', badd s t')
  end.

Lemma sin_term_next : forall x m,
  sin_term x (S m) = - (sin_term x m * (x * x) / IZR (Z.of_nat ((2 * m + 2) * (2 * m + 3)))).
Proof.
  intros x m; unfold sin_term; rewrite <- INR_IZR_INZ.
  replace (2 * S m + 1)%nat with (S (S (2 * m + 1))) by lia.
  rewrite !fact_simpl, !mult_INR.
  replace (S (2 * m + 1)) with (2 * m + 2)%nat by lia.
  replace (S (2 * m + 2)) with (2 * m + 3)%nat by lia.
  replace (2 * m + 3)%nat with (S (S (2 * m + 1))) at 1 by lia.
  rewrite <- !tech_pow_Rmult.
  field; repeat split; try apply INR_fact_neq_0; apply not_0_INR; lia.
Qed.

Lemma cos_term_next : forall x m,
  cos_term x (S m) = - (cos_term x m * (x * x) / IZR (Z.of_nat ((2 * m + 1) * (2 * m + 2)))).
Proof.
  intros x m; unfold cos_term; rewrite <- INR_IZR_INZ.
  replace (2 * S m)%nat with (S (S (2 * m))) by lia.
  rewrite !fact_simpl, !mult_INR.
  replace (S (2 * m)) with (2 * m + 1)%nat by lia.
  replace (S (2 * m + 1)) with (2 * m + 2)%nat by lia.
  replace (2 * m + 2)%nat with (S (S (2 * m))) at 1 by lia.
  rewrite <- !tech_pow_Rmult.
  field; repeat split; try apply INR_fact_neq_0; apply not_0_INR; lia.
Qed.

Lemma sin_series_ok : forall a a2 x n, contains a x -> contains a2 (x * x) ->
  contains (fst (sin_series a a2 n)) (sin_term x n) /\ contains (snd (sin_series a a2 n)) (sin_approx x n).
Proof.
  intros a a2 x n H H2; unfold sin_approx; induction n as [|m [IT IS]].
  - assert (E : sin_term x 0 = x) by (unfold sin_term; simpl; field).
    simpl; rewrite !E; split; exact H.
  - simpl sin_series; destruct (sin_series a a2 m) as [t s]; cbn [fst snd] in *.
    rewrite tech5, sin_term_next.
    assert (T : contains (bneg (bdiv_Z (Z.of_nat ((2 * m + 2) * (2 * m + 3))) (bmul t a2)))
      (- (sin_term x m * (x * x) / IZR (Z.of_nat ((2 * m + 2) * (2 * m + 3)))))).
    { apply bneg_ok, bdiv_Z_ok; [lia|]; apply bmul_ok; assumption. }
    split; [exact T|]; apply badd_ok; assumption.
Qed.

Lemma cos_series_ok : forall a2 x n, contains a2 (x * x) ->
  contains (fst (cos_series a2 n)) (cos_term x n) /\ contains (snd (cos_series a2 n)) (cos_approx x n).
Proof.
  intros a2 x n H2; unfold cos_approx; induction n as [|m [IT IS]].
  - assert (E : cos_term x 0 = 1) by (unfold cos_term; simpl; field).
    cbn [cos_series fst snd sum_f_R0]; rewrite !E; split; apply of_Z_ok.
  - simpl cos_series; destruct (cos_series a2 m) as [t s]; cbn [fst snd] in *.
    rewrite tech5, cos_term_next.
    assert (T : contains (bneg (bdiv_Z (Z.of_nat ((2 * m + 1) * (2 * m + 2))) (bmul t a2)))
      (- (cos_term x m * (x * x) / IZR (Z.of_nat ((2 * m + 1) * (2 * m + 2)))))).
    { apply bneg_ok, bdiv_Z_ok; [lia|]; apply bmul_ok; assumption. }
    split; [exact T|]; apply badd_ok; assumption.
Qed.

(** Sine of a ball of numbers from 0 to 4. *)
Definition sin_positive (a : ball) : ball :=
  let a2 := bmul a a in of_bounds (low (snd (sin_series a a2 7))) (up (snd (sin_series a a2 8))).
Definition cos_small (a : ball) : ball :=
  let a2 := bmul a a in of_bounds (low (snd (cos_series a2 7))) (up (snd (cos_series a2 8))).
(** Around zero, where a ball has both signs, sine lies between zero and its argument. *)
Definition sin_small (a : ball) : ball :=
  if (0 <=? low a)%Z then sin_positive a
  else if (up a <=? 0)%Z then bneg (sin_positive (bneg a))
  else of_bounds (low a) (up a).

Lemma sin_positive_ok : forall a x, contains a x -> 0 <= x <= 4 -> contains (sin_positive a) (sin x).
Proof.
  intros a x H [L U]; apply of_bounds_ok.
  destruct (pre_sin_bound x 3 L U) as [SL SU].
  destruct (sin_series_ok a (bmul a a) x 7 H (bmul_ok _ _ _ _ H H)) as [_ H7].
  destruct (sin_series_ok a (bmul a a) x 8 H (bmul_ok _ _ _ _ H H)) as [_ H8].
  apply contains_bounds in H7; apply contains_bounds in H8; pose proof scale_pos.
  change (2 * 3 + 1)%nat with 7%nat in SL; change (2 * (3 + 1))%nat with 8%nat in SU; nra.
Qed.

Lemma cos_small_ok : forall a x, contains a x -> -2 <= x <= 2 -> contains (cos_small a) (cos x).
Proof.
  intros a x H [L U]; apply of_bounds_ok.
  destruct (pre_cos_bound x 3 L U) as [SL SU].
  destruct (cos_series_ok (bmul a a) x 7 (bmul_ok _ _ _ _ H H)) as [_ H7].
  destruct (cos_series_ok (bmul a a) x 8 (bmul_ok _ _ _ _ H H)) as [_ H8].
  apply contains_bounds in H7; apply contains_bounds in H8; pose proof scale_pos.
  change (2 * 3 + 1)%nat with 7%nat in SL; change (2 * (3 + 1))%nat with 8%nat in SU; nra.
Qed.

Lemma sin_between : forall x, 0 <= x <= 1 -> 0 <= sin x <= x.
Proof.
  intros x [L U]; split.
  - apply sin_ge_0; [lra|]; pose proof PI2_1; lra.
  - destruct (Req_dec x 0) as [->|N]; [rewrite sin_0; lra|]; left; apply sin_lt_x; lra.
Qed.

Lemma sin_small_ok : forall a x, contains a x -> -1 <= x <= 1 -> contains (sin_small a) (sin x).
Proof.
  intros a x H X; unfold sin_small; pose proof scale_pos as HS.
  destruct (proj1 (contains_bounds a x) H) as [L U].
  destruct (Z.leb_spec 0 (low a)) as [P|P].
  - apply sin_positive_ok; [exact H|]; apply IZR_le in P; split; [|lra]; nra.
  - destruct (Z.leb_spec (up a) 0) as [N|N].
    + replace (sin x) with (- sin (- x)) by (rewrite sin_neg; ring).
      apply bneg_ok, sin_positive_ok; [apply bneg_ok; exact H|]; apply IZR_le in N; split; [|lra]; nra.
    + apply IZR_lt in P; apply IZR_lt in N; apply of_bounds_ok.
      destruct (Rle_dec 0 x) as [G|G].
      * pose proof (sin_between x ltac:(lra)); nra.
      * pose proof (sin_between (- x) ltac:(lra)) as K; rewrite sin_neg in K; nra.
Qed.

(** Sine and cosine of any ball; of one that is too wide or too far away, the ball from -1 to 1. *)
Fixpoint sin_cos (fuel : nat) (a : ball) : ball * ball :=
  if (Z.abs (mid a) + rad a <=? Z.div2 one)%Z then (sin_small a, cos_small a)
  else match fuel with
    | O => (B 0 one, B 0 one)
    | S less =>
        let (s, c) := sin_cos less (bdiv_Z 2 a) in
        (bmul (of_Z 2) (bmul s c), bsub (of_Z 1) (bmul (of_Z 2) (bmul s s)))
    end.

Theorem sin_cos_ok : forall fuel a x, contains a x ->
  contains (fst (sin_cos fuel a)) (sin x) /\ contains (snd (sin_cos fuel a)) (cos x).
Proof.
  assert (W : forall y, -1 <= y <= 1 -> contains (B 0 one) y).
  { intros y Y; apply contains_bounds; unfold low, up; cbn [mid rad].
    rewrite minus_IZR, plus_IZR; fold scale; pose proof scale_pos; nra. }
  induction fuel as [|less IH]; intros a x H; cbn [sin_cos];
    destruct (Z.leb_spec (Z.abs (mid a) + rad a) (Z.div2 one)) as [T|T].
  1, 3: assert (X : -1 <= x <= 1) by
    (apply contains_bounds in H; unfold low, up in H; destruct H as [L U];
     assert (KL : (- one <= mid a - rad a)%Z) by (change (Z.div2 one) with 2251799813685248%Z in T; unfold one; lia);
     assert (KU : (mid a + rad a <= one)%Z) by (change (Z.div2 one) with 2251799813685248%Z in T; unfold one; lia);
     apply IZR_le in KL; apply IZR_le in KU; rewrite opp_IZR in KL; fold scale in KL, KU; pose proof scale_pos; nra);
    cbn [fst snd]; split; [apply sin_small_ok|apply cos_small_ok]; try assumption; lra.
  - cbn [fst snd]; split; apply W; [pose proof (SIN_bound x)|pose proof (COS_bound x)]; lra.
  - specialize (IH (bdiv_Z 2 a) (x / 2) (bdiv_Z_ok 2 a x ltac:(lia) H)).
    destruct (sin_cos less (bdiv_Z 2 a)) as [s c]; cbn [fst snd] in *; destruct IH as [IS IC].
    replace x with (2 * (x / 2)) by field.
    split.
    + rewrite sin_2a; replace (2 * sin (x / 2) * cos (x / 2)) with (2 * (sin (x / 2) * cos (x / 2))) by ring.
      apply bmul_ok; [apply of_Z_ok|apply bmul_ok; assumption].
    + rewrite cos_2a_sin; replace (2 * sin (x / 2) * sin (x / 2)) with (2 * (sin (x / 2) * sin (x / 2))) by ring.
      apply bsub_ok; [apply of_Z_ok|]; apply bmul_ok; [apply of_Z_ok|apply bmul_ok; assumption].
Qed.
