// SPDX-License-Identifier: BSD-3-Clause
#include "centroid_heap.hpp"

#include <numeric>

namespace kopse {

centroid_heap::centroid_heap(index k, index dims)
    : k_(k), d_(dims),
      leaves_(static_cast<node_id>(std::bit_ceil(static_cast<std::size_t>((k + most - 1) / most)))),
      top_(node_id{1} << (std::bit_width(static_cast<unsigned>(leaves_)) - 1) % 3), slack_(dims),
      order_(static_cast<std::size_t>(k)), leaf_of_(static_cast<std::size_t>(k)), coordinates_(k, dims),
      eights_(leaves_, most * dims), corners_((2 * leaves_ + 7) / 8, 16 * dims),
      moved_(static_cast<std::size_t>(2 * leaves_ + 7) / 8 * 8), moved_of_(static_cast<std::size_t>(k)) {
  std::iota(order_.begin(), order_.end(), 0);
}

void centroid_heap::arrange(matrix_view<double> centroids) {
  split(centroids, root(), 0, k_);
  for (node_id leaf = 0; leaf < leaves_; ++leaf)
    for (index i = start(leaf); i < start(leaf + 1); ++i)
      leaf_of_[static_cast<std::size_t>(row(i))] = leaves_ + leaf;
  std::fill_n(eights_.row(0), leaves_ * most * d_, std::numeric_limits<double>::infinity());
}

// At the middle position of the widest dimension.
void centroid_heap::split(matrix_view<double> centroids, node_id q, index first, index last) {
  if (is_leaf(q)) return;
  index widest = 0;
  double width = -1;
  for (index j = 0; j < d_; ++j) {
    auto const at = [&](label c) { return centroids(c, j); };
    auto const [lo, hi] = std::ranges::minmax_element(order_.begin() + first, order_.begin() + last, {}, at);
    if (at(*hi) - at(*lo) > width) width = at(*hi) - at(*lo), widest = j;
  }
  node_id right = 2 * q + 1; // the first leaf below it
  while (!is_leaf(right)) right *= 2;
  index const middle = start(right - leaves_);
  std::nth_element(order_.begin() + first, order_.begin() + middle, order_.begin() + last,
                   [&](label a, label b) { return centroids(a, widest) < centroids(b, widest); });
  split(centroids, 2 * q, first, middle);
  split(centroids, 2 * q + 1, middle, last);
}

void centroid_heap::refit(matrix_view<double> centroids, centroid_drift const& drift) {
  for (index i = 0; i < k_; ++i) {
    std::copy_n(centroids.row(row(i)), d_, coordinates_.row(i));
    moved_of_[static_cast<std::size_t>(i)] = drift[static_cast<label>(row(i))];
  }
  for (node_id q = node_count() - 1; q >= root(); --q) {
    double& largest = moved_[static_cast<std::size_t>(q)];
    if (is_leaf(q)) {
      point_range const range = points(q);
      for (index j = 0; j < d_; ++j) corner(q, 2 * j) = corner(q, 2 * j + 1) = point(range.first)[j];
      largest = 0;
      for (index i = range.first; i < range.last; ++i) {
        largest = std::max(largest, moved_at(i));
        double* const eight = eights_.row(q - leaves_) + (i - range.first);
        for (index j = 0; j < d_; ++j) {
          corner(q, 2 * j) = std::min(corner(q, 2 * j), point(i)[j]);
          corner(q, 2 * j + 1) = std::max(corner(q, 2 * j + 1), point(i)[j]);
          eight[j * most] = point(i)[j];
        }
      }
    } else {
      largest = std::max(moved(2 * q), moved(2 * q + 1));
      for (index j = 0; j < d_; ++j) {
        corner(q, 2 * j) = std::min(corner(2 * q, 2 * j), corner(2 * q + 1, 2 * j));
        corner(q, 2 * j + 1) = std::max(corner(2 * q, 2 * j + 1), corner(2 * q + 1, 2 * j + 1));
      }
    }
  }
}

} // namespace kopse
