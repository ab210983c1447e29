// SPDX-License-Identifier: BSD-3-Clause
// Readers of numbers that lie row after row. Of a mapped file native float32 and float64 are not read at all:
// the rows are the file's own pages, with a stride where only a range of columns is wanted, or where
// something stands between two rows. Everything else is converted into memory, by blocks.

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "io_formats.hpp"
#include "io_numbers.hpp"
#include "io_stream.hpp"

namespace kopse::io {
namespace {

constexpr std::size_t block_bytes = block_size(std::size_t{1} << 20);

/// Each row of a format with gaps says there how many numbers it has. `start`: of row `first_row`.
void check_gaps(std::string const& path, number_layout const& how, char const* start, index first_row,
                index rows) {
  if (how.gap == 0) return;
  for (index i = 0; i < rows; ++i) {
    std::int32_t found;
    std::memcpy(&found, start + static_cast<std::size_t>(i) * how.row_bytes(), sizeof found);
    if (how.swapped) found = static_cast<std::int32_t>(__builtin_bswap32(static_cast<std::uint32_t>(found)));
    if (found == how.cols) continue;
    throw error(path + ": found the dimension " + std::to_string(found) + " in row "
                + std::to_string(first_row + i) + " (counted from 0; byte "
                + std::to_string(how.offset + static_cast<std::size_t>(first_row + i) * how.row_bytes())
                + "), expected " + std::to_string(how.cols) + " as in row 0");
  }
}

class mapped_numbers : public reader {
public:
  mapped_numbers(std::shared_ptr<mapped_file const> file, number_layout const& how,
                 load_options const& options)
      : file_(std::move(file)), how_(how), memory_(options.memory),
        columns_(chosen_columns(file_->path(), options.columns, how.cols)) {}

  bool float32() const override { return how_.float32(); }
  std::optional<index> rows() const override { return how_.rows; }
  index cols() override { return std::ssize(columns_); }

  std::optional<table> in_place(index first, index last) override {
    char const* const start = row(first) + how_.gap;
    bool const as_it_lies = how_.kind == 'f' && how_.item_size >= 4 && !how_.swapped && !how_.fortran_order
                            && reinterpret_cast<std::uintptr_t>(start) % how_.item_size == 0
                            && how_.row_bytes() % how_.item_size == 0 && is_range(columns_);
    if (!as_it_lies) return {};
    return how_.item_size == 8 ? map<double>(start, first, last) : map<float>(start, first, last);
  }

  index read(index first, index last, growing_rows<double>& out) override { return append(first, last, out); }
  index read(index first, index last, growing_rows<float>& out) override { return append(first, last, out); }

private:
  char const* row(index i) const {
    std::size_t const stride = how_.fortran_order ? how_.item_size : how_.row_bytes();
    return file_->bytes().data() + how_.offset + static_cast<std::size_t>(i) * stride;
  }
  template <class Real> table map(char const* start, index first, index last) const {
    auto const stride = static_cast<index>(how_.row_bytes() / how_.item_size);
    auto const view = matrix_view<Real>(reinterpret_cast<Real const*>(start), last - first, how_.cols, stride)
                          .columns(columns_.front(), columns_.back() + 1);
    table result(view, file_);
    result.mapped = true;
    std::size_t const bytes = static_cast<std::size_t>(last - first) * how_.row_bytes();
    if (static_cast<double>(bytes) > memory_)
      result.paged = std::make_shared<paged_range>(file_, row(first), bytes);
    by_pages(view, 0, view.rows(), [&](index a, index b) {
      check_gaps(file_->path(), how_, row(first + a), first + a, b - a);
      check_finite(file_->path(), view.slice(a, b), first + a, columns_.front());
    });
    return result;
  }
  template <class Real> index append(index first, index last, growing_rows<Real>& out) const {
    last = std::min(last, how_.rows);
    if (first >= last) return last;
    if (memory_ == std::numeric_limits<double>::infinity()) {
      convert_rows(first, last, out.extend(last - first));
      return last;
    }
    paged_range const pages(file_, file_->bytes().data(), file_->bytes().size());
    auto const step = static_cast<index>(std::max<std::size_t>(block_bytes / how_.row_bytes(), 1));
    for (index at = first; at < last; at += step) {
      index const end = std::min(last, at + step);
      if (how_.fortran_order) {
        convert_by_columns(at, end, out.extend(end - at));
      } else {
        convert_rows(at, end, out.extend(end - at));
        give_back(row(at), row(end), true);
      }
    }
    return last;
  }
  template <class Real> void convert_rows(index first, index last, Real* out) const {
    check_gaps(file_->path(), how_, row(first), first, last - first);
    auto const item = static_cast<std::ptrdiff_t>(how_.item_size);
    number_block block{row(first) + how_.gap, static_cast<std::ptrdiff_t>(how_.row_bytes()), item, first,
                       last - first};
    if (how_.fortran_order) block.row_step = item, block.column_step = how_.rows * item;
    convert(file_->path(), how_, block, columns_, out);
  }
  // The pages of one column at a time.
  template <class Real> void convert_by_columns(index first, index last, Real* out) const {
    auto const item = static_cast<std::ptrdiff_t>(how_.item_size);
    std::vector<Real> values(static_cast<std::size_t>(last - first));
    index const cols = std::ssize(columns_);
    for (index j = 0; j < cols; ++j) {
      index const column = columns_[static_cast<std::size_t>(j)];
      convert(file_->path(), how_, {row(first), item, how_.rows * item, first, last - first}, {column},
              values.data());
      char const* const start = row(first) + column * how_.rows * item;
      give_back(start, start + (last - first) * item, true);
      for (index i = 0; i < last - first; ++i) out[i * cols + j] = values[static_cast<std::size_t>(i)];
    }
  }

  std::shared_ptr<mapped_file const> file_;
  number_layout how_;
  double memory_;
  std::vector<index> columns_;
};

class streamed_numbers : public reader {
public:
  streamed_numbers(std::unique_ptr<stream> from, number_layout const& how, load_options const& options)
      : from_(std::move(from)), how_(how), chosen_(options.columns) {
    if (how_.fortran_order) {
      throw error(from_->name()
                  + ": its numbers are in Fortran order, column after column; read once from "
                    "beginning to end they must come row after row");
    }
  }

  bool float32() const override { return how_.float32(); }
  index cols() override {
    // A list of columns is made once a row is there: a header may promise any number of them.
    if (columns_.empty() && fill(0, 1) == 0) throw error(from_->name() + ": found no rows after its header");
    if (columns_.empty()) pending_ = how_.row_bytes();
    if (columns_.empty()) columns_ = chosen_columns(from_->name(), chosen_, how_.cols);
    return std::ssize(columns_);
  }
  index read(index first, index last, growing_rows<double>& out) override { return append(first, last, out); }
  index read(index first, index last, growing_rows<float>& out) override { return append(first, last, out); }

private:
  template <class Real> index append(index first, index last, growing_rows<Real>& out) {
    auto const row_bytes = how_.row_bytes();
    auto const block_rows = static_cast<index>(std::max<std::size_t>(block_bytes / row_bytes, 1));
    index at = 0;
    for (index const end = std::min(last, how_.rows); at < end;) {
      index const wanted = std::min(end - at, at < first ? std::min(first - at, block_rows) : block_rows);
      index const got = fill(at, wanted);
      if (at >= first && got > 0) {
        check_gaps(from_->name(), how_, block_.data(), at, got);
        convert(from_->name(), how_,
                {block_.data() + how_.gap, static_cast<std::ptrdiff_t>(row_bytes),
                 static_cast<std::ptrdiff_t>(how_.item_size), at, got},
                columns_, out.extend(got));
      }
      at += got;
      if (got < wanted) break;
    }
    if (how_.exact && at == how_.rows && !from_->peek(1).empty())
      throw error(from_->name() + ": found more bytes than those of the " + std::to_string(at)
                  + " rows expected");
    return at;
  }

  /// Reads `wanted` rows, fewer only at the end; whole ones, or it is an error. The block grows as bytes
  /// come: one row may be promised to be of any length.
  index fill(index at, index wanted) {
    std::size_t const whole = static_cast<std::size_t>(wanted) * how_.row_bytes();
    std::size_t got = std::exchange(pending_, 0);
    while (got < whole) {
      std::size_t const step = std::min(whole - got, std::max(block_bytes, got));
      if (block_.size() < got + step) block_.resize(got + step);
      std::size_t const more = from_->read(block_.data() + got, step);
      got += more;
      if (more < step) break;
    }
    auto const rows = static_cast<index>(got / how_.row_bytes());
    if (got < whole && (how_.rows != no_end || got % how_.row_bytes() != 0)) fail_short(at, rows, got);
    return rows;
  }
  [[noreturn]] void fail_short(index at, index rows, std::size_t got) const {
    std::size_t const whole = static_cast<std::size_t>(rows) * how_.row_bytes();
    check_gaps(from_->name(), how_, block_.data(), at, rows + (got - whole >= how_.gap && how_.gap > 0));
    throw error(from_->name() + ": it is cut short: "
                + (how_.rows == no_end ? "" : std::to_string(how_.rows) + " rows were promised, and ")
                + "it ends within row " + std::to_string(at + rows) + " (counted from 0)");
  }

  std::unique_ptr<stream> from_;
  number_layout how_;
  std::vector<index> chosen_, columns_; // as the user said; all that are to be read
  std::vector<char> block_;
  std::size_t pending_ = 0; // bytes at its front that are of the rows to come
};

} // namespace

std::unique_ptr<reader> read_numbers(std::shared_ptr<mapped_file const> file, number_layout const& how,
                                     load_options const& options) {
  return std::make_unique<mapped_numbers>(std::move(file), how, options);
}

std::unique_ptr<reader> read_numbers(std::unique_ptr<stream> from, number_layout const& how,
                                     load_options const& options) {
  return std::make_unique<streamed_numbers>(std::move(from), how, options);
}

} // namespace kopse::io
