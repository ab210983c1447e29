// SPDX-License-Identifier: BSD-3-Clause
// Searches in a tree find what a scan of all points finds: ties to the lowest row, duplicates included.
#include "kopse/tree/neighbours.hpp"

#include <gtest/gtest.h>

#include "families.hpp"
#include "kopse/tree/binary_tree.hpp"

namespace {

using families::family;
using kopse::index;
using kopse::matrix;
using kopse::neighbour;

constexpr double infinity = std::numeric_limits<double>::infinity();

/// All rows but one, nearest first.
std::vector<neighbour> scan(matrix<double> const& rows, double const* x, index except) {
  std::vector<neighbour> all;
  for (index i = 0; i < rows.rows(); ++i)
    if (i != except) all.push_back({kopse::squared_distance(rows.row(i), x, rows.cols()), i});
  std::sort(all.begin(), all.end(), kopse::nearer);
  return all;
}

/// Calls f with every family, some shapes, leaf sizes and searches: from a row that is left out, from
/// elsewhere.
template <class F> void with_searches(F const& f) {
  for (std::size_t data = 0; data < families::family_names.size(); ++data)
    for (index d : {1, 2, 5})
      for (index leaf : {1, 4, 100}) {
        index const n = leaf == 1 ? 3 : 80;
        matrix<double> const rows =
            families::make_rows<double>(static_cast<family>(data), n, d, static_cast<std::uint64_t>(d));
        kopse::kd_tree<double> const tree(rows.view(), leaf);
        std::vector<double> x(rows.row(n / 2), rows.row(n / 2) + d);
        SCOPED_TRACE(std::string(families::family_names[data]) + " d " + std::to_string(d) + " leaf "
                     + std::to_string(leaf));
        f(tree, rows, x.data(), n / 2);
        for (double& coordinate : x) coordinate *= 1.5;
        f(tree, rows, x.data(), -1);
      }
}

TEST(nearest_two, are_those_of_a_scan) {
  with_searches([](auto const& tree, auto const& rows, double const* x, index except) {
    auto const all = scan(rows, x, except);
    kopse::nearest_two found;
    index distances = 0;
    kopse::find_nearest_two(tree, x, except, found, distances);
    EXPECT_EQ(found.first, all[0].row);
    EXPECT_EQ(found.first2, all[0].d2);
    EXPECT_EQ(found.second2, all[1].d2);
    EXPECT_LE(distances, rows.rows());
    EXPECT_EQ(kopse::nearest_other(tree, x, except, distances), all[0].d2);
  });
}

TEST(nearest_two, go_on_from_what_was_found) {
  with_searches([](auto const& tree, auto const& rows, double const* x, index) {
    auto const all = scan(rows, x, -1);
    index distances = 0;
    for (index i = 0; i < rows.rows(); ++i) {
      kopse::nearest_two found;
      found.offer(i, kopse::squared_distance(rows.row(i), x, rows.cols()));
      kopse::find_nearest_two(tree, x, i, found, distances);
      EXPECT_EQ(found.first, all[0].row);
      EXPECT_EQ(found.second2, all[1].d2);
    }
  });
}

TEST(nearest_few, are_those_of_a_scan) {
  with_searches([](auto const& tree, auto const& rows, double const* x, index except) {
    auto const all = scan(rows, x, except);
    std::vector<neighbour> found;
    index distances = 0;
    for (double const limit2 : {infinity, all[all.size() / 2].d2, all[0].d2, all[0].d2 / 2, 0.0})
      for (std::size_t const most :
           {std::size_t{0}, std::size_t{1}, std::size_t{7}, all.size(), std::size_t{200}}) {
        double const reach2 =
            kopse::find_nearest(tree, x, except, static_cast<index>(most), limit2, found, distances);
        std::size_t within = 0;
        while (within < all.size() && all[within].d2 <= limit2) ++within;
        ASSERT_EQ(found.size(), std::min(most, within));
        for (std::size_t m = 0; m < found.size(); ++m) {
          EXPECT_EQ(found[m].row, all[m].row);
          EXPECT_EQ(found[m].d2, all[m].d2);
        }
        if (found.size() < all.size()) {
          EXPECT_LE(reach2, all[found.size()].d2);
        }
        if (found.size() < most) {
          EXPECT_EQ(reach2, limit2);
        }
      }
  });
}

TEST(some_near_point, is_of_the_tree) {
  with_searches([](auto const& tree, auto const& rows, double const* x, index) {
    index distances = 0;
    neighbour const near = kopse::find_near(tree, x, distances);
    ASSERT_TRUE(near.row >= 0 && near.row < rows.rows());
    EXPECT_EQ(near.d2, kopse::squared_distance(rows.row(near.row), x, rows.cols()));
    EXPECT_LE(distances, rows.rows());
  });
}

TEST(searches, look_at_few_points_in_low_dimension) {
  matrix<double> const rows = families::make_rows<double>(family::uniform, 5000, 2, 1);
  kopse::kd_tree<double> const tree(rows.view(), 8);
  index two = 0, few = 0;
  std::vector<neighbour> found;
  for (index i = 0; i < 1000; ++i) {
    kopse::nearest_two nearest;
    kopse::find_nearest_two(tree, rows.row(i), i, nearest, two);
    kopse::find_nearest(tree, rows.row(i), i, 10, infinity, found, few);
  }
  EXPECT_LT(two, 40 * 1000);
  EXPECT_LT(few, 100 * 1000);
}

} // namespace
