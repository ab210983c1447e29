// SPDX-License-Identifier: BSD-3-Clause
// Text of numbers, read twice while it is in memory: first its rows are counted, so that they get their
// places at once, then they are parsed into them. Both take it in pieces that end with a line, on several
// threads. A plain row (numbers, delimiters, spaces) is read straight into its place; any other row is read
// again cell by cell, which takes quotes and names every fault; of several the first in the file is reported.

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>
#include <exception>
#include <utility>

#include "io_formats.hpp"
#include "io_text.hpp"
#include "kopse/parallel.hpp"

namespace kopse::io {
namespace {

constexpr std::size_t piece_bytes = block_size(std::size_t{1} << 20);

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

} // namespace

row_parser::row_parser(std::string const& path, dialect how, load_options const& options)
    : path_(path), how_(std::move(how)), columns_(chosen_columns(path, options.columns, how_.columns)),
      all_(options.columns.empty()), threads_(options.threads), header_to_come_(how_.header) {}

std::vector<std::string> row_parser::names() const {
  std::vector<std::string> names;
  if (how_.names.empty()) return names;
  for (index const column : columns_) names.push_back(how_.names[static_cast<std::size_t>(column)]);
  return names;
}

index row_parser::count(std::string_view text) {
  pieces_.clear();
  while (!text.empty()) { // cut behind a \n, where no line end can be in two pieces
    auto const newline = text.find('\n', std::min(piece_bytes, text.size()));
    auto const size = newline == text.npos ? text.size() : newline + 1;
    pieces_.push_back({text.substr(0, size)});
    text.remove_prefix(size);
  }
  for_blocks(std::ssize(pieces_), 1, threads_, [&](index i, index) {
    piece& p = pieces_[static_cast<std::size_t>(i)];
    data_lines lines(p.text);
    while (lines.next()) ++p.rows;
    p.lines = lines.number();
  });
  bool const has_lines =
      std::any_of(pieces_.begin(), pieces_.end(), [](piece const& p) { return p.rows > 0; });
  // The header is no row: the block that begins with it begins one row before its first.
  rows_ = header_to_come_ && has_lines ? -1 : 0;
  header_to_come_ = header_to_come_ && !has_lines;
  for (piece& p : pieces_) {
    rows_ += std::exchange(p.rows, rows_);
    lines_ += std::exchange(p.lines, lines_);
  }
  return rows_;
}

void row_parser::parse(index first, index last, double* out) const {
  std::vector<std::exception_ptr> faults(pieces_.size());
  std::atomic<index> first_fault = std::ssize(pieces_);
  for_blocks(std::ssize(pieces_), 1, threads_, [&](index i, index) {
    auto const p = static_cast<std::size_t>(i);
    index const end = p + 1 < pieces_.size() ? pieces_[p + 1].rows : rows_;
    if (i > first_fault || end <= first || pieces_[p].rows >= last) return;
    try {
      parse_piece(pieces_[p], end, first, last, out);
    } catch (...) {
      faults[p] = std::current_exception();
      for (index least = first_fault; i < least && !first_fault.compare_exchange_weak(least, i);) {
      }
    }
  });
  if (first_fault < std::ssize(pieces_))
    std::rethrow_exception(faults[static_cast<std::size_t>(first_fault)]);
}

/// The piece has the rows of the block from its own number to `end`.
void row_parser::parse_piece(piece const& from, index end, index first, index last, double* out) const {
  careful_reader careful(path_, how_, columns_);
  data_lines lines(from.text, from.lines);
  index i = from.rows;
  if (i < 0 && lines.next()) ++i; // the header
  for (; i < std::min(end, last) && lines.next(); ++i) {
    if (i < first) continue;
    double* const row = out + (i - first) * cols();
    if (all_ && read_plain_row(lines.line(), how_.delimiter, how_.columns, row)) continue;
    bool const first_line = i == 0 && lines.number() == how_.first_line;
    auto const& fields = careful.read(lines, first_line && !how_.header);
    for (std::size_t j = 0; j < columns_.size(); ++j) row[j] = fields[static_cast<std::size_t>(columns_[j])];
  }
  if (i != std::min(end, last) || (end <= last && lines.next()))
    throw error(path_ + ": it changed while it was read");
}

} // namespace kopse::io
