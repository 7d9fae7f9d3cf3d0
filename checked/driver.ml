(* Reads one call of an extracted definition a line and writes its value. Whole numbers are hexadecimal, a list has
   commas, and "." is the empty list. `table` and `weights` set what later calls use. *)
open Reference

let digit = function '0' .. '9' as c -> Char.code c - 48 | 'a' .. 'f' as c -> Char.code c - 87 | _ -> failwith "digit"
let positive text =
  let result = ref None in
  String.iter (fun c -> for k = 3 downto 0 do
      let one = (digit c lsr k) land 1 = 1 in
      result := (match !result with None -> if one then Some XH else None
                 | Some p -> Some (if one then XI p else XO p)) done) text;
  !result
let z text =
  let negative = text.[0] = '-' in
  match positive (if negative then String.sub text 1 (String.length text - 1) else text) with
  | None -> Z0 | Some p -> if negative then Zneg p else Zpos p
let hexadecimal p =
  let buffer = Buffer.create 32 in
  let rec bits p = match p with XH -> [1] | XO p -> 0 :: bits p | XI p -> 1 :: bits p in
  let rec nibbles = function
    | a :: b :: c :: d :: rest -> (a + 2 * b + 4 * c + 8 * d) :: nibbles rest
    | [] -> [] | short -> [List.fold_right (fun b s -> b + 2 * s) short 0] in
  List.iter (fun n -> Buffer.add_char buffer "0123456789abcdef".[n]) (List.rev (nibbles (bits p)));
  Buffer.contents buffer
let shown = function Z0 -> "0" | Zpos p -> hexadecimal p | Zneg p -> "-" ^ hexadecimal p
let rec nat n = if n = 0 then O else S (nat (n - 1))
let rec number = function O -> 0 | S n -> 1 + number n
let natural text = nat (int_of_string ("0x" ^ text))
let split text = if text = "." then [] else String.split_on_char ',' text
let list text = List.map z (split text)
let joined = function [] -> "." | l -> String.concat "," l
let all l = joined (List.map shown l)
let small n = Printf.sprintf "%x" (number n)

let blocks = ref None
let weights = ref ([], [])
let the_blocks () = match !blocks with Some b -> b | None -> failwith "no table"
let form = function "0" -> Magnitude | "1" -> Signed | _ -> With_coin

let answer = function
  | ["votes"; v] -> let v = list v in [small (plurality v); shown (distance v)]
  | ["high_product"; a; b] -> [shown (high_product (z a) (z b))]
  | ["below"; bound; words] -> [match below_bound (z bound) (list words) with None -> "none" | Some n -> shown n]
  | ["is_below"; known; lows; highs; words] ->
      [match is_below (z known) (List.combine (list lows) (list highs)) (list words) with
       | None -> "none" | Some b -> string_of_bool b]
  | ["exponential_bounds"; n; d; places] -> let low, high = exponential_bounds (z n, z d) (z places) in [shown low; shown high]
  | ["cumulative_bounds"; power; n; d; bits] ->
      let lows, highs = cumulative_bounds (z power) (z n, z d) (z bits) in [all lows; all highs]
  | ["table"; power; n; d] ->
      let b = make_blocks (z power) (z n, z d) in
      blocks := Some b;
      [shown b.bits; all b.lows; all b.highs; all b.keeps; all b.guide; all b.slopes; shown b.curve; shown (words_an_attempt b)]
  | ["block_of"; place] -> let b = the_blocks () in [small (block_of (z place) b.lows b.guide)]
  | ["verdict"; place; span; i; j] ->
      let b = the_blocks () in
      [match verdict (z place) (z span) (natural i) (z j) b.bits b.lows b.highs b.slopes b.curve with
       | Kept -> "1" | Refused -> "0" | Doubt -> "-1"]
  | ["draw"; words; f; room] ->
      let b = the_blocks () in
      let words = list words in
      let (read, drawn), doubt = draw (nat (List.length words)) words b.lows b.highs b.keeps b.guide b.slopes b.curve b.bits
          (words_an_attempt b = z "2") (form f) O (natural room) [] in
      [small read; all (List.rev drawn); string_of_bool doubt]
  | ["sech_squared"; supply; room] ->
      let ((step, candidate), first), drawn = sech_squared (list supply) ((Z0, Z0), z "-1") (natural room) in
      [shown step; shown candidate; shown first; all drawn]
  | ["settled"; words; more] ->
      [match settled (the_blocks ()) (list words) (list more) with
       | None -> "none" | Some None -> "refused" | Some (Some m) -> shown m]
  | ["weights"; w] -> let w = list w in weights := (w, starts_of w); [all (snd !weights)]
  | ["place_of_key"; key] -> [shown (place_of_key (fst !weights) (snd !weights) (z key))]
  | ["cut_at"; place] ->
      let negative, key = cut_at (fst !weights) (snd !weights) (z place) in [string_of_bool negative; shown key]
  | ["unique"; at] -> let l = unique (list at) in [all (List.map fst l); all (List.map snd l)]
  | ["gaps"; values; below; low; high] ->
      let (borders, sizes), utilities = gaps (list values) (list below) (z low) (z high) in [all borders; all sizes; all utilities]
  | ["halved"; at; levels; low; high; gaps; offsets] ->
      [all (halved (list at) (natural levels) (z low) (z high)
              (List.combine (List.map natural (split gaps)) (list offsets)))]
  | _ -> failwith "no such call"

let () =
  try
    while true do
      print_endline (String.concat " " (answer (String.split_on_char ' ' (input_line stdin))))
    done
  with End_of_file -> ()
