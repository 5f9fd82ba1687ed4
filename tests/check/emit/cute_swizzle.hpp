/* Stands in for CuTe's header of the same type, so that emitted types compile without CuTe. */
#pragma once
namespace cute {
template <int B, int M, int S> struct Swizzle {
  static constexpr int distance = S < 0 ? -S : S;
  static_assert(B >= 0 && M >= 0 && distance >= B && B + M + distance <= 31, "");
  static constexpr unsigned apply(unsigned x) {
    unsigned moved = x & (((1u << B) - 1) << (M + (S > 0 ? S : 0)));
    return x ^ (S > 0 ? moved >> distance : moved << distance);
  }
};
} // namespace cute
