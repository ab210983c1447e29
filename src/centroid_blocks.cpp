// SPDX-License-Identifier: BSD-3-Clause
#include "centroid_blocks.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "kopse/screen.hpp"

namespace kopse {

namespace {

constexpr std::size_t at(index i) { return static_cast<std::size_t>(i); }

// Halves a set of centroids, and the halves, across the direction in which they spread most.
class halving {
public:
  explicit halving(matrix_view<double> centroids)
      : c_(centroids), along_(at(c_.rows())), mean_(at(c_.cols())), direction_(mean_), next_(mean_) {}

  void order(label* first, label* last, index size) {
    if (last - first <= size) return;
    find_direction(first, last);
    for (label const* i = first; i < last; ++i) along_[at(*i)] = along(*i);
    label* const middle = first + ((last - first) / 2 + size - 1) / size * size;
    std::nth_element(first, middle, last, [&](label a, label b) {
      return along_[at(a)] != along_[at(b)] ? along_[at(a)] < along_[at(b)] : a < b;
    });
    order(first, middle, size);
    order(middle, last, size);
  }

private:
  double along(label i) const {
    double sum = 0;
    for (index j = 0; j < c_.cols(); ++j) sum += direction_[at(j)] * (c_(i, j) - mean_[at(j)]);
    return std::isfinite(sum) ? sum : 0;
  }

  // By the power method, from the coordinate of the largest variance on. Any direction is right; a better one
  // makes better groups.
  void find_direction(label const* first, label const* last) {
    index const d = c_.cols();
    std::fill(mean_.begin(), mean_.end(), 0.0);
    for (label const* i = first; i < last; ++i)
      for (index j = 0; j < d; ++j) mean_[at(j)] += c_(*i, j) / static_cast<double>(last - first);
    std::fill(next_.begin(), next_.end(), 0.0);
    for (label const* i = first; i < last; ++i)
      for (index j = 0; j < d; ++j) next_[at(j)] += (c_(*i, j) - mean_[at(j)]) * (c_(*i, j) - mean_[at(j)]);
    auto const widest = std::max_element(next_.begin(), next_.end()) - next_.begin();
    std::fill(direction_.begin(), direction_.end(), 0.0);
    direction_[at(widest)] = 1;
    for (int round = 0; round < 3; ++round) {
      std::fill(next_.begin(), next_.end(), 0.0);
      for (label const* i = first; i < last; ++i) {
        double const by = along(*i);
        for (index j = 0; j < d; ++j) next_[at(j)] += by * (c_(*i, j) - mean_[at(j)]);
      }
      double norm2 = 0;
      for (double const v : next_) norm2 += v * v;
      double const norm = std::sqrt(norm2);
      if (!(norm > 0 && norm <= std::numeric_limits<double>::max())) return;
      for (index j = 0; j < d; ++j) direction_[at(j)] = next_[at(j)] / norm;
    }
  }

  matrix_view<double> c_;
  std::vector<double> along_, mean_, direction_, next_;
};

double largest_norm2(matrix_view<double> c, double const* origin) {
  double largest = 0;
  for (index i = 0; i < c.rows(); ++i) {
    double norm2 = 0;
    for (index j = 0; j < c.cols(); ++j) norm2 += (c(i, j) - origin[j]) * (c(i, j) - origin[j]);
    largest = std::max(largest, norm2);
  }
  return largest;
}

} // namespace

void centroid_blocks::arrange(matrix_view<double> centroids, index size) {
  k_ = centroids.rows(), d_ = centroids.cols();
  order_.resize(at(k_));
  std::iota(order_.begin(), order_.end(), 0);
  halving(centroids).order(order_.data(), order_.data() + k_, size);
  for (index first = 0; first < k_; first += size)
    std::sort(order_.begin() + first, order_.begin() + std::min(k_, first + size));
  places_.resize(at(k_));
  for (index place = 0; place < k_; ++place) places_[at(order_[at(place)])] = place;
}

// An origin amid the centroids, and a scale that brings the farthest to between 1 and 2. Both stay while
// another origin would not bring all much nearer, and while numbers remain far from the ends of float32.
bool centroid_blocks::choose_scale(matrix_view<double> centroids) {
  std::vector<double> middle(at(d_), 0.0);
  for (index i = 0; i < k_; ++i)
    for (index j = 0; j < d_; ++j) middle[at(j)] += centroids(i, j) / static_cast<double>(k_);
  double const norm2 = largest_norm2(centroids, middle.data());
  if (usable_) {
    double const seen2 = largest_norm2(centroids, origin_.data());
    bool const amid = k_ == 1 || (seen2 <= 16 * norm2 && seen2 * scale_ * scale_ >= 0x1p-32);
    if (amid && seen2 * scale_ * scale_ <= 0x1p32) return false;
  }
  origin_ = std::move(middle);
  int const exponent = norm2 > 0 ? std::ilogb(std::sqrt(norm2)) : 0;
  usable_ = std::abs(exponent) <= float_screen::largest_exponent && d_ <= float_screen::most_dims;
  scale_ = usable_ ? std::ldexp(1.0, -exponent) : 0;
  return true;
}

bool centroid_blocks::take(matrix_view<double> centroids) {
  bool const anew = choose_scale(centroids);
  if (!usable_) return anew;
  index const stride = dense::whole_blocks(d_);
  rows_.assign(at(k_ * stride), 0);
  columns_.assign(at(dense::whole_blocks(k_) * d_), 0);
  half_.assign(at(dense::whole_blocks(k_)), float_screen::nowhere);
  double largest = 0;
  for (index place = 0; place < k_; ++place) {
    label const i = centroid(place);
    float* const row = rows_.data() + place * stride;
    float* const column = columns_.data() + place / dense::block * dense::block * d_ + place % dense::block;
    double norm2 = 0;
    for (index j = 0; j < d_; ++j) {
      double const seen = (centroids(i, j) - origin_[at(j)]) * scale_;
      norm2 += seen * seen;
      row[j] = column[j * dense::block] = static_cast<float>(seen);
    }
    half_[at(place)] = static_cast<float>(norm2 / 2);
    largest = std::max(largest, norm2);
  }
  index const sums = std::min<index>(d_, 64) + d_ / 16 + 8;
  rounding_ = static_cast<float>(2 * sums + 24) * 0x1.02p-24f;
  far_ = static_cast<float>(std::sqrt(largest) * (1 + 1e-5));
  return anew;
}

} // namespace kopse
