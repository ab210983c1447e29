// SPDX-License-Identifier: BSD-3-Clause
// Text as lines, cells and numbers, and the error that says where.
//
// Line ends are \n, \r\n, \r\r\n and \r, in any mixture. A line that is empty or holds spaces only, and one
// that begins with #, is stepped over; it counts in the line numbers of errors.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kopse/io.hpp"

namespace kopse::io {

/// Steps from one line with values to the next.
class data_lines {
public:
  explicit data_lines(std::string_view text, index lines_before = 0);

  bool next(); ///< false after the last line
  std::string_view line() const { return line_; }
  index number() const {
    return number_;
  } ///< of the line in the file, from 1; after the last, of the text's last

private:
  char const* line_end();

  char const *at_, *end_;
  char const *newline_, *return_; // the next \n, or the end; the next \r before it, or newline_
  index number_, lines_before_next_ = 1;
  std::string_view line_;
};

/// One value of a line as it stands there, without its quotes and the spaces around it.
struct cell {
  std::string_view text;
  bool broken = false; ///< its quotes do not close, or something follows them
};

/// Steps through the cells of a line. Runs of spaces are one delimiter; any other delimiter counts each time.
class cells {
public:
  cells(std::string_view line, char delimiter) : rest_(line), delimiter_(delimiter) {}
  bool next(cell& found);
  bool more() const { return more_; } ///< a delimiter stood behind the last cell

private:
  std::string_view rest_;
  char delimiter_;
  bool more_ = true;
};

enum class number_kind { finite, not_finite, out_of_range, none };

/// Reads `text` as one decimal number, all of it: no locale, no hexadecimal digits; a leading + is taken.
number_kind read_number(std::string_view text, double& value);

/// Like 1,5 : a number once its one comma, between digits, is a point.
bool has_decimal_comma(std::string_view text);

/// How the lines of a file are to be read.
struct dialect {
  char delimiter = ',';
  bool header = false;            ///< the first line is none of the rows
  index columns = 0;              ///< in the file
  index first_line = 0;           ///< the number of the line that set `columns`
  std::vector<std::string> names; ///< of the columns in the file, or empty
  std::vector<std::string> notes;
};

/// Finds delimiter, header and columns from the first lines of the file (io_text_dialect.cpp).
dialect find_dialect(std::string const& path, std::string_view text, load_options const& options, char usual);

/// Throws error "path:line:field: found …, expected …". Lines and fields count from 1.
[[noreturn]] void fail_at(std::string const& path, index line, index field, std::string const& found,
                          std::string const& expected);

/// fail_at for a cell that is not a finite number: says which kind of not.
[[noreturn]] void fail_at_cell(std::string const& path, index line, index field, cell const& bad,
                               bool maybe_header);

} // namespace kopse::io
