// SPDX-License-Identifier: BSD-3-Clause
// Yinyang k-means: a lower bound for every point and group of centroids.
//
// Y. Ding, Y. Zhao, X. Shen, M. Musuvathi, T. Mytkowicz, "Yinyang k-means: a drop-in replacement of the
// classic k-means with consistent speedup", ICML (2015).
// The centroids are put into t groups once, by five iterations of k-means on the first centroids. A point
// keeps an upper bound on the distance to its owner and, for each group, a lower bound on the distance to any
// centroid of it but the owner. When centroids move, the bound of a group shrinks by the largest movement in
// it. Three filters, each the triangle inequality:
//   all groups   upper < every bound: the owner stays;
//   a group      upper < its bound: the owner is not in it;
//   a centroid   upper < its group's bound before the move, less its own movement: it is not the owner.
// What is left is computed, and a group in which something was computed gets its bound anew.
//
// Memory: 4·n·t bytes, 12 bytes a point, 8·k·d. The bounds are never swept (lower_table.hpp).
// Use it for k of hundreds to some thousands in middling and high dimension. Not in low dimension, where
// `exponion` and `dualtree` need no such table. t = k / 10 is the paper's choice; fewer groups take less
// memory and filter less.
#include <numeric>

#include "centroid_columns.hpp"
#include "flat_step.hpp"
#include "kopse/kmeans.hpp"
#include "lower_table.hpp"
#include "memory.hpp"
#include "steps.hpp"

namespace kopse {

namespace {

template <class Real> class yinyang_step final : public flat_step<Real> {
public:
  yinyang_step(point_set<Real> points, sum_layout layout, index k, step_options const& options)
      : flat_step<Real>(points, std::move(layout), k, options),
        groups_(std::min(k, options.groups > 0 ? options.groups : std::max<index>(1, k / 10))) {
    index const n = points.size();
    require_memory("yinyang with " + std::to_string(groups_) + " groups",
                   lower_table::bytes(n, groups_) + 8 * static_cast<double>(n));
    upper_.resize(static_cast<std::size_t>(n));
    lower_ = lower_table(n, groups_, this->slack_);
  }

private:
  static constexpr double infinity = std::numeric_limits<double>::infinity();
  static constexpr double to_measure = -1; // no square
  // Below this a distance costs no more than the filter that would save it.
  static constexpr index filter_dims = 8;

  // What is known of the point in hand.
  struct state {
    label owner;
    double upper; // bound on d(p, owner)
    float limit;  // a float bound above it is one on a farther centroid
    double d2;    // computed d² to the owner
    label old;    // the owner so far; left out when groups are searched
    double old_d2;
    double* squares; // room for those of a group, or of all
  };

  void prepare() override {
    if (this->first_) {
      form_groups();
    } else {
      lower_.set_back(this->drift_.largest(), this->options_.threads);
      before_ = lower_.travelled();
      moved_.resize(members_.size());
      for (std::size_t m = 0; m < members_.size(); ++m) moved_[m] = this->drift_[members_[m]];
      for (index g = 0; g < groups_; ++g)
        lower_.advance(g,
                       std::accumulate(moved_.begin() + begins_[at(g)], moved_.begin() + begins_[at(g + 1)],
                                       0.0, [](double a, double b) { return std::max(a, b); }));
    }
    columns_.assign(this->seen_.view(), members_);
  }

  // Any groups would do; good ones are of centroids that are near one another, and move alike.
  void form_groups() {
    index const k = this->k_;
    point_set<double> const centroids(this->seen_.view());
    sum_layout const layout = summarise(centroids, false).layout();
    matrix<double> start(groups_, this->seen_.cols());
    for (index g = 0; g < groups_; ++g)
      std::copy_n(this->seen_.row(g * k / groups_), this->seen_.cols(), start.row(g));
    auto const step = make_lloyd(centroids, layout, groups_, this->options_);
    driver_options driving;
    driving.max_iter = 5;
    driving.stop = this->options_.stop;
    reduction alone;
    run_result const run = iterate(*step, layout, std::move(start), 0, driving, alone);
    for (iteration_record const& record : run.trace) this->work_ += record.work;
    if (!run.converged()) this->work_ += step->work();

    group_of_.resize(at(k));
    step->labels(group_of_);
    begins_.assign(at(groups_ + 1), 0);
    for (label const g : group_of_) ++begins_[at(g + 1)];
    for (index g = 0; g < groups_; ++g) begins_[at(g + 1)] += begins_[at(g)];
    members_.resize(at(k));
    std::vector<index> next = begins_;
    place_.resize(at(k));
    for (label j = 0; j < k; ++j) {
      index const place = next[at(group_of_[at(j)])]++;
      members_[at(place)] = j;
      place_[at(j)] = place;
    }
    for (index g = 0; g < groups_; ++g)
      largest_group_ = std::max(largest_group_, begins_[at(g + 1)] - begins_[at(g)]);
  }

  void assign_block(index first, index last, work_counters& work) override {
    std::vector<double> squares(at(padded(this->first_ ? this->k_ : largest_group_)));
    for (index i = first; i < last; ++i) {
      state p{-1, infinity, std::numeric_limits<float>::infinity(), infinity, -1, infinity, squares.data()};
      if (this->first_)
        search_first(i, p, work);
      else
        update(i, p, work);
      this->owner(i) = p.owner;
      upper_[at(i)] = p.upper;
    }
  }

  void update(index i, state& p, work_counters& work) {
    p.owner = p.old = this->owner(i);
    p.upper = this->slack_.up(upper_[at(i)] + this->drift_[p.owner]);
    p.limit = lower_limit(p.upper, this->slack_);
    if (any_left(i, p.limit)) {
      ++work.distances;
      p.old_d2 = this->distance2(i, p.old);
      own(p, p.old, p.old_d2);
      if (any_left(i, p.limit)) return search(i, p, work);
    }
    ++work[prune_rule::point_bounds]; // safe: every other centroid is farther, beyond doubt
  }

  // Whether the bound of some group does not keep all of it farther than the owner.
  bool any_left(index i, float limit) const {
    float const *const lower = lower_.row(i), *const meters = lower_.meters();
    int left = 0;
    for (index g = 0; g < groups_; ++g) left |= static_cast<int>(!(lower[g] - meters[g] > limit));
    return left != 0;
  }

  void search(index i, state& p, work_counters& work) {
    for (index g = 0; g < groups_; ++g) {
      // Safe: all of the group but the owner so far is farther than the nearest found, beyond doubt.
      if (lower_.row(i)[g] - lower_.meters()[g] > p.limit) {
        ++work[prune_rule::group];
        continue;
      }
      index const begin = begins_[at(g)], size = begins_[at(g + 1)] - begin;
      double const left_out = this->points_.dims() < filter_dims
                                  ? measure_all(i, begin, size, p.squares, work)
                                  : measure_some(i, g, begin, size, p, work);
      close_group(i, g, left_out, p.squares, p);
    }
  }

  void search_first(index i, state& p, work_counters& work) {
    measure_all(i, 0, this->k_, p.squares, work);
    for (index g = 0; g < groups_; ++g) close_group(i, g, infinity, p.squares + begins_[at(g)], p);
  }

  double measure_all(index i, index begin, index size, double* squares, work_counters& work) const {
    columns_.squares(this->points_.rows.row(i), begin, size, squares);
    work.distances += size;
    return infinity;
  }

  // Returns a lower bound on the distance to the members it left out, whose squares it sets to infinity.
  double measure_some(index i, index g, index begin, index size, state const& p, work_counters& work) const {
    double const before = lower_.bound(i, g, before_[at(g)]);
    double left_out = infinity;
    index left = 0, filtered = 0;
    for (index m = 0; m < size; ++m) {
      double const lower = this->slack_.down(before - moved_[at(begin + m)]);
      if (begin + m == place_[at(p.old)]) {
        p.squares[m] = infinity; // known already
      } else if (this->slack_.nearer(p.upper, lower)) {
        p.squares[m] = infinity; // safe: farther than the nearest found, beyond doubt
        left_out = std::min(left_out, lower);
        ++filtered;
      } else {
        p.squares[m] = to_measure;
        ++left;
      }
    }
    // Eight at once cost as much as one and a half.
    if (2 * left > 3 * (padded(size) / columns_.width)) return measure_all(i, begin, size, p.squares, work);
    for (index m = 0; m < size; ++m)
      if (p.squares[m] == to_measure) p.squares[m] = this->distance2(i, members_[at(begin + m)]);
    work.distances += left;
    work[prune_rule::centroid] += filtered;
    return left_out;
  }

  // Given the squares of a group's members, its new bound and, if it is in the group, the new owner.
  void close_group(index i, index g, double left_out, double* squares, state& p) {
    index const begin = begins_[at(g)], size = begins_[at(g + 1)] - begin;
    bool const had_owner = p.old >= 0 && group_of_[at(p.old)] == g;
    if (had_owner) squares[place_[at(p.old)] - begin] = infinity; // left out, and known
    double lower2 = infinity;
    for (index m = 0; m < size; ++m) lower2 = std::min(lower2, squares[m]);
    nearest_two found;
    if (lower2 <= p.d2) {
      for (index m = 0; m < size; ++m) found.offer(members_[at(begin + m)], squares[m]);
    }
    bool const wins = found.first2 < p.d2 || (found.first2 == p.d2 && found.first < p.owner);
    if (wins) lower2 = found.second2;
    if (had_owner && (wins || p.owner != p.old)) lower2 = std::min(lower2, p.old_d2);
    lower_.set(i, g, std::min(left_out, this->slack_.lower(lower2)));
    if (!wins) return;
    if (p.owner >= 0)
      lower_.lower(i, group_of_[at(p.owner)], this->slack_.lower(p.d2)); // now one of the others there
    own(p, static_cast<label>(found.first), found.first2);
  }

  void own(state& p, label j, double d2) const {
    p.owner = j;
    p.d2 = d2;
    p.upper = this->slack_.upper(d2);
    p.limit = lower_limit(p.upper, this->slack_);
  }

  static std::size_t at(index i) { return static_cast<std::size_t>(i); }

  index groups_;
  std::vector<label> group_of_; // of each centroid
  std::vector<label> members_;  // centroids by group, ascending in each
  std::vector<index> begins_;   // where each group begins among them
  std::vector<index> place_;    // where each centroid is among them
  std::vector<double> moved_;   // movements in that order
  index largest_group_ = 0;
  centroid_columns columns_; // in that order
  std::vector<double> upper_;
  lower_table lower_;
  std::vector<double> before_; // what the meters of lower_ read before this assignment
};

} // namespace

template <class Real>
std::unique_ptr<assignment_step> make_yinyang(point_set<Real> points, sum_layout const& layout, index k,
                                              step_options const& options) {
  return std::make_unique<yinyang_step<Real>>(points, layout, k, options);
}
template std::unique_ptr<assignment_step> make_yinyang(point_set<float>, sum_layout const&, index,
                                                       step_options const&);
template std::unique_ptr<assignment_step> make_yinyang(point_set<double>, sum_layout const&, index,
                                                       step_options const&);

} // namespace kopse
