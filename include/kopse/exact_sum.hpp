// SPDX-License-Identifier: BSD-3-Clause
// Exact sums of doubles.
//
// A sum in fixed point is a large integer: adding is associative and can be undone, so the result depends
// neither on the order of the rows, nor on threads, partitions or what was added and taken away before.
// Two forms:
//   exact_sum    one number of any scale (every finite double fits): inertia, D² sums.
//   exact_sums   a table of sums that share a scale per column, of as few words as the data need: cluster
//   sums.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "kopse/core.hpp"

namespace kopse {

/// The exact sum of up to 2^62 finite doubles. 280 bytes.
class exact_sum {
public:
  void add(double x);
  exact_sum& operator+=(exact_sum const& other);
  /// All words, little end first: an integer, as are those of the other sums here. What another machine hands
  /// over is added by its words.
  std::span<std::uint64_t const> words() const { return words_; }
  void add(std::span<std::uint64_t const> words);
  /// The sum, rounded once to nearest, ties to even. Infinite beyond the range of double.
  double value() const;
  bool operator==(exact_sum const&) const = default;

private:
  friend class exact_variance;
  static constexpr int word_count = 35; // 2098 bits for every double, 62 for carries, a sign
  std::array<std::uint64_t, word_count> words_{};
};

/// Where the bits of a set of numbers lie: all are multiples of 2^lowest and below 2^highest in magnitude.
struct bit_range {
  int lowest = std::numeric_limits<int>::max();
  int highest = std::numeric_limits<int>::min();

  bool empty() const { return lowest > highest; }
  void add(double x);
  bit_range& operator+=(bit_range const& other);
};

/// The scale of a table of sums: column j counts units of 2^unit[j], each sum in `words` 64-bit words.
struct sum_layout {
  std::vector<int> unit;
  int words = 2;

  sum_layout() = default;
  /// For sums over `count` rows of w·x_j (columns in order) and, in a last column, of w.
  sum_layout(std::span<bit_range const> columns, bit_range const& weights, index count);
  index columns() const { return static_cast<index>(unit.size()); }
};

/// rows × columns exact sums of w·x; the last column sums w alone. 8·words·columns bytes a row.
class exact_sums {
public:
  exact_sums() = default;
  exact_sums(sum_layout layout, index rows);

  sum_layout const& layout() const { return layout_; }
  index rows() const { return rows_; }

  /// Adds (sign = 1) or takes away (sign = -1) a point x of weight w: layout().columns() - 1 coordinates.
  template <class Real> void add(index row, Real const* x, double w, int sign);
  /// this[row] += sign · other[other_row], both of the same layout.
  void add(index row, exact_sums const& other, index other_row, int sign);
  /// Adds the words of one row of another of the same layout.
  void add(index row, std::span<std::uint64_t const> words);
  exact_sums& operator+=(exact_sums const& other);
  void set_zero(index row);
  void assign(index row, exact_sums const& other, index other_row);

  bool is_zero(index row) const;
  /// Whether the weight of a row is zero.
  bool weightless(index row) const;
  double weight(index row) const;
  /// mean[j] = Σ w·x_j / Σ w, the exact rational rounded once to nearest, ties to even. The weight must not
  /// be 0.
  void mean(index row, double* mean) const;
  bool operator==(exact_sums const& other) const { return words_ == other.words_; }

  /// All words, row after row.
  std::span<std::uint64_t const> words() const { return words_; }

private:
  std::uint64_t* cell(index row, index column) {
    return words_.data() + (row * layout_.columns() + column) * layout_.words;
  }
  std::uint64_t const* cell(index row, index column) const {
    return words_.data() + (row * layout_.columns() + column) * layout_.words;
  }

  sum_layout layout_;
  index rows_ = 0;
  std::vector<std::uint64_t> words_;
};

extern template void exact_sums::add<float>(index, float const*, double, int);
extern template void exact_sums::add<double>(index, double const*, double, int);

/// The exact population variance of a column, rounded once; built from Σx and Σx².
class exact_variance {
public:
  static constexpr std::size_t word_count = 1 + 35 + 68;

  exact_variance();
  explicit exact_variance(std::span<std::uint64_t const> words); ///< what words() has given
  std::vector<std::uint64_t> words() const;
  void add(double x);
  exact_variance& operator+=(exact_variance const& other);
  double value() const;

private:
  index count_ = 0;
  exact_sum sum_;
  std::vector<std::uint64_t> squares_; // Σx², units of 2^-2148
};

} // namespace kopse
