// SPDX-License-Identifier: BSD-3-Clause
// Rows of numbers: a view that copies nothing, and an aligned owner.
#pragma once

#include <algorithm>
#include <memory>
#include <new>
#include <utility>

#include "kopse/core.hpp"
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
      for (index i = first; i < last; ++i) std::copy_n(other.row(i), cols_, row(i));
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
