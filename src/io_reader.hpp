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

#include "io_nameless.hpp"
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
/// the rows that are there, and no header can promise more than it keeps. Those that would take more bytes
/// than `memory` go to a file, and only the last few are in memory.
template <class Real> class growing_rows {
public:
  growing_rows(index cols, double memory) : cols_(cols), memory_(memory) {}
  growing_rows(growing_rows&&) noexcept = default;

  index rows() const { return written_ + held_; }
  index cols() const { return cols_; }
  /// Room for so many in all.
  void reserve(index rows) {
    if (bytes(rows) > memory_)
      begin_file();
    else if (rows > capacity_)
      resize(rows);
  }
  /// The place of `count` more rows, to be filled before the next call.
  Real* extend(index count) {
    if (count > no_end - rows()) throw std::bad_alloc();
    if (bytes(held_ + count) > memory_) write_down();
    if (held_ + count > capacity_) resize(std::max(held_ + count, capacity_ + capacity_ / 2));
    held_ += count;
    return data_.get() + (held_ - count) * cols_;
  }
  table finish() && {
    if (file_) {
      write_down();
      auto const mapped = file_->map();
      auto const* const first = reinterpret_cast<Real const*>(mapped->bytes().data());
      table result(matrix_view<Real>(first, written_, cols_), mapped);
      result.on_disk = true;
      result.paged = std::make_shared<paged_range>(mapped, first, mapped->bytes().size());
      return result;
    }
    if (held_ < capacity_) resize(held_);
    matrix_view<Real> const view(data_.get(), held_, cols_);
    return table(view, std::shared_ptr<void const>(std::move(data_)));
  }

private:
  struct release {
    void operator()(Real* p) const { std::free(p); }
  };
  double bytes(index rows) const {
    return static_cast<double>(rows) * static_cast<double>(cols_) * static_cast<double>(sizeof(Real));
  }
  void begin_file() {
    if (file_) return;
    file_ = std::make_unique<nameless_file>();
    memory_ = static_cast<double>(block_on_the_way);
  }
  // What is held goes to the file.
  void write_down() {
    begin_file();
    file_->write(
        {reinterpret_cast<char const*>(data_.get()), static_cast<std::size_t>(held_ * cols_) * sizeof(Real)});
    written_ += std::exchange(held_, 0);
    if (bytes(capacity_) > memory_) data_.reset(), capacity_ = 0;
  }
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

  index cols_, capacity_ = 0;
  index held_ = 0, written_ = 0; // rows in memory, and before them in the file
  double memory_;
  std::unique_ptr<Real[], release> data_;
  std::unique_ptr<nameless_file> file_; // none as long as they fit
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
