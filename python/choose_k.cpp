// SPDX-License-Identifier: BSD-3-Clause
// How many clusters: the curve over k, and X-means.
#include "bindings.hpp"

namespace kopse::python {

namespace {

nb::dict to_dict(k_scores const& s) {
  nb::dict out;
  out["k"] = s.k;
  out["inertia"] = s.inertia;
  out["bic"] = s.bic;
  out["aic"] = s.aic;
  out["calinski_harabasz"] = s.calinski_harabasz;
  out["silhouette"] = s.silhouette;
  out["iterations"] = s.iterations;
  out["converged"] = s.converged;
  out["empty_clusters"] = s.empty_clusters;
  out["warm"] = s.warm;
  out["seconds"] = s.seconds;
  return out;
}

nb::dict to_dict(k_choices const& c) {
  nb::dict out;
  for (auto const& [criterion, k] : {std::pair<char const*, index>{"bic", c.bic},
                                     {"aic", c.aic},
                                     {"calinski_harabasz", c.calinski_harabasz},
                                     {"silhouette", c.silhouette},
                                     {"knee", c.knee}})
    if (k > 0) out[criterion] = k; // 0: it has none
  return out;
}

template <class Real> built_tree<Real> given(tree const* over) {
  return over != nullptr ? over->of<Real>() : built_tree<Real>();
}

template <class Real>
nb::dict choose_rows(rows_in<Real> const& rows, std::vector<index> const& ks, options const& o, bool warm,
                     bool silhouette, std::optional<numbers_in> const& weights, tree const* over,
                     nb::handle callback) {
  point_set<Real> const data = points(rows, weights);
  built_tree<Real> const built = given<Real>(over);
  choose_options choosing;
  static_cast<options&>(choosing) = o;
  choosing.warm = warm;
  choosing.silhouette = silhouette;
  choice_result r;
  supervise([&](std::atomic<bool> const& stop, ask const& python) {
    choosing.stop = &stop;
    if (!callback.is_none())
      choosing.on_k = [&](k_scores const& scores) { python([&] { callback(to_dict(scores)); }); };
    r = choose_k(data, ks, choosing, built);
  });
  nb::list curve;
  for (k_scores const& scores : r.curve) curve.append(to_dict(scores));
  nb::dict out;
  out["curve"] = curve;
  out["chosen"] = to_dict(r.chosen);
  out["tree_builds"] = r.tree_builds;
  out["algorithm"] = r.algorithm;
  out["tree"] = r.tree;
  out["warnings"] = r.warnings;
  return out;
}

template <class Real>
nb::dict x_means_rows(rows_in<Real> const& rows, index least_k, index most_k, options const& o,
                      std::optional<numbers_in> const& weights, tree const* over, nb::handle callback) {
  point_set<Real> const data = points(rows, weights);
  built_tree<Real> const built = given<Real>(over);
  x_means_options finding;
  static_cast<options&>(finding) = o;
  finding.least_k = least_k;
  finding.most_k = most_k;
  x_means_result r;
  supervise([&](std::atomic<bool> const& stop, ask const& python) {
    finding.stop = &stop;
    finding.on_iteration = each_iteration(callback, python);
    r = x_means(data, finding, built);
  });
  nb::list rounds;
  for (x_means_round const& round : r.rounds) {
    nb::dict one;
    one["k"] = round.k;
    one["split"] = round.split;
    one["merged"] = round.merged;
    one["inertia"] = round.inertia;
    one["bic"] = round.bic;
    rounds.append(one);
  }
  double const bic = r.bic;
  nb::dict out = python::to_dict(std::move(r), data.size(), data.dims(), finding);
  out["bic"] = bic;
  out["rounds"] = rounds;
  return out;
}

template <class Real> void bind_choose_k_of(nb::module_& m) {
  m.def("choose_k", choose_rows<Real>, nb::arg("rows").noconvert(), nb::arg("ks"), nb::arg("options"),
        nb::arg("warm") = true, nb::arg("silhouette") = true, nb::arg("weights").none() = nb::none(),
        nb::arg("tree").none() = nb::none(), nb::arg("callback").none() = nb::none());
  m.def("x_means", x_means_rows<Real>, nb::arg("rows").noconvert(), nb::arg("least_k"), nb::arg("most_k"),
        nb::arg("options"), nb::arg("weights").none() = nb::none(), nb::arg("tree").none() = nb::none(),
        nb::arg("callback").none() = nb::none());
}

} // namespace

void bind_choose_k(nb::module_& m) {
  bind_choose_k_of<double>(m);
  bind_choose_k_of<float>(m);
  m.def(
      "parse_ks", [](std::string const& text) { return parse_ks(text); }, nb::arg("text"));
}

} // namespace kopse::python
