// SPDX-License-Identifier: BSD-3-Clause
// Numbers as bytes: how they lie in a file, and what becomes of them. Shared by all formats but text.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "io_reader.hpp"

namespace kopse::io {

class mapped_file;
class stream;

/// How the numbers of a file lie in it.
struct number_layout {
  char kind = 'f';            ///< f, i, u, or b
  std::size_t item_size = 4;  ///< bytes a number
  bool swapped = false;       ///< of the byte order this machine has not
  bool fortran_order = false; ///< column after column
  bool exact = false;         ///< nothing may follow the rows
  index rows = 0, cols = 0;
  std::size_t offset = 0; ///< where the first row begins
  std::size_t gap = 0;    ///< bytes before the numbers of each row: 0, or 4 that repeat the number of columns

  std::size_t row_bytes() const { return static_cast<std::size_t>(cols) * item_size + gap; }
  /// Do all of its numbers fit into float32?
  bool float32() const { return item_size <= (kind == 'f' ? 4 : 2); }
};

/// Number (i, j) of a block lies at start + i·row_step + j·column_step; row 0 of it is `first_row` of the
/// file.
struct number_block {
  char const* start;
  std::ptrdiff_t row_step, column_step;
  index first_row, rows;
  index first_column = 0;
};

/// Converts these columns of a block into `out`, row after row; throws error for what is not finite or does
/// not fit, naming row and column in the file. Real is double or, if the layout is float32(), float.
template <class Real>
void convert(std::string const& path, number_layout const& how, number_block const& block,
             std::vector<index> const& columns, Real* out);

/// Throws error for the first value that is not finite. `first_row` and `first_column`: those of its first.
template <class Real>
void check_finite(std::string const& path, matrix_view<Real> rows, index first_row, index first_column);

bool is_range(std::vector<index> const& columns);

/// A reader of numbers in a file that is mapped, and of those that come by and by. There, how.rows is
/// `no_end` if it is not known.
std::unique_ptr<reader> read_numbers(std::shared_ptr<mapped_file const> file, number_layout const& how,
                                     load_options const& options);
std::unique_ptr<reader> read_numbers(std::unique_ptr<stream> from, number_layout const& how,
                                     load_options const& options);

} // namespace kopse::io
