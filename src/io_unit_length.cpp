// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "io_reader.hpp"
#include "kopse/parallel.hpp"
#include "kopse/point_set.hpp"
#include "unit_length.hpp"

namespace kopse {

namespace {

constexpr index block_rows = 16384;

template <class Real> table divided(matrix_view<Real> rows, int threads, double memory) {
  index const n = rows.rows(), d = rows.cols();
  io::growing_rows<double> out(d, memory);
  out.reserve(n);
  for (index first = 0; first < n; first += block_rows) {
    index const count = std::min(block_rows, n - first);
    double* const block = out.extend(count);
    for_blocks(count, block_rows / 16, threads, [&](index begin, index end) {
      by_pages(rows, first + begin, first + end, [&](index a, index b) {
        for (index i = a; i < b; ++i) {
          double* const x = block + (i - first) * d;
          std::copy_n(rows.row(i), d, x);
          to_unit_length(x, d);
        }
      });
    });
  }
  return std::move(out).finish();
}

} // namespace

table of_unit_length(table const& rows, int threads, double memory, index offset) {
  float_environment const environment;
  worker_scope const workers;
  table result = rows.visit([&]<class Real>(matrix_view<Real> const& view) {
    check_directions(point_set<Real>(view, {}, offset), threads);
    return divided(view, threads, memory);
  });
  result.names = rows.names, result.notes = rows.notes;
  return result;
}

} // namespace kopse
