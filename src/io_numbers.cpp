// SPDX-License-Identifier: BSD-3-Clause
// Conversion of numbers: float16 and whole numbers of 8 and 16 bits to float32, others to float64, and only
// if no value changes by it.

#include "io_numbers.hpp"

#include <bit>
#include <cmath>
#include <concepts>
#include <cstring>
#include <type_traits>

namespace kopse::io {
namespace {

struct half {
  std::uint16_t bits;
};

template <std::size_t Size>
using unsigned_of =
    std::conditional_t<Size == 1, std::uint8_t,
                       std::conditional_t<Size == 2, std::uint16_t,
                                          std::conditional_t<Size == 4, std::uint32_t, std::uint64_t>>>;

/// The number at `place`, which need not be aligned.
template <class From> From fetch(char const* place, bool swapped) {
  unsigned_of<sizeof(From)> bits;
  std::memcpy(&bits, place, sizeof bits);
  if (swapped) {
    if constexpr (sizeof(From) == 2) bits = __builtin_bswap16(bits);
    if constexpr (sizeof(From) == 4) bits = __builtin_bswap32(bits);
    if constexpr (sizeof(From) == 8) bits = __builtin_bswap64(bits);
  }
  return std::bit_cast<From>(bits);
}

/// Every float16 is a float32.
float widen(half value) {
  std::uint32_t const sign = (value.bits & 0x8000u) << 16, exponent = value.bits >> 10 & 31,
                      digits = value.bits & 1023u;
  if (exponent == 0) { // subnormal: digits · 2^-24
    float const magnitude = static_cast<float>(digits) * 0x1p-24f;
    return sign ? -magnitude : magnitude;
  }
  std::uint32_t const wide = exponent == 31 ? 255 : exponent - 15 + 127;
  return std::bit_cast<float>(sign | wide << 23 | digits << 13);
}

/// A whole number is a float64 when its digits from the first 1 to the last are at most 53.
template <class Integer> bool fits_float64(Integer value) {
  auto const bits = static_cast<std::uint64_t>(value); // NOLINT(bugprone-signed-char-misuse): with its sign
  std::uint64_t const magnitude = std::signed_integral<Integer> && value < 0 ? 0 - bits : bits;
  return magnitude == 0 || std::bit_width(magnitude) - std::countr_zero(magnitude) <= 53;
}

std::string place_of(index row, index column) {
  return "in row " + std::to_string(row) + ", column " + std::to_string(column) + " (both count from 0)";
}

[[noreturn]] void refuse_not_finite(std::string const& path, bool nan, index row, index column) {
  throw error(path + ": found " + (nan ? "NaN" : "an infinity") + " " + place_of(row, column)
              + ", expected a finite number");
}

template <class From, class Real> class converter {
public:
  converter(std::string const& path, number_layout const& how, number_block const& block)
      : path_(path), how_(how), block_(block) {}

  void operator()(std::vector<index> const& columns, Real* out) const {
    // Blocks of rows: a file in Fortran order is read in runs, and the block written to stays in cache.
    constexpr index step = 512;
    index const cols = std::ssize(columns);
    for (index first = 0; first < block_.rows; first += step) {
      index const last = std::min(block_.rows, first + step);
      for (index j = 0; j < cols; ++j) {
        for (index i = first; i < last; ++i)
          out[i * cols + j] = number(i, columns[static_cast<std::size_t>(j)]);
      }
    }
  }

private:
  Real number(index row, index column) const {
    From const value = fetch<From>(block_.start + row * block_.row_step
                                       + (column - block_.first_column) * block_.column_step,
                                   how_.swapped);
    if constexpr (std::integral<From>) {
      if (!fits_float64(value)) {
        throw error(path_ + ": found " + std::to_string(value) + " "
                    + place_of(block_.first_row + row, column)
                    + ", expected whole numbers that float64 holds exactly (all up to 2^53)");
      }
      return how_.kind == 'b' ? static_cast<Real>(value != 0) : static_cast<Real>(value);
    } else {
      std::conditional_t<std::same_as<From, half>, float, From> result;
      if constexpr (std::same_as<From, half>)
        result = widen(value);
      else
        result = value;
      if (!std::isfinite(result))
        refuse_not_finite(path_, std::isnan(result), block_.first_row + row, column);
      return static_cast<Real>(result);
    }
  }

  std::string const& path_;
  number_layout const& how_;
  number_block const& block_;
};

} // namespace

template <class Real>
void convert(std::string const& path, number_layout const& how, number_block const& block,
             std::vector<index> const& columns, Real* out) {
  auto const from = [&]<class From>(From) { converter<From, Real>(path, how, block)(columns, out); };
  switch (how.kind << 8 | static_cast<int>(how.item_size)) {
  case 'i' << 8 | 1:
    return from(std::int8_t{});
  case 'i' << 8 | 2:
    return from(std::int16_t{});
  case 'i' << 8 | 4:
    return from(std::int32_t{});
  case 'i' << 8 | 8:
    return from(std::int64_t{});
  case 'b' << 8 | 1:
  case 'u' << 8 | 1:
    return from(std::uint8_t{});
  case 'u' << 8 | 2:
    return from(std::uint16_t{});
  case 'u' << 8 | 4:
    return from(std::uint32_t{});
  case 'u' << 8 | 8:
    return from(std::uint64_t{});
  case 'f' << 8 | 2:
    return from(half{});
  case 'f' << 8 | 4:
    return from(float{});
  default:
    return from(double{});
  }
}

template void convert(std::string const&, number_layout const&, number_block const&,
                      std::vector<index> const&, double*);
template void convert(std::string const&, number_layout const&, number_block const&,
                      std::vector<index> const&, float*);

/// No exponent of all ones anywhere; integers, so that the loop over a row becomes SIMD.
template <class Real>
void check_finite(std::string const& path, matrix_view<Real> rows, index first_row, index first_column) {
  using bits = unsigned_of<sizeof(Real)>;
  constexpr bits exponent = sizeof(Real) == 8 ? static_cast<bits>(0x7ff0000000000000u) : bits{0x7f800000u};
  for (index i = 0; i < rows.rows(); ++i) {
    bits bad = 0;
    for (index j = 0; j < rows.cols(); ++j) bad |= (std::bit_cast<bits>(rows(i, j)) & exponent) == exponent;
    for (index j = 0; bad && j < rows.cols(); ++j) {
      if (!std::isfinite(rows(i, j)))
        refuse_not_finite(path, std::isnan(rows(i, j)), first_row + i, first_column + j);
    }
  }
}

template void check_finite(std::string const&, matrix_view<double>, index, index);
template void check_finite(std::string const&, matrix_view<float>, index, index);

bool is_range(std::vector<index> const& columns) {
  for (std::size_t j = 1; j < columns.size(); ++j) {
    if (columns[j] != columns[j - 1] + 1) return false;
  }
  return true;
}

} // namespace kopse::io
