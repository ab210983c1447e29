// SPDX-License-Identifier: BSD-3-Clause
// What every reader of a file of numbers is, so that several files become one matrix, and a range of rows is
// a range whatever the format.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kopse/io.hpp"

namespace kopse::io {

constexpr index no_end = std::numeric_limits<index>::max();

/// Bytes of a block: few where readers are fuzzed, so that short files have borders of blocks in them.
constexpr std::size_t block_size(std::size_t usual) {
#ifdef KOPSE_FUZZ
  usual = 1024;
#endif
  return usual;
}

/// Rows that grow as they come. realloc() moves pages, not numbers, where they are many; so memory is that of
/// the rows that are there, and no header can promise more than it keeps.
template <class Real> class growing_rows {
public:
  explicit growing_rows(index cols) : cols_(cols) {}
  growing_rows(growing_rows&&) = default;

  index rows() const { return rows_; }
  index cols() const { return cols_; }
  /// Room for so many in all.
  void reserve(index rows) {
    if (rows > capacity_) resize(rows);
  }
  /// The place of `count` more rows, to be filled.
  Real* extend(index count) {
    if (count > no_end - rows_) throw std::bad_alloc();
    if (rows_ + count > capacity_) resize(std::max(rows_ + count, capacity_ + capacity_ / 2));
    rows_ += count;
    return data_.get() + (rows_ - count) * cols_;
  }
  table finish() && {
    if (rows_ < capacity_) resize(rows_);
    matrix_view<Real> const view(data_.get(), rows_, cols_);
    return table(view, std::shared_ptr<void const>(std::move(data_)));
  }

private:
  struct release {
    void operator()(Real* p) const { std::free(p); }
  };
  void resize(index rows) {
    auto const most = std::numeric_limits<std::ptrdiff_t>::max() / static_cast<index>(sizeof(Real)) / cols_;
    if (rows > most) throw std::bad_alloc();
    auto const bytes = static_cast<std::size_t>(rows * cols_) * sizeof(Real);
    void* const moved = std::realloc(data_.get(), std::max<std::size_t>(bytes, 1));
    if (moved == nullptr) throw std::bad_alloc();
    data_.release(); // realloc() has freed it
    data_.reset(static_cast<Real*>(moved));
    capacity_ = rows;
  }

  index rows_ = 0, cols_, capacity_ = 0;
  std::unique_ptr<Real[], release> data_;
};

/// One file. Rows are numbered within it.
class reader {
public:
  virtual ~reader() = default;

  /// Whether every number of it is a float32.
  virtual bool float32() const = 0;
  /// How many rows there are, if that is known before they are read: then their bytes are there.
  virtual std::optional<index> rows() const { return {}; }
  /// How many columns were chosen; afterwards names and notes are there.
  virtual index cols() = 0;
  /// Rows [first, last) without a copy, where that can be. Both are within the file.
  virtual std::optional<table> in_place(index first, index last) {
    return static_cast<void>(first), static_cast<void>(last), std::nullopt;
  }
  /// Appends rows [first, last), or as many of them as there are. Returns how many were passed or read:
  /// `last`, or fewer if the file ended.
  virtual index read(index first, index last, growing_rows<double>& out) = 0;
  virtual index read(index first, index last, growing_rows<float>& out) = 0; ///< only if float32()

  std::vector<std::string> names, notes;
};

} // namespace kopse::io
