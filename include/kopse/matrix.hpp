// SPDX-License-Identifier: BSD-3-Clause
// Rows of numbers: a view that copies nothing, and an aligned owner.
#pragma once

#include <algorithm>
#include <memory>
#include <new>
#include <utility>

#include "kopse/core.hpp"
#include "kopse/paging.hpp"
#include "kopse/parallel.hpp"

namespace kopse {

/// Read-only rows of `Real` (float or double) that live elsewhere; row i starts at data + i·stride.
template <class Real> class matrix_view {
public:
  matrix_view() = default;
  matrix_view(Real const* data, index rows, index cols) : matrix_view(data, rows, cols, cols) {}
  matrix_view(Real const* data, index rows, index cols, index stride)
      : data_(data), rows_(rows), cols_(cols), stride_(stride) {}

  index rows() const { return rows_; }
  index cols() const { return cols_; }
  index stride() const { return stride_; }
  Real const* row(index i) const { return data_ + i * stride_; }
  Real operator()(index i, index j) const { return data_[i * stride_ + j]; }
  /// Rows [first, last).
  matrix_view slice(index first, index last) const { return {row(first), last - first, cols_, stride_}; }
  /// Columns [first, last).
  matrix_view columns(index first, index last) const { return {data_ + first, rows_, last - first, stride_}; }

private:
  Real const* data_ = nullptr;
  index rows_ = 0, cols_ = 0, stride_ = 0;
};

/// f(a, b) for the rows [first, last), all at once; for those of a paged_range by and by, with their pages
/// given back behind it. What a block of a loop over rows does goes through it.
template <class Real, class F> void by_pages(matrix_view<Real> rows, index first, index last, F const& f) {
  if (first >= last || !is_paged(rows.row(first))) return f(first, last);
  auto const row_bytes = static_cast<index>(sizeof(Real)) * rows.stride();
  index const step = std::max<index>(1, static_cast<index>(paged_at_a_time) / row_bytes);
  for (index a = first; a < last; a += step) {
    index const b = std::min(last, a + step);
    f(a, b);
    give_back(rows.row(a), rows.row(b - 1) + rows.cols(), true);
  }
}
/// For a row here and there: the place where it is copied from need not stay.
template <class Real> void give_back(matrix_view<Real> rows, index i) {
  give_back(rows.row(i), rows.row(i) + rows.cols(), true);
}

/// Owns rows·cols numbers without gaps, zero at first, aligned to a cache line.
template <class Real> class matrix {
public:
  matrix() = default;
  matrix(index rows, index cols) : rows_(rows), cols_(cols), data_(allocate(rows * cols)) {
    std::fill_n(data_.get(), rows * cols, Real{});
  }
  /// A copy, on so many threads (0: all).
  explicit matrix(matrix_view<Real> other, int threads = 1)
      : rows_(other.rows()), cols_(other.cols()), data_(allocate(rows_ * cols_)) {
    for_blocks(rows_, 16384, threads, [&](index first, index last) {
      by_pages(other, first, last, [&](index a, index b) {
        for (index i = a; i < b; ++i) std::copy_n(other.row(i), cols_, row(i));
      });
    });
  }
  matrix(matrix const& other) : matrix(other.view()) {}
  matrix(matrix&& other) noexcept { swap(other); }
  matrix& operator=(matrix other) noexcept {
    swap(other);
    return *this;
  }

  index rows() const { return rows_; }
  index cols() const { return cols_; }
  Real* row(index i) { return data_.get() + i * cols_; }
  Real const* row(index i) const { return data_.get() + i * cols_; }
  Real& operator()(index i, index j) { return data_[i * cols_ + j]; }
  Real operator()(index i, index j) const { return data_[i * cols_ + j]; }
  matrix_view<Real> view() const { return {data_.get(), rows_, cols_}; }
  operator matrix_view<Real>() const { return view(); }

private:
  static constexpr std::align_val_t alignment{64};
  struct release {
    void operator()(Real* p) const { ::operator delete[](p, alignment); }
  };
  static Real* allocate(index count) {
    return static_cast<Real*>(::operator new[](static_cast<std::size_t>(count) * sizeof(Real), alignment));
  }
  void swap(matrix& other) noexcept {
    std::swap(rows_, other.rows_);
    std::swap(cols_, other.cols_);
    std::swap(data_, other.data_);
  }

  index rows_ = 0, cols_ = 0;
  std::unique_ptr<Real[], release> data_;
};

} // namespace kopse
