// SPDX-License-Identifier: BSD-3-Clause
// dense: the bounds that it derives from float32 hold, and its labels are those of the oracle, with every set
// of instructions, where float32 alone would give others.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "centroid_blocks.hpp"
#include "exactness.hpp"
#include "targets.hpp"

namespace {

using namespace exactness;
using families::start;
using kopse::centroid_blocks;
using kopse::for_each_target;
using kopse::index;
using kopse::prune_rule;
using kopse::dense::block;

constexpr std::size_t at(index i) { return static_cast<std::size_t>(i); }
constexpr float infinite = std::numeric_limits<float>::infinity();

matrix<double> random_rows(families::random& r, index n, index d, double scale = 1, double offset = 0) {
  matrix<double> rows(n, d);
  for (index i = 0; i < n * d; ++i) rows.row(0)[i] = offset + scale * (r.unit() - 0.5);
  return rows;
}

// ---------------------------------------------------------------- what float32 says

/// All that `dense` derives from the scores of a row and a centroid, for each pair.
void expect_bounds_of_scores(matrix<double> const& rows, matrix<double> const& centroids) {
  index const n = rows.rows(), k = centroids.rows(), d = rows.cols(), stride = kopse::dense::whole_blocks(d);
  for_each_target([&] {
    centroid_blocks blocks;
    blocks.arrange(centroids.view(), block);
    ASSERT_TRUE(blocks.take(centroids.view()));
    ASSERT_TRUE(blocks.usable());
    std::vector<double const*> points(at(n));
    for (index i = 0; i < n; ++i) points[at(i)] = rows.row(i);
    std::vector<float> x(at(n * stride));
    kopse::dense::spread(points.data(), n, d, blocks.origin(), blocks.scale(), x.data());
    for (index i = 0; i < n; ++i) {
      float const* const row = x.data() + i * stride;
      float const norm2 = kopse::dense::product(row, row, stride), doubt = blocks.doubt(norm2);
      for (index b = 0; b < blocks.block_count(); ++b) {
        float s[block];
        kopse::dense::scores(row, d, blocks.block(b), s);
        for (index place = b * block; place < std::min(k, (b + 1) * block); ++place) {
          long double d2 = 0;
          for (index j = 0; j < d; ++j) {
            long double const apart =
                static_cast<long double>(rows(i, j)) - centroids(blocks.centroid(place), j);
            d2 += apart * apart;
          }
          d2 *= blocks.scale() * static_cast<long double>(blocks.scale());
          float const own = blocks.half(place) - kopse::dense::product(row, blocks.row(place), stride);
          ASSERT_LE(std::abs(2.0L * s[place - b * block] + norm2 - d2), doubt) << i << ' ' << place;
          ASSERT_LE(std::abs(2.0L * own + norm2 - d2), doubt) << i << ' ' << place;
        }
      }
    }
  });
}

TEST(scores, are_off_by_no_more_than_the_doubt) {
  families::random r(1);
  for (index const d : {1, 2, 7, 16, 17, 63, 64, 65, 100, 300, 1000})
    for (double const offset : {0.0, 1e3, 1e8}) {
      matrix<double> rows = random_rows(r, 12, d, 1, offset);
      for (index j = 0; j < d; ++j) rows(0, j) = offset + 1000; // far away
      for (index j = 0; j < d; ++j) rows(1, j) = offset + 0.5;  // all sums of one sign
      matrix<double> centroids = random_rows(r, 21, d, 1, offset);
      for (index j = 0; j < d; ++j) centroids(3, j) = offset + 0.499 + 1e-3 * r.unit();
      expect_bounds_of_scores(rows, centroids);
    }
  for (double const scale : {1e-100, 1e-30, 1e30, 1e100})
    expect_bounds_of_scores(random_rows(r, 10, 5, scale), random_rows(r, 20, 5, scale));
}

// The doubt would be useless if it were much larger than what rounding does.
TEST(scores, are_not_doubted_much) {
  families::random r(2);
  for (index const d : {2, 20, 100, 784}) {
    matrix<double> const centroids = random_rows(r, 64, d);
    centroid_blocks blocks;
    blocks.arrange(centroids.view(), block);
    blocks.take(centroids.view());
    EXPECT_LT(blocks.doubt(1), 4e-4F) << d;
  }
}

TEST(blocks, hold_each_centroid_once) {
  families::random r(3);
  for (index const k : {1, 2, 15, 16, 17, 31, 32, 33, 100, 257})
    for (index const size : {16, 32, 48}) {
      matrix<double> const centroids = random_rows(r, k, 3);
      centroid_blocks blocks;
      blocks.arrange(centroids.view(), size);
      std::vector<bool> seen(at(k), false);
      for (index place = 0; place < k; ++place) {
        auto const i = blocks.centroid(place);
        EXPECT_FALSE(seen[at(i)]);
        seen[at(i)] = true;
        EXPECT_EQ(blocks.place(i), place);
      }
      EXPECT_EQ(std::count(seen.begin(), seen.end(), true), k);
    }
}

TEST(blocks, are_of_centroids_near_one_another) {
  // Sixteen around each of twenty places.
  families::random r(4);
  matrix<double> const places = random_rows(r, 20, 12, 100);
  matrix<double> centroids(320, 12);
  for (index i = 0; i < 320; ++i)
    for (index j = 0; j < 12; ++j) centroids(i, j) = places(i * 7 % 20, j) + r.unit();
  centroid_blocks blocks;
  blocks.arrange(centroids.view(), block);
  index together = 0;
  for (index place = 0; place + 1 < 320; ++place)
    together +=
        (place + 1) % block != 0 && blocks.centroid(place) * 7 % 20 == blocks.centroid(place + 1) * 7 % 20;
  EXPECT_GT(together, 200); // of 300; at random, 15
}

TEST(blocks, are_seen_anew_when_centroids_leave_their_scale) {
  families::random r(5);
  matrix<double> centroids = random_rows(r, 40, 3);
  centroid_blocks blocks;
  blocks.arrange(centroids.view(), block);
  auto const anew = [&](double moved) {
    centroids(7, 1) = moved;
    return blocks.take(centroids.view());
  };
  EXPECT_TRUE(anew(0));
  EXPECT_FALSE(anew(0.1));
  EXPECT_FALSE(anew(100));
  EXPECT_TRUE(anew(1e9));
  EXPECT_FALSE(anew(1e9));
  EXPECT_TRUE(anew(0)); // seen from where the mean was, all look alike
  EXPECT_LT(blocks.doubt(0), 1e-4F);
  EXPECT_TRUE(anew(1e140)); // its square is beyond what is scaled
  EXPECT_FALSE(blocks.usable());
  EXPECT_TRUE(anew(0));
  EXPECT_TRUE(blocks.usable());
}

// ---------------------------------------------------------------- kernels

// Bounds of some rows, in numbers that are often equal.
struct some_bounds {
  index t, stride;
  std::vector<float> lower, meters;
  some_bounds(families::random& r, index groups, index rows)
      : t(groups), stride(kopse::dense::whole_groups(groups)), lower(at(rows * stride)), meters(at(stride)) {
    for (float& v : lower) v = static_cast<float>(r.below(8));
    for (float& v : meters) v = static_cast<float>(r.below(4));
  }
  kopse::dense::bounds_view view() { return {lower.data(), meters.data(), meters.data(), t}; }
  std::vector<std::int32_t> not_above(index row, float upper) const {
    std::vector<std::int32_t> groups;
    for (std::int32_t g = 0; g < t; ++g)
      if (!(lower[at(row * stride + g)] - meters[at(g)] > kopse::dense::limit_of(upper))) groups.push_back(g);
    return groups;
  }
};

TEST(kernels, ask_for_groups_that_are_not_above_the_limit) {
  constexpr index n = 40;
  families::random r(6);
  for_each_target([&] {
    for (index t = 1; t < 70; ++t) {
      some_bounds b(r, t, n + 3);
      std::vector<float> upper(at(n));
      for (float& u : upper)
        u = r.one_in(9) ? infinite : r.one_in(9) ? std::nanf("") : static_cast<float>(r.below(9)) - 6;
      std::vector<std::int32_t> expected, left(at(n)), slots(at(t * kopse::dense::most_rows)), count(at(t)),
          opened(at(n));
      std::vector<index> row(at(n));
      for (std::int32_t i = 0; i < n; ++i) {
        if (!b.not_above(3 + i, upper[at(i)]).empty()) expected.push_back(i);
        row[at(i)] = n + 2 - i;
      }
      left.resize(at(kopse::dense::sift(b.view(), 3, n, upper.data(), left.data())));
      ASSERT_EQ(left, expected) << t;
      kopse::dense::ask(b.view(), n, row.data(), upper.data(), {slots.data(), count.data(), opened.data()});
      std::vector<std::vector<std::int32_t>> asked(at(t));
      for (std::int32_t slot = 0; slot < n; ++slot) {
        auto const groups = b.not_above(row[at(slot)], upper[at(slot)]);
        ASSERT_EQ(opened[at(slot)], static_cast<std::int32_t>(groups.size()));
        for (std::int32_t const g : groups) asked[at(g)].push_back(slot);
      }
      for (index g = 0; g < t; ++g) {
        auto const first = slots.begin() + g * kopse::dense::most_rows;
        ASSERT_EQ(std::vector<std::int32_t>(first, first + count[at(g)]), asked[at(g)]) << t << ' ' << g;
      }
    }
  });
}

TEST(kernels, close_bounds_below_the_distances_of_scores) {
  families::random r(12);
  for_each_target([&] {
    for (index t = 1; t < 70; ++t) {
      some_bounds b(r, t, 2);
      std::vector<float> least(at(2 * b.stride), infinite), low(2);
      for (index g = 0; g < t; ++g)
        for (index i = 0; i < 2; ++i)
          if (!r.one_in(3)) least[at(i * b.stride + g)] = static_cast<float>(r.unit() - 0.3);
      kopse::dense::least_of(least.data(), t, 2, low.data());
      for (index i = 0; i < 2; ++i) {
        auto const first = least.begin() + i * b.stride;
        float const expected = *std::min_element(first, first + t);
        ASSERT_TRUE(low[at(i)] == expected || (expected == infinite && low[at(i)] > 1e38F));
      }
      std::vector<float> const before = b.lower;
      float const shift = 0.4F;
      kopse::dense::close_bounds(b.view(), 1, least.data() + b.stride, shift);
      for (index g = 0; g < t; ++g) {
        ASSERT_EQ(b.lower[at(g)], before[at(g)]); // another row's
        float const stored = b.lower[at(b.stride + g)], score = least[at(b.stride + g)];
        if (score == infinite) {
          ASSERT_EQ(stored, before[at(b.stride + g)]);
          continue;
        }
        long double const bound = std::sqrt(std::max(0.0L, 2.0L * score + shift));
        ASSERT_LE(stored - static_cast<long double>(b.meters[at(g)]), bound);
        ASSERT_NEAR(static_cast<double>(stored), static_cast<double>(bound) + b.meters[at(g)], 3e-6);
      }
    }
  });
}

TEST(kernels, lower_the_least_scores_of_the_rows_that_ask) {
  families::random r(7);
  for (index const d : {1, 3, 16, 70}) {
    index const n = 30, stride = kopse::dense::whole_blocks(d);
    matrix<double> const centroids = random_rows(r, 37, d);
    centroid_blocks blocks;
    blocks.arrange(centroids.view(), block);
    blocks.take(centroids.view());
    std::vector<float> x(at(n * stride));
    for (float& v : x) v = static_cast<float>(r.unit() - 0.5);
    std::vector<std::int32_t> own(at(n));
    for (std::int32_t& o : own) o = static_cast<std::int32_t>(r.below(38)) - 1;
    for_each_target([&] {
      for (index count = 0; count <= 19; ++count) {
        std::vector<std::int32_t> rows(at(n));
        std::iota(rows.begin(), rows.end(), 0);
        std::reverse(rows.begin(), rows.end());
        std::vector<float> least(at(3 * n), infinite);
        for (index b = 0; b < blocks.block_count(); ++b)
          kopse::dense::lower_least({x.data(), own.data(), least.data() + 1, d, 3}, rows.data(), count,
                                    blocks.block(b));
        for (index i = 0; i < n; ++i) {
          float expected = infinite;
          for (index b = 0; b < blocks.block_count() && i >= n - count; ++b) {
            float s[block];
            kopse::dense::scores(x.data() + i * stride, d, blocks.block(b), s);
            for (index p = 0; p < block; ++p)
              if (b * block + p != own[at(i)]) expected = std::min(expected, s[p]);
          }
          ASSERT_EQ(least[at(3 * i + 1)], expected) << i << " of " << count;
          ASSERT_EQ(least[at(3 * i)], infinite);
        }
      }
    });
  }
}

// ---------------------------------------------------------------- labels

template <class Real> void expect_right(scenario<Real> const& s) {
  for_each_target([&] { ASSERT_TRUE(check_steps(s, {"dense", "kd", 20, 1, false})) << s.name; });
}

// Centroids in pairs that float32 cannot tell apart, rows amid them, in steps from coarse to nothing.
TEST(dense, decides_in_double_what_float32_cannot) {
  for (index const d : {1, 3, 20, 70})
    for (double const apart : {0x1p-16, 0x1p-20, 0x1p-24, 0x1p-30, 0x1p-50}) {
      families::random r(8);
      matrix<double> rows = random_rows(r, 150, d), centroids = random_rows(r, 60, d);
      for (index i = 0; i + 1 < 60; i += 2)
        for (index j = 0; j < d; ++j) centroids(i, j) = centroids(i + 1, j) + apart * (r.unit() - 0.5);
      scenario<double> s("pairs", rows, centroids, {.max_iter = 3});
      for (int step = 0; step < 8; ++step) {
        s.visit(s.start);
        for (index i = 0; i < 60 * d; ++i) s.start.row(0)[i] += (step % 2 ? 1e-3 : apart) * (r.unit() - 0.5);
      }
      expect_right(s);
    }
}

TEST(dense, gives_ties_to_the_lowest_index) {
  for (index const d : {1, 2, 12}) {
    families::random r(9);
    matrix<double> rows(200, d), centroids(70, d);
    for (index i = 0; i < 200 * d; ++i) rows.row(0)[i] = static_cast<double>(r.below(5)) / 3;
    for (index i = 0; i < 70 * d; ++i) centroids.row(0)[i] = static_cast<double>(r.below(5)) / 3;
    scenario<double> s("lattice", rows, centroids, {.max_iter = 6});
    s.run_oracle();
    for (int step = 0; step < 12; ++step) { // rows of the lattice change places
      double* const row = centroids.row(r.below(70));
      std::swap_ranges(row, row + d, centroids.row(0));
      std::copy_n(rows.row(r.below(200)), d, centroids.row(r.below(70)));
      s.visit(centroids);
    }
    expect_right(s);
  }
}

// Bounds that shrink for a long time before they are looked at, over one block a group and over several.
TEST(dense, keeps_bounds_over_small_and_large_steps) {
  for (index const k : {10, 40, 300}) {
    families::random r(10);
    matrix<double> rows = random_rows(r, sanitized ? 120 : 400, 6), c = random_rows(r, k, 6);
    scenario<double> s("steps", rows, c, {.max_iter = 3});
    for (int step = 0; step < (sanitized ? 20 : 60); ++step) {
      s.visit(c);
      double const scale = std::ldexp(1.0, -static_cast<int>(r.below(18)));
      for (index i = 0; i < k * 6; ++i) c.row(0)[i] += scale * 0.1 * (r.unit() - 0.5);
      if (step % 9 == 8) std::copy_n(rows.row(r.below(rows.rows())), 6, c.row(r.below(k)));
    }
    expect_right(s);
  }
}

// Rows, and then centroids, beyond the reach of float32, and data at the ends of what is taken.
TEST(dense, falls_back_where_float32_cannot_hold_the_numbers) {
  families::random r(11);
  for (double const far : {1e10, 1e16, 1e20, 1e60, 1e149})
    for (index const d : {1, 5}) {
      matrix<double> rows = random_rows(r, 80, d), c = random_rows(r, 40, d);
      for (index i = 0; i < 80; i += 4) rows(i, i % d) = far * (r.unit() - 0.5);
      scenario<double> s("far rows", rows, c, {.max_iter = 4});
      s.run_oracle();
      matrix<double> moved = c;
      for (int step = 0; step < 6; ++step) {
        moved(r.below(40), 0) = step % 3 == 2 ? 0.5 : far;
        s.visit(moved);
      }
      for (index i = 0; i < 40; ++i) std::copy_n(c.row(0), d, moved.row(i)); // all at one place
      s.visit(moved);
      s.visit(c);
      expect_right(s);
    }
  for (double const scale : {1e-310, 1e-160, 1e-130, 1e-40, 1e39, 1e130, 1e148}) {
    scenario<double> s("scale", random_rows(r, 60, 3, scale), random_rows(r, 35, 3, scale), {.max_iter = 5});
    s.run_oracle();
    expect_right(s);
  }
}

TEST(dense, opens_few_groups_once_centroids_are_at_rest) {
  plan p{.data = family::clustered, .seed = 6, .n = 3000, .k = 160, .d = 12};
  p.settings.max_iter = 40;
  scenario<float> s(p);
  s.run_oracle();
  kopse::options o;
  o.algorithm = "dense", o.centroids = s.start, o.max_iter = 40, o.threads = 1;
  auto const trace = kopse::fit(s.user_points(), 160, o).trace;
  EXPECT_GE(trace.front().work.distances, 3000 * 160);
  EXPECT_LT(trace.back().work.distances, 3000 * 160 / 8);
}

} // namespace
