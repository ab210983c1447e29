// SPDX-License-Identifier: BSD-3-Clause
// kernels.hpp: the same bits as the plain loops below.
#include "kopse/kernels.hpp"

#include <algorithm>
#include <limits>

#include "micro.hpp"

namespace kopse::micro {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr index in_a_leaf = 40; // points

double square(double x) { return x * x; }

// A point, a box and m centroids of d dimensions, by dimension as centroid_columns.hpp has them.
struct scene {
  index d, m, stride;
  slack rounding;
  std::vector<double> x, low, high, near;
  scene(index dims, index columns)
      : d(dims), m(columns), stride(padded(columns) + lanes), rounding(dims), x(numbers(stride * d, 1)),
        low(numbers(d, 2)), high(low), near(numbers(d, 3)) {
    for (double& h : high) h += 0.1;
  }
  double at(index i, index j) const { return x[micro::at(j * stride + i)]; }
  double count() const { return static_cast<double>(m); }
  double dims() const { return static_cast<double>(d); }
};
using shared = std::shared_ptr<scene const>;
using outputs = std::shared_ptr<std::vector<double>>;

outputs room(index count) { return std::make_shared<std::vector<double>>(at(count), -1.0); }

job time_squares(index m, index d) {
  shared const s = std::make_shared<scene>(d, m);
  outputs const out = room(m);
  auto const run = [s, out] {
    squared_distances(s->near.data(), s->d, s->x.data(), s->m, s->stride, out->data());
  };
  run();
  for (index i = 0; i < m; ++i) {
    double sum = 0;
    for (index j = 0; j < d; ++j) sum += square(s->near[at(j)] - s->at(i, j));
    check((*out)[at(i)] == sum, "d²");
  }
  return job_of(run, {.run = {},
                      .items = s->count(),
                      .flops = 3 * s->dims() * s->count(),
                      .bytes = 8 * (s->dims() + 1) * s->count(),
                      .bound = roof::fma_double});
}

// Two squares a dimension.
job time_boxes(index m, index d) {
  shared const s = std::make_shared<scene>(d, m);
  outputs const lo2 = room(m), hi2 = room(m);
  auto const run = [s, lo2, hi2] {
    box_distances(s->low.data(), s->high.data(), s->d, s->x.data(), s->m, s->stride, s->rounding, lo2->data(),
                  hi2->data());
  };
  run();
  for (index i = 0; i < m; ++i) {
    interval sum{0, 0};
    for (index j = 0; j < d; ++j) {
      double const below = s->at(i, j) - s->high[at(j)], above = s->low[at(j)] - s->at(i, j);
      sum.lo += square(std::max({below, above, 0.0}));
      sum.hi += square(std::min(below, above));
    }
    interval const expected = s->rounding.outward(sum);
    check((*lo2)[at(i)] == expected.lo && (*hi2)[at(i)] == expected.hi, "distances of a box");
  }
  return job_of(run, {.run = {},
                      .items = s->count(),
                      .flops = 6 * s->dims() * s->count(),
                      .bytes = 8 * (s->dims() + 2) * s->count(),
                      .bound = roof::fma_double});
}

// A difference, three products, their maximum, and three additions a dimension.
job time_leads(index m, index d) {
  shared const s = std::make_shared<scene>(d, m);
  outputs const out = room(m);
  auto const run = [s, out] {
    box_leads(s->low.data(), s->high.data(), s->d, s->near.data(), s->x.data(), s->m, s->stride, 3.5,
              s->rounding, out->data());
  };
  run();
  for (index i = 0; i < m; ++i) {
    double least = 0, squares = 0, corner2 = 0;
    for (index j = 0; j < d; ++j) {
      double const n = s->near[at(j)], l = s->low[at(j)] - n, h = s->high[at(j)] - n, g = s->at(i, j) - n;
      least += square(g) - std::max(g * (2 * l), g * (2 * h));
      squares += square(g);
      corner2 += std::max(square(l), square(h));
    }
    check((*out)[at(i)] == least - s->rounding.of_squares(3.5 + corner2, 2 * squares), "a lead");
  }
  return job_of(run, {.run = {},
                      .items = s->count(),
                      .flops = 8 * s->dims() * s->count(),
                      .bytes = 8 * (s->dims() + 1) * s->count(),
                      .bound = roof::fma_double});
}

// Of numbers in (0, 1), a limit of ½ keeps half, in no order.
job time_keeping(index m, index d) {
  shared const s = std::make_shared<scene>(d, m);
  auto const values = std::make_shared<std::vector<double>>(numbers(s->stride, 5));
  outputs const out = room(s->stride * d);
  auto const run = [s, values, out] {
    return keep_at_most(0.5, values->data(), s->m, s->d, s->x.data(), s->stride, out->data(), s->stride);
  };
  kept_columns const kept = run();
  index count = 0;
  double dropped = infinite;
  for (index i = 0; i < m; ++i) {
    double const value = (*values)[at(i)];
    if (value > 0.5) {
      dropped = std::min(dropped, value);
      continue;
    }
    for (index j = 0; j < d; ++j) check((*out)[at(j * s->stride + count)] == s->at(i, j), "a column kept");
    ++count;
  }
  check(kept.count == count && kept.least_dropped == dropped, "what is kept");
  return job_of([run] { benchmark::DoNotOptimize(run()); },
                {.run = {},
                 .items = s->count(),
                 .bytes = 8 * (s->count() * (s->dims() + 1) + static_cast<double>(count) * s->dims()),
                 .bound = roof::copy});
}

job time_least(index m) {
  auto const values = std::make_shared<std::vector<double>>(numbers(m, 6));
  check(least_of(values->data(), m) == *std::min_element(values->begin(), values->end()), "the least");
  return job_of(
      [values, m] { benchmark::DoNotOptimize(least_of(values->data(), m)); },
      {.run = {}, .items = static_cast<double>(m), .bytes = 8 * static_cast<double>(m), .bound = roof::read});
}

// Points of a leaf, by dimension, and the numbers and d² of all centroids in order of d², by plain loops.
struct leaf {
  std::vector<double> points;
  explicit leaf(index d) : points(numbers(in_a_leaf * d, 7)) {}
  std::vector<std::pair<double, index>> nearest(scene const& s, index i) const {
    std::vector<std::pair<double, index>> all;
    for (index o = 0; o < s.m; ++o) {
      double sum = 0;
      for (index j = 0; j < s.d; ++j) sum += square(points[at(j * in_a_leaf + i)] - s.at(o, j));
      all.emplace_back(sum, o);
    }
    std::sort(all.begin(), all.end());
    return all;
  }
};

// best[i] begins at 3·d, which no d² reaches.
job time_offers(index m, index d) {
  shared const s = std::make_shared<scene>(d, m);
  auto const l = std::make_shared<leaf const>(d);
  outputs const best = room(in_a_leaf), who = room(in_a_leaf);
  auto const run = [s, l, best, who] {
    std::fill(best->begin(), best->end(), 3 * s->dims());
    offer_centroids(l->points.data(), in_a_leaf, in_a_leaf, s->d, s->x.data(), s->m, 1, s->stride, 0,
                    best->data(), who->data());
  };
  run();
  for (index i = 0; i < in_a_leaf; ++i) {
    auto const nearest = l->nearest(*s, i)[0];
    check((*best)[at(i)] == nearest.first && (*who)[at(i)] == static_cast<double>(nearest.second),
          "the nearest");
  }
  double const pairs = s->count() * static_cast<double>(in_a_leaf);
  return job_of(run, {.run = {}, .items = pairs, .flops = 3 * s->dims() * pairs, .bound = roof::fma_double});
}

job time_four(index m, index d) {
  shared const s = std::make_shared<scene>(d, m);
  auto const l = std::make_shared<leaf const>(d);
  outputs const out = room(7 * in_a_leaf);
  auto const run = [s, l, out] {
    nearest_rows found;
    for (index r = 0; r < 4; ++r) found.square[r] = out->data() + r * in_a_leaf;
    for (index r = 0; r < 3; ++r) found.who[r] = out->data() + (4 + r) * in_a_leaf;
    find_nearest_four(l->points.data(), in_a_leaf, in_a_leaf, s->d, s->x.data(), s->m, 1, s->stride, found);
  };
  run();
  for (index i = 0; i < in_a_leaf; ++i) {
    auto const nearest = l->nearest(*s, i);
    for (index r = 0; r < 4; ++r)
      check((*out)[at(r * in_a_leaf + i)] == nearest[at(r)].first, "the nearest four");
    check((*out)[at(4 * in_a_leaf + i)] == static_cast<double>(nearest[0].second), "the nearest of four");
  }
  double const pairs = s->count() * static_cast<double>(in_a_leaf);
  return job_of(run, {.run = {}, .items = pairs, .flops = 3 * s->dims() * pairs, .bound = roof::fma_double});
}

} // namespace

void add_kernels() {
  struct by_size {
    char const* name;
    job (*make)(index m, index d);
  };
  for (by_size const b : {by_size{"squared_distances", time_squares}, by_size{"box_distances", time_boxes},
                          by_size{"box_leads", time_leads}, by_size{"keep_at_most", time_keeping},
                          by_size{"offer_centroids", time_offers}, by_size{"find_nearest_four", time_four}})
    for (index const m : {16, 250, 1000})
      for (index const d : {2, 3, 8, 20, 100}) add(named(b.name, m, d), [=] { return b.make(m, d); });
  for (index const m : {16, 250, 1000}) add(named("least_of", "m", m), [m] { return time_least(m); });
}

} // namespace kopse::micro
