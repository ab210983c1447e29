// SPDX-License-Identifier: BSD-3-Clause
// Options as an object with attributes, and fit(): results become dictionaries.
#include "bindings.hpp"

namespace kopse::python {

nb::dict to_dict(iteration_record const& record) {
  nb::dict prunes;
  for (std::size_t rule = 0; rule < record.work.prunes.size(); ++rule)
    prunes[name(static_cast<prune_rule>(rule))] = record.work.prunes[rule];
  nb::dict out;
  out["seconds"] = record.seconds;
  out["distances"] = record.work.distances;
  out["node_scores"] = record.work.node_scores;
  out["prunes"] = prunes;
  out["labels_changed"] = record.labels_changed;
  out["largest_movement"] = record.largest_movement;
  out["inertia"] = record.inertia;
  return out;
}

nb::dict stats_of(result const& r, index n, index d, options const& o) {
  nb::dict seconds;
  seconds["tree"] = r.seconds.tree;
  seconds["seed"] = r.seconds.seed;
  seconds["iterate"] = r.seconds.iterate;
  nb::list choices, trace;
  for (algorithm_choice const& c : r.choices) {
    nb::dict choice;
    choice["iteration"] = c.iteration;
    choice["algorithm"] = c.algorithm;
    choice["why"] = c.why;
    choices.append(choice);
  }
  for (iteration_record const& record : r.trace) trace.append(to_dict(record));
  nb::dict out;
  if (r.resumed) {
    out["resumed_from"] = r.resumed->iteration;
    out["resumed_restart"] = r.resumed->restart;
  }
  out["n"] = n;
  out["d"] = d;
  out["k"] = r.centroids.rows();
  out["algorithm"] = r.algorithm;
  out["tree"] = r.tree;
  out["choices"] = choices;
  out["spherical"] = o.spherical;
  out["seed"] = o.seed;
  out["iterations"] = r.iterations;
  out["converged"] = r.converged();
  out["reason"] = name(r.reason);
  out["inertia"] = r.inertia;
  out["seconds"] = seconds;
  out["restart"] = r.best_restart;
  out["empty_clusters"] = r.empty_clusters;
  out["version"] = version();
  out["trace"] = trace;
  return out;
}

nb::dict to_dict(result&& r, index n, index d, options const& o) {
  nb::dict out;
  out["stats"] = stats_of(r, n, d, o);
  out["warnings"] = r.warnings;
  out["centroids"] = to_numpy(std::move(r.centroids));
  out["labels"] = to_numpy(std::move(r.labels));
  return out;
}

namespace {

template <class Real>
nb::dict fit_rows(rows_in<Real> const& rows, index k, options o, std::optional<numbers_in> const& weights,
                  tree const* over, nb::handle callback) {
  point_set<Real> const data = points(rows, weights);
  built_tree<Real> const built = over != nullptr ? over->of<Real>() : built_tree<Real>();
  result r;
  supervise([&](std::atomic<bool> const& stop, ask const& python) {
    o.stop = &stop;
    o.on_iteration = each_iteration(callback, python);
    r = built ? fit(data, k, o, built) : fit(data, k, o);
  });
  return to_dict(std::move(r), data.size(), data.dims(), o);
}

template <class Real> void bind_fit_of(nb::module_& m) {
  m.def("fit", fit_rows<Real>, nb::arg("rows").noconvert(), nb::arg("k"), nb::arg("options"),
        nb::arg("weights").none() = nb::none(), nb::arg("tree").none() = nb::none(),
        nb::arg("callback").none() = nb::none());
}

} // namespace

void bind_options(nb::module_& m) {
  nb::class_<options>(m, "Options")
      .def(nb::init<>())
      .def_rw("algorithm", &options::algorithm)
      .def_rw("tree", &options::tree)
      .def_rw("leaf_size", &options::leaf_size)
      .def_rw("groups", &options::groups)
      .def_rw("threads", &options::threads)
      .def_rw("init", &options::init)
      .def_rw("candidates", &options::candidates)
      .def_rw("restarts", &options::restarts)
      .def_rw("seed", &options::seed)
      .def_rw("max_iter", &options::max_iter)
      .def_rw("tol", &options::tol)
      .def_rw("spherical", &options::spherical)
      .def_rw("verify", &options::verify)
      .def_rw("time_limit", &options::time_limit)
      .def(
          "keep_checkpoint",
          [](options& o, std::string const& file, double every, bool resume) {
            o.checkpoint.file = file, o.checkpoint.every_seconds = every, o.checkpoint.resume = resume;
          },
          nb::arg("file"), nb::arg("every"), nb::arg("resume"))
      .def(
          "keep_empty",
          [](options& o, bool keep) { o.empty = keep ? empty_policy::keep : empty_policy::relocate; },
          nb::arg("keep"))
      .def(
          "start_from",
          [](options& o, rows_in<double> const& rows) { o.centroids = matrix<double>(view(rows)); },
          nb::arg("centroids").noconvert());
}

void bind_fit(nb::module_& m) {
  bind_fit_of<double>(m);
  bind_fit_of<float>(m);
}

} // namespace kopse::python
