// SPDX-License-Identifier: BSD-3-Clause
// screen.hpp: the nearest centroid of as many points as a call takes, by a plain loop in double.
#include "kopse/screen.hpp"

#include <limits>

#include "micro.hpp"

namespace kopse::micro {
namespace {

struct screened {
  std::vector<double> points, centroids;
  std::vector<double const*> rows;
  float_screen screen;
  float_screen::scratch scratch;
  std::vector<label> who = std::vector<label>(at(float_screen::most_points));
  screened(index m, index d)
      : points(numbers(float_screen::most_points * d, 1)), centroids(numbers(m * d, 2)),
        rows(rows_of(points, d)) {
    screen.take(centroids.data(), m, d, m, std::vector<double>(at(d), 0.5).data());
  }
};

label nearest(double const* x, std::vector<double> const& centroids, index m, index d) {
  double best = std::numeric_limits<double>::infinity();
  label who = 0;
  std::vector<double> sums(at(m)); // by centroid, each in the order of dimensions
  for (index j = 0; j < d; ++j)
    for (index i = 0; i < m; ++i) {
      double const apart = x[j] - centroids[at(j * m + i)];
      sums[at(i)] += apart * apart;
    }
  for (index i = 0; i < m; ++i)
    if (sums[at(i)] < best) best = sums[at(i)], who = static_cast<label>(i);
  return who;
}

job time_screen(index m, index d) {
  auto const s = std::make_shared<screened>(m, d);
  auto const run = [s] {
    s->screen.find_nearest(s->rows.data(), std::ssize(s->rows), s->scratch, s->who.data());
  };
  run();
  for (std::size_t i = 0; i < s->rows.size(); ++i)
    check(s->who[i] == nearest(s->rows[i], s->centroids, m, d), "the nearest");
  double const pairs = static_cast<double>(m * float_screen::most_points);
  return job_of(
      run,
      {.run = {}, .items = pairs, .flops = 2 * static_cast<double>(d) * pairs, .bound = roof::fma_float});
}

} // namespace

void add_screen() {
  for (index const m : {16, 250, 1000})
    for (index const d : {2, 3, 8, 20, 100, 784})
      add(named("float_screen", m, d), [=] { return time_screen(m, d); });
}

} // namespace kopse::micro
