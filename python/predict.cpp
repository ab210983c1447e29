// SPDX-License-Identifier: BSD-3-Clause
// New rows against centroids: labels, distances, inertia; and rows of unit length.
#include "bindings.hpp"

namespace kopse::python {

namespace {

template <class Real>
vector_out<label> predict_rows(rows_in<Real> const& rows, rows_in<double> const& centroids, int threads) {
  std::vector<label> labels;
  supervise([&](std::atomic<bool> const& stop, ask const&) {
    labels = predict(view(rows), view(centroids), threads, &stop);
  });
  return to_numpy(std::move(labels));
}

template <class Real>
matrix_out<Real> distances_of(rows_in<Real> const& rows, rows_in<double> const& centroids, int threads) {
  matrix<Real> out;
  supervise([&](std::atomic<bool> const& stop, ask const&) {
    out = distances(view(rows), view(centroids), threads, &stop);
  });
  return to_numpy(std::move(out));
}

template <class Real>
double inertia_of_rows(rows_in<Real> const& rows, rows_in<double> const& centroids,
                       std::optional<numbers_in> const& weights, int threads) {
  double sum = 0;
  supervise([&](std::atomic<bool> const& stop, ask const&) {
    sum = inertia(points(rows, weights), view(centroids), threads, &stop);
  });
  return sum;
}

template <class Real> matrix_out<double> normalised(rows_in<Real> const& rows, int threads) {
  matrix<double> out;
  supervise([&](std::atomic<bool> const&, ask const&) {
    matrix_view<Real> const x = view(rows);
    out = matrix<double>(x.rows(), x.cols());
    for (index i = 0; i < x.rows(); ++i) std::copy_n(x.row(i), x.cols(), out.row(i));
    normalise_rows(out, threads);
  });
  return to_numpy(std::move(out));
}

template <class Real> void expect_unit_length(rows_in<Real> const& rows, int threads) {
  supervise([&](std::atomic<bool> const&, ask const&) {
    point_set<Real> const data(view(rows));
    validate(data, threads);
    check_unit_length(data, threads);
  });
}

template <class Real> void bind_predict_of(nb::module_& m) {
  auto const rows = nb::arg("rows").noconvert();
  auto const centroids = nb::arg("centroids").noconvert();
  m.def("predict", predict_rows<Real>, rows, centroids, nb::arg("threads"));
  m.def("distances", distances_of<Real>, rows, centroids, nb::arg("threads"));
  m.def("inertia", inertia_of_rows<Real>, rows, centroids, nb::arg("weights").none(), nb::arg("threads"));
  m.def("normalised", normalised<Real>, rows, nb::arg("threads"));
  m.def("expect_unit_length", expect_unit_length<Real>, rows, nb::arg("threads"));
}

} // namespace

void bind_predict(nb::module_& m) {
  bind_predict_of<double>(m);
  bind_predict_of<float>(m);
}

} // namespace kopse::python
