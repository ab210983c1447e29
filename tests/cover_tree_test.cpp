// SPDX-License-Identifier: BSD-3-Clause
// Cover trees: their invariants on data that tempt a builder to break them, their bounds, what building
// costs; and the dual-tree step over them against brute force.
#include <gtest/gtest.h>
#include <pthread.h>

#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kopse/dual_tree_step.hpp"
#include "kopse/random.hpp"
#include "kopse/tree/binary_tree.hpp"
#include "kopse/tree/cover_tree.hpp"
#include "kopse/tree/measures.hpp"
#include "sanitized.hpp"

namespace {

using namespace kopse;
using kopse::index; // not <strings.h>'s

constexpr double bases[] = {1.3, 1.5, 2};

// ---- data

/// In [0, 1), by number.
double unit(std::uint32_t stream, index i) {
  return static_cast<double>(random_stream(7, stream).bits(static_cast<std::uint64_t>(i)) >> 11) * 0x1p-53;
}

struct family {
  char const* name;
  index n, d;
  std::function<double(index i, index j)> at;
};

double cell(index i, index j) { return unit(static_cast<std::uint32_t>(j), i); }

std::vector<family> const families{
    {"one point", 1, 2, [](index, index) { return 3.5; }},
    {"all equal", 400, 3, [](index, index j) { return 1.25 * static_cast<double>(j); }},
    {"two values", 301, 1, [](index i, index) { return i % 3 == 0 ? 1.0 : -7.0; }},
    {"uniform", 500, 2, cell},
    {"uniform in 8 dimensions", 300, 8, cell},
    {"duplicates", 600, 2, [](index i, index j) { return std::floor(cell(i, j) * 5); }},
    {"many equal in a crowd", 500, 2, [](index i, index j) { return i % 2 == 0 ? 0.5 : cell(i, j); }},
    {"geometric", 500, 1, [](index i, index) { return std::ldexp(1.0, static_cast<int>(-i)); }},
    {"geometric, both ways", 400, 2,
     [](index i, index j) { return std::ldexp(1.0, static_cast<int>((j == 0 ? 1 : -1) * (i - 200))); }},
    {"collinear", 400, 3, [](index i, index j) { return 3 + static_cast<double>(i * (j + 1)); }},
    {"lattice", 512, 3, [](index i, index j) { return static_cast<double>((i >> (3 * j)) & 7); }},
    {"outlier", 400, 2, [](index i, index j) { return i == 17 ? 1e12 : cell(i, j); }},
    {"two far clumps", 400, 2, [](index i, index j) { return (i % 2 == 0 ? 0 : 1e6) + 1e-6 * cell(i, j); }},
    {"offset 1e9", 400, 2, [](index i, index j) { return 1e9 + cell(i, j); }},
    {"subnormal", 200, 2, [](index i, index j) { return cell(i, j) * 0x1p-1030; }},
    {"squares underflow", 200, 2, [](index i, index j) { return cell(i, j) * 1e-160; }},
    {"1e149", 300, 3, [](index i, index j) { return (cell(i, j) - 0.5) * 1e149; }},
    {"all magnitudes", 400, 2, [](index i, index j) {
       return (cell(i, j) - 0.5) * std::ldexp(1.0, static_cast<int>(cell(i, j + 9) * 900) - 450);
     }}};

template <class Real> matrix<Real> rows_of(family const& f) {
  matrix<Real> rows(f.n, f.d);
  for (index i = 0; i < f.n; ++i)
    for (index j = 0; j < f.d; ++j) rows(i, j) = static_cast<Real>(f.at(i, j));
  return rows;
}

/// float takes no more than this.
bool fits_float(family const& f) {
  for (index i = 0; i < f.n; ++i)
    for (index j = 0; j < f.d; ++j)
      if (std::abs(f.at(i, j)) > 1e37) return false;
  return true;
}

matrix<double> uniform(index n, index d) { return rows_of<double>({"", n, d, cell}); }

// ---- invariants

template <class Real> void expect_cover_tree(family const& f) {
  matrix<Real> const rows = rows_of<Real>(f);
  for (double const base : bases)
    for (index const leaf_size : {1, 4, 20}) {
      cover_tree<Real> const t(rows, leaf_size, 1, base);
      EXPECT_EQ(check_cover_tree(t, rows.view()), "")
          << f.name << ", base " << base << ", leaf size " << leaf_size << ", " << sizeof(Real) << " bytes";
      EXPECT_LE(t.node_count(), 2 * f.n);
    }
}

TEST(CoverTree, InvariantsOnHardData) {
  for (family const& f : families) {
    expect_cover_tree<double>(f);
    if (fits_float(f)) expect_cover_tree<float>(f);
  }
}

TEST(CoverTree, LeavesHoldLeafSizePointsOrEqualOnes) {
  for (family const& f : families) {
    matrix<double> const rows = rows_of<double>(f);
    for (index const leaf_size : {1, 7}) {
      cover_tree<double> const t(rows, leaf_size);
      for (node_id q = 0; q < t.node_count(); ++q) {
        if (!std::ranges::empty(t.children(q))) {
          EXPECT_GT(t.points(q).size(), leaf_size) << f.name;
        } else if (t.points(q).size() > leaf_size) {
          for (index i = t.points(q).first; i < t.points(q).last; ++i)
            EXPECT_EQ(squared_distance(t.point(i), t.routing_point(q), f.d), 0) << f.name;
        }
      }
    }
  }
}

// Were each of them to look for its place among the others, this would take minutes.
TEST(CoverTree, EqualPointsAreOneLeaf) {
  matrix<double> const rows = rows_of<double>({"", 1000000, 2, [](index, index) { return 4.0; }});
  cover_tree<double> const t(rows, 1);
  EXPECT_EQ(t.node_count(), 1);
  EXPECT_LT(t.radius(t.root()), 1e-150);
  EXPECT_LT(t.build_distances(), 2 * rows.rows());
}

TEST(CoverTree, ScalesJump) {
  // Two clumps, 1e-100 wide and 1 apart, then an outlier at 1e100: three kinds of scales, whatever lies
  // between.
  matrix<double> const rows =
      rows_of<double>({"", 65, 1, [](index i, index) {
                         return i == 64 ? 1e100 : static_cast<double>(i % 2) * 1e-3 + 1e-100 * unit(0, i / 2);
                       }});
  cover_tree<double> const t(rows, 1);
  EXPECT_EQ(check_cover_tree(t, rows.view()), "");
  EXPECT_LT(measure(t).depth, 30);
  EXPECT_LT(t.build_distances() + t.build_scores(), 65 * 40);
}

TEST(CoverTree, ScalesAndImbalanceByHand) {
  // 8 is the root, as the middle one; 0 hangs from it by scale 3 (2^3 = 8), 8.5 by scale -1.
  double const values[] = {0, 8, 8.5};
  cover_tree<double> const t(matrix_view<double>(values, 3, 1), 1);
  ASSERT_EQ(t.node_count(), 5);
  EXPECT_EQ(t.scale(0), 3);
  EXPECT_EQ(*t.routing_point(0), 8);
  EXPECT_EQ(t.scale(1), -1);
  EXPECT_EQ(*t.routing_point(1), 8);
  for (node_id const leaf : {2, 3, 4}) EXPECT_EQ(t.scale(leaf), t.leaf_scale);
  EXPECT_EQ(*t.routing_point(3), 8.5);
  EXPECT_EQ(*t.routing_point(4), 0);
  // Between 3 and -1 three levels are missing: above node 1, and above the leaf of 0, whose level would be -2
  // + 1.
  EXPECT_EQ(t.imbalance(), 3 + 3);
}

TEST(CoverTree, ScaleTable) {
  for (double const base : bases) {
    scale_table const scales(base);
    EXPECT_EQ(scales.base(), base);
    EXPECT_EQ(scales.square(0), 1);
    EXPECT_EQ(scales.square(1), base * base);
    for (double const d2 : {5e-324, 1e-320, 2.3e-308, 1e-7, 1.0, 1.5, 1e300, 1.7e308}) {
      int const s = scales.above(d2);
      EXPECT_LE(d2, scales.square(s));
      EXPECT_GT(d2, scales.square(s - 1));
    }
    EXPECT_EQ(scales.square(scales.above(5e-324) - 1), 0);
  }
  EXPECT_THROW(scale_table(1), usage_error);
  EXPECT_THROW(scale_table(std::nan("")), usage_error);
  EXPECT_THROW(cover_tree<double>(uniform(3, 1), 1, 1, 0.5), usage_error);
}

// ---- bounds

TEST(CoverTree, DistancesOfNodesBoundThoseOfTheirPoints) {
  for (family const& f : families) {
    matrix<double> const rows = rows_of<double>(f);
    index const k = std::min<index>(f.n, 20);
    cover_tree<double> const t(rows, 20), r(rows.view().slice(0, k), 1);
    for (node_id q = 0; q < t.node_count(); ++q)
      for (node_id s = 0; s < r.node_count(); ++s) {
        interval const d2 = t.distance(q, r, s);
        for (index a = t.points(q).first; a < t.points(q).last; a += 3)
          for (index b = r.points(s).first; b < r.points(s).last; ++b) {
            double const exact = squared_distance(t.point(a), r.point(b), f.d);
            ASSERT_TRUE(d2.lo <= exact && exact <= d2.hi) << f.name << ", nodes " << q << " and " << s;
          }
      }
  }
}

TEST(CoverTree, ManyDistancesAtOnceAreTheSame) {
  index const d = 3, m = 5;
  matrix<double> const rows = uniform(200, d);
  cover_tree<double> const t(rows, 5);
  std::vector<double> by_dimension(static_cast<std::size_t>(d * m)), lo2(m), hi2(m);
  for (index i = 0; i < m; ++i)
    for (index j = 0; j < d; ++j) by_dimension[static_cast<std::size_t>(j * m + i)] = rows(i, j);
  for (node_id q = 0; q < t.node_count(); ++q) {
    t.distances(q, by_dimension.data(), m, m, lo2.data(), hi2.data());
    for (index i = 0; i < m; ++i) {
      interval const one = t.distance(q, rows.row(i));
      EXPECT_EQ(lo2[static_cast<std::size_t>(i)], one.lo);
      EXPECT_EQ(hi2[static_cast<std::size_t>(i)], one.hi);
    }
  }
}

TEST(CoverTree, NearerHoldsForEveryPointAndIsFound) {
  index found = 0;
  for (family const& f : families) {
    matrix<double> const rows = rows_of<double>(f);
    cover_tree<double> const t(rows, 20);
    for (node_id q = 0; q < t.node_count(); ++q)
      for (index pair = 0; pair < 20; ++pair) {
        double const *const near = rows.row((7 * pair + q) % f.n), *const far = rows.row((11 * pair) % f.n);
        if (!(t.lead(q, near, far, t.distance(q, near).hi) > 0)) continue;
        ++found;
        for (index i = t.points(q).first; i < t.points(q).last; ++i)
          ASSERT_LT(squared_distance(t.point(i), near, f.d), squared_distance(t.point(i), far, f.d))
              << f.name;
      }
  }
  EXPECT_GT(found, 1000);
}

// ---- cost

TEST(CoverTree, BuildingCostsAboutTheSameForEachPoint) {
  // Distances and scores a point: about 70 to 85 at any n (17 to 20 of them distances between points).
  for (index const n : {1000, 10000, 100000}) {
    cover_tree<double> const t(uniform(n, 3), 20);
    double const each = static_cast<double>(t.build_distances() + t.build_scores()) / static_cast<double>(n);
    EXPECT_LT(each, 10 * std::log2(static_cast<double>(n))) << n;
    RecordProperty("work_a_point_" + std::to_string(n), std::to_string(each));
    EXPECT_LT(measure(t).depth, 2 + 2 * std::log2(static_cast<double>(n)));
  }
}

TEST(CoverTree, DuplicatesCostNothing) {
  // Half of the rows are equal, and a quarter takes 16 values: a search in a leaf of them must not look at
  // all.
  matrix<double> const rows = rows_of<double>({"", 40000, 2, [](index i, index j) {
                                                 if (i % 2 == 0) return 0.5;
                                                 return i % 4 == 1 ? std::floor(cell(i, j) * 4) : cell(i, j);
                                               }});
  cover_tree<double> const t(rows, 20);
  EXPECT_LT(t.build_distances() + t.build_scores(), 100 * rows.rows());
}

// ---- the dual-tree step

template <class Real> matrix<double> start_of(matrix<Real> const& rows, index k) {
  matrix<double> centroids(k, rows.cols());
  for (index c = 0; c < k; ++c)
    for (index j = 0; j < rows.cols(); ++j)
      centroids(c, j) = static_cast<double>(rows((c * 37 + 5) % rows.rows(), j));
  return centroids;
}

/// Both steps see the same centroids, iteration after iteration; a cluster that is empty keeps its own.
template <class Real>
void expect_same_steps(matrix<Real> const& rows, index k, index leaf_size, double base,
                       std::string const& name) {
  point_set<Real> const points(rows.view());
  sum_layout const layout = summarise(points, false).layout();
  auto const tree = std::make_shared<cover_tree<Real> const>(rows.view(), leaf_size, 1, base);
  dual_tree_step<cover_tree<Real>> step(tree, points, layout, k);
  step_options brute;
  brute.algorithm = "lloyd";
  auto const lloyd = step_maker<Real>(points, layout, brute).make(k);
  matrix<double> centroids = start_of(rows, k);
  exact_sums sums(layout, k), expected_sums(layout, k);
  std::vector<label> labels(static_cast<std::size_t>(rows.rows())), expected(labels);
  for (int t = 1; t <= 12; ++t) {
    cluster_sums const changes = step.assign(centroids), expected_changes = lloyd->assign(centroids);
    sums += changes.sums;
    expected_sums += expected_changes.sums;
    step.labels(labels);
    lloyd->labels(expected);
    ASSERT_EQ(labels, expected) << name << ", iteration " << t;
    ASSERT_EQ(sums, expected_sums) << name << ", iteration " << t;
    ASSERT_EQ(changes.labels_changed, expected_changes.labels_changed) << name << ", iteration " << t;
    ASSERT_EQ(step.inertia(centroids), lloyd->inertia(centroids)) << name << ", iteration " << t;
    for (index c = 0; c < k; ++c)
      if (!sums.weightless(c)) sums.mean(c, centroids.row(c));
  }
}

template <class Real> void expect_same_steps(family const& f) {
  matrix<Real> const rows = rows_of<Real>(f);
  for (index const k : {1, 2, 13})
    for (index const leaf_size : {1, 20})
      for (double const base : {1.3, 2.0})
        expect_same_steps(rows, std::min(k, f.n), leaf_size, base,
                          std::string(f.name) + ", k = " + std::to_string(k) + ", leaf size "
                              + std::to_string(leaf_size) + ", base " + std::to_string(base) + ", "
                              + std::to_string(sizeof(Real)) + " bytes");
}

TEST(CoverTree, DualTreeStepsGiveLloydsLabels) {
  for (family const& f : families) {
    expect_same_steps<double>(f);
    if (fits_float(f)) expect_same_steps<float>(f);
  }
}

TEST(CoverTree, DualTreeStepsPrune) {
  index const n = 20000, k = 100;
  matrix<double> const rows = uniform(n, 2);
  point_set<double> const points(rows.view());
  sum_layout const layout = summarise(points, false).layout();
  dual_tree_step<cover_tree<double>> step(std::make_shared<cover_tree<double> const>(rows.view(), 20), points,
                                          layout, k);
  step.assign(start_of(rows, k));
  EXPECT_LT(step.work().distances + step.work().node_scores, n * k / 10);
}

// ---- depth of the stack

constexpr std::size_t stack_bytes =
    exactness::sanitized ? 4 << 20 : 512 << 10; // red zones around each variable

/// Runs f on a thread with so much stack.
void on_a_small_stack(std::function<void()> f) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, stack_bytes);
  pthread_t thread;
  auto const call = [](void* argument) -> void* {
    (*static_cast<std::function<void()>*>(argument))();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, call, &f), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

TEST(CoverTree, TheDeepestTreeIsBuiltOnASmallStack) {
  // Points at 2^-i and at 0, where scales end: as deep as a tree can be.
  index const n = 1050;
  matrix<double> const rows = rows_of<double>(
      {"", n, 1, [](index i, index) { return i == 0 ? 0.0 : std::ldexp(1.0, 500 - static_cast<int>(i)); }});
  on_a_small_stack([&] {
    for (double const base : bases) {
      cover_tree<double> const t(rows, 1, 1, base);
      EXPECT_EQ(check_cover_tree(t, rows.view()), "") << base;
      EXPECT_LE(measure(t).depth, 1051);
      EXPECT_GE(estimate_expansion(t).largest, 2);
    }
  });
}

TEST(CoverTree, DualTreeStepsOverADeepTreeOnASmallStack) {
  matrix<double> const rows =
      rows_of<double>({"", 1050, 1, [](index i, index) {
                         return i == 0 ? 0.0 : std::ldexp(1.0, 500 - static_cast<int>(i));
                       }});
  on_a_small_stack([&] { expect_same_steps(rows, 40, 1, 2, "deep"); });
}

// ---- measures

TEST(Measures, CountWithinIsBruteForce) {
  matrix<double> const rows = uniform(700, 2);
  cover_tree<double> const t(rows, 5);
  for (index p = 0; p < 20; ++p)
    for (double const limit2 : {0.0, 1e-4, 0.01, 0.25, 3.0}) {
      index expected = 0;
      for (index i = 0; i < rows.rows(); ++i)
        expected += squared_distance(rows.row(i), rows.row(p), 2) <= limit2;
      EXPECT_EQ(count_within(t, rows.row(p), limit2), expected);
    }
}

TEST(Measures, ExpansionGrowsWithTheDimensionOfThePoints) {
  auto const estimate = [](matrix<double> const& rows) {
    expansion const e = estimate_expansion(cover_tree<double>(rows, 20));
    expansion const other = estimate_expansion(kd_tree<double>(rows, 3));
    EXPECT_EQ(e.largest, other.largest); // the tree only counts
    EXPECT_EQ(e.mean, other.mean);
    EXPECT_GE(e.largest, e.mean);
    return e;
  };
  double before = 1;
  for (index d = 1; d <= 3; ++d) {
    double const mean = estimate(uniform(20000, d)).mean;
    EXPECT_GT(mean, before);
    EXPECT_LT(mean, std::ldexp(1.1, static_cast<int>(d)));
    before = mean;
  }
  // A line in 3 dimensions is a line.
  family const line{"", 20000, 3, [](index i, index j) { return static_cast<double>(i * (j + 1)); }};
  EXPECT_LT(estimate(rows_of<double>(line)).mean, 2.1);
}

TEST(Measures, ExpansionByHand) {
  // 0, 1, 2, ... 8: about 4, balls of radius 1, 2, 4 hold 3, 5, 9 points.
  matrix<double> const rows =
      rows_of<double>({"", 9, 1, [](index i, index) { return static_cast<double>(i); }});
  cover_tree<double> const t(rows, 1);
  double const middle = 4;
  EXPECT_EQ(count_within(t, &middle, 1), 3);
  EXPECT_EQ(count_within(t, &middle, 4), 5);
  EXPECT_EQ(estimate_expansion(t).largest, 3); // B(4, 1) and B(4, 1/2)
  family const equal{"", 50, 2, [](index, index) { return 1.0; }};
  matrix<double> const one = rows_of<double>(equal);
  expansion const e = estimate_expansion(cover_tree<double>(one, 20));
  EXPECT_EQ(e.largest, 2);
  EXPECT_EQ(e.mean, 1);
}

} // namespace
