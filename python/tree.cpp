// SPDX-License-Identifier: BSD-3-Clause
// A tree on rows, built once for many fits.
#include "bindings.hpp"

namespace kopse::python {

namespace {

template <class Real>
tree build(rows_in<Real> const& rows, std::string const& name, index leaf_size, int threads) {
  built_tree<Real> built;
  matrix_view<Real> const data = view(rows);
  supervise(
      [&](std::atomic<bool> const&, ask const&) { built = build_tree(data, name, leaf_size, threads); });
  return {std::move(built)};
}

template <class Real> void bind_build_of(nb::module_& m) {
  m.def("build_tree", build<Real>, nb::arg("rows").noconvert(), nb::arg("name"), nb::arg("leaf_size"),
        nb::arg("threads"));
}

} // namespace

void bind_tree(nb::module_& m) {
  nb::class_<tree>(m, "Tree")
      .def_prop_ro("name",
                   [](tree const& t) { return std::visit([](auto const& b) { return b.name(); }, t.built); })
      .def_prop_ro("node_count", [](tree const& t) {
        return std::visit([](auto const& b) { return b.node_count(); }, t.built);
      });
  bind_build_of<double>(m);
  bind_build_of<float>(m);
}

} // namespace kopse::python
