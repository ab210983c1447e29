// SPDX-License-Identifier: BSD-3-Clause
// screen.hpp: the nearest centroid is that of brute force in double, whatever float32 makes of it.
#include "kopse/screen.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "kopse/metric.hpp"
#include "kopse/random.hpp"
#include "targets.hpp"

namespace kopse {
namespace {

std::size_t at(index i) { return static_cast<std::size_t>(i); }

// Numbers of (0, 1), by their place.
class uniform {
public:
  explicit uniform(std::uint64_t seed) : random_(seed, 0) {}
  double operator()() { return std::ldexp(static_cast<double>(random_.bits(next_++) >> 11) + 0.5, -53); }
  index below(index most) { return static_cast<index>((*this)() * static_cast<double>(most)); }

private:
  random_stream random_;
  std::uint64_t next_ = 0;
};

// n points by row and m centroids by dimension.
struct problem {
  index n, d, m, stride;
  std::vector<double> points, centroids;
  problem(index points_count, index dims, index centroids_count)
      : n(points_count), d(dims), m(centroids_count), stride(centroids_count + 5), points(at(n * d)),
        centroids(at(stride * d), std::nan("")) {}
  double& x(index i, index j) { return points[at(i * d + j)]; }
  double& c(index i, index j) { return centroids[at(j * stride + i)]; }

  void fill(std::function<double()> const& number) {
    for (index j = 0; j < d; ++j) {
      for (index i = 0; i < n; ++i) x(i, j) = number();
      for (index i = 0; i < m; ++i) c(i, j) = number();
    }
  }
  label nearest(double const* x) const {
    std::vector<double> c_i(at(d));
    double best = std::numeric_limits<double>::infinity();
    label who = 0;
    for (index i = 0; i < m; ++i) {
      for (index j = 0; j < d; ++j) c_i[at(j)] = centroids[at(j * stride + i)];
      double const d2 = squared_distance(x, c_i.data(), d);
      if (d2 < best) best = d2, who = static_cast<label>(i);
    }
    return who;
  }
  // What float32 alone would say: the same sums without a margin.
  label nearest_by_float(double const* x, double const* origin) const {
    float best = std::numeric_limits<float>::infinity();
    label who = 0;
    for (index i = 0; i < m; ++i) {
      float norm = 0, product = 0;
      for (index j = 0; j < d; ++j) {
        auto const cj = static_cast<float>(centroids[at(j * stride + i)] - origin[j]);
        norm += cj * cj / 2;
        product += cj * static_cast<float>(x[j] - origin[j]);
      }
      if (norm - product < best) best = norm - product, who = static_cast<label>(i);
    }
    return who;
  }
};

struct outcome {
  index in_double = 0, wrong_by_float = 0;
};

outcome check(problem& p, double const* origin = nullptr) {
  origin = origin == nullptr ? p.points.data() : origin;
  outcome result;
  std::vector<label> expected(at(p.n)), found(at(p.n), -7);
  std::vector<double const*> rows(at(p.n));
  for (index i = 0; i < p.n; ++i) {
    rows[at(i)] = p.points.data() + i * p.d;
    expected[at(i)] = p.nearest(rows[at(i)]);
    result.wrong_by_float += p.nearest_by_float(rows[at(i)], origin) != expected[at(i)];
  }
  for_each_target([&] {
    float_screen screen;
    screen.take(p.centroids.data(), p.m, p.d, p.stride, origin);
    float_screen::scratch room;
    screen.find_nearest(rows.data(), p.n, room, found.data());
    EXPECT_EQ(found, expected) << "n = " << p.n << ", d = " << p.d << ", m = " << p.m;
    result.in_double = std::max(result.in_double, room.in_double);
  });
  return result;
}

TEST(screen, any_number_of_points_centroids_and_dimensions) {
  uniform random(1);
  for (index const d : {1, 2, 3, 4, 5, 8, 33, 700})
    for (index const m : {1, 2, 3, 4, 5, 15, 16, 17, 66, 250})
      for (index const n : {1, 7, 16, 33, 256}) {
        if (d * m * n > 2000000) continue;
        problem p(n, d, m);
        p.fill([&] { return random(); });
        check(p);
      }
}

TEST(screen, more_centroids_than_the_cache_holds) {
  uniform random(2);
  for (index const d : {2, 9}) {
    problem p(40, d, 3001);
    p.fill([&] { return random(); });
    check(p);
  }
}

TEST(screen, float_rows_are_the_same_points) {
  uniform random(3);
  problem p(100, 3, 40);
  p.fill([&] { return static_cast<double>(static_cast<float>(random())); });
  std::vector<float> const narrow(p.points.begin(), p.points.end());
  std::vector<float const*> rows;
  std::vector<label> expected, found(at(p.n));
  for (index i = 0; i < p.n; ++i) {
    rows.push_back(narrow.data() + i * p.d);
    expected.push_back(p.nearest(p.points.data() + i * p.d));
  }
  float_screen screen;
  screen.take(p.centroids.data(), p.m, p.d, p.stride, p.points.data());
  float_screen::scratch room;
  screen.find_nearest(rows.data(), p.n, room, found.data());
  EXPECT_EQ(found, expected);
}

// It would be right, and of no use, to decide everything in double.
TEST(screen, nearly_all_points_are_settled) {
  uniform random(4);
  for (index const d : {2, 3, 8, 50, 300}) {
    problem p(256, d, 500);
    p.fill([&] { return random(); });
    EXPECT_LE(check(p).in_double, d == 2 ? 6 : 3) << "d = " << d;
  }
}

// Each centroid has another a few units in the last place of float32, or of double, away; points are among
// them or far away, where the products are what is rounded.
TEST(screen, where_float32_takes_the_wrong_one) {
  uniform random(5);
  for (double const far : {0.0, 30.0, 1e5}) {
    index wrong = 0;
    for (double const apart : {0x1p-20, 0x1p-24, 0x1p-26, 0x1p-40, 0x1p-52})
      for (index const d : {1, 2, 3, 8, 20}) {
        problem p(256, d, 64);
        p.fill([&] { return random(); });
        for (index i = 0; i + 1 < p.m; i += 2)
          for (index j = 0; j < d; ++j) p.c(i, j) = p.c(i + 1, j) + (random() - 0.5) * apart;
        std::vector<double> const origin(at(d), 0.5);
        for (index i = 0; i < p.n; ++i) p.x(i, i % d) += random() * far;
        wrong += check(p, origin.data()).wrong_by_float;
      }
    EXPECT_GT(wrong, 1000) << far; // else the test shows nothing
  }
}

TEST(screen, equal_distances_go_to_the_first) {
  uniform random(6);
  index wrong = 0;
  for (index const d : {1, 2, 3, 4, 8})
    for (index const side : {2, 3, 16}) {
      problem p(256, d, 200);
      p.fill([&] { return static_cast<double>(random.below(side)) / 3; });
      outcome const found = check(p);
      wrong += found.wrong_by_float;
      EXPECT_GT(found.in_double, 0);
    }
  EXPECT_GT(wrong, 0);
}

// Points on the bisector of two centroids, but for a rounding.
TEST(screen, points_halfway) {
  uniform random(7);
  index wrong = 0;
  for (index const d : {1, 2, 3, 8, 64}) {
    problem p(256, d, 32);
    p.fill([&] { return random(); });
    for (index i = 0; i < p.n; ++i) {
      index const a = random.below(p.m), b = random.below(p.m);
      double const shift = std::ldexp(random() - 0.5, static_cast<int>(-20 - random.below(35)));
      for (index j = 0; j < d; ++j) p.x(i, j) = (p.c(a, j) + p.c(b, j)) / 2 + shift;
    }
    wrong += check(p).wrong_by_float;
  }
  EXPECT_GT(wrong, 10);
}

TEST(screen, any_scale_and_offset) {
  uniform random(8);
  for (double const scale : {1e-310, 1e-200, 1e-130, 1e-40, 1e-20, 1.0, 1e20, 1e39, 1e110, 1e130, 1e150})
    for (double const offset : {0.0, 1.0, 1e6, 1e16})
      for (index const d : {1, 3, 8}) {
        problem p(64, d, 33);
        p.fill([&] { return scale * (offset + random() - 0.5); });
        check(p);
        // From far away: all centroids look the same to float32.
        std::vector<double> const far(at(d), scale * 1e7);
        check(p, far.data());
      }
}

TEST(screen, points_far_from_all_centroids_and_far_centroids) {
  uniform random(9);
  for (double const far : {1e3, 1e8, 1e20, 1e60, 1e149})
    for (index const d : {1, 2, 8}) {
      problem p(256, d, 50);
      p.fill([&] { return random(); });
      std::vector<double> const origin(at(d), 0.5);
      for (index i = 0; i < p.n; i += 3) p.x(i, 0) *= far;
      check(p, origin.data());
      p.fill([&] { return random(); });
      for (index i = 0; i < p.m; i += 3) p.c(i, d - 1) *= far;
      check(p, origin.data());
      for (index i = 0; i < p.m; ++i) // one place for all
        for (index j = 0; j < d; ++j) p.c(i, j) = origin[at(j)];
      check(p, origin.data());
    }
}

// Dimensions whose scales differ by far more than float32 can hold side by side.
TEST(screen, skewed_scales) {
  uniform random(10);
  for (double const ratio : {1e-3, 1e-9, 1e-30, 1e-60}) {
    problem p(256, 4, 40);
    p.fill([&] { return random(); });
    for (index j = 0; j < p.d; ++j) {
      for (index i = 0; i < p.n; ++i) p.x(i, j) = std::floor(p.x(i, j) * 4) * std::pow(ratio, j);
      for (index i = 0; i < p.m; ++i) p.c(i, j) = std::floor(p.c(i, j) * 4) * std::pow(ratio, j);
    }
    check(p);
  }
}

} // namespace
} // namespace kopse
