// SPDX-License-Identifier: BSD-3-Clause
#include "kopse/exact_sum.hpp"

#include "fixed_point.hpp"

namespace kopse {

using fixed_point::parts;
using fixed_point::split;
using fixed_point::wide;
using fixed_point::word;

namespace {
constexpr int smallest = -1074; // every double is a multiple of 2^smallest

// w·x exactly: mantissas of 53 bits give at most 106.
struct product {
  wide mantissa;
  int exponent;
  bool negative;
};

product multiply(double w, double x) {
  parts const a = split(w), b = split(x);
  return {static_cast<wide>(a.mantissa) * b.mantissa, a.exponent + b.exponent, a.negative != b.negative};
}

void add_product(std::span<word> cell, product const& p, int unit, bool subtract) {
  if (p.mantissa == 0) return;
  int const shift = p.exponent - unit;
  if (cell.size() == 2) { // nearly all data: one 128-bit addition
    wide const value = shift >= 0 ? p.mantissa << shift : p.mantissa >> -shift;
    wide sum = (static_cast<wide>(cell[1]) << 64) | cell[0];
    sum = p.negative != subtract ? sum - value : sum + value;
    cell[0] = static_cast<word>(sum);
    cell[1] = static_cast<word>(sum >> 64);
  } else {
    fixed_point::add_shifted(cell, p.mantissa, shift, p.negative != subtract);
  }
}

void add_cells(word* a, word const* b, std::size_t words, std::size_t cells, bool subtract) {
  if (words == 2) {
    for (std::size_t i = 0; i < cells; ++i, a += 2, b += 2) {
      wide const x = (static_cast<wide>(a[1]) << 64) | a[0];
      wide const y = (static_cast<wide>(b[1]) << 64) | b[0];
      wide const sum = subtract ? x - y : x + y;
      a[0] = static_cast<word>(sum);
      a[1] = static_cast<word>(sum >> 64);
    }
  } else {
    for (std::size_t i = 0; i < cells; ++i, a += words, b += words)
      fixed_point::add({a, words}, {b, words}, subtract);
  }
}
} // namespace

void exact_sum::add(double x) {
  parts const p = split(x);
  if (p.mantissa != 0) fixed_point::add_shifted(words_, p.mantissa, p.exponent - smallest, p.negative);
}

exact_sum& exact_sum::operator+=(exact_sum const& other) {
  fixed_point::add(words_, other.words_, false);
  return *this;
}

void exact_sum::add(std::span<word const> words) { fixed_point::add(words_, words, false); }

double exact_sum::value() const { return fixed_point::to_double({words_.begin(), words_.end()}, smallest); }

void bit_range::add(double x) {
  parts const p = split(x);
  if (p.mantissa == 0) return;
  lowest = std::min(lowest, p.exponent + std::countr_zero(p.mantissa));
  highest = std::max(highest, p.exponent + fixed_point::bit_length(p.mantissa));
}

bit_range& bit_range::operator+=(bit_range const& other) {
  lowest = std::min(lowest, other.lowest);
  highest = std::max(highest, other.highest);
  return *this;
}

sum_layout::sum_layout(std::span<bit_range const> columns, bit_range const& weights, index count) {
  int const carry_bits = fixed_point::bit_length(static_cast<word>(count)) + 1; // of the count, and a sign
  auto const place = [&](bit_range const& range) {
    unit.push_back(range.empty() ? 0 : range.lowest);
    int const bits = range.empty() ? 0 : range.highest - range.lowest + carry_bits;
    words = std::max(words, (bits + 63) / 64);
  };
  for (bit_range const& column : columns) place(column);
  place(weights);
}

exact_sums::exact_sums(sum_layout layout, index rows)
    : layout_(std::move(layout)), rows_(rows),
      words_(static_cast<std::size_t>(rows * layout_.columns() * layout_.words)) {}

template <class Real> void exact_sums::add(index row, Real const* x, double w, int sign) {
  index const d = layout_.columns() - 1;
  std::size_t const words = static_cast<std::size_t>(layout_.words);
  word* const cells = cell(row, 0);
  for (index j = 0; j <= d; ++j) {
    product const p = j == d    ? product{split(w).mantissa, split(w).exponent, false}
                      : w == 1. ? product{split(x[j]).mantissa, split(x[j]).exponent, split(x[j]).negative}
                                : multiply(w, x[j]);
    add_product({cells + static_cast<std::size_t>(j) * words, words}, p,
                layout_.unit[static_cast<std::size_t>(j)], sign < 0);
  }
}
template void exact_sums::add<float>(index, float const*, double, int);
template void exact_sums::add<double>(index, double const*, double, int);

void exact_sums::add(index row, exact_sums const& other, index other_row, int sign) {
  add_cells(cell(row, 0), other.cell(other_row, 0), static_cast<std::size_t>(layout_.words),
            static_cast<std::size_t>(layout_.columns()), sign < 0);
}

void exact_sums::add(index row, std::span<word const> words) {
  add_cells(cell(row, 0), words.data(), static_cast<std::size_t>(layout_.words),
            static_cast<std::size_t>(layout_.columns()), false);
}

exact_sums& exact_sums::operator+=(exact_sums const& other) {
  add_cells(words_.data(), other.words_.data(), static_cast<std::size_t>(layout_.words),
            static_cast<std::size_t>(rows_ * layout_.columns()), false);
  return *this;
}

void exact_sums::set_zero(index row) {
  std::fill_n(cell(row, 0), layout_.columns() * layout_.words, word{0});
}

void exact_sums::assign(index row, exact_sums const& other, index other_row) {
  std::copy_n(other.cell(other_row, 0), layout_.columns() * layout_.words, cell(row, 0));
}

bool exact_sums::is_zero(index row) const {
  return std::all_of(cell(row, 0), cell(row + 1, 0), [](word w) { return w == 0; });
}

bool exact_sums::weightless(index row) const {
  return std::all_of(cell(row, layout_.columns() - 1), cell(row + 1, 0), [](word w) { return w == 0; });
}

double exact_sums::weight(index row) const {
  word const* const w = cell(row, layout_.columns() - 1);
  return fixed_point::to_double({w, w + layout_.words}, layout_.unit.back());
}

void exact_sums::mean(index row, double* mean) const {
  index const d = layout_.columns() - 1;
  word const* const w = cell(row, d);
  for (index j = 0; j < d; ++j) {
    word const* const s = cell(row, j);
    int exponent = layout_.unit[static_cast<std::size_t>(j)] - layout_.unit.back();
    if (layout_.words == 2
        && w[1] == 0) { // 128 by 64 bits: a quotient of 64 bits at least, and the remainder
      wide magnitude = (static_cast<wide>(s[1]) << 64) | s[0];
      bool const negative = (s[1] >> 63) != 0;
      if (negative) magnitude = -magnitude;
      if (magnitude == 0) {
        mean[j] = 0;
        continue;
      }
      int const up = 128 - fixed_point::bit_length(magnitude);
      magnitude <<= up;
      wide const q = magnitude / w[0];
      mean[j] = fixed_point::round(q, q * w[0] != magnitude, exponent - up, negative);
    } else {
      mean[j] = fixed_point::divide({s, s + layout_.words}, {w, w + layout_.words}, exponent);
    }
  }
}

// Squares are multiples of 2^-2148 below 2^2048; 62 bits more for the count: 67 words, and one for the sign.
exact_variance::exact_variance() : squares_(68) {}

exact_variance::exact_variance(std::span<word const> words)
    : count_(static_cast<index>(words[0])), squares_(words.begin() + 36, words.begin() + word_count) {
  sum_.add(words.subspan(1, 35));
}

std::vector<word> exact_variance::words() const {
  std::vector<word> all{static_cast<word>(count_)};
  all.insert(all.end(), sum_.words_.begin(), sum_.words_.end());
  all.insert(all.end(), squares_.begin(), squares_.end());
  return all;
}

void exact_variance::add(double x) {
  ++count_;
  sum_.add(x);
  product const p = multiply(x, x);
  if (p.mantissa != 0) fixed_point::add_shifted(squares_, p.mantissa, p.exponent - 2 * smallest, false);
}

exact_variance& exact_variance::operator+=(exact_variance const& other) {
  count_ += other.count_;
  sum_ += other.sum_;
  fixed_point::add(squares_, other.squares_, false);
  return *this;
}

// (n Σx² − (Σx)²) / n², all integers until the one division.
double exact_variance::value() const {
  if (count_ == 0) return 0;
  auto const multiply_add = [](std::vector<word>& out, std::span<word const> a, word b, std::size_t from,
                               bool subtract) {
    for (std::size_t i = 0; i < a.size(); ++i) {
      wide const p = static_cast<wide>(a[i]) * b;
      word const piece[2] = {static_cast<word>(p), static_cast<word>(p >> 64)};
      fixed_point::add(out, piece, subtract, from + i);
    }
  };
  std::vector<word> numerator(2 * 35 + 3);
  multiply_add(numerator, squares_, static_cast<word>(count_), 0, false);
  std::vector<word> sum(sum_.words_.begin(), sum_.words_.end());
  fixed_point::make_positive(sum);
  for (std::size_t i = 0; i < sum.size(); ++i)
    if (sum[i] != 0) multiply_add(numerator, sum, sum[i], i, true);
  wide const n2 = static_cast<wide>(count_) * static_cast<wide>(count_);
  return fixed_point::divide(numerator, {static_cast<word>(n2), static_cast<word>(n2 >> 64)}, 2 * smallest);
}

} // namespace kopse
