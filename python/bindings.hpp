// SPDX-License-Identifier: BSD-3-Clause
// What the files of the module kopse._core share: arrays in and out, and work that Python can interrupt.
//
// The module is a thin layer: it takes arrays as they lie in memory (rows without gaps, float or double),
// calls the library, and hands over what it returns without a copy. What users meet is python/kopse/*.py.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "kopse/kopse.hpp"

namespace kopse::python {

namespace nb = nanobind;

/// Read where they are; read-only arrays will do.
template <class Real> using rows_in = nb::ndarray<Real const, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using numbers_in = nb::ndarray<double const, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class Real> matrix_view<Real> view(rows_in<Real> const& rows) {
  return {rows.data(), static_cast<index>(rows.shape(0)), static_cast<index>(rows.shape(1))};
}

template <class Real>
point_set<Real> points(rows_in<Real> const& rows, std::optional<numbers_in> const& weights) {
  std::span<double const> const w =
      weights ? std::span(weights->data(), weights->shape(0)) : std::span<double const>();
  return {view(rows), w};
}

/// An array of numpy's that owns what it is given.
template <class Number> using vector_out = nb::ndarray<nb::numpy, Number, nb::ndim<1>>;
template <class Number> using matrix_out = nb::ndarray<nb::numpy, Number, nb::ndim<2>>;

template <class Number> vector_out<Number> to_numpy(std::vector<Number>&& values) {
  auto* const kept = new std::vector<Number>(std::move(values));
  nb::capsule const owner(kept, [](void* p) noexcept { delete static_cast<std::vector<Number>*>(p); });
  return {kept->data(), {kept->size()}, owner};
}
template <class Number> matrix_out<Number> to_numpy(matrix<Number>&& values) {
  auto* const kept = new matrix<Number>(std::move(values));
  nb::capsule const owner(kept, [](void* p) noexcept { delete static_cast<matrix<Number>*>(p); });
  return {
      kept->row(0), {static_cast<std::size_t>(kept->rows()), static_cast<std::size_t>(kept->cols())}, owner};
}

/// A tree on rows of either type.
struct tree {
  std::variant<built_tree<double>, built_tree<float>> built;

  template <class Real> built_tree<Real> const& of() const {
    if (auto const* const found = std::get_if<built_tree<Real>>(&built)) return *found;
    throw usage_error("the tree is on rows of another type");
  }
};

/// One iteration as Python sees it: the keys of the trace of --stats (docs/command_line.md).
nb::dict to_dict(iteration_record const& record);

/// Has a function run by the thread that waits, with the GIL, and returns when it has.
using ask = std::function<void(std::function<void()> const&)>;

/// Runs work(stop, ask) on a thread of its own, without the GIL, while this thread waits and sees to what
/// Python wants: signals, so that Ctrl-C ends the work within a moment, and whatever the work asks for. What
/// Python raises stops the work and is raised from here, and so does pulse(), called 20 times a second. To be
/// called with the GIL.
void supervise(std::function<void(std::atomic<bool> const& stop, ask const& python)> const& work,
               nb::handle pulse = nb::none());

/// Calls callback(iteration, record) by way of `python`; no observer if the callback is None.
observer each_iteration(nb::handle callback, ask const& python);

/// The keys of --stats (docs/command_line.md), as far as they concern a fit in memory.
nb::dict stats_of(result const& r, index n, index d, options const& o);

/// Stats, warnings, centroids and labels, which are moved out of the result.
nb::dict to_dict(result&& r, index n, index d, options const& o);

void bind_options(nb::module_& m);
void bind_fit(nb::module_& m);
void bind_choose_k(nb::module_& m);
void bind_seeding(nb::module_& m);
void bind_tree(nb::module_& m);
void bind_predict(nb::module_& m);
void bind_partitions(nb::module_& m);

} // namespace kopse::python
