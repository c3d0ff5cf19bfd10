(* SPDX-License-Identifier: Apache-2.0 *)
(** What an accepted certificate claims. This file, with Vectors.v, Motions.v and Kinematics.v up to their first lemmas, is
    all that has to be read to know what the theorem says. Nothing in it is computed. *)

Require Import Reals ZArith List Bool Lra.
From Lastgate Require Import Vectors Motions Kinematics.
Import ListNotations.
Open Scope R_scope.

(** ** Shapes *)

(** The smallest convex set that holds some vertices. *)
Inductive in_hull (vertices : list vec) : vec -> Prop :=
| a_vertex : forall c, In c vertices -> in_hull vertices c
| between : forall a b t, in_hull vertices a -> in_hull vertices b -> 0 <= t <= 1 ->
    in_hull vertices (vadd a (vscale t (vsub b a))).

(** Everything within a radius of the convex hull of some vertices, fixed to a link: spheres have one vertex, capsules two. *)
Record hull := { of_link : nat; vertices : list dvec; radius : dyadic }.
Definition in_shape (h : hull) (z : vec) :=
  exists y, in_hull (map vval (vertices h)) y /\ norm (vsub z y) <= val (radius h).

Inductive solid :=
| Sphere (radius : dyadic)
| Capsule (radius half_length : dyadic)
| Box (half_extents : dvec)
| HalfSpace.
Record obstacle := { shape : solid; centre : dvec; qx : dyadic; qy : dyadic; qz : dyadic; qw : dyadic }.
Definition turned (o : obstacle) := rotation_of_quaternion (val (qx o)) (val (qy o)) (val (qz o)) (val (qw o)).

(** A capsule lies along the z axis of its pose; a half-space is everything below the x-y plane of its pose. *)
Definition in_obstacle (o : obstacle) (y : vec) :=
  let at_ := vval (centre o) in
  match shape o with
  | Sphere r => norm (vsub y at_) <= val r
  | Capsule r half => exists t, Rabs t <= val half /\ norm (vsub y (vadd at_ (vscale t (column3 (turned o))))) <= val r
  | Box half => exists a b c, Rabs a <= val (dx half) /\ Rabs b <= val (dy half) /\ Rabs c <= val (dz half)
      /\ y = vadd at_ (mapply (turned o) (V a b c))
  | HalfSpace => dot (column3 (turned o)) (vsub y at_) <= 0
  end.
Definition point_obstacle (p : dvec) := {| shape := Sphere d0; centre := p; qx := d0; qy := d0; qz := d0; qw := D 1 0 |}.

(** ** The problem: robot, path and world, as the file gives them *)

Record attached := { number : nat; attached_shape : hull; touch_links : list nat }.
Record problem := {
  links : list link;  (** the first is the base, which stands still *)
  volumes : list hull; link_hulls : list hull; allowed_pairs : list (nat * nat);
  self_margin : dyadic; world_margin : dyadic;
  zones : list obstacle; obstacles : list obstacle; points : list dvec; held : list attached;
  rows : list (list dyadic); uncertainty : list dyadic }.

(** The chain of a link is that of its parent and then the link itself, each with its number. *)
Fixpoint chains_from (found : list (list (nat * link))) (rest : list link) :=
  match rest with
  | [] => found
  | l :: more => chains_from (found ++ [nth (parent l) found [] ++ [(length found, l)]]) more
  end.
Definition chains (p : problem) := chains_from [[]] (tl (links p)).
Definition chain (p : problem) (i : nat) : list (nat * link) := nth i (chains p) [].
Definition placed (p : problem) (q : nat -> R) (i : nat) : frame := placement q (map snd (chain p i)).
Definition moves (l : link) : bool := match kind l with Fixed => false | _ => true end.
Definition movers (p : problem) (i : nat) : list nat := map fst (filter (fun il => moves (snd il)) (chain p i)).

(** A body is a volume, and the convex link_hulls of its link where the link has some: the body is then what lies in both. *)
Record body := { volume : hull; hulls : list (nat * hull); holding : option (nat * list nat) }.
Definition numbered (p : problem) := combine (seq 0 (length (link_hulls p))) (link_hulls p).
Definition bodies (p : problem) : list body :=
  map (fun v => {| volume := v; hulls := filter (fun jh => Nat.eqb (of_link (snd jh)) (of_link v)) (numbered p);
                   holding := None |}) (volumes p)
  ++ map (fun a => {| volume := attached_shape a; hulls := []; holding := Some (number a, touch_links a) |}) (held p).
Definition occupies (p : problem) (q : nat -> R) (b : body) (x : vec) :=
  exists z, x = place (placed p q (of_link (volume b))) z /\ in_shape (volume b) z
    /\ (hulls b = [] \/ exists jh, In jh (hulls b) /\ in_shape (snd jh) z).

(** Two bodies are checked when some joint moves one against the other and nothing says that they may touch. *)
Definition listed (n : nat) (among : list nat) := existsb (Nat.eqb n) among.
Definition may_touch (p : problem) (a b : body) : bool :=
  let la := of_link (volume a) in
  let lb := of_link (volume b) in
  match holding a, holding b with
  | None, None => existsb (fun e => (Nat.eqb (fst e) la && Nat.eqb (snd e) lb)
      || (Nat.eqb (fst e) lb && Nat.eqb (snd e) la))%bool (allowed_pairs p)
  | None, Some (_, touch) => listed la touch
  | Some (_, touch), None => listed lb touch
  | Some (n, _), Some (m, _) => Nat.eqb n m
  end.
Definition checked_pair (p : problem) (a b : body) :=
  movers p (of_link (volume a)) <> movers p (of_link (volume b)) /\ may_touch p a b = false.
Definition surroundings (p : problem) := zones p ++ obstacles p ++ map point_obstacle (points p).

(** The joints between step [i] and the next, at a share [s] of the way; [u] is what was not measured. *)
Definition entry (p : problem) (i j : nat) : R := val (nth j (nth i (rows p) []) d0).
Definition configuration (p : problem) (i : nat) (s : R) (u : nat -> R) (j : nat) : R :=
  entry p i j + s * (entry p (S i) j - entry p i j) + u j.

(** ** The claim *)
Definition clear (p : problem) : Prop :=
  forall i s u, (S i < length (rows p))%nat -> 0 <= s <= 1 ->
  (forall j, Rabs (u j) <= val (nth j (uncertainty p) d0)) ->
  let q := configuration p i s u in
  (forall m n a b, (m < n)%nat -> nth_error (bodies p) m = Some a -> nth_error (bodies p) n = Some b ->
    checked_pair p a b -> forall x y, occupies p q a x -> occupies p q b y -> val (self_margin p) < norm (vsub x y))
  /\
  (forall a o, In a (bodies p) -> movers p (of_link (volume a)) <> [] -> In o (surroundings p) ->
    forall x y, occupies p q a x -> in_obstacle o y -> val (world_margin p) < norm (vsub x y)).
