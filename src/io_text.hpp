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

/// Whether find_dialect() would look no further than this text, however much more there is.
bool enough_to_judge(std::string_view text);

/// Finds delimiter, header and columns from the first lines of the file (io_text_dialect.cpp).
dialect find_dialect(std::string const& path, std::string_view text, load_options const& options, char usual);

/// Reads whole lines into rows, on several threads: those of a file, or of a block of one (io_text_rows.cpp).
class row_parser {
public:
  row_parser(std::string const& path, dialect how, load_options const& options);

  dialect const& how() const { return how_; }
  index cols() const { return std::ssize(columns_); }
  std::vector<std::string> names() const; ///< of the chosen columns

  /// Takes the next block of the file: whole lines, which must stay. Returns how many rows it has.
  index count(std::string_view text);
  /// Parses rows [first, last) of that block into `out`, row after row.
  void parse(index first, index last, double* out) const;

private:
  /// A part of the block: whole lines, and what lies before it.
  struct piece {
    std::string_view text;
    index rows = 0, lines = 0; // in it, then before it: rows of the block, lines of the file
  };
  void parse_piece(piece const& from, index end, index first, index last, double* out) const;

  std::string path_;
  dialect how_;
  std::vector<index> columns_;
  bool all_; // columns, in their order
  int threads_;
  std::vector<piece> pieces_;
  index rows_ = 0, lines_ = 0; // of the block; of the file up to its end
  bool header_to_come_;
};

/// Throws error "path:line:field: found …, expected …". Lines and fields count from 1.
[[noreturn]] void fail_at(std::string const& path, index line, index field, std::string const& found,
                          std::string const& expected);

/// fail_at for a cell that is not a finite number: says which kind of not.
[[noreturn]] void fail_at_cell(std::string const& path, index line, index field, cell const& bad,
                               bool maybe_header);

} // namespace kopse::io
