// SPDX-License-Identifier: BSD-3-Clause
// NumPy's .npy files. Native float32 and float64 in C order are not read at all: the rows are the file's own
// pages, and a range of columns is a view with a stride. Everything else is converted into memory, float16 to
// float32 and the rest to float64, and only if no value changes by it.

#include <algorithm>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstring>
#include <type_traits>
#include <utility>

#include "io_formats.hpp"
#include "io_npy.hpp"

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
  std::uint64_t const bits = static_cast<std::uint64_t>(value);
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

/// Converts one file's numbers, of type From, to Real.
template <class From, class Real> class converter {
public:
  converter(mapped_file const& file, npy_header const& header) : file_(file), header_(header) {}

  matrix<Real> operator()(std::vector<index> const& columns) const {
    matrix<Real> values(header_.rows, std::ssize(columns));
    // Blocks of rows: a file in Fortran order is read in runs, and the block written to stays in cache.
    constexpr index block = 512;
    for (index first = 0; first < header_.rows; first += block) {
      index const last = std::min(header_.rows, first + block);
      for (index j = 0; j < values.cols(); ++j) {
        for (index i = first; i < last; ++i) values(i, j) = number(i, columns[static_cast<std::size_t>(j)]);
      }
    }
    return values;
  }

private:
  Real number(index row, index column) const {
    index const at = header_.fortran_order ? column * header_.rows + row : row * header_.cols + column;
    From const value = fetch<From>(
        file_.bytes().data() + header_.offset + at * static_cast<index>(sizeof(From)), header_.swapped);
    if constexpr (std::integral<From>) {
      if (!fits_float64(value)) {
        throw error(file_.path() + ": found " + std::to_string(value) + " " + place_of(row, column)
                    + ", expected whole numbers that float64 holds exactly (all up to 2^53)");
      }
      return header_.kind == 'b' ? static_cast<Real>(value != 0) : static_cast<Real>(value);
    } else {
      Real result;
      if constexpr (std::same_as<From, half>)
        result = widen(value);
      else
        result = value;
      if (!std::isfinite(result)) refuse_not_finite(file_.path(), std::isnan(result), row, column);
      return result;
    }
  }

  mapped_file const& file_;
  npy_header const& header_;
};

/// No exponent of all ones anywhere; integers, so that the loop over a row becomes SIMD.
template <class Real> void check_finite(std::string const& path, matrix_view<Real> rows, index first_column) {
  using bits = unsigned_of<sizeof(Real)>;
  constexpr bits exponent = sizeof(Real) == 8 ? static_cast<bits>(0x7ff0000000000000u) : bits{0x7f800000u};
  for (index i = 0; i < rows.rows(); ++i) {
    bits bad = 0;
    for (index j = 0; j < rows.cols(); ++j) bad |= (std::bit_cast<bits>(rows(i, j)) & exponent) == exponent;
    for (index j = 0; bad && j < rows.cols(); ++j) {
      if (!std::isfinite(rows(i, j))) refuse_not_finite(path, std::isnan(rows(i, j)), i, first_column + j);
    }
  }
}

bool is_range(std::vector<index> const& columns) {
  for (std::size_t j = 1; j < columns.size(); ++j) {
    if (columns[j] != columns[j - 1] + 1) return false;
  }
  return true;
}

template <class Real>
table map(std::shared_ptr<mapped_file const> file, npy_header const& header,
          std::vector<index> const& columns) {
  auto const* const data = reinterpret_cast<Real const*>(file->bytes().data() + header.offset);
  auto const view =
      matrix_view<Real>(data, header.rows, header.cols).columns(columns.front(), columns.back() + 1);
  check_finite(file->path(), view, columns.front());
  table result(view, std::move(file));
  result.mapped = true;
  return result;
}

template <class From>
table convert(mapped_file const& file, npy_header const& header, std::vector<index> const& columns) {
  using real = std::conditional_t<std::same_as<From, half> || std::same_as<From, float>, float, double>;
  return table(converter<From, real>(file, header)(columns));
}

table convert_any(mapped_file const& file, npy_header const& header, std::vector<index> const& columns) {
  switch (header.kind << 8 | static_cast<int>(header.item_size)) {
  case 'i' << 8 | 1:
    return convert<std::int8_t>(file, header, columns);
  case 'i' << 8 | 2:
    return convert<std::int16_t>(file, header, columns);
  case 'i' << 8 | 4:
    return convert<std::int32_t>(file, header, columns);
  case 'i' << 8 | 8:
    return convert<std::int64_t>(file, header, columns);
  case 'b' << 8 | 1:
  case 'u' << 8 | 1:
    return convert<std::uint8_t>(file, header, columns);
  case 'u' << 8 | 2:
    return convert<std::uint16_t>(file, header, columns);
  case 'u' << 8 | 4:
    return convert<std::uint32_t>(file, header, columns);
  case 'u' << 8 | 8:
    return convert<std::uint64_t>(file, header, columns);
  case 'f' << 8 | 2:
    return convert<half>(file, header, columns);
  case 'f' << 8 | 4:
    return convert<float>(file, header, columns);
  default:
    return convert<double>(file, header, columns);
  }
}

/// Version 1.0, padded so that the numbers begin at a multiple of 64 bytes.
std::string header_text(char const* type, std::string const& shape) {
  char const order = std::endian::native == std::endian::little ? '<' : '>';
  std::string text =
      "{'descr': '" + std::string(1, order) + type + "', 'fortran_order': False, 'shape': (" + shape + "), }";
  std::size_t const length = (10 + text.size() + 1 + 63) / 64 * 64 - 10;
  text.resize(length - 1, ' ');
  std::string start("\x93NUMPY\x01\x00", 8);
  start += static_cast<char>(length & 255);
  start += static_cast<char>(length >> 8);
  return start + text + '\n';
}

template <class T> std::string_view bytes_of(T const* first, index count) {
  return {reinterpret_cast<char const*>(first), static_cast<std::size_t>(count) * sizeof(T)};
}

} // namespace

table load_npy(std::shared_ptr<mapped_file const> file, load_options const& options) {
  npy_header const header = read_npy_header(file->path(), file->bytes());
  auto const columns = chosen_columns(file->path(), options.columns, header.cols);
  bool const as_it_lies = header.kind == 'f' && header.item_size >= 4 && !header.swapped
                          && !header.fortran_order && header.offset % header.item_size == 0
                          && is_range(columns);
  if (as_it_lies && header.item_size == 8) return map<double>(std::move(file), header, columns);
  if (as_it_lies) return map<float>(std::move(file), header, columns);
  return convert_any(*file, header, columns);
}

void put_npy(output_file& file, matrix_view<double> values) {
  file.write(header_text("f8", std::to_string(values.rows()) + ", " + std::to_string(values.cols())));
  if (values.stride() == values.cols())
    file.write(bytes_of(values.row(0), values.rows() * values.cols()));
  else {
    for (index i = 0; i < values.rows(); ++i) file.write(bytes_of(values.row(i), values.cols()));
  }
}

void put_npy(output_file& file, std::span<label const> labels) {
  file.write(header_text("i4", std::to_string(labels.size()) + ","));
  file.write(bytes_of(labels.data(), std::ssize(labels)));
}

} // namespace kopse::io
