// SPDX-License-Identifier: BSD-3-Clause
// New rows against centroids: what a fit says of its own rows is what predict() and inertia() say again.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "kopse/kopse.hpp"

namespace {

using kopse::index;
using kopse::label;

template <class Real> kopse::matrix<Real> random_rows(index n, index d, double offset) {
  std::mt19937_64 random(static_cast<std::uint64_t>(n + d));
  std::normal_distribution<double> normal;
  kopse::matrix<Real> x(n, d);
  for (index i = 0; i < n; ++i)
    for (index j = 0; j < d; ++j) x(i, j) = static_cast<Real>(offset + normal(random));
  return x;
}

template <class Real> void expect_the_same_again(index n, index d, index k, bool weighted) {
  kopse::matrix<Real> const x = random_rows<Real>(n, d, 100);
  std::vector<double> weights;
  for (index i = 0; weighted && i < n; ++i) weights.push_back(0.1 * static_cast<double>(i % 7));
  kopse::point_set<Real> const points(x.view(), weights);
  kopse::options options;
  options.max_iter = 4;
  kopse::result const run = kopse::fit(points, k, options);
  EXPECT_EQ(kopse::predict(points.rows, run.centroids.view()), run.labels);
  EXPECT_EQ(kopse::inertia(points, run.centroids.view()), run.inertia);
  EXPECT_EQ(kopse::inertia(points, run.centroids.view(), 3), run.inertia);

  kopse::matrix<Real> const distances = kopse::distances(points.rows, run.centroids.view());
  ASSERT_EQ(distances.rows(), n);
  ASSERT_EQ(distances.cols(), k);
  for (index i = 0; i < n; i += 11)
    for (index c = 0; c < k; ++c)
      EXPECT_EQ(distances(i, c),
                static_cast<Real>(std::sqrt(kopse::squared_distance(x.row(i), run.centroids.row(c), d))));
}

TEST(predict, says_again_what_a_fit_said) {
  for (bool const weighted : {false, true}) {
    expect_the_same_again<double>(5000, 3, 150, weighted); // by trees
    expect_the_same_again<float>(5000, 2, 150, weighted);
    expect_the_same_again<double>(700, 3, 9, weighted); // by brute force
    expect_the_same_again<float>(700, 17, 12, weighted);
  }
}

TEST(predict, refuses_what_cannot_be) {
  kopse::matrix<double> x = random_rows<double>(20, 3, 0);
  kopse::matrix<double> const two(2, 2), none(0, 3);
  EXPECT_THROW(kopse::predict(x.view(), two.view()), kopse::error);
  EXPECT_THROW(kopse::distances(x.view(), two.view()), kopse::error);
  EXPECT_THROW(kopse::inertia(x.view(), two.view()), kopse::error);
  EXPECT_THROW(kopse::distances(x.view(), none.view()), kopse::error);
  x(7, 1) = NAN;
  try {
    kopse::distances(x.view(), random_rows<double>(2, 3, 0).view());
    FAIL();
  } catch (kopse::error const& e) {
    EXPECT_NE(std::string(e.what()).find("row 7, column 1"), std::string::npos) << e.what();
  }
}

TEST(predict, can_be_stopped) {
  kopse::matrix<double> const x = random_rows<double>(20000, 3, 0);
  std::atomic<bool> const stop = true;
  for (index const k : {3, 200}) { // by brute force, by trees
    auto const centroids = x.view().slice(0, k);
    EXPECT_THROW(kopse::predict(x.view(), centroids, 0, &stop), kopse::interrupted);
    EXPECT_THROW(kopse::inertia(x.view(), centroids, 0, &stop), kopse::interrupted);
    EXPECT_THROW(kopse::distances(x.view(), centroids, 0, &stop), kopse::interrupted);
  }
}

} // namespace
