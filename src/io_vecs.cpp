// SPDX-License-Identifier: BSD-3-Clause
// .fvecs, .bvecs and .ivecs: each row is its number of columns as a little-endian int32, then so many
// float32, bytes or int32, little-endian too. The first row sets the number of columns; each of the others
// must repeat it.

#include <bit>
#include <cstring>

#include "io_formats.hpp"
#include "io_numbers.hpp"
#include "io_stream.hpp"

namespace kopse::io {
namespace {

constexpr bool big_machine = std::endian::native == std::endian::big;

/// The layout that the first four bytes promise.
number_layout layout_of(std::string const& path, std::string_view start, format what) {
  if (start.empty()) throw error(path + ": found an empty file, expected rows of numbers");
  if (start.size() < 4) throw error(path + ": it is cut short: it ends within the dimension of row 0");
  std::uint32_t bits;
  std::memcpy(&bits, start.data(), sizeof bits);
  if (big_machine) bits = __builtin_bswap32(bits);
  number_layout how;
  how.cols = static_cast<std::int32_t>(bits);
  how.gap = sizeof bits;
  if (how.cols < 1) {
    throw error(path + ": found the dimension " + std::to_string(how.cols)
                + " in row 0 (counted from 0; byte 0), expected at least 1");
  }
  how.kind = what == format::fvecs ? 'f' : what == format::bvecs ? 'u' : 'i';
  how.item_size = what == format::bvecs ? 1 : 4;
  how.swapped = big_machine;
  how.rows = no_end;
  return how;
}

/// Of a file that is no whole number of rows: where the first row is that does not end, or is of another
/// length.
[[noreturn]] void fail_size(std::string const& path, number_layout const& how, std::string_view bytes) {
  std::size_t at = 0;
  index row = 0;
  std::int32_t found = 0;
  for (;; ++row, at += how.row_bytes()) {
    found = static_cast<std::int32_t>(how.cols);
    if (bytes.size() - at >= sizeof found) std::memcpy(&found, bytes.data() + at, sizeof found);
    if (found != how.cols || bytes.size() - at < how.row_bytes()) break;
  }
  std::string const place =
      "row " + std::to_string(row) + " (counted from 0; byte " + std::to_string(at) + ")";
  if (found == how.cols)
    throw error(path + ": it is cut short: it ends within " + place + ", which has "
                + std::to_string(how.cols) + " numbers as row 0");
  throw error(path + ": found the dimension " + std::to_string(found) + " in " + place + ", expected "
              + std::to_string(how.cols) + " as in row 0");
}

} // namespace

std::unique_ptr<reader> read_vecs(std::shared_ptr<mapped_file const> file, format what,
                                  load_options const& options) {
  std::string_view const bytes = file->bytes();
  number_layout how = layout_of(file->path(), bytes.substr(0, 4), what);
  if (bytes.size() % how.row_bytes() != 0) fail_size(file->path(), how, bytes);
  how.rows = static_cast<index>(bytes.size() / how.row_bytes());
  return read_numbers(std::move(file), how, options);
}

std::unique_ptr<reader> read_vecs(std::unique_ptr<stream> from, format what, load_options const& options) {
  number_layout const how = layout_of(from->name(), from->peek(4), what);
  return read_numbers(std::move(from), how, options);
}

void put_fvecs(output_file& file, matrix_view<double> values) {
  static_assert(!big_machine, "little-endian is written as it lies");
  auto const cols = static_cast<std::int32_t>(values.cols());
  std::vector<float> row(static_cast<std::size_t>(values.cols()));
  for (index i = 0; i < values.rows(); ++i) {
    for (index j = 0; j < values.cols(); ++j) {
      float const rounded = static_cast<float>(values(i, j));
      if (std::abs(rounded) == std::numeric_limits<float>::infinity()) {
        throw error("cannot write " + file.path() + ": row " + std::to_string(i) + ", column "
                    + std::to_string(j) + " (both count from 0) is out of the range of float32");
      }
      row[static_cast<std::size_t>(j)] = rounded;
    }
    file.write(bytes_of(&cols, 1));
    file.write(bytes_of(row.data(), values.cols()));
  }
}

void put_ivecs(output_file& file, std::span<label const> labels) {
  for (label const each : labels) {
    std::int32_t const record[2] = {1, each};
    file.write(bytes_of(record, 2));
  }
}

} // namespace kopse::io
