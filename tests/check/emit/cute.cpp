/* tma:128, fixed, none and cute:1,2,-3 emitted as CuTe types with the names h0 to h3. */
#include "cute0.hpp"
#include "cute1.hpp"
#include "cute2.hpp"
#include "cute3.hpp"

static_assert(h0_swizzle_1b::apply(128) == 128 + 16 && h0_alignment == 1024, "");
static_assert(h0_swizzle_2b::apply(64) == 64 + 8, "");
static_assert(h0_swizzle_16b::apply(8) == 9, "");
static_assert(h1_swizzle_4b::apply(32) == 33 && h1_alignment == 4096, "");
static_assert(h2_swizzle_8b::apply(12345) == 12345, "");
static_assert(h3_swizzle_1b::apply(4) == 36 && h3_alignment == 64, "");
int main() { return 0; }
