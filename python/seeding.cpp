// SPDX-License-Identifier: BSD-3-Clause
// Starting centroids alone.
#include "bindings.hpp"

namespace kopse::python {

namespace {

template <class Real>
nb::tuple seed_rows(rows_in<Real> const& rows, index k, options const& o,
                    std::optional<numbers_in> const& weights, tree const* over) {
  built_tree<Real> const built = over != nullptr ? over->of<Real>() : built_tree<Real>();
  seeding_options s;
  s.init = o.init, s.seed = o.seed, s.candidates = o.candidates;
  s.tree = o.tree, s.leaf_size = o.leaf_size, s.threads = o.threads;
  seeding_result r;
  supervise([&](std::atomic<bool> const& stop, ask const&) {
    s.stop = &stop;
    r = seed(points(rows, weights), k, s, built);
  });
  return nb::make_tuple(to_numpy(std::move(r.centroids)), to_numpy(std::move(r.rows)), r.warnings);
}

template <class Real> void bind_seed_of(nb::module_& m) {
  m.def("seed", seed_rows<Real>, nb::arg("rows").noconvert(), nb::arg("k"), nb::arg("options"),
        nb::arg("weights").none() = nb::none(), nb::arg("tree").none() = nb::none());
}

} // namespace

void bind_seeding(nb::module_& m) {
  bind_seed_of<double>(m);
  bind_seed_of<float>(m);
}

} // namespace kopse::python
