(* SPDX-License-Identifier: Apache-2.0 *)
(* lastgate-verified-checker FILE: exit 0 when the verified checker accepts the certificate, 1 when it does not, 2 when the
   file cannot be read. Digests are not looked at here: `lastgate certificate verify` does that first. *)

let read path =
  let channel = open_in_bin path in
  Fun.protect ~finally:(fun () -> close_in channel) (fun () -> really_input_string channel (in_channel_length channel))

let counted n what = Printf.sprintf "%d %s%s" n what (if n = 1 then "" else "s")

let describe (p : Checker.problem) =
  let n = List.length in
  String.concat ", "
    [ counted (n p.rows - 1) "step"; counted (n p.volumes) "volume"; counted (n p.link_hulls) "piece";
      counted (n p.held) "attached shape"; counted (n p.zones) "zone"; counted (n p.obstacles) "obstacle"; counted (n p.points) "point" ]

let verify text =
  let content = Json.parse text in
  let problem = Certificate.problem_of content in
  let hints = Certificate.hints_of content problem in
  if Checker.check problem hints then (Printf.printf "proved clear: %s\n" (describe problem); 0)
  else (prerr_endline "refused: the checker cannot show that every pair keeps its margin"; 1)

let () =
  let code =
    match Sys.argv with
    | [| _; path |] -> (
        match read path with
        | exception Sys_error why -> prerr_endline ("error: " ^ why); 2
        | text -> (
            try verify text with
            | Json.Refused why -> prerr_endline ("refused: " ^ why); 1
            | Stack_overflow | Out_of_memory -> prerr_endline "refused: it cannot be worked out"; 1
            | Failure why | Invalid_argument why -> prerr_endline ("refused: it cannot be worked out: " ^ why); 1
            | Division_by_zero -> prerr_endline "refused: it cannot be worked out"; 1))
    | _ -> prerr_endline "usage: lastgate-verified-checker FILE"; 2
  in
  exit code
