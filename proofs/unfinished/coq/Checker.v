(* SPDX-License-Identifier: Apache-2.0 *)
(** The executable checker. It believes nothing that a certificate computes: records only say which instant to query at and
    along which direction two shapes are apart. Any direction and any instant are safe to try, so hints need no proof.
    Where one query is not enough the checker halves the stretch itself, whatever motion bound the writer used. *)

Require Import ZArith List Bool.
From Lastgate Require Import Vectors Motions Kinematics Claim Balls BallVectors Trigonometry.
Import ListNotations.
Open Scope Z_scope.

(** ** Robot and path in balls *)

Record elink := {
  e_parent : nat; e_kind : joint_kind; e_dof : nat; e_mult : ball; e_off : ball; e_origin : bframe; e_axis : bvec }.

Definition halvings : nat := 24.
Definition trig (b : ball) := sin_cos halvings b.
Definition bunit (v : bvec) := bvscale (binv (bnorm v)) v.
Definition borigin (l : link) : bframe :=
  let (sr, cr) := trig (of_dyadic (dx (origin_rpy l))) in
  let (sp, cp) := trig (of_dyadic (dy (origin_rpy l))) in
  let (sy, cy) := trig (of_dyadic (dz (origin_rpy l))) in
  BF (brotation_of_rpy cr sr cp sp cy sy) (of_dvec (origin_xyz l)).
Definition elink_of (l : link) : elink :=
  {| e_parent := parent l; e_kind := kind l; e_dof := dof l; e_mult := of_dyadic (multiplier l);
     e_off := of_dyadic (offset l); e_origin := borigin l; e_axis := bunit (of_dvec (axis l)) |}.
Definition axis_ok (l : link) : bool :=
  match kind l with Fixed => true | _ => 0 <? low (bnorm (of_dvec (axis l))) end.

Definition bvalue (q : list ball) (l : elink) := badd (bmul (e_mult l) (nth (e_dof l) q zero_ball)) (e_off l).
Definition bjoint (q : list ball) (l : elink) : bframe :=
  match e_kind l with
  | Fixed => bstill
  | Revolute => let (s, c) := trig (bvalue q l) in BF (brotation (e_axis l) c s) bzero
  | Prismatic => BF bidentity (bvscale (bvalue q l) (e_axis l))
  end.

(** One joint of a chain at a sampled configuration: where its link stands, and where its axis points. *)
Record jinfo := { j_kind : joint_kind; j_weight : Z; j_dof : nat; j_frame : bframe; j_axis : bvec }.
Fixpoint last_frame (f : bframe) (c : list jinfo) : bframe :=
  match c with [] => f | j :: more => last_frame (j_frame j) more end.
Definition abs_up (b : ball) := Z.abs (mid b) + rad b.
Definition next_joint (q : list ball) (above : list jinfo) (l : elink) : jinfo :=
  let f := bcompose (last_frame bstill above) (bcompose (e_origin l) (bjoint q l)) in
  {| j_kind := e_kind l; j_weight := abs_up (e_mult l); j_dof := e_dof l; j_frame := f;
     j_axis := bapply (brot f) (e_axis l) |}.
Fixpoint echains_from (q : list ball) (found : list (list jinfo)) (rest : list elink) :=
  match rest with
  | [] => found
  | l :: more =>
      let above := nth (e_parent l) found [] in echains_from q (found ++ [above ++ [next_joint q above l]]) more
  end.

Fixpoint lerp (s : ball) (a b : list ball) : list ball :=
  match a, b with x :: a', y :: b' => badd x (bmul s (bsub y x)) :: lerp s a' b' | _, _ => [] end.
Definition config_in (brows : list (list ball)) (i : nat) (share : Z) :=
  if share =? 0 then nth i brows []
  else if share =? one then nth (S i) brows []
  else lerp (B share 0) (nth i brows []) (nth (S i) brows []).

(** A configuration of the path, and every chain at it. *)
Record sample := { s_q : list ball; s_chains : list (list jinfo) }.
Definition sample_at (els : list elink) (brows : list (list ball)) (t : Z) : sample :=
  let i := Nat.min (Z.to_nat (t / one)) (length brows - 2) in
  let q := config_in brows i (t - Z.of_nat i * one) in
  {| s_q := q; s_chains := echains_from q [[]] (tl els) |}.

(** How far each joint strays from a sample between two instants: the ends of every part of the path tell. *)
Definition breakpoints (brows : list (list ball)) (from till : Z) : list (list ball) :=
  flat_map (fun i => let base := Z.of_nat i * one in
    if ((base <=? till) && (from <=? base + one))%bool
    then [config_in brows i (Z.max from base - base); config_in brows i (Z.min till (base + one) - base)]
    else []) (seq 0 (length brows - 1)).
Definition delta (points : list (list ball)) (q : list ball) (j : nat) : Z :=
  fold_right Z.max 0 (map (fun c => abs_up (bsub (nth j c zero_ball) (nth j q zero_ball))) points).
Definition deltas (brows : list (list ball)) (unsure : list dyadic) (from till : Z) (q : list ball) : list Z :=
  let points := breakpoints brows from till in
  map (fun j => delta points q j + up (of_dyadic (nth j unsure d0))) (seq 0 (length unsure)).

(** ** Shapes *)

(** Vertices that share one bound of their motion: those within [spread] of a centre. *)
Record cluster := { middle : bvec; spread : Z; some_vertices : list bvec }.
Record eshape := { e_of : nat; clusters : list cluster; e_radius : Z }.
Definition lowest : Z := - one * one.
Definition exactly (v : bvec) : bvec := BV (B (mid (bx v)) 0) (B (mid (by_ v)) 0) (B (mid (bz v)) 0).
Definition single (c : bvec) : cluster := {| middle := c; spread := 0; some_vertices := [c] |}.
Definition spread_of (c : bvec) (l : list bvec) := fold_right Z.max 0 (map (fun v => up (bnorm (bvsub v c))) l).
Definition average (l : list bvec) : bvec :=
  let n := Z.max 1 (Z.of_nat (length l)) in
  exactly (fold_right (fun v s => bvadd (BV (bdiv_Z n (bx v)) (bdiv_Z n (by_ v)) (bdiv_Z n (bz v))) s) bzero l).
Definition grouped (l : list bvec) : list cluster :=
  if (length l <=? 2)%nat then map single l
  else let c := average l in [{| middle := c; spread := spread_of c l; some_vertices := l |}].
Definition eshape_of (h : hull) : eshape :=
  {| e_of := of_link h; clusters := grouped (map of_dvec (vertices h)); e_radius := up (of_dyadic (radius h)) |}.

(** Upper bound of how far a point strays, of everything within [spread] of [c]. *)
Fixpoint moved (d : list Z) (own : list jinfo) (c : bvec) (spread : Z) : Z :=
  match own with
  | [] => 0
  | j :: more =>
      match j_kind j with
      | Fixed => moved d more c spread
      | Revolute => times_up (times_up (j_weight j) (nth (j_dof j) d 0))
          (up (bnorm (bcross (j_axis j) (bvsub c (bpos (j_frame j))))) + spread) + moved d more c spread
      | Prismatic => times_up (times_up (j_weight j) (nth (j_dof j) d 0)) one + moved d more c spread
      end
  end.
Definition vertex_top (dl : bvec) (l : list bvec) : Z := fold_right Z.max lowest (map (fun c => up (bdot dl c)) l).
(** Upper bound of how far a shape reaches along a direction [d] of length at most [len]. *)
Definition side_top (ds : list Z) (d : bvec) (len : Z) (common : nat) (c : list jinfo) (e : eshape) : Z :=
  let f := last_frame bstill c in
  let dl := bapply (btranspose (brot f)) d in
  let own := skipn common c in
  fold_right Z.max lowest
    (map (fun k => vertex_top dl (some_vertices k) + times_up len (moved ds own (bplace f (middle k)) (spread k)))
       (clusters e))
  + up (bdot d (bpos f)) + times_up len (e_radius e).

Inductive eobstacle :=
| EBox (at_ c1 c2 c3 : bvec) (h1 h2 h3 r : Z)
| EHalf (at_ normal : bvec).
Definition bturned (o : obstacle) :=
  brotation_of_quaternion (of_dyadic (qx o)) (of_dyadic (qy o)) (of_dyadic (qz o)) (of_dyadic (qw o)).
Definition obstacle_ok (o : obstacle) : bool :=
  0 <? low (bquaternion_sqr (of_dyadic (qx o)) (of_dyadic (qy o)) (of_dyadic (qz o)) (of_dyadic (qw o))).
Definition eobstacle_of (o : obstacle) : eobstacle :=
  let m := bturned o in
  let at_ := of_dvec (centre o) in
  let u x := up (of_dyadic x) in
  match shape o with
  | Sphere r => EBox at_ (bcolumn1 m) (bcolumn2 m) (bcolumn3 m) 0 0 0 (u r)
  | Capsule r h => EBox at_ (bcolumn1 m) (bcolumn2 m) (bcolumn3 m) 0 0 (u h) (u r)
  | Box h => EBox at_ (bcolumn1 m) (bcolumn2 m) (bcolumn3 m) (u (dx h)) (u (dy h)) (u (dz h)) 0
  | HalfSpace => EHalf at_ (bcolumn3 m)
  end.

(** ** Hints *)

Definition direction := (Z * Z * Z)%type.
Definition bdirection (d : direction) : bvec := let '(x, y, z) := d in BV (B x 0) (B y 0) (B z 0).
Record stretch := {
  from : Z; till : Z; instant : nat; by_hulls : bool; toward : nat -> nat -> option direction }.
Record hints := {
  instants : list Z;
  pair_hints : nat -> nat -> list stretch;
  world_hints : nat -> nat -> list stretch;
  apart_hint : nat -> nat -> option direction }.

(** A direction from the line between the outermost vertices of a shape to a point: for clouds, which come without one. *)
Definition guess (c : list jinfo) (e : eshape) (to : bvec) : direction :=
  let f := last_frame bstill c in
  let ends := map (fun k => bplace f (middle k)) (clusters e) in
  let a := exactly (hd bzero ends) in
  let b := exactly (last ends bzero) in
  let along := bvsub b a in
  let away := bvsub (exactly to) a in
  let l2 := mid (bdot along along) in
  let share := if l2 <=? 0 then 0 else Z.max 0 (Z.min one (mid (bdot away along) * one / l2)) in
  let d := bvsub away (bvscale (B share 0) along) in (mid (bx d), mid (by_ d), mid (bz d)).
Definition centre_of (o : eobstacle) := match o with EBox a _ _ _ _ _ _ _ => a | EHalf a _ => a end.

(** ** One query *)

Definition apart (top_a top_b len margin : Z) : bool := top_a + top_b + times_up len margin <? 0.

Definition shapes_apart (margin : Z) (ds : list Z) (common : nat) (ca cb : list jinfo) (a b : eshape)
    (hint : option direction) : bool :=
  match hint with
  | None => false
  | Some h =>
      let d := bdirection h in
      let len := up (bnorm d) in
      apart (side_top ds d len common ca a) (side_top ds (bvneg d) len common cb b) len margin
  end.

Definition obstacle_top (d : bvec) (len : Z) (o : eobstacle) : Z :=
  match o with
  | EBox at_ c1 c2 c3 h1 h2 h3 r =>
      up (bneg (bdot d at_)) + times_up (abs_up (bdot d c1)) h1 + times_up (abs_up (bdot d c2)) h2
      + times_up (abs_up (bdot d c3)) h3 + times_up len r
  | EHalf at_ n => up (bdot n at_)
  end.
Definition obstacle_direction (o : eobstacle) (h : direction) : bvec * Z :=
  match o with
  | EHalf _ n => (bvneg n, one)
  | _ => let d := bdirection h in (d, up (bnorm d))
  end.
Definition obstacle_apart (margin : Z) (ds : list Z) (c : list jinfo) (a : eshape) (o : eobstacle)
    (hint : option direction) : bool :=
  let (d, len) := obstacle_direction o (match hint with Some h => h | None => guess c a (centre_of o) end) in
  apart (side_top ds d len 0 c a) (obstacle_top d len o) len margin.

(** ** Bodies *)

Record ebody := { e_volume : eshape; e_parts : list (nat * eshape) }.
(** A link_hull that does not meet a volume has no share in the body. Both stand still in the frame of their link. *)
Definition not_met (v h : hull) (hint : option direction) : bool :=
  shapes_apart 0 [] 0 [] [] (eshape_of v) (eshape_of h) hint.
Definition ebody_of (h : hints) (ib : nat * body) : ebody :=
  let (i, b) := ib in
  let met := filter (fun jh => negb (not_met (volume b) (snd jh) (apart_hint h i (fst jh)))) (hulls b) in
  {| e_volume := eshape_of (volume b);
     e_parts := match met with
       | [] => [(0%nat, eshape_of (volume b))]
       | _ => map (fun jh => (fst jh, eshape_of (snd jh))) met
       end |}.
Definition parts (whole : bool) (b : ebody) := if whole then [(0%nat, e_volume b)] else e_parts b.

(** ** Stretches *)

Fixpoint common_length (a b : list nat) : nat :=
  match a, b with x :: a', y :: b' => if Nat.eqb x y then S (common_length a' b') else 0%nat | _, _ => 0%nat end.
Fixpoint covers (at_ : Z) (l : list stretch) (end_ : Z) : bool :=
  match l with
  | [] => false
  | s :: more => (from s <=? at_) && (if end_ <=? till s then true else covers (till s) more end_)
  end.
(** One query at the given sample; where it does not suffice, at the middles of both halves, and so on. *)
Fixpoint certify (fuel : nat) (query : Z -> Z -> sample -> bool) (place_at : Z -> sample) (l h : Z) (s : sample) : bool :=
  if query l h s then true
  else match fuel with
    | O => false
    | S less =>
        let m := (l + h) / 2 in
        if certify less query place_at l m (place_at ((l + m) / 2))
        then certify less query place_at m h (place_at ((m + h) / 2)) else false
    end.

Section Check.
Variable p : problem.
Variable h : hints.
Let els := map elink_of (links p).
Let brows := map (map of_dyadic) (rows p).
Let place_at := sample_at els brows.
Let samples := map place_at (instants h).
Let chain_numbers := map (map fst) (chains p).
Let spread_over := deltas brows (uncertainty p).
Let end_ := Z.of_nat (length (rows p) - 1) * one.

Definition pair_look (s : stretch) (la lb : nat) (a b : ebody) (l r : Z) (smp : sample) : bool :=
  let ds := spread_over l r (s_q smp) in
  let n := common_length (nth la chain_numbers []) (nth lb chain_numbers []) in
  let whole := negb (by_hulls s) in
  forallb (fun ia => forallb (fun ib =>
    shapes_apart (up (of_dyadic (self_margin p))) ds n (nth la (s_chains smp) []) (nth lb (s_chains smp) [])
      (snd ia) (snd ib) (toward s (fst ia) (fst ib))) (parts whole b)) (parts whole a).
Definition world_look (s : stretch) (la : nat) (a : ebody) (o : eobstacle) (l r : Z) (smp : sample) : bool :=
  let ds := spread_over l r (s_q smp) in
  forallb (fun ia => obstacle_apart (up (of_dyadic (world_margin p))) ds (nth la (s_chains smp) [])
    (snd ia) o (toward s (fst ia) 0%nat)) (parts (negb (by_hulls s)) a).
Definition depth : nat := 6.
Definition stretches_ok (query : stretch -> Z -> Z -> sample -> bool) (l : list stretch) : bool :=
  covers 0 l end_ &&
  forallb (fun s => match nth_error samples (instant s) with
    | None => false
    | Some smp => certify depth (query s) place_at (from s) (till s) smp
    end) l.

Definition same_list (a b : list nat) : bool := if list_eq_dec Nat.eq_dec a b then true else false.
Definition numbers {A} (l : list A) : list (nat * A) := combine (seq 0 (length l)) l.
Let ebodies := map (fun ib => (ib, ebody_of h ib)) (numbers (bodies p)).
Let eobstacles := numbers (map eobstacle_of (surroundings p)).
Definition link_of (x : (nat * body) * ebody) : nat := of_link (volume (snd (fst x))).

Definition pair_ok (x y : (nat * body) * ebody) : bool :=
  if (fst (fst x) <? fst (fst y))%nat then
    if same_list (movers p (link_of x)) (movers p (link_of y)) then true
    else if may_touch p (snd (fst x)) (snd (fst y)) then true
    else stretches_ok (fun s => pair_look s (link_of x) (link_of y) (snd x) (snd y))
           (pair_hints h (fst (fst x)) (fst (fst y)))
  else true.
Definition world_ok (x : (nat * body) * ebody) : bool :=
  if same_list (movers p (link_of x)) [] then true
  else forallb (fun no => stretches_ok (fun s => world_look s (link_of x) (snd x) (snd no))
           (world_hints h (fst (fst x)) (fst no))) eobstacles.

Definition check : bool :=
  forallb (fun r => Nat.eqb (length r) (length (uncertainty p))) (rows p) &&
  (2 <=? length (rows p))%nat &&
  forallb axis_ok (links p) &&
  forallb obstacle_ok (surroundings p) &&
  forallb (fun x => forallb (fun y => pair_ok x y) ebodies) ebodies &&
  forallb world_ok ebodies.
End Check.
