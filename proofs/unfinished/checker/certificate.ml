(* SPDX-License-Identifier: Apache-2.0 *)
(* Turns a certificate into the problem and the hints of the verified checker. The problem is believed as it is read here;
   hints need not be: whatever they say, the checker accepts only what is clear. *)

open Checker
open Json

let format = "lastgate-certificate 2"

let field key = function
  | Object members -> (
      match List.assoc_opt key members with Some found -> found | None -> refuse (Printf.sprintf "`%s` is missing" key))
  | _ -> refuse (Printf.sprintf "`%s` is missing" key)

let list name = function List found -> found | _ -> refuse (Printf.sprintf "`%s` is no list" name)

let float_of name = function
  | Number text ->
      let found = float_of_string text in
      if Float.is_finite found then found else refuse (Printf.sprintf "`%s` holds a number that is too large" name)
  | _ -> refuse (Printf.sprintf "`%s` is no number" name)

let int_of name json =
  let found = float_of name json in
  if Float.is_integer found && Float.abs found <= 1e6 then int_of_float found
  else refuse (Printf.sprintf "`%s` is no whole number" name)

let floats name json = List.map (float_of name) (list name json)
let ints name json = List.map (int_of name) (list name json)

(* The exact value of a double: a whole number times a power of two. *)
let dyadic x =
  let share, power = Float.frexp x in
  { mantissa = Big_int_Z.big_int_of_int64 (Int64.of_float (Float.ldexp share 53));
    exponent = Big_int_Z.big_int_of_int (if x = 0.0 then 0 else power - 53) }

let rec nat n = if n <= 0 then O else S (nat (n - 1))
let index name below n = if 0 <= n && n < below then nat n else refuse (Printf.sprintf "`%s` is out of range" name)
let rec int_of_nat = function O -> 0 | S n -> 1 + int_of_nat n
let at_least low name x = if x >= low then x else refuse (Printf.sprintf "`%s` is too small" name)

let rec rows columns name = function
  | [] -> []
  | values ->
      let rec take n rest =
        if n = 0 then ([], rest)
        else match rest with [] -> refuse (Printf.sprintf "`%s` is not rows of %d" name columns)
          | x :: more -> let row, rest = take (n - 1) more in (x :: row, rest)
      in
      let row, rest = take columns values in
      row :: rows columns name rest

let vec = function [ x; y; z ] -> { dx = dyadic x; dy = dyadic y; dz = dyadic z } | _ -> refuse "three numbers are needed"
let vecs name values = List.map vec (rows 3 name values)

let same_length name n found = if List.length found = n then found else refuse (Printf.sprintf "`%s` is of another length" name)

(* ---- Model ---- *)

let model_of text =
  let text = if String.length text > 0 && text.[String.length text - 1] = '\n' then String.sub text 0 (String.length text - 1) else text in
  let line one =
    let rec find i = if i + 1 >= String.length one then refuse "the model is not one `key: value` per line"
      else if one.[i] = ':' && one.[i + 1] = ' ' then i else find (i + 1) in
    let i = find 0 in
    (String.sub one 0 i, parse (String.sub one (i + 2) (String.length one - i - 2)))
  in
  let found = List.map line (String.split_on_char '\n' text) in
  let keys = List.map fst found in
  if List.length (List.sort_uniq compare keys) <> List.length keys then refuse "the model has a key twice";
  Object found

let kind_of = function 0 -> Fixed | 1 -> Revolute | 2 -> Prismatic | _ -> refuse "a joint is of an unknown kind"

let links_of model dofs =
  let get columns key = rows columns key (floats key (field key model)) in
  let parents = ints "link_parent" (field "link_parent" model) in
  let count = List.length parents in
  let table name values = Array.of_list (same_length name count values) in
  let kinds = table "joint_kind" (ints "joint_kind" (field "joint_kind" model)) in
  let joints = table "joint_dof" (ints "joint_dof" (field "joint_dof" model)) in
  let gains = table "joint_multiplier" (floats "joint_multiplier" (field "joint_multiplier" model)) in
  let offsets = table "joint_offset" (floats "joint_offset" (field "joint_offset" model)) in
  let origins = table "joint_origin_xyzrpy" (get 6 "joint_origin_xyzrpy") in
  let axes = table "joint_axis" (get 3 "joint_axis") in
  List.mapi
    (fun i parent ->
      if i = 0 && (parent <> -1 || kinds.(0) <> 0) then refuse "the first link is no base";
      if i > 0 && not (0 <= parent && parent < i) then refuse "a link stands before its parent";
      let kind = kind_of kinds.(i) in
      let xyz, rpy = match origins.(i) with [ x; y; z; r; p; w ] -> ([ x; y; z ], [ r; p; w ]) | _ -> assert false in
      { parent = nat (max parent 0); kind; dof = (if kind = Fixed then O else index "joint_dof" dofs joints.(i));
        multiplier = dyadic gains.(i); offset = dyadic offsets.(i);
        origin_xyz = vec xyz; origin_rpy = vec rpy; axis = vec axes.(i) })
    parents

let volumes_of model count =
  let on = ints "volume_link" (field "volume_link" model) in
  let number = List.length on in
  let ends = same_length "volume_ends_m" number (rows 6 "volume_ends_m" (floats "volume_ends_m" (field "volume_ends_m" model))) in
  let radii = same_length "volume_radius_m" number (floats "volume_radius_m" (field "volume_radius_m" model)) in
  List.map2
    (fun link (ends, radius) ->
      { of_link = index "volume_link" count link; vertices = vecs "volume_ends_m" ends;
        radius = dyadic (at_least 0.0 "volume_radius_m" radius) })
    on (List.combine ends radii)

let link_hulls_of model count =
  match model with
  | Object members when not (List.mem_assoc "piece_link" members) -> []
  | _ ->
      let on = ints "piece_link" (field "piece_link" model) in
      let number = List.length on in
      let radii = same_length "piece_radius_m" number (floats "piece_radius_m" (field "piece_radius_m" model)) in
      let counts = same_length "piece_corner_count" number (ints "piece_corner_count" (field "piece_corner_count" model)) in
      let vertices = Array.of_list (vecs "piece_corners_m" (floats "piece_corners_m" (field "piece_corners_m" model))) in
      let first = ref 0 in
      let found =
        List.map2
          (fun link (radius, n) ->
            if n < 1 || !first + n > Array.length vertices then refuse "the vertices of the link_hulls do not add up";
            let own = Array.to_list (Array.sub vertices !first n) in
            first := !first + n;
            { of_link = index "piece_link" count link; vertices = own; radius = dyadic (at_least 0.0 "piece_radius_m" radius) })
          on (List.combine radii counts)
      in
      if !first <> Array.length vertices then refuse "the vertices of the link_hulls do not add up";
      found

let obstacle_of kind size pose =
  let d = dyadic in
  let positive = at_least 0.0 "the size of an obstacle" in
  match (size, pose) with
  | [ a; b; c ], [ x; y; z; i; j; k; w ] ->
      let shape =
        match kind with
        | 0 -> Sphere (d (positive a))
        | 1 -> Capsule (d (positive a), d (positive b))
        | 2 -> Box (vec [ positive a; positive b; positive c ])
        | 3 -> HalfSpace
        | _ -> refuse "an obstacle is of an unknown kind"
      in
      { shape; centre = vec [ x; y; z ]; qx = d i; qy = d j; qz = d k; qw = d w }
  | _ -> refuse "an obstacle is not described whole"

let obstacles_of kinds sizes poses =
  if List.length kinds <> List.length sizes || List.length kinds <> List.length poses then
    refuse "the obstacles do not have one size and one pose each";
  List.map2 (fun kind (size, pose) -> obstacle_of kind size pose) kinds (List.combine sizes poses)

let held_of content count =
  let column key = list key (field key content) in
  let numbers = column "object" in
  let same key = same_length key (List.length numbers) (column key) in
  let ends = same "ends_m" and radii = same "radius_m" and on = same "link" and touch = same "touch_links" in
  List.mapi
    (fun i number ->
      let shape =
        { of_link = index "held" count (int_of "held" (List.nth on i));
          vertices = vecs "held" (floats "held" (List.nth ends i));
          radius = dyadic (at_least 0.0 "held" (float_of "held" (List.nth radii i))) }
      in
      { number = index "held" 1000000 (int_of "held" number); attached_shape = shape;
        touch_links = List.map (index "touch_links" count) (ints "touch_links" (List.nth touch i)) })
    numbers

(* ---- Problem ---- *)

let rec pairs = function a :: b :: more -> (a, b) :: pairs more | [] -> [] | _ -> refuse "allowed_link_pairs is not pairs"

let still name values = if List.exists (fun x -> x <> 0.0) values then refuse (name ^ ": the base moves, which is not proved")

let rec split n = function
  | rest when n = 0 -> ([], rest)
  | x :: more -> let a, b = split (n - 1) more in (x :: a, b)
  | [] -> refuse "a row is too short"

let problem_of content =
  if field "format" content <> String format then refuse (Printf.sprintf "not a file of `%s`" format);
  let model = model_of (match field "model" content with String text -> text | _ -> refuse "the model is no text") in
  if field "schema_version" model <> Number "1" then refuse "the model is of another version";
  let dofs = List.length (floats "position_min" (field "position_min" model)) in
  let base = match field "mobile_base" model with Bool true -> 3 | Bool false -> 0 | _ -> refuse "`mobile_base` is missing" in
  let columns name row =
    let joints, rest = split dofs row in
    still name (same_length name base rest);
    List.map dyadic joints
  in
  let links = links_of model dofs in
  let count = List.length links in
  let world = field "world" content in
  let numbers name columns = List.map (fun row -> same_length name columns (floats name row)) in
  let zone key columns = rows columns key (floats key (field key model)) in
  let margin key = dyadic (at_least 0.0 key (float_of key (field key model))) in
  { links; volumes = volumes_of model count; link_hulls = link_hulls_of model count;
    allowed_pairs = List.map (fun (a, b) -> (index "allowed" count a, index "allowed" count b))
      (pairs (ints "allowed_link_pairs" (field "allowed_link_pairs" model)));
    self_margin = margin "self_collision_margin_m"; world_margin = margin "world_collision_margin_m";
    zones = obstacles_of (ints "zone_kind" (field "zone_kind" model)) (zone "zone_size_m" 3) (zone "zone_xyz_quat_xyzw" 7);
    obstacles = obstacles_of (ints "kind" (field "kind" world)) (numbers "size_m" 3 (list "size_m" (field "size_m" world)))
      (numbers "xyz_quat_xyzw" 7 (list "xyz_quat_xyzw" (field "xyz_quat_xyzw" world)));
    points = List.map vec (numbers "points_m" 3 (list "points_m" (field "points_m" world)));
    held = held_of (field "held" content) count;
    rows = List.map (fun row -> columns "path" (floats "path" row)) (list "path" (field "path" content));
    uncertainty = columns "uncertainty" (List.map (at_least 0.0 "uncertainty") (floats "uncertainty" (field "uncertainty" content))) }

(* ---- Hints ---- *)

let scaled x = Big_int_Z.big_int_of_int64 (Int64.of_float (Float.ldexp x 52))
let instant = scaled
let towards (x, y, z) = ((scaled x, scaled y), scaled z)
let negative (x, y, z) = (-.x, -.y, -.z)

type record = { low : float; high : float; at : float; link_hulls_used : bool; first : int; second : int; across : float * float * float }

let hints_of content problem =
  let records = Hashtbl.create 256 and instants = Hashtbl.create 64 and order = ref [] in
  let zones = List.length problem.zones and obstacles = List.length problem.obstacles in
  let remember_instant at =
    if not (Hashtbl.mem instants at) then (Hashtbl.add instants at (Hashtbl.length instants); order := at :: !order) in
  let take row =
    match floats "records" row with
    | [ kind; by; a; b; hull_a; shape_a; hull_b; shape_b; low; high; at; x; y; z; _; _; _ ] ->
        let flag x n = if x = 0.0 then 0 else int_of_float n in
        let kind = int_of_float kind and a = int_of_float a and b = int_of_float b in
        let swap = kind = 0 && a > b in
        let first = flag hull_a shape_a and second = if kind = 3 then int_of_float shape_b else flag hull_b shape_b in
        let across = if swap then negative (x, y, z) else (x, y, z) in
        let first, second = if swap then (second, first) else (first, second) in
        remember_instant at;
        Hashtbl.add records (kind, (if swap then b else a), if swap then a else b)
          { low; high; at; link_hulls_used = by <> 0.0; first; second; across }
    | _ -> refuse "a record has other columns"
  in
  List.iter take (list "records" (field "records" content));
  let stretches key make =
    let own = List.rev (Hashtbl.find_all records key) in
    let groups = List.sort_uniq compare (List.map (fun r -> (r.low, r.high, r.at, r.link_hulls_used)) own) in
    List.map
      (fun (low, high, at, used) ->
        let here = List.filter (fun r -> (r.low, r.high, r.at, r.link_hulls_used) = (low, high, at, used)) own in
        let by_hulls, toward = make used here in
        { from = instant low; till = instant high; instant = nat (Hashtbl.find instants at); by_hulls; toward })
      groups
  in
  let shown used here =
    let table = Hashtbl.create 8 in
    List.iter (fun r -> Hashtbl.replace table (if used then (r.first, r.second) else (0, 0)) (towards r.across)) here;
    (used, fun i j -> Hashtbl.find_opt table (if used then (int_of_nat i, int_of_nat j) else (0, 0)))
  in
  (* Hulls of a link against a cloud: some points by every link_hull, all others by the volume, which then gets no direction. *)
  let shown_point k used here =
    let own = List.filter (fun r -> r.second = k) here in
    if used && own <> [] then
      let table = Hashtbl.create 8 in
      List.iter (fun r -> Hashtbl.replace table r.first (towards r.across)) own;
      (true, fun i _ -> Hashtbl.find_opt table (int_of_nat i))
    else (false, fun _ _ -> None)
  in
  let apart = Hashtbl.create 64 in
  List.iter
    (fun row ->
      match floats "apart" row with
      | [ volume; link_hull; x; y; z ] -> Hashtbl.replace apart (int_of_float volume, int_of_float link_hull) (towards (x, y, z))
      | _ -> refuse "the table `apart` has other columns")
    (list "apart" (field "apart" content));
  let world_hints a k =
    let a = int_of_nat a and k = int_of_nat k in
    if k < zones then stretches (2, a, k) shown
    else if k < zones + obstacles then stretches (1, a, k - zones) shown
    else stretches (3, a, 0) (shown_point (k - zones - obstacles))
  in
  let cached f = let table = Hashtbl.create 64 in
    fun a b -> match Hashtbl.find_opt table (a, b) with Some found -> found
      | None -> let found = f a b in Hashtbl.add table (a, b) found; found in
  { instants = List.rev_map instant !order;
    pair_hints = cached (fun a b -> stretches (0, int_of_nat a, int_of_nat b) shown);
    world_hints;
    apart_hint = (fun v p -> Hashtbl.find_opt apart (int_of_nat v, int_of_nat p)) }
