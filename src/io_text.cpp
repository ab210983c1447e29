// SPDX-License-Identifier: BSD-3-Clause
// Text files of numbers, read in two passes over the mapped file: the first counts rows, so that the matrix
// is allocated once and nothing else is; the second fills it. Both take the file in pieces that end with \n,
// on several threads. A plain row (numbers, delimiters, spaces) is read straight into its place; any other
// row is read again cell by cell, which takes quotes and names every fault; of several the first in the file
// is reported.

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>
#include <cstring>
#include <exception>
#include <utility>

#include "io_formats.hpp"
#include "io_text.hpp"
#include "kopse/parallel.hpp"

namespace kopse::io {
namespace {

constexpr std::size_t piece_bytes = std::size_t{1} << 20;

char const* find(char const* first, char const* last, char wanted) {
  if (first == last) return last;
  auto const* found = static_cast<char const*>(
      std::memchr(first, static_cast<unsigned char>(wanted), static_cast<std::size_t>(last - first)));
  return found ? found : last;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

char const* past_spaces(char const* p, char const* end) {
  while (p != end && *p == ' ') ++p;
  return p;
}

/// The common case, as fast as it can be. False: something else than `columns` finite bare numbers is there.
bool read_plain_row(std::string_view line, char delimiter, index columns, double* out) {
  char const* const end = line.data() + line.size();
  char const* p = past_spaces(line.data(), end);
  for (index j = 0; j < columns; ++j) {
    if (j > 0) {
      bool const delimited = delimiter == ' ' ? p[-1] == ' ' : p != end && *p == delimiter;
      if (!delimited) return false;
      if (delimiter != ' ') p = past_spaces(p + 1, end);
    }
    if (p != end && *p == '+' && p + 1 != end && p[1] != '-') ++p;
    auto const [after, failed] = std::from_chars(p, end, out[j]);
    if (failed != std::errc{} || !std::isfinite(out[j])) return false;
    p = past_spaces(after, end);
  }
  return p == end;
}

/// Any row, cell by cell, into values[0 … columns). Cells that nobody asked for may hold anything.
class careful_reader {
public:
  careful_reader(std::string const& path, dialect const& how, std::vector<index> const& columns)
      : path_(path), how_(how), wanted_(static_cast<std::size_t>(how.columns), false),
        values_(wanted_.size()) {
    for (index const column : columns) wanted_[static_cast<std::size_t>(column)] = true;
  }

  std::vector<double> const& read(data_lines const& at, bool maybe_header) {
    cells fields(at.line(), how_.delimiter);
    cell field;
    index found = 0;
    for (; fields.next(field); ++found) {
      auto const i = static_cast<std::size_t>(found);
      if (i >= wanted_.size() || !wanted_[i]) continue;
      if (field.broken || read_number(field.text, values_[i]) != number_kind::finite) {
        fail_at_cell(path_, at.number(), found + 1, field, maybe_header);
      }
    }
    if (found != how_.columns) {
      fail_at(path_, at.number(), std::min(found, how_.columns) + 1,
              std::to_string(found) + (found == 1 ? " value" : " values"),
              std::to_string(how_.columns) + " as in line " + std::to_string(how_.first_line));
    }
    return values_;
  }

private:
  std::string const& path_;
  dialect const& how_;
  std::vector<bool> wanted_;
  std::vector<double> values_;
};

/// A part of the file: whole lines, and what lies before it.
struct piece {
  std::string_view text;
  index rows = 0, lines = 0; // in it, then before it
};

/// Cut behind a \n, where no line end can be in two pieces.
std::vector<piece> cut(std::string_view text) {
  std::vector<piece> pieces;
  while (!text.empty()) {
    char const* const last = text.data() + text.size();
    char const* const newline = find(text.data() + std::min(piece_bytes, text.size()), last, '\n');
    auto const size = static_cast<std::size_t>((newline == last ? last : newline + 1) - text.data());
    pieces.push_back({text.substr(0, size)});
    text.remove_prefix(size);
  }
  return pieces;
}

/// Counts the rows and lines before each piece; returns the number of rows of them all.
index count_rows(std::string const& path, std::vector<piece>& pieces, bool header, int threads) {
  for_blocks(std::ssize(pieces), 1, threads, [&](index i, index) {
    piece& p = pieces[static_cast<std::size_t>(i)];
    data_lines lines(p.text);
    while (lines.next()) ++p.rows;
    p.lines = lines.number();
  });
  index rows = header ? -1 : 0, lines = 0;
  for (piece& p : pieces) {
    rows += std::exchange(p.rows, rows);
    lines += std::exchange(p.lines, lines);
  }
  if (rows == 0) throw error(path + ": found a header line and nothing below it, expected rows of numbers");
  return rows;
}

std::vector<std::string> chosen_names(dialect const& how, std::vector<index> const& columns) {
  std::vector<std::string> names;
  if (how.names.empty()) return names;
  for (index const column : columns) names.push_back(how.names[static_cast<std::size_t>(column)]);
  return names;
}

/// Reads the rows of a piece, those before `end`, into their places.
void read_piece(std::string const& path, dialect const& how, bool all, std::vector<index> const& columns,
                piece const& from, index end, matrix<double>& values) {
  careful_reader careful(path, how, columns);
  data_lines lines(from.text, from.lines);
  index i = from.rows;
  if (i < 0 && lines.next()) ++i; // the header
  for (; i < end && lines.next(); ++i) {
    double* const row = values.row(i);
    if (all && read_plain_row(lines.line(), how.delimiter, how.columns, row)) continue;
    auto const& fields = careful.read(lines, i == 0 && !how.header);
    for (std::size_t j = 0; j < columns.size(); ++j) row[j] = fields[static_cast<std::size_t>(columns[j])];
  }
  if (i != end || lines.next()) throw error(path + ": it changed while it was read");
}

} // namespace

data_lines::data_lines(std::string_view text, index lines_before)
    : at_(text.data()), end_(at_ + text.size()), newline_(find(at_, end_, '\n')),
      return_(find(at_, newline_, '\r')), number_(lines_before) {}

bool data_lines::next() {
  while (at_ != end_) {
    number_ += lines_before_next_;
    lines_before_next_ = 1;
    char const* const start = at_;
    char const* const stop = line_end();
    line_ = {start, static_cast<std::size_t>(stop - start)};
    char const* const first = past_spaces(start, stop);
    if (first == stop) continue;
    // A NUL is in no comment: such a line is a row that cannot be read, and is reported as one.
    if (*first == '#' && find(first, stop, '\0') == stop) continue;
    return true;
  }
  return false;
}

/// The end of the line at at_, which moves to the start of the next. Each byte is searched once for each of
/// \n and \r, however they are mixed: what was found ahead is remembered.
char const* data_lines::line_end() {
  if (newline_ < at_) newline_ = find(at_, end_, '\n');
  if (return_ < at_) return_ = find(at_, newline_, '\r');
  char const* const stop = return_;
  if (stop == newline_) { // no \r before the \n, or the end of the file
    at_ = stop == end_ ? end_ : stop + 1;
    return stop;
  }
  char const* past = stop;
  while (past != end_ && *past == '\r') ++past;
  if (past != end_ && *past == '\n')
    at_ = past + 1; // \r\n and \r\r\n end one line
  else {
    lines_before_next_ = past - stop; // each \r ends a line
    at_ = past;
  }
  return stop;
}

bool cells::next(cell& found) {
  found.broken = false;
  if (delimiter_ == ' ') {
    rest_ = trimmed(rest_);
    if (rest_.empty()) return false;
  } else if (!more_) {
    return false;
  }
  std::size_t const start = std::min(rest_.find_first_not_of(' '), rest_.size());
  std::size_t from = start;
  if (start < rest_.size() && rest_[start] == '"') { // a delimiter within quotes is none, "" is a quote
    std::size_t close = rest_.find('"', start + 1);
    while (close != rest_.npos && close + 1 < rest_.size() && rest_[close + 1] == '"') {
      close = rest_.find('"', close + 2);
    }
    found.broken = close == rest_.npos;
    from = found.broken ? rest_.size() : close + 1;
  }
  std::size_t const stop = std::min(rest_.find(delimiter_, from), rest_.size());
  found.text = trimmed(rest_.substr(start, stop - start));
  if (from > start && !found.broken) {
    found.broken = trimmed(rest_.substr(from, stop - from)).size() > 0;
    if (!found.broken) found.text = found.text.substr(1, found.text.size() - 2);
  }
  more_ = stop < rest_.size();
  rest_.remove_prefix(more_ ? stop + 1 : stop);
  return true;
}

number_kind read_number(std::string_view text, double& value) {
  text = trimmed(text);
  if (text.size() > 1 && text.front() == '+' && text[1] != '-') text.remove_prefix(1);
  char const* const end = text.data() + text.size();
  auto const [after, failed] = std::from_chars(text.data(), end, value);
  if (after != end || failed == std::errc::invalid_argument || text.empty()) return number_kind::none;
  if (failed != std::errc{}) return number_kind::out_of_range;
  return std::isfinite(value) ? number_kind::finite : number_kind::not_finite;
}

bool has_decimal_comma(std::string_view text) {
  auto const comma = text.find(',');
  auto const digit = [&](std::size_t at) { return at < text.size() && text[at] >= '0' && text[at] <= '9'; };
  if (comma == text.npos || comma == 0 || !digit(comma - 1) || !digit(comma + 1)) return false;
  std::string with_point(text);
  with_point[comma] = '.';
  double value = 0;
  return read_number(with_point, value) != number_kind::none;
}

void fail_at(std::string const& path, index line, index field, std::string const& found,
             std::string const& expected) {
  std::string const l = std::to_string(line), f = std::to_string(field);
  throw error(path + ":" + l + ":" + f + ": found " + found + ", expected " + expected + " (line " + l
              + ", field " + f + "; both count from 1)");
}

void fail_at_cell(std::string const& path, index line, index field, cell const& bad, bool maybe_header) {
  std::string found = '"' + printable(bad.text) + '"';
  std::string expected = "a number";
  double value = 0;
  number_kind const kind = read_number(bad.text, value);
  if (bad.broken) {
    found = printable(bad.text);
    expected = "a value, or one within a pair of quotes";
  } else if (kind == number_kind::not_finite) {
    expected = "a finite number";
  } else if (kind == number_kind::out_of_range) {
    expected = "a number within the range of float64";
  } else if (has_decimal_comma(bad.text)) {
    expected = "a number with a decimal point, not a comma";
  } else {
    if (trimmed(bad.text).empty()) found = "an empty cell";
    if (maybe_header) expected += "; force a header line if this one names the columns";
  }
  fail_at(path, line, field, found, expected);
}

table load_text(mapped_file const& file, load_options const& options, char usual) {
  std::string_view text = file.bytes();
  if (text.empty()) throw error(file.path() + ": found an empty file, expected rows of numbers");
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3); // UTF-8's byte order mark
  dialect const how = find_dialect(file.path(), text, options, usual);
  auto const columns = chosen_columns(file.path(), options.columns, how.columns);
  worker_scope const workers;
  std::vector<piece> pieces = cut(text);
  matrix<double> values(count_rows(file.path(), pieces, how.header, options.threads), std::ssize(columns));

  std::vector<std::exception_ptr> faults(pieces.size());
  std::atomic<index> first_fault = std::ssize(pieces);
  for_blocks(std::ssize(pieces), 1, options.threads, [&](index i, index) {
    if (i > first_fault) return;
    auto const p = static_cast<std::size_t>(i);
    try {
      index const end = p + 1 < pieces.size() ? pieces[p + 1].rows : values.rows();
      read_piece(file.path(), how, options.columns.empty(), columns, pieces[p], end, values);
    } catch (...) {
      faults[p] = std::current_exception();
      for (index least = first_fault; i < least && !first_fault.compare_exchange_weak(least, i);) {
      }
    }
  });
  if (first_fault < std::ssize(pieces)) std::rethrow_exception(faults[static_cast<std::size_t>(first_fault)]);
  table result(std::move(values));
  result.notes = how.notes;
  result.names = chosen_names(how, columns);
  return result;
}

} // namespace kopse::io
