// RUN: attndsl opt %s --passes 'split-reduction{splits=4 rows=8 keys=16}'
// A kernel that runs when something holds is cut where both do; one that runs unless it does stays.

spec.tensor @s "input" "f32" ["B", "M", "N"]
spec.tensor @o "output" "f32" ["B", "M"]

// CHECK:       attn.kernel @few_split when "M < 3 and (B * ((M + 7) // 8) < 4 and N >= 16)" {
// CHECK:       attn.kernel @few_merge when "M < 3 and (B * ((M + 7) // 8) < 4 and N >= 16)" {
// CHECK:       attn.kernel @few when "M < 3" unless "B * ((M + 7) // 8) < 4 and N >= 16" {
attn.kernel @few when "M < 3" {
  %B = spec.dim "B"
  %M = spec.dim "M"
  %N = spec.dim "N"
  %b = attn.grid "b" to %B
  %i = attn.row "i" to %M
  %j = attn.over "j" to %N
  %x = attn.read @s[%b, %i, %j] : f32
  %t = attn.total %x over %j : f32
  attn.write @o[%b, %i] = %t : f32
}

// CHECK:       attn.kernel @many unless "M < 3" {
// CHECK-NOT:   attn.kernel
attn.kernel @many unless "M < 3" {
  %B = spec.dim "B"
  %M = spec.dim "M"
  %N = spec.dim "N"
  %b = attn.grid "b" to %B
  %i = attn.row "i" to %M
  %j = attn.over "j" to %N
  %x = attn.read @s[%b, %i, %j] : f32
  %t = attn.total %x over %j : f32
  attn.write @o[%b, %i] = %t : f32
}
