(* SPDX-License-Identifier: Apache-2.0 *)
(** Ball arithmetic on whole numbers: the executable numbers of the checker. A ball is a middle and a radius, both counted
    in units of 2^-52. Every operation is proved to contain the true result; rounding only ever makes a ball larger. *)

Require Import Reals ZArith Lra Lia Psatz.
From Lastgate Require Import Kinematics.
Open Scope R_scope.

Definition precision : Z := 52.
Definition one : Z := 4503599627370496.
Lemma one_pow : one = (2 ^ precision)%Z. Proof. reflexivity. Qed.
Definition scale : R := IZR one.
Lemma scale_pos : 0 < scale. Proof. unfold scale, one; lra. Qed.
Arguments scale : simpl never.

Lemma Rabs_le_inv : forall x a, Rabs x <= a -> - a <= x <= a.
Proof.
  intros x a H; pose proof (Rle_abs x); pose proof (Rle_abs (- x)) as N; rewrite Rabs_Ropp in N; lra.
Qed.

Record ball := B { mid : Z; rad : Z }.
Definition contains (b : ball) (x : R) := Rabs (x * scale - IZR (mid b)) <= IZR (rad b).
Definition up (b : ball) : Z := (mid b + rad b)%Z.
Definition low (b : ball) : Z := (mid b - rad b)%Z.

Lemma contains_bounds : forall b x, contains b x <-> IZR (low b) <= x * scale <= IZR (up b).
Proof.
  intros b x; unfold contains, low, up; rewrite plus_IZR, minus_IZR; split; intro H.
  - apply Rabs_le_inv in H; lra.
  - apply Rabs_le; lra.
Qed.

(** Division by 2^52, rounded down. *)
Definition down (z : Z) : Z := Z.shiftr z precision.

(** Proofs must never run the arithmetic. *)
Arguments down : simpl never.
Arguments Z.shiftr : simpl never.
Arguments Z.div : simpl never.
Arguments Z.sqrt : simpl never.
Arguments Z.mul : simpl never.
Arguments one : simpl never.

Lemma down_spec : forall z, IZR (down z) * scale <= IZR z < (IZR (down z) + 1) * scale.
Proof.
  intro z; unfold down, scale; rewrite Z.shiftr_div_pow2 by (unfold precision; lia); rewrite <- one_pow.
  pose proof (Z.div_mod z one ltac:(unfold one; lia)) as E.
  pose proof (Z.mod_pos_bound z one ltac:(unfold one; lia)) as [L H].
  set (k := (z / one)%Z) in *; set (m := (z mod one)%Z) in *.
  replace (IZR z) with (IZR one * IZR k + IZR m) by (rewrite E, plus_IZR, mult_IZR; reflexivity).
  apply IZR_le in L; apply IZR_lt in H; lra.
Qed.

Definition of_Z (z : Z) : ball := B (z * one) 0.
Definition badd a b := B (mid a + mid b) (rad a + rad b).
Definition bsub a b := B (mid a - mid b) (rad a + rad b).
Definition bneg a := B (- mid a) (rad a).
Definition bmul a b :=
  B (down (mid a * mid b)) (down (Z.abs (mid a) * rad b + Z.abs (mid b) * rad a + rad a * rad b) + 2).
(** Division by a positive whole number. *)
Definition bdiv_Z (k : Z) (a : ball) := B (mid a / k) (rad a / k + 2).
Definition of_bounds (l h : Z) : ball :=
  let m := Z.div2 (l + h) in B m (Z.max (h - m) (m - l)).
Definition bsqrt a := of_bounds (Z.sqrt (Z.max 0 (low a) * one)) (Z.sqrt (Z.max 0 (up a) * one) + 1).
(** One divided by a ball of positive numbers. *)
Definition binv a := of_bounds (one * one / up a) (one * one / low a + 1).
Definition of_dyadic (d : dyadic) : ball :=
  let e := (exponent d + precision)%Z in
  if (0 <=? e)%Z then B (mantissa d * 2 ^ e) 0 else B (Z.shiftr (mantissa d) (- e)) 1.

Lemma of_Z_ok : forall z, contains (of_Z z) (IZR z).
Proof.
  intro z; unfold contains, of_Z, scale; simpl; rewrite mult_IZR.
  replace (_ - _) with 0 by ring; rewrite Rabs_R0; lra.
Qed.

Lemma badd_ok : forall a b x y, contains a x -> contains b y -> contains (badd a b) (x + y).
Proof.
  unfold contains, badd; simpl; intros a b x y Hx Hy; rewrite !plus_IZR.
  replace (_ - _) with ((x * scale - IZR (mid a)) + (y * scale - IZR (mid b))) by ring.
  eapply Rle_trans; [apply Rabs_triang|lra].
Qed.

Lemma bneg_ok : forall a x, contains a x -> contains (bneg a) (- x).
Proof.
  unfold contains, bneg; simpl; intros a x Hx; rewrite opp_IZR.
  replace (_ - _) with (- (x * scale - IZR (mid a))) by ring; rewrite Rabs_Ropp; exact Hx.
Qed.

Lemma bsub_ok : forall a b x y, contains a x -> contains b y -> contains (bsub a b) (x - y).
Proof.
  intros a b x y Hx Hy; apply bneg_ok in Hy.
  exact (badd_ok _ _ _ _ Hx Hy).
Qed.

Lemma rad_nonneg : forall a x, contains a x -> 0 <= IZR (rad a).
Proof. intros a x H; eapply Rle_trans; [apply Rabs_pos|exact H]. Qed.

Lemma bmul_ok : forall a b x y, contains a x -> contains b y -> contains (bmul a b) (x * y).
Proof.
  intros a b x y Hx Hy.
  pose proof (rad_nonneg _ _ Hx) as Ra; pose proof (rad_nonneg _ _ Hy) as Rb.
  unfold contains in *; cbn [bmul mid rad].
  set (E := (Z.abs (mid a) * rad b + Z.abs (mid b) * rad a + rad a * rad b)%Z).
  set (u := x * scale - IZR (mid a)) in *; set (v := y * scale - IZR (mid b)) in *.
  assert (HE : Rabs (x * scale * (y * scale) - IZR (mid a * mid b)) <= IZR E).
  { unfold E; rewrite !plus_IZR, !mult_IZR, !abs_IZR.
    replace (_ - _) with (IZR (mid a) * v + IZR (mid b) * u + u * v) by (unfold u, v; ring).
    eapply Rle_trans; [apply Rabs_triang|]; apply Rplus_le_compat.
    - eapply Rle_trans; [apply Rabs_triang|]; rewrite !Rabs_mult; apply Rplus_le_compat;
        apply Rmult_le_compat_l; auto; apply Rabs_pos.
    - rewrite Rabs_mult; apply Rmult_le_compat; auto; apply Rabs_pos. }
  pose proof (down_spec (mid a * mid b)) as [L1 H1].
  pose proof (down_spec E) as [L2 H2].
  rewrite plus_IZR.
  pose proof scale_pos as HS.
  apply Rabs_le_inv in HE.
  apply Rabs_le; split; apply Rmult_le_reg_r with scale; try exact HS.
  - replace ((x * y * scale - IZR (down (mid a * mid b))) * scale) with (x * scale * (y * scale) - IZR (down (mid a * mid b)) * scale) by ring.
    nra.
  - replace ((x * y * scale - IZR (down (mid a * mid b))) * scale) with (x * scale * (y * scale) - IZR (down (mid a * mid b)) * scale) by ring.
    nra.
Qed.

Lemma div_spec : forall z k, (0 < k)%Z -> IZR (z / k) * IZR k <= IZR z < (IZR (z / k) + 1) * IZR k.
Proof.
  intros z k Hk.
  pose proof (Z.div_mod z k ltac:(lia)) as E.
  pose proof (Z.mod_pos_bound z k Hk) as [L H].
  set (d := (z / k)%Z) in *; set (m := (z mod k)%Z) in *.
  replace (IZR z) with (IZR k * IZR d + IZR m) by (rewrite E, plus_IZR, mult_IZR; reflexivity).
  apply IZR_le in L; apply IZR_lt in H; lra.
Qed.

Lemma bdiv_Z_ok : forall k a x, (0 < k)%Z -> contains a x -> contains (bdiv_Z k a) (x / IZR k).
Proof.
  intros k a x Hk Hx; unfold contains in *; cbn [bdiv_Z mid rad]; rewrite plus_IZR.
  pose proof (div_spec (mid a) k Hk) as [L1 H1]; pose proof (div_spec (rad a) k Hk) as [L2 H2].
  assert (K : 0 < IZR k) by (apply IZR_lt; exact Hk).
  apply Rabs_le_inv in Hx.
  apply Rabs_le; split; apply Rmult_le_reg_r with (IZR k); try exact K;
  replace ((x / IZR k * scale - IZR (mid a / k)) * IZR k) with (x * scale - IZR (mid a / k) * IZR k) by (field; lra); nra.
Qed.

Lemma of_bounds_ok : forall l h x, IZR l <= x * scale <= IZR h -> contains (of_bounds l h) x.
Proof.
  intros l h x [L H]; apply contains_bounds; unfold of_bounds, low, up; cbn [mid rad].
  set (m := Z.div2 (l + h)).
  split.
  - eapply Rle_trans; [|exact L]; apply IZR_le; lia.
  - eapply Rle_trans; [exact H|]; apply IZR_le; lia.
Qed.

Lemma bsqrt_ok : forall a x, contains a x -> contains (bsqrt a) (sqrt x).
Proof.
  intros a x H; apply contains_bounds in H; destruct H as [L U]; apply of_bounds_ok.
  pose proof scale_pos as HS; pose proof (sqrt_pos x) as HQ.
  pose proof (Z.sqrt_nonneg (Z.max 0 (low a) * one)) as N1.
  pose proof (Z.sqrt_nonneg (Z.max 0 (up a) * one)) as N2.
  destruct (Z.sqrt_spec (Z.max 0 (low a) * one) ltac:(unfold one; lia)) as [A1 _].
  destruct (Z.sqrt_spec (Z.max 0 (up a) * one) ltac:(unfold one; lia)) as [_ A2].
  set (s1 := Z.sqrt (Z.max 0 (low a) * one)) in *; set (s2 := Z.sqrt (Z.max 0 (up a) * one)) in *.
  apply IZR_le in A1; apply IZR_lt in A2; apply IZR_le in N1; apply IZR_le in N2.
  rewrite !mult_IZR in A1, A2; rewrite !succ_IZR in A2; fold scale in A1, A2.
  rewrite plus_IZR.
  destruct (Rle_dec 0 x) as [Hx|Hx].
  - pose proof (sqrt_sqrt x Hx) as Q.
    split.
    + destruct (Z.max_spec 0 (low a)) as [[M E]|[M E]]; rewrite E in A1.
      * assert (IZR s1 * IZR s1 <= (sqrt x * scale) * (sqrt x * scale)) by (replace ((sqrt x * scale) * (sqrt x * scale)) with ((sqrt x * sqrt x) * scale * scale) by ring; rewrite Q; nra).
        assert (0 <= sqrt x * scale) by nra. nra.
      * assert (IZR s1 = 0) by nra. nra.
    + assert (UU : x * scale <= IZR (Z.max 0 (up a))) by (eapply Rle_trans; [exact U|]; apply IZR_le; lia).
      assert ((sqrt x * scale) * (sqrt x * scale) <= (IZR s2 + 1) * (IZR s2 + 1)) by (replace ((sqrt x * scale) * (sqrt x * scale)) with ((sqrt x * sqrt x) * scale * scale) by ring; rewrite Q; nra).
      assert (0 <= sqrt x * scale) by nra. nra.
  - rewrite (sqrt_neg_0 x) by lra; rewrite Rmult_0_l; split; [|lra].
    assert (low a <= 0)%Z by (apply le_IZR; nra).
    replace (Z.max 0 (low a)) with 0%Z in A1 by lia; nra.
Qed.

Lemma binv_ok : forall a x, (0 < low a)%Z -> contains a x -> contains (binv a) (/ x).
Proof.
  intros a x Hl H; apply contains_bounds in H; destruct H as [L U]; apply of_bounds_ok.
  pose proof scale_pos as HS.
  assert (HL : 0 < IZR (low a)) by (apply IZR_lt; exact Hl).
  assert (Hu : (0 < up a)%Z) by (apply lt_IZR; lra).
  assert (HU : 0 < IZR (up a)) by (apply IZR_lt; exact Hu).
  pose proof (div_spec (one * one) (up a) Hu) as [D1 _].
  pose proof (div_spec (one * one) (low a) Hl) as [_ D2].
  rewrite mult_IZR in D1, D2; fold scale in D1, D2; rewrite plus_IZR.
  assert (Hx : 0 < x) by nra.
  assert (E : / x * scale * (x * scale) = scale * scale) by (field; lra).
  assert (P : 0 < / x) by (apply Rinv_0_lt_compat; exact Hx).
  split.
  - apply Rmult_le_reg_r with (IZR (up a)); [exact HU|]. eapply Rle_trans; [exact D1|]. rewrite <- E. apply Rmult_le_compat_l; nra.
  - apply Rmult_le_reg_r with (IZR (low a)); [exact HL|]. apply Rle_trans with (scale * scale); [|lra]. rewrite <- E. apply Rmult_le_compat_l; nra.
Qed.

Lemma pow2_powerRZ : forall e, (0 <= e)%Z -> IZR (2 ^ e) = powerRZ 2 e.
Proof.
  intros e H; rewrite <- (Z2Nat.id e H), <- pow_IZR, pow_powerRZ; reflexivity.
Qed.

Lemma val_scaled : forall d, val d * scale = IZR (mantissa d) * powerRZ 2 (exponent d + precision).
Proof.
  intro d; unfold val, scale; rewrite one_pow, pow2_powerRZ, powerRZ_add by (unfold precision; try lia; lra); ring.
Qed.

Lemma of_dyadic_ok : forall d, contains (of_dyadic d) (val d).
Proof.
  intro d; unfold contains; rewrite val_scaled; unfold of_dyadic.
  set (e := (exponent d + precision)%Z).
  destruct (Z.leb_spec 0 e) as [H|H]; cbn [mid rad].
  - rewrite mult_IZR, pow2_powerRZ by exact H; replace (_ - _) with 0 by ring; rewrite Rabs_R0; lra.
  - rewrite Z.shiftr_div_pow2 by lia.
    pose proof (div_spec (mantissa d) (2 ^ (- e)) ltac:(apply Z.pow_pos_nonneg; lia)) as [L U].
    rewrite pow2_powerRZ in L, U by lia.
    set (k := powerRZ 2 (- e)) in *.
    assert (P : 0 < k) by (apply powerRZ_lt; lra).
    assert (K1 : powerRZ 2 e * k = 1)
      by (unfold k; rewrite <- powerRZ_add by lra; replace (e + - e)%Z with 0%Z by lia; reflexivity).
    replace (powerRZ 2 e) with (/ k) by (apply Rmult_eq_reg_r with k; [rewrite K1; field; lra|lra]).
    set (f := IZR (mantissa d / 2 ^ (- e))) in *.
    apply Rabs_le; split; apply Rmult_le_reg_r with k; try exact P;
    replace ((IZR (mantissa d) * / k - f) * k) with (IZR (mantissa d) - f * k) by (field; lra); nra.
Qed.
