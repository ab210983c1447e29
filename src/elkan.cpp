// SPDX-License-Identifier: BSD-3-Clause
// Elkan's algorithm: a lower bound for every point and centroid, and all distances between centroids.
//
// C. Elkan, "Using the triangle inequality to accelerate k-means", ICML (2003).
// A point p keeps an upper bound u on the distance to its owner a and, for each centroid j, a lower bound l_j
// on d(p, j). When centroids move, u grows by the owner's movement and l_j shrinks by that of j. With
// c(a, j) = d(a, j) between the moved centroids,
//   u < ½ min_j c(a, j)   the owner stays: every other is at least c(a, j) − u > u away (Elkan's lemma 1);
//   u < l_j               j is not the owner (lemma 2);
//   u < ½ c(a, j)         j is not the owner (lemma 1 again).
// If some j is left, u becomes the distance itself, and for the j that are still left the distance to j is
// computed; it is the new l_j. A first assignment starts from centroid 0 and bounds of 0.
//
// Memory: 4·n·k + 4·k² bytes, 12 bytes a point, 8·k·d. The bounds are never swept (lower_table.hpp).
// Use it for k up to some hundreds in high dimension (d of 20 and more), where a distance costs more than k
// bounds. Not for large n·k: it fills the memory, and reading k bounds is all its time.
#include <mutex>

#include "centroid_columns.hpp"
#include "flat_step.hpp"
#include "lower_table.hpp"
#include "memory.hpp"
#include "steps.hpp"

namespace kopse {

namespace {

template <class Real> class elkan_step final : public flat_step<Real> {
public:
  elkan_step(point_set<Real> points, sum_layout layout, index k, step_options const& options)
      : flat_step<Real>(points, std::move(layout), k, options) {
    index const n = points.size();
    require_memory("elkan", lower_table::bytes(n, k) + lower_table::bytes(k, k) + 8 * static_cast<double>(n));
    upper_.resize(static_cast<std::size_t>(n));
    lower_ = lower_table(n, k, this->slack_);
    half_ = matrix<float>(k, k);
    half_gap_.resize(static_cast<std::size_t>(k));
  }

private:
  static constexpr index chunk = centroid_columns::width; // centroids at a time
  static constexpr index one_by_one = 1; // more than this of a chunk are measured with all of it: no slower

  // What is known of the point in hand.
  struct state {
    label owner;
    double upper; // bound on d(p, owner)
    float limit;  // a float bound above it is one on a farther centroid
    double d2;    // computed d² to the owner; negative: not computed yet
  };

  void prepare() override {
    measure_centroids();
    if (this->first_) return;
    lower_.set_back(this->drift_.largest(), this->options_.threads);
    for (label j = 0; j < this->k_; ++j) lower_.advance(j, this->drift_[j]);
  }

  // half_: half the distances between centroids, rounded down; half_gap_: the least of each.
  void measure_centroids() {
    index const k = this->k_;
    columns_.assign(this->seen_.view());
    for_blocks(k, 16, this->options_.threads, [&](index first, index last) {
      std::vector<double> d2(static_cast<std::size_t>(padded(k)));
      for (index a = first; a < last; ++a) {
        columns_.squares(this->seen_.row(a), a + 1, k - a - 1, d2.data());
        for (index j = a + 1; j < k; ++j)
          half_(a, j) = half_(j, a) =
              float_down(this->slack_.lower(d2[static_cast<std::size_t>(j - a - 1)]) / 2);
      }
    });
    for (index a = 0; a < k; ++a) {
      half_(a, a) = std::numeric_limits<float>::infinity(); // never in its own way
      half_gap_[static_cast<std::size_t>(a)] = *std::min_element(half_.row(a), half_.row(a) + k);
    }
    this->work_.distances += k * (k - 1) / 2;
  }

  void assign_block(index first, index last, work_counters& work) override {
    for (index i = first; i < last; ++i) {
      state p{0, 0, 0, -1};
      if (this->first_) {
        measure_owner(i, p, work);
      } else {
        p.owner = this->owner(i);
        p.upper = this->slack_.up(upper_[static_cast<std::size_t>(i)] + this->drift_[p.owner]);
        p.limit = lower_limit(p.upper, this->slack_);
      }
      if (half_gap(p) > p.limit)
        ++work[prune_rule::point_gap]; // safe by lemma 1: every other centroid is strictly farther
      else
        search(i, p, work);
      this->owner(i) = p.owner;
      upper_[static_cast<std::size_t>(i)] = p.upper;
    }
  }

  float half_gap(state const& p) const { return half_gap_[static_cast<std::size_t>(p.owner)]; }

  void search(index i, state& p, work_counters& work) {
    float const *const lower = lower_.row(i), *const meters = lower_.meters();
    index const before = work.distances - (p.d2 < 0 ? 0 : 1);
    for (index first = 0; first < this->k_; first += chunk) {
      index const last = std::min(this->k_, first + chunk);
      index left = count_left(lower, meters, half_.row(p.owner), first, last, p.limit);
      if (left == 0) continue;
      if (p.d2 < 0) {
        measure_owner(i, p, work);
        if (half_gap(p) > p.limit) {
          ++work[prune_rule::point_gap]; // safe as above
          return;
        }
        left = count_left(lower, meters, half_.row(p.owner), first, last, p.limit);
      }
      if (left > one_by_one)
        consider_all(i, first, last, p, work);
      else
        for (label j = static_cast<label>(first); left > 0 && j < last; ++j)
          if (is_left(lower, meters, j, p)) consider(i, j, p, work);
    }
    work[prune_rule::centroid] += std::max<index>(0, this->k_ - (work.distances - before));
  }

  // Safe to leave j out unless this holds: else it is farther than the owner beyond doubt, by lemma 2 or 1.
  bool is_left(float const* lower, float const* meters, label j, state const& p) const {
    return j != p.owner && !(lower[j] - meters[j] > p.limit) && !(half_(p.owner, j) > p.limit);
  }
  // For how many of [first, last) that may hold.
  static index count_left(float const* lower, float const* meters, float const* half, index first, index last,
                          float limit) {
    int left = 0;
    for (index j = first; j < last; ++j)
      left += static_cast<int>(!(std::max(lower[j] - meters[j], half[j]) > limit));
    return left;
  }

  void measure_owner(index i, state& p, work_counters& work) {
    ++work.distances;
    own(p, p.owner, this->distance2(i, p.owner));
    lower_.set(i, p.owner, this->slack_.lower(p.d2));
  }

  void consider(index i, label j, state& p, work_counters& work) {
    ++work.distances;
    double const d2 = this->distance2(i, j);
    lower_.set(i, j, this->slack_.lower(d2));
    if (d2 < p.d2 || (d2 == p.d2 && j < p.owner)) own(p, j, d2);
  }

  void consider_all(index i, index first, index last, state& p, work_counters& work) {
    double d2[chunk];
    columns_.squares(this->points_.rows.row(i), first, last - first, d2);
    work.distances += last - first;
    lower_.set(i, first, last - first, d2);
    for (index j = first; j < last; ++j)
      if (d2[j - first] < p.d2 || (d2[j - first] == p.d2 && j < p.owner))
        own(p, static_cast<label>(j), d2[j - first]);
  }

  void own(state& p, label j, double d2) const {
    p.owner = j;
    p.d2 = d2;
    p.upper = this->slack_.upper(d2);
    p.limit = lower_limit(p.upper, this->slack_);
  }

  centroid_columns columns_;
  std::vector<double> upper_;
  lower_table lower_;
  matrix<float> half_;
  std::vector<float> half_gap_;
};

} // namespace

template <class Real>
std::unique_ptr<assignment_step> make_elkan(point_set<Real> points, sum_layout const& layout, index k,
                                            step_options const& options) {
  return std::make_unique<elkan_step<Real>>(points, layout, k, options);
}
template std::unique_ptr<assignment_step> make_elkan(point_set<float>, sum_layout const&, index,
                                                     step_options const&);
template std::unique_ptr<assignment_step> make_elkan(point_set<double>, sum_layout const&, index,
                                                     step_options const&);

} // namespace kopse
