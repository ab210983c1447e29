// SPDX-License-Identifier: BSD-3-Clause
// Large two's-complement integers in 64-bit words, little end first: what exact_sum.hpp's sums are made of.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

namespace kopse::fixed_point {

using word = std::uint64_t;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
using wide = unsigned __int128;
#pragma GCC diagnostic pop

/// x = ±mantissa · 2^exponent, exactly. 0 has mantissa 0.
struct parts {
  word mantissa;
  int exponent;
  bool negative;
};

inline parts split(double x) {
  word const bits = std::bit_cast<word>(x);
  word const fraction = bits & ((word{1} << 52) - 1);
  int const biased = static_cast<int>(bits >> 52) & 0x7ff;
  bool const negative = (bits >> 63) != 0;
  if (biased == 0) return {fraction, -1074, negative};
  return {fraction | (word{1} << 52), biased - 1075, negative};
}

inline int bit_length(word v) { return 64 - std::countl_zero(v); }

inline int bit_length(wide v) {
  word const high = static_cast<word>(v >> 64);
  return high != 0 ? 64 + bit_length(high) : bit_length(static_cast<word>(v));
}

inline int bit_length(std::span<word const> v) {
  for (std::size_t i = v.size(); i-- > 0;)
    if (v[i] != 0) return static_cast<int>(64 * i) + bit_length(v[i]);
  return 0;
}

/// a += b << (64 · from), or -=; b is not longer than a.
inline void add(std::span<word> a, std::span<word const> b, bool subtract, std::size_t from = 0) {
  word carry = subtract ? 1 : 0; // a - b = a + ~b + 1
  for (std::size_t i = from; i < a.size(); ++i) {
    word const low = i - from < b.size() ? b[i - from] : 0;
    wide const sum = static_cast<wide>(a[i]) + (subtract ? ~low : low) + carry;
    a[i] = static_cast<word>(sum);
    carry = static_cast<word>(sum >> 64);
    if (i - from >= b.size() && carry == (subtract ? word{1} : word{0})) return; // nothing left to carry
  }
}

/// a += ±(magnitude << shift); a negative shift drops bits that are 0.
inline void add_shifted(std::span<word> a, wide magnitude, int shift, bool subtract) {
  if (shift < 0) {
    magnitude >>= -shift;
    shift = 0;
  }
  int const bits = shift % 64;
  word const piece[3] = {static_cast<word>(magnitude << bits), static_cast<word>((magnitude << bits) >> 64),
                         bits == 0 ? 0 : static_cast<word>(magnitude >> (128 - bits))};
  std::size_t const from = static_cast<std::size_t>(shift / 64);
  if (from >= a.size()) return; // a number that was not there when a was laid out: not ours to write
  std::size_t const length = std::min<std::size_t>(3, a.size() - from);
  add(a, {piece, length}, subtract, from);
}

/// Negates in place if negative; says whether it was.
inline bool make_positive(std::span<word> a) {
  if (a.back() >> 63 == 0) return false;
  word carry = 1;
  for (word& w : a) {
    w = ~w + carry;
    carry = carry != 0 && w == 0 ? 1 : 0;
  }
  return true;
}

/// a <<= bits; what is shifted out at the top must be 0.
inline void shift_left(std::span<word> a, int bits) {
  std::size_t const words = static_cast<std::size_t>(bits / 64);
  int const rest = bits % 64;
  for (std::size_t i = a.size(); i-- > 0;) {
    word const high = i >= words ? a[i - words] : 0;
    word const low = i > words ? a[i - words - 1] : 0;
    a[i] = rest == 0 ? high : (high << rest) | (low >> (64 - rest));
  }
}

/// ±(q + something in (0, 1) if sticky) · 2^exponent, rounded once to nearest, ties to even. With sticky, q
/// >= 2^55.
inline double round(wide q, bool sticky, int exponent, bool negative) {
  if (q == 0) return 0;
  int const length = bit_length(q);
  int const keep = std::min(53, length + exponent + 1074); // fewer bits remain where the result is subnormal
  int const drop = length - keep;
  double magnitude;
  if (drop <= 0) {
    magnitude = std::ldexp(static_cast<double>(static_cast<word>(q)), exponent);
  } else if (keep < 0) {
    magnitude = 0;
  } else {
    wide const one = 1;
    wide kept = drop < 128 ? q >> drop : 0;
    wide const rest = drop < 128 ? q & ((one << drop) - 1) : q;
    wide const half = one << (drop - 1);
    if (rest > half || (rest == half && (sticky || (kept & 1) != 0))) ++kept;
    magnitude = std::ldexp(static_cast<double>(static_cast<word>(kept)), exponent + drop);
  }
  return negative ? -magnitude : magnitude;
}

/// A signed integer times 2^exponent as a double.
inline double to_double(std::vector<word> a, int exponent) {
  bool const negative = make_positive(a);
  int const length = bit_length(a);
  int const low = std::max(0, length - 128); // the lowest of the top 128 bits
  std::size_t const first = static_cast<std::size_t>(low / 64);
  int const rest = low % 64;
  wide q = 0;
  for (std::size_t i = 0; i < 3 && first + i < a.size(); ++i) {
    wide const w = a[first + i];
    int const place = static_cast<int>(64 * i) - rest;
    if (place < 0)
      q |= w >> -place;
    else if (place < 128)
      q |= w << place;
  }
  bool sticky = false;
  for (std::size_t i = 0; i < first; ++i) sticky = sticky || a[i] != 0;
  if (rest != 0) sticky = sticky || (a[first] & ((word{1} << rest) - 1)) != 0;
  return round(q, sticky, exponent + low, negative);
}

/// a / b · 2^exponent, rounded once, for any lengths; b > 0. Long division, 64 quotient bits.
inline double divide(std::vector<word> a, std::vector<word> b, int exponent) {
  bool const negative = make_positive(a);
  int const length_a = bit_length(a), length_b = bit_length(b);
  if (length_a == 0) return 0;
  std::size_t const size = static_cast<std::size_t>(std::max(length_a, length_b)) / 64 + 2;
  a.resize(size), b.resize(size); // drops only words that are 0
  int const ahead = length_a - length_b;
  if (ahead > 0) shift_left(b, ahead);
  if (ahead < 0) shift_left(a, -ahead);
  wide q = 0;
  for (int bit = 0; bit < 66; ++bit) {
    q <<= 1;
    if (!std::lexicographical_compare(a.rbegin(), a.rend(), b.rbegin(), b.rend())) { // a >= b
      add(a, b, true);
      q |= 1;
    }
    shift_left(a, 1);
  }
  return round(q, bit_length(a) != 0, exponent + ahead - 65, negative);
}

} // namespace kopse::fixed_point
