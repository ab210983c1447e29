// SPDX-License-Identifier: BSD-3-Clause
#include "mass_table.hpp"

#include <algorithm>

namespace kopse {

using fixed_point::parts;
using fixed_point::wide;
using fixed_point::word;

namespace {
constexpr int smallest = -1074; // every double is a multiple of 2^smallest
} // namespace

mass_layout::mass_layout(bit_range const& masses, index rows) {
  if (masses.empty()) return;
  unit = std::max(smallest, masses.lowest);
  int const carry_bits = fixed_point::bit_length(static_cast<word>(rows)) + 1; // of the count, and a sign
  words = std::max<std::size_t>(
      2, static_cast<std::size_t>(std::max(1, masses.highest - unit + carry_bits) + 63) / 64);
}

// Differences of multiples of 2^a are such, and squares of these multiples of 2^2a; rounding takes away low
// bits only, but makes no multiple of 2^smallest anything else. A difference is less than 2^(b + 1), so its
// square at most 2^(2b + 2), rounded up as it may be; d of them add up, w multiplies.
bit_range range_of_squares(std::span<bit_range const> columns, bit_range const& weights) {
  bit_range all;
  for (bit_range const& column : columns) all += column;
  if (all.empty() || weights.empty()) return {};
  int const count_bits = fixed_point::bit_length(static_cast<word>(columns.size()));
  return {2 * all.lowest + weights.lowest, 2 * all.highest + 3 + count_bits + weights.highest};
}

mass_sum share(mass_sum const& a, std::uint64_t u) {
  mass_sum result(a.size());
  word carry = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    wide const product = static_cast<wide>(a[i]) * u + carry;
    if (i > 0) result[i - 1] = static_cast<word>(product);
    carry = static_cast<word>(product >> 64);
  }
  result.back() = carry; // the lowest word of the product is dropped: it is less than one unit
  return result;
}

bool less(std::span<word const> a, std::span<word const> b) {
  for (std::size_t i = a.size(); i-- > 0;)
    if (a[i] != b[i]) return a[i] < b[i];
  return false;
}

bool is_zero(mass_sum const& a) {
  return std::all_of(a.begin(), a.end(), [](word w) { return w == 0; });
}

mass_table::mass_table(mass_layout layout, index rows)
    : layout_(layout), rows_(rows),
      blocks_(static_cast<std::size_t>((rows >> block_bits) + 1) * layout.words),
      large_blocks_(static_cast<std::size_t>((rows >> large_bits) + 1) * layout.words) {}

mass_sum mass_table::total() const {
  mass_sum sum(layout_.words);
  for (std::size_t i = 0; i < large_blocks_.size(); i += layout_.words)
    fixed_point::add(sum, {large_blocks_.data() + i, layout_.words}, false);
  return sum;
}

index mass_table::enter(std::vector<word> const& sums, index first, index last, mass_sum& target) const {
  for (index i = first;; ++i) {
    std::span<word const> const sum{sums.data() + static_cast<std::size_t>(i) * layout_.words, layout_.words};
    if (i + 1 >= last || less(target, sum)) return i;
    fixed_point::add(target, sum, true);
  }
}

index mass_table::enter_blocks(mass_sum& target) const {
  index const large = enter(large_blocks_, 0, (rows_ >> large_bits) + 1, target);
  constexpr int between = large_bits - block_bits;
  return enter(blocks_, large << between, std::min((large + 1) << between, (rows_ >> block_bits) + 1), target)
         << block_bits;
}

} // namespace kopse
