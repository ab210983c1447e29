// SPDX-License-Identifier: BSD-3-Clause
// Text as lines, cells and numbers, and what is said of a cell that is none.

#include "io_text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

namespace kopse::io {
namespace {

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
    found.broken = !trimmed(rest_.substr(from, stop - from)).empty();
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
    if (maybe_header) expected += "; force a header line (--header yes) if this one names the columns";
  }
  fail_at(path, line, field, found, expected);
}

} // namespace kopse::io
