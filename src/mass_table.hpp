// SPDX-License-Identifier: BSD-3-Clause
// Draws rows with probability in proportion to masses that change: what D² sampling stands on.
//
// Masses are doubles >= 0, their sums integers in fixed point (as in exact_sum.hpp), so a sum is the same
// whatever was added and taken away before, and partitions agree. A draw is a number below the total, taken
// along the rows in their order: it is always on a row of mass > 0, and there is no rounded total to draw
// past (a row of mass 0, or none at all, is what a draw against rounded sums ends on, sooner or later).
//
// Sums are kept of blocks of rows, and of blocks of these: change() adds to two of them, draw() looks at
// n / 2^14 + 2^7 + 2^7 numbers. The masses themselves are kept elsewhere. Memory: a fraction of a byte a row.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "fixed_point.hpp"
#include "kopse/exact_sum.hpp"
#include "kopse/point_set.hpp"

namespace kopse {

/// Where the bits of masses lie: they are multiples of 2^unit, and sums of all are below 2^(unit + 64·words).
struct mass_layout {
  int unit = 0;
  std::size_t words = 2;

  mass_layout() = default;
  mass_layout(bit_range const& masses, index rows);
  bool operator==(mass_layout const&) const = default;
};

/// The bits that w·d² may have between points whose coordinates lie in these ranges, one a column.
bit_range range_of_squares(std::span<bit_range const> columns, bit_range const& weights);

/// A sum of masses.
using mass_sum = std::vector<fixed_point::word>;

/// Of a · 2^-64 · u: the whole number below, so less than a where a > 0.
mass_sum share(mass_sum const& a, std::uint64_t u);
/// a < b, both >= 0 and of one layout.
bool less(std::span<fixed_point::word const> a, std::span<fixed_point::word const> b);
bool is_zero(mass_sum const& a);
/// a += mass, or -=.
inline void add_mass(std::span<fixed_point::word> a, double mass, int unit, bool subtract) {
  fixed_point::parts const p = fixed_point::split(mass);
  if (p.mantissa != 0) fixed_point::add_shifted(a, p.mantissa, p.exponent - unit, subtract);
}

class mass_table {
public:
  /// All masses are 0 at first.
  mass_table(mass_layout layout, index rows);

  mass_layout const& layout() const { return layout_; }
  index rows() const { return rows_; }
  /// The mass of a row was `before` and is `now`.
  void change(index row, double before, double now) {
    std::array<word, most_words> difference; // on the stack: this is called for each row and lowering
    std::span<word> const d{difference.data(), layout_.words};
    std::fill(d.begin(), d.end(), word{0});
    add_mass(d, now, layout_.unit, false);
    add_mass(d, before, layout_.unit, true);
    fixed_point::add(cell(blocks_, row >> block_bits), d, false);
    fixed_point::add(cell(large_blocks_, row >> large_bits), d, false);
  }
  mass_sum total() const;

  /// The row on which `target` lies: the first with the sum of the masses up to it, its own included, above
  /// target; 0 <= target < total(). mass_of(row) is the mass of a row.
  template <class MassOf> index find(mass_sum target, MassOf const& mass_of) const {
    index row = enter_blocks(target);
    mass_sum mass(layout_.words);
    for (;; ++row) {
      std::fill(mass.begin(), mass.end(), word{0});
      add_mass(mass, mass_of(row), layout_.unit, false);
      if (less(target, mass)) return row;
      fixed_point::add(target, mass, true);
    }
  }

private:
  static constexpr int block_bits = 7, large_bits = 14;
  static constexpr std::size_t most_words = 36; // every double, and 2^62 of them
  using word = fixed_point::word;

  std::span<word> cell(std::vector<word>& sums, index i) {
    return {sums.data() + static_cast<std::size_t>(i) * layout_.words, layout_.words};
  }
  // The first row of the block on which `target` lies, which is lessened by all before it.
  index enter_blocks(mass_sum& target) const;
  // The same for cells [first, last).
  index enter(std::vector<word> const& sums, index first, index last, mass_sum& target) const;

  mass_layout layout_;
  index rows_;
  std::vector<word> blocks_, large_blocks_; // sums, `words` each
};

} // namespace kopse
