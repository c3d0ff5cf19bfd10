(* SPDX-License-Identifier: Apache-2.0 *)
(* A reader of JSON. Part of what has to be believed, so it is short and takes nothing that JSON does not have: no NaN, no
   comments, no key twice, nothing after the value. *)

type t = Null | Bool of bool | Number of string | String of string | List of t list | Object of (string * t) list

exception Refused of string

let refuse why = raise (Refused why)

type reader = { text : string; mutable at : int }

let peek r = if r.at < String.length r.text then r.text.[r.at] else '\000'

let next r =
  if r.at >= String.length r.text then refuse "the text ends too early";
  let c = r.text.[r.at] in
  r.at <- r.at + 1;
  c

let rec skip r = match peek r with ' ' | '\t' | '\n' | '\r' -> r.at <- r.at + 1; skip r | _ -> ()
let expect r c = if next r <> c then refuse (Printf.sprintf "`%c` is missing at %d" c r.at)
let word r text value = String.iter (expect r) text; value

let add_code buffer code =
  if code >= 0xD800 && code <= 0xDFFF then refuse "a surrogate in a text"
  else Buffer.add_utf_8_uchar buffer (Uchar.of_int code)

let string r =
  expect r '"';
  let buffer = Buffer.create 64 in
  let rec go () =
    match next r with
    | '"' -> Buffer.contents buffer
    | '\\' ->
        (match next r with
        | ('"' | '\\' | '/') as c -> Buffer.add_char buffer c
        | 'n' -> Buffer.add_char buffer '\n'
        | 't' -> Buffer.add_char buffer '\t'
        | 'r' -> Buffer.add_char buffer '\r'
        | 'b' -> Buffer.add_char buffer '\b'
        | 'f' -> Buffer.add_char buffer '\012'
        | 'u' ->
            let digits = String.init 4 (fun _ -> next r) in
            let is_hex = function '0' .. '9' | 'a' .. 'f' | 'A' .. 'F' -> true | _ -> false in
            if not (String.for_all is_hex digits) then refuse "a bad escape in a text";
            add_code buffer (int_of_string ("0x" ^ digits))
        | _ -> refuse "a bad escape in a text");
        go ()
    | c when Char.code c < 32 -> refuse "a control character in a text"
    | c -> Buffer.add_char buffer c; go ()
  in
  go ()

let number r =
  let start = r.at in
  let digits () =
    let from = r.at in
    while (match peek r with '0' .. '9' -> true | _ -> false) do r.at <- r.at + 1 done;
    if r.at = from then refuse (Printf.sprintf "a number is unreadable at %d" r.at)
  in
  if peek r = '-' then r.at <- r.at + 1;
  if peek r = '0' then r.at <- r.at + 1 else digits ();
  if peek r = '.' then (r.at <- r.at + 1; digits ());
  (match peek r with
  | 'e' | 'E' ->
      r.at <- r.at + 1;
      (match peek r with '+' | '-' -> r.at <- r.at + 1 | _ -> ());
      digits ()
  | _ -> ());
  String.sub r.text start (r.at - start)

let rec value r depth =
  if depth > 32 then refuse "nested too deep";
  skip r;
  let found =
    match peek r with
    | '{' -> r.at <- r.at + 1; Object (members r depth)
    | '[' -> r.at <- r.at + 1; List (items r depth)
    | '"' -> String (string r)
    | 't' -> word r "true" (Bool true)
    | 'f' -> word r "false" (Bool false)
    | 'n' -> word r "null" Null
    | _ -> Number (number r)
  in
  skip r;
  found

and items r depth =
  skip r;
  if peek r = ']' then (r.at <- r.at + 1; [])
  else
    let rec go found =
      let found = value r (depth + 1) :: found in
      match next r with ',' -> go found | ']' -> List.rev found | _ -> refuse "a list does not end"
    in
    go []

and members r depth =
  skip r;
  if peek r = '}' then (r.at <- r.at + 1; [])
  else
    let seen = Hashtbl.create 16 in
    let rec go found =
      skip r;
      let key = string r in
      if Hashtbl.mem seen key then refuse (Printf.sprintf "the key `%s` is written twice" key);
      Hashtbl.add seen key ();
      skip r;
      expect r ':';
      let found = (key, value r (depth + 1)) :: found in
      match next r with ',' -> go found | '}' -> List.rev found | _ -> refuse "an object does not end"
    in
    go []

let parse text =
  let r = { text; at = 0 } in
  let found = value r 0 in
  if r.at <> String.length text then refuse "something follows the value";
  found
