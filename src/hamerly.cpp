// SPDX-License-Identifier: BSD-3-Clause
// Hamerly's algorithm: two bounds a point.
//
// G. Hamerly, "Making k-means even faster", SIAM Int. Conf. Data Mining (2010).
// A point keeps an upper bound on the distance to its owner and one lower bound on the distance to every
// other centroid. When centroids move, the upper bound grows by the owner's movement, the lower one shrinks
// by the largest movement of any other: the triangle inequality. While upper < lower, or upper < half the
// distance from the owner to the nearest other centroid, the owner stays and no distance is computed. If that
// fails, upper becomes the distance itself, once more the test, and only then all k distances, which give
// both bounds anew.
//
// Half gaps come from a tree on the centroids, k searches an iteration. Memory: 20 bytes a point, 8·k·d and
// the tree for the centroids.
// Use it for small k (to about 100) in low dimension, where little else pays. Not for large k: the one lower
// bound falls with the fastest of all centroids, and each failure costs k distances. `exponion` is the same
// with a cheaper failure.
#include "bounds.hpp"
#include "flat_step.hpp"
#include "steps.hpp"

namespace kopse {

namespace {

template <class Real> class hamerly_step final : public flat_step<Real> {
public:
  hamerly_step(point_set<Real> points, sum_layout layout, index k, step_options const& options)
      : flat_step<Real>(points, std::move(layout), k, options),
        bounds_(static_cast<std::size_t>(points.size())) {}

private:
  void prepare() override {
    columns_.assign(this->seen_.view());
    if (this->first_) return;
    kd_tree<double> const tree(this->seen_.view(), centroid_leaf);
    shifts_ = owner_shifts(tree, this->seen_.view(), this->drift_, this->slack_, this->options_.threads,
                           this->work_);
  }

  void assign_block(index first, index last, work_counters& work) override {
    for (index i = first; i < last; ++i)
      if (this->first_ || !stays(i, work)) search(i, work);
  }

  // Safe: the owner stays only where it is nearer than every other centroid beyond doubt (settle).
  bool stays(index i, work_counters& work) {
    owner_shift const& shift = shifts_[static_cast<std::size_t>(this->owner(i))];
    point_bounds& b = bounds_[static_cast<std::size_t>(i)];
    b = shifted(b, shift, this->slack_);
    if (settle(b, shift, this->slack_, work)) return true;
    ++work.distances;
    b.upper = this->slack_.upper(this->distance2(i, this->owner(i)));
    return settle(b, shift, this->slack_, work);
  }

  void search(index i, work_counters& work) {
    nearest_two found;
    columns_.find_nearest_two(this->points_.rows.row(i), found);
    work.distances += this->k_;
    this->owner(i) = static_cast<label>(found.first);
    bounds_[static_cast<std::size_t>(i)] = {this->slack_.upper(found.first2),
                                            this->slack_.lower(found.second2)};
  }

  std::vector<point_bounds> bounds_;
  centroid_columns columns_;
  std::vector<owner_shift> shifts_;
};

} // namespace

template <class Real>
std::unique_ptr<assignment_step> make_hamerly(point_set<Real> points, sum_layout const& layout, index k,
                                              step_options const& options) {
  return std::make_unique<hamerly_step<Real>>(points, layout, k, options);
}
template std::unique_ptr<assignment_step> make_hamerly(point_set<float>, sum_layout const&, index,
                                                       step_options const&);
template std::unique_ptr<assignment_step> make_hamerly(point_set<double>, sum_layout const&, index,
                                                       step_options const&);

} // namespace kopse
