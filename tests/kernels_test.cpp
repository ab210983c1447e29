// SPDX-License-Identifier: BSD-3-Clause
// kernels.hpp: for every instruction set that this processor has, the bits that plain loops give, for any
// number of columns, and nothing written behind them that may not be.
#include "kopse/kernels.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "kopse/kmeans.hpp"
#include "kopse/random.hpp"
#include "squares.hpp"
#include "targets.hpp"

namespace kopse {
namespace {

// Some numbers, a few of them equal, far out or small.
std::vector<double> numbers(index count, std::uint64_t seed) {
  std::vector<double> x(static_cast<std::size_t>(count));
  random_stream const random(seed, 0);
  for (index i = 0; i < count; ++i) {
    double const u = std::ldexp(static_cast<double>(random.bits(static_cast<std::uint64_t>(i)) >> 11), -53);
    x[static_cast<std::size_t>(i)] = u < 0.1 ? 0.25 : u < 0.12 ? 1e9 * u : u < 0.14 ? 1e-300 * u : u - 0.5;
  }
  return x;
}

constexpr double untouched = -77;
constexpr double infinity = std::numeric_limits<double>::infinity();

double square(double x) { return x * x; }

// The boxes, points and centroids of a trial, with m columns of d rows and some more columns between.
struct trial {
  index d, m, stride;
  std::vector<double> x, low, high;
  trial(index dims, index columns, std::uint64_t seed)
      : d(dims), m(columns), stride(padded(columns) + 8), x(numbers(stride * (dims + 1), seed)),
        low(numbers(dims, seed + 1)), high(numbers(dims, seed + 2)) {
    for (std::size_t j = 0; j < low.size(); ++j)
      if (low[j] > high[j]) std::swap(low[j], high[j]);
  }
  double at(index i, index j) const { return x[static_cast<std::size_t>(j * stride + i)]; }
};

template <class F> void for_each_trial(F const& f) {
  for (index const d : {1, 2, 3, 4, 5, 9})
    for (index m = 1; m <= 35; ++m) {
      SCOPED_TRACE("d = " + std::to_string(d) + ", m = " + std::to_string(m));
      f(trial(d, m, static_cast<std::uint64_t>(d * 100 + m)));
    }
}

std::vector<double> outputs(index m) {
  return std::vector<double>(static_cast<std::size_t>(m + 1), untouched);
}

TEST(kernels, squares_are_those_of_squared_distance) {
  for_each_target([] {
    for_each_trial([](trial const& t) {
      std::vector<double> const p = numbers(t.d, 5);
      std::vector<float> const f(p.begin(), p.end());
      auto of_double = outputs(t.m), of_float = outputs(t.m);
      squared_distances(p.data(), t.d, t.x.data(), t.m, t.stride, of_double.data());
      squared_distances(f.data(), t.d, t.x.data(), t.m, t.stride, of_float.data());
      for (index i = 0; i < t.m; ++i) {
        std::vector<double> c;
        for (index j = 0; j < t.d; ++j) c.push_back(t.at(i, j));
        EXPECT_EQ(of_double[static_cast<std::size_t>(i)], squared_distance(p.data(), c.data(), t.d));
        EXPECT_EQ(of_float[static_cast<std::size_t>(i)], squared_distance(f.data(), c.data(), t.d));
      }
      EXPECT_EQ(of_double.back(), untouched);
      EXPECT_EQ(of_float.back(), untouched);
    });
  });
}

TEST(kernels, distances_to_boxes) {
  for_each_target([] {
    for_each_trial([](trial const& t) {
      slack const s(t.d);
      auto lo2 = outputs(t.m), hi2 = outputs(t.m);
      box_distances(t.low.data(), t.high.data(), t.d, t.x.data(), t.m, t.stride, s, lo2.data(), hi2.data());
      for (index i = 0; i < t.m; ++i) {
        interval sum{0, 0};
        for (index j = 0; j < t.d; ++j) {
          double const below = t.at(i, j) - t.high[static_cast<std::size_t>(j)],
                       above = t.low[static_cast<std::size_t>(j)] - t.at(i, j);
          sum.lo += square(std::max(std::max(below, above), 0.0));
          sum.hi += square(std::min(below, above));
        }
        interval const expected = s.outward(sum);
        EXPECT_EQ(lo2[static_cast<std::size_t>(i)], expected.lo);
        EXPECT_EQ(hi2[static_cast<std::size_t>(i)], expected.hi);
      }
      EXPECT_EQ(lo2.back(), untouched);
      EXPECT_EQ(hi2.back(), untouched);
    });
  });
}

TEST(kernels, nearest_to_boxes) {
  for_each_target([] {
    for_each_trial([](trial const& t) {
      slack const s(t.d);
      auto lo2 = outputs(t.m), hi2 = outputs(t.m), found = outputs(padded(t.m));
      box_distances(t.low.data(), t.high.data(), t.d, t.x.data(), t.m, t.stride, s, lo2.data(), hi2.data());
      nearest_column const nearest =
          nearest_to_box(t.low.data(), t.high.data(), t.d, t.x.data(), t.m, t.stride, s, found.data());
      auto const least = std::min_element(hi2.begin(), hi2.begin() + t.m);
      EXPECT_EQ(nearest.hi2, *least);
      EXPECT_EQ(nearest.which, least - hi2.begin());
      EXPECT_EQ(found.back(), untouched);
    });
  });
}

TEST(kernels, nearest_to_boxes_out_of_range) { // squares overflow for all
  for_each_target([] {
    slack const s(1);
    std::vector<double> const x(16, 1e200), low{0}, high{1};
    for (index m = 1; m <= 16; ++m) {
      auto found = outputs(padded(m));
      nearest_column const nearest =
          nearest_to_box(low.data(), high.data(), 1, x.data(), m, 16, s, found.data());
      EXPECT_EQ(nearest.hi2, infinity);
      EXPECT_EQ(nearest.which, 0);
    }
  });
}

TEST(kernels, leads_over_boxes) {
  for_each_target([] {
    for_each_trial([](trial const& t) {
      slack const s(t.d);
      std::vector<double> const near = numbers(t.d, 6);
      auto leads = outputs(t.m);
      box_leads(t.low.data(), t.high.data(), t.d, near.data(), t.x.data(), t.m, t.stride, 3.5, s,
                leads.data());
      for (index i = 0; i < t.m; ++i) {
        double least = 0, squares = 0, corner2 = 0;
        for (std::size_t j = 0; j < near.size(); ++j) {
          double const g = t.at(i, static_cast<index>(j)) - near[j], low = t.low[j] - near[j],
                       high = t.high[j] - near[j];
          least += square(g) - std::max(g * (2 * low), g * (2 * high));
          squares += square(g);
          corner2 += std::max(square(low), square(high));
        }
        EXPECT_EQ(leads[static_cast<std::size_t>(i)], least - s.of_squares(3.5 + corner2, 2 * squares));
      }
      EXPECT_EQ(leads.back(), untouched);
    });
  });
}

TEST(kernels, least_of_numbers) {
  for_each_target([] {
    for (index m = 1; m <= 35; ++m)
      for (index where = 0; where < m; ++where) {
        std::vector<double> x = numbers(m, 7);
        x[static_cast<std::size_t>(where)] = -8;
        EXPECT_EQ(least_of(x.data(), m), -8);
      }
  });
}

TEST(kernels, columns_that_stay_keep_their_order) {
  for_each_target([] {
    for_each_trial([](trial const& t) {
      std::vector<double> const values = numbers(padded(t.m), 8);
      for (double const limit : {-1.0, 0.0, 0.25, 1e10}) {
        std::vector<index> expected;
        double least_dropped = infinity;
        for (index i = 0; i < t.m; ++i) {
          double const value = values[static_cast<std::size_t>(i)];
          if (value <= limit)
            expected.push_back(i);
          else
            least_dropped = std::min(least_dropped, value);
        }
        std::vector<double> in_place = t.x, apart(t.x.size(), untouched);
        index const narrow = padded(t.m);
        kept_columns const once = keep_at_most(limit, values.data(), t.m, t.d, t.x.data(), t.stride,
                                               apart.data(), narrow),
                           over = keep_at_most(limit, values.data(), t.m, t.d, in_place.data(), t.stride,
                                               in_place.data(), t.stride);
        ASSERT_EQ(once.count, std::ssize(expected));
        ASSERT_EQ(over.count, std::ssize(expected));
        EXPECT_EQ(once.least_dropped, least_dropped);
        EXPECT_EQ(over.least_dropped, least_dropped);
        for (std::size_t e = 0; e < expected.size(); ++e)
          for (index j = 0; j < t.d; ++j) {
            EXPECT_EQ(apart[static_cast<std::size_t>(j * narrow) + e], t.at(expected[e], j));
            EXPECT_EQ(in_place[static_cast<std::size_t>(j * t.stride) + e], t.at(expected[e], j));
          }
        EXPECT_EQ(apart[static_cast<std::size_t>(t.d * narrow)], untouched);
      }
    });
  });
}

TEST(kernels, nearest_of_centroids_is_the_first_of_equals) {
  for_each_target([] {
    for_each_trial([](trial const& t) {
      for (index const n : {8, 16, 40}) {
        std::vector<double> const points = numbers(n * t.d, 9);
        std::vector<double> best(static_cast<std::size_t>(n), infinity), who(best.size(), -1);
        best[3] = 0; // nothing is nearer than that
        std::vector<double> second = best, same = best, whom = who;
        second[3] = 0.5;
        offer_centroids(points.data(), n, n, t.d, t.x.data(), t.m, 1, t.stride, 100, best.data(), who.data());
        offer_centroids(points.data(), n, n, t.d, t.x.data(), t.m, 1, t.stride, 100, same.data(), whom.data(),
                        second.data());
        EXPECT_EQ(best, same);
        EXPECT_EQ(who, whom);
        for (index i = 0; i < n; ++i) {
          double least = i == 3 ? 0 : infinity, next = i == 3 ? 0.5 : infinity, nearest = -1;
          for (index o = 0; o < t.m; ++o) {
            double sum = 0;
            for (index j = 0; j < t.d; ++j)
              sum += square(points[static_cast<std::size_t>(j * n + i)] - t.at(o, j));
            next = std::min(next, std::max(least, sum));
            if (sum < least) least = sum, nearest = 100 + static_cast<double>(o);
          }
          EXPECT_EQ(second[static_cast<std::size_t>(i)], next);
          EXPECT_EQ(best[static_cast<std::size_t>(i)], least);
          EXPECT_EQ(who[static_cast<std::size_t>(i)], nearest);
        }
      }
    });
  });
}

TEST(kernels, nearest_four_of_centroids) {
  for_each_target([] {
    for_each_trial([](trial const& t) {
      index const n = 16;
      std::vector<double> const points = numbers(n * t.d, 12);
      std::vector<double> out(static_cast<std::size_t>(7 * n), untouched);
      nearest_rows found;
      for (index r = 0; r < 4; ++r) found.square[r] = out.data() + r * n;
      for (index r = 0; r < 3; ++r) found.who[r] = out.data() + (4 + r) * n;
      find_nearest_four(points.data(), n, n, t.d, t.x.data(), t.m, 1, t.stride, found);
      for (index i = 0; i < n; ++i) {
        std::vector<std::pair<double, index>> all;
        for (index o = 0; o < t.m; ++o) {
          double sum = 0;
          for (index j = 0; j < t.d; ++j)
            sum += square(points[static_cast<std::size_t>(j * n + i)] - t.at(o, j));
          all.push_back({sum, o});
        }
        std::sort(all.begin(), all.end());
        for (index r = 0; r < 4; ++r)
          EXPECT_EQ(found.square[r][i], r < t.m ? all[static_cast<std::size_t>(r)].first : infinity);
        // Of equals the first is the first; of the others each is one that is so far away.
        EXPECT_EQ(found.who[0][i], all[0].second);
        for (index r = 1; r < std::min<index>(3, t.m); ++r) {
          index const who = static_cast<index>(found.who[r][i]);
          EXPECT_TRUE(std::ranges::any_of(
              all, [&](auto const& a) { return a.second == who && a.first == found.square[r][i]; }));
          for (index before = 0; before < r; ++before) EXPECT_NE(found.who[before][i], found.who[r][i]);
        }
      }
    });
  });
}

// Whole runs: labels, centroids and all counters.
TEST(kernels, runs_are_the_same_with_any_instructions) {
  std::vector<double> const x = numbers(900 * 3, 10);
  std::vector<double> const c = numbers(40 * 3, 11);
  for (char const* const algorithm :
       {"lloyd", "hamerly", "exponion", "blacklist", "filter", "dualtree", "frontier"}) {
    SCOPED_TRACE(algorithm);
    std::vector<result> runs;
    for_each_target([&] {
      options o;
      o.algorithm = algorithm;
      o.centroids = matrix<double>(40, 3);
      std::copy(c.begin(), c.end(), o.centroids->row(0));
      runs.push_back(fit(point_set<double>(matrix_view<double>(x.data(), 900, 3, 3)), 40, o));
    });
    for (result const& r : runs) {
      EXPECT_EQ(r.labels, runs[0].labels);
      EXPECT_TRUE(std::equal(r.centroids.row(0), r.centroids.row(0) + 40 * 3, runs[0].centroids.row(0)));
      ASSERT_EQ(r.iterations, runs[0].iterations);
      for (std::size_t i = 0; i < r.trace.size(); ++i) {
        EXPECT_EQ(r.trace[i].work.distances, runs[0].trace[i].work.distances);
        EXPECT_EQ(r.trace[i].work.node_scores, runs[0].trace[i].work.node_scores);
        EXPECT_EQ(r.trace[i].work.prunes, runs[0].trace[i].work.prunes);
      }
    }
  }
}

// Limits are some row's own d² (not below), those of other rows, 0 and infinite.
TEST(for_each_below, finds_what_one_row_after_the_other_finds) {
  for (index const d : {1, 3, 15, 16, 17, 32, 33, 100})
    for (index const count : {0, 1, 3, 4, 5, 8, 31}) {
      std::vector<double> const x = numbers(count * d, 7), c = numbers(d, 8);
      std::vector<float> const narrow(x.begin(), x.end());
      auto const row = [&](index i) { return narrow.data() + i * d; };
      std::vector<double> limits;
      for (index i = 0; i < count; ++i)
        limits.push_back(i % 5 == 0   ? infinity
                         : i % 5 == 1 ? 0
                                      : kopse::square(row(i % 5 == 2 ? i : (i * 7) % count), c.data(), d));
      auto const limit = [&](index i) { return limits[static_cast<std::size_t>(i)]; };
      std::vector<std::pair<index, double>> found, expected;
      for_each_below(count, row, c.data(), d, limit, [&](index i, double d2) { found.emplace_back(i, d2); });
      for (index i = 0; i < count; ++i)
        if (double const d2 = kopse::square(row(i), c.data(), d); d2 < limit(i)) expected.emplace_back(i, d2);
      EXPECT_EQ(found, expected) << d << " columns, " << count << " rows";
    }
}

} // namespace
} // namespace kopse
