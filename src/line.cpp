// SPDX-License-Identifier: BSD-3-Clause
// k-means on a line: for rows of one column, which are sorted once.
//
// A cluster of a line is an interval of the sorted rows, so an iteration only looks for the ends of k
// intervals and moves the sums of what lies between an old end and the new one. (Known to everybody who
// sorts; dynamic programming over intervals, Wu 1991, finds the best of all clusterings of a line. This is
// Lloyd's, from any start.)
//
// An end is searched from where it was last time, doubling the stride, by the computed distances themselves.
// So an iteration takes O(k log n), whatever n, and O(k) where centroids stay; what is between two ends is
// summed from sums of the first 16, 32, ... rows. Sorting takes O(n log n) once, for all restarts. Memory:
// the sorted values, 8 bytes a row for its number, 32 bytes every 16 rows: 18 bytes a row (14 of float32), 32
// (24) while it sorts. Labels are written when asked for. Use it wherever there is one column. There is no
// other use.
//
// Why it is exact. c < c' are neighbours among the distinct centroids; of equal ones the lowest is meant.
//
// (a) For one x, the computed |x - c| never falls as c goes away from x on one side, since rounding keeps
// order,
//     and so do squares. So a centroid that is strictly nearer than both of its neighbours is strictly the
//     nearest of all.
// (b) For x in [c, c'], computed d²(x, c) never falls and d²(x, c') never rises as x grows: `<`, `=` and `>`
// follow
//     each other, and bisection finds both changes.
// (c) For x < c, c is nearer than c' unless the computed squares are equal, as when c' - c is lost beside c -
// x.
//     slack::nearer() rules that out. What it has ruled out at x, it has for all between x and c: it asks for
//     a lead of 2⁻⁴⁸ of the distance, and of 2⁻⁵³⁴, which these rows have all the more; rounding takes 2⁻⁵⁰
//     of the distance, and squares that underflow 2⁻¹⁰⁷³.
//
// What (b) finds equal and (c) leaves open is looked up row by row: there, of the centroids that are nearest
// and equally near, the lowest number wins, and clusters need not be intervals. On most data these are no
// rows.
#include "squares.hpp"
#include "step_common.hpp"
#include "steps.hpp"

namespace kopse {

/// The rows in order of value, then of number, and the sums of the first so many of them.
template <class Real> class sorted_line {
public:
  sorted_line(point_set<Real> points, sum_layout const& layout, step_options const& options)
      : points_(points), sums_(layout, points.size() / block + 1) {
    index const n = points.size();
    std::vector<entry> entries(static_cast<std::size_t>(n));
    by_pages(points.rows, 0, n, [&](index a, index b) {
      for (index i = a; i < b; ++i) entries[static_cast<std::size_t>(i)] = {points.rows(i, 0), i};
    });
    sort(entries, options);
    values_.reserve(entries.size()), rows_.reserve(entries.size());
    for (entry const& e : entries) values_.push_back(e.value), rows_.push_back(e.row);
    for (index b = 1; b < sums_.rows(); ++b) {
      sums_.assign(b, sums_, b - 1);
      for (index p = (b - 1) * block; p < b * block; ++p) add(sums_, b, p);
    }
  }

  point_set<Real> const& points() const { return points_; }
  sum_layout const& layout() const { return sums_.layout(); }
  index size() const { return points_.size(); }
  double operator[](index p) const { return static_cast<double>(*value(p)); }
  Real const* value(index p) const { return values_.data() + p; }
  index row(index p) const { return rows_[static_cast<std::size_t>(p)]; }
  double weight(index p) const { return points_.weights.empty() ? 1.0 : points_.weight(row(p)); }

  /// sums[0] = Σ over the rows [first, last) of the order.
  void sum(index first, index last, exact_sums& sums) const {
    sums.set_zero(0);
    index const from = (first + block - 1) / block, to = last / block;
    if (from >= to) {
      for (index p = first; p < last; ++p) add(sums, 0, p);
      return;
    }
    sums.add(0, sums_, to, 1);
    sums.add(0, sums_, from, -1);
    for (index p = first; p < from * block; ++p) add(sums, 0, p);
    for (index p = to * block; p < last; ++p) add(sums, 0, p);
  }

private:
  static constexpr index block = 16;
  struct entry {
    Real value;
    index row;
    bool operator<(entry const& other) const {
      return value != other.value ? value < other.value : row < other.row;
    }
  };

  // A total order, so it is the same whoever sorts what.
  static void sort(std::vector<entry>& entries, step_options const& options) {
    index const n = static_cast<index>(entries.size());
    index const part = std::max<index>(1 << 14, n / std::max(1, options.threads) + 1);
    for_blocks(n, part, options.threads, [&](index first, index last) {
      check_stop(options.stop);
      std::sort(entries.begin() + first, entries.begin() + last);
    });
    for (index width = part; width < n; width *= 2)
      for_blocks(n, 2 * width, options.threads, [&](index first, index last) {
        check_stop(options.stop);
        if (first + width < last)
          std::inplace_merge(entries.begin() + first, entries.begin() + first + width,
                             entries.begin() + last);
      });
  }

  void add(exact_sums& sums, index to, index p) const { sums.add(to, value(p), weight(p), 1); }

  point_set<Real> points_;
  std::vector<Real> values_;
  std::vector<index> rows_; // of the points, by place in the order
  exact_sums sums_;         // row b: of the first b blocks
};

namespace {

template <class Real> class line_step final : public assignment_step {
public:
  line_step(std::shared_ptr<sorted_line<Real> const> line, index k, step_options const& options)
      : line_(std::move(line)), k_(k), options_(options), slack_(1) {
    runs_.push_back({line_->size(), -1});
  }

  cluster_sums assign(matrix_view<double> centroids) override {
    float_environment const environment;
    worker_scope const workers;
    check_stop(options_.stop);
    work_ = {};
    order(centroids);
    search_ends();
    std::vector<run> const before = std::exchange(runs_, {});
    divide();
    return changes_since(before);
  }

  // Of a run the rows at either end are the farthest, and inwards d² never rises: (a).
  far_rows farthest(index count) const override {
    float_environment const environment;
    far_collector found(count);
    index first = 0;
    for (run const& r : runs_) {
      check_stop(options_.stop);
      double const c = seen_(r.owner, 0);
      auto const offer = [&](index p) {
        double const d2 = square(line_->value(p), &c, 1);
        if (!found.wants(d2)) return false;
        found.offer(points().offset + line_->row(p), d2, r.owner, line_->weight(p), line_->value(p), 1);
        return true;
      };
      for (index p = first; p < r.last && (*line_)[p] < c && offer(p);) ++p;
      for (index p = r.last; p > first && (*line_)[p - 1] >= c && offer(p - 1);) --p;
      first = r.last;
    }
    return std::move(found).sorted();
  }

  exact_sum inertia(matrix_view<double> centroids) const override {
    per_thread<exact_sum> sums([] { return exact_sum(); });
    for_blocks(line_->size(), 8192, options_.threads, sums, [&](exact_sum& sum, index first, index last) {
      check_stop(options_.stop);
      each(first, last, [&](index p, label owner) {
        double const d2 = square(line_->value(p), centroids.row(centroids.rows() == 1 ? 0 : owner), 1);
        sum.add(points().weights.empty() ? d2 : line_->weight(p) * d2);
      });
    });
    exact_sum total;
    sums.for_each([&](exact_sum const& sum) { total += sum; });
    return total;
  }

  void labels(std::span<label> out) const override {
    for_blocks(line_->size(), 8192, options_.threads, [&](index first, index last) {
      each(first, last, [&](index p, label owner) { out[static_cast<std::size_t>(line_->row(p))] = owner; });
    });
  }

  work_counters work() const override { return work_; }

private:
  struct site {
    double at;
    label centroid; // the lowest number of those there
  };
  // Between neighbouring sites. Rows of [low, high] before `tie` are nearer to low, those from `right` on to
  // high; those between are equally near.
  struct gap {
    double low, high;
    index tie, right;
  };
  // Rows up to `last` from where the run before it ends.
  struct run {
    index last;
    label owner;
  };
  // Rows that went from one cluster (-1: none) to another.
  struct transfer {
    index first, last;
    label from, to;
  };

  point_set<Real> const& points() const { return line_->points(); }

  // Centroids by place, then number; they mostly keep the order they had.
  void order(matrix_view<double> centroids) {
    seen_ = matrix<double>(centroids);
    auto const before = [](site const& a, site const& b) {
      return a.at != b.at ? a.at < b.at : a.centroid < b.centroid;
    };
    if (all_.empty())
      for (label j = 0; j < k_; ++j) all_.push_back({0, j});
    for (site& s : all_) s.at = seen_(s.centroid, 0);
    if (!std::is_sorted(all_.begin(), all_.end(), before)) std::sort(all_.begin(), all_.end(), before);
    sites_.clear();
    for (site const& s : all_)
      if (sites_.empty() || sites_.back().at != s.at) sites_.push_back(s);
  }

  void search_ends() {
    std::size_t const known = gaps_.size();
    gaps_.resize(sites_.size() - 1);
    per_thread<work_counters> works([] { return work_counters(); });
    for_blocks(static_cast<index>(gaps_.size()), 256, options_.threads, works,
               [&](work_counters& work, index first, index last) {
                 for (std::size_t i = static_cast<std::size_t>(first); i < static_cast<std::size_t>(last);
                      ++i)
                   search(i, i < known, work);
               });
    works.for_each([&](work_counters const& one) { work_ += one; });
  }

  // (b); outside of [low, high] it goes by place, so that the whole line is in order.
  void search(std::size_t i, bool known, work_counters& work) {
    gap& g = gaps_[i];
    double const low = sites_[i].at, high = sites_[i + 1].at;
    if (known && g.low == low && g.high == high) return;
    g.low = low, g.high = high;
    auto const nearer_to_low = [&](bool or_equal) {
      return [&, or_equal](index p) {
        double const x = (*line_)[p];
        if (x < low || x > high) return x < low;
        work.distances += 2;
        double const to_low = square(&x, &low, 1), to_high = square(&x, &high, 1);
        return or_equal ? to_low <= to_high : to_low < to_high;
      };
    };
    double const middle = low / 2 + high / 2;
    if (!known) g.tie = bisect(0, line_->size(), [&](index p) { return (*line_)[p] < middle; });
    g.tie = gallop(g.tie, nearer_to_low(false));
    g.right = gallop(g.tie, nearer_to_low(true));
  }

  // The first p in [first, last) for which not holds(p), or last. Where it does not hold, it must not further
  // on.
  template <class Holds> static index bisect(index first, index last, Holds const& holds) {
    while (first < last) {
      index const p = first + (last - first) / 2;
      if (holds(p))
        first = p + 1;
      else
        last = p;
    }
    return first;
  }

  // The same for all rows, from a guess on.
  template <class Holds> index gallop(index guess, Holds const& holds) const {
    index first = guess, last = guess;
    index const n = line_->size();
    if (guess < n && holds(guess)) {
      for (index stride = 1; last < n && (last == guess || holds(last)); stride *= 2)
        first = last + 1, last = std::min(n, last + stride);
    } else {
      for (index stride = 1; first > 0 && (first == guess || !holds(first - 1)); stride *= 2)
        last = first == guess ? guess : first - 1, first = std::max<index>(0, first - stride);
    }
    return bisect(first, last, holds);
  }

  // Makes the runs: what is certain of each site, and between these what has to be looked up.
  void divide() {
    index done = 0;
    auto const take = [&](index last, label owner) {
      if (last <= done) return;
      if (runs_.empty() || runs_.back().owner != owner)
        runs_.push_back({last, owner});
      else
        runs_.back().last = last;
      done = last;
    };
    auto const look_up = [&](index last) {
      while (done < last) take(done + 1, nearest((*line_)[done]));
    };
    for (std::size_t i = 0; i < sites_.size(); ++i) {
      index first = std::max(done, i == 0 ? 0 : gaps_[i - 1].right);
      index last = i + 1 == sites_.size() ? line_->size() : gaps_[i].tie;
      if (first >= last) continue;
      auto const open_above = [&](index p) { return is_open(sites_[i].at - (*line_)[p], i + 1, p); }; // (c)
      auto const shut_below = [&](index p) { return !is_open((*line_)[p] - sites_[i].at, i - 1, p); };
      if (open_above(first)) first = bisect(first, last, open_above);
      if (!shut_below(last - 1)) last = bisect(first, last, shut_below);
      look_up(first);
      take(last, sites_[i].centroid);
    }
    look_up(line_->size());
  }

  // Whether a row at `near` from its site, on the far side from another, might be as near to that one.
  bool is_open(double near, std::size_t other, index p) const {
    if (near <= 0 || other >= sites_.size()) return false; // (there is none: -1 is beyond the last too)
    double const far = std::abs(sites_[other].at - (*line_)[p]);
    return !slack_.nearer(slack_.up(near), slack_.down(far));
  }

  // By (a), those as near as the nearest are neighbours.
  label nearest(double x) {
    auto const after = std::lower_bound(sites_.begin(), sites_.end(), x,
                                        [](site const& s, double value) { return s.at < value; });
    auto const d2 = [&](auto s) {
      ++work_.distances;
      return square(&x, &s->at, 1);
    };
    double least = std::numeric_limits<double>::infinity();
    if (after != sites_.end()) least = d2(after);
    if (after != sites_.begin()) least = std::min(least, d2(after - 1));
    label lowest = std::numeric_limits<label>::max();
    for (auto s = after; s != sites_.end() && d2(s) == least; ++s) lowest = std::min(lowest, s->centroid);
    for (auto s = after; s != sites_.begin() && d2(s - 1) == least; --s)
      lowest = std::min(lowest, (s - 1)->centroid);
    return lowest;
  }

  cluster_sums changes_since(std::vector<run> const& before) const {
    std::vector<transfer> moved;
    index first = 0;
    for (std::size_t old = 0, now = 0; first < line_->size();) {
      index const last = std::min(before[old].last, runs_[now].last);
      if (before[old].owner != runs_[now].owner)
        moved.push_back({first, last, before[old].owner, runs_[now].owner});
      if (before[old].last == last) ++old;
      if (runs_[now].last == last) ++now;
      first = last;
    }
    struct share {
      cluster_sums changes;
      exact_sums part;
    };
    per_thread<share> shares([&] {
      return share{cluster_sums(line_->layout(), k_), exact_sums(line_->layout(), 1)};
    });
    for_blocks(static_cast<index>(moved.size()), 256, options_.threads, shares,
               [&](share& mine, index begin, index end) {
                 for (index i = begin; i < end; ++i) {
                   transfer const& t = moved[static_cast<std::size_t>(i)];
                   line_->sum(t.first, t.last, mine.part);
                   mine.changes.labels_changed += t.last - t.first;
                   mine.changes.sums.add(t.to, mine.part, 0, 1);
                   if (t.from >= 0) mine.changes.sums.add(t.from, mine.part, 0, -1);
                 }
               });
    cluster_sums changes(line_->layout(), k_);
    shares.for_each([&](share const& one) { changes += one.changes; });
    return changes;
  }

  // f(p, owner) for rows [first, last) of the order.
  template <class F> void each(index first, index last, F const& f) const {
    auto r = std::upper_bound(runs_.begin(), runs_.end(), first,
                              [](index p, run const& one) { return p < one.last; });
    for (index p = first; p < last; ++p) {
      if (p == r->last) ++r;
      f(p, r->owner);
    }
  }

  std::shared_ptr<sorted_line<Real> const> line_;
  index k_;
  step_options options_;
  slack slack_;
  matrix<double> seen_;
  std::vector<site> all_, sites_; // all centroids in order; the distinct ones
  std::vector<gap> gaps_;         // between sites
  std::vector<run> runs_;
  work_counters work_;
};

} // namespace

template <class Real>
std::shared_ptr<sorted_line<Real> const> sort_line(point_set<Real> points, sum_layout const& layout,
                                                   step_options const& options) {
  return std::make_shared<sorted_line<Real> const>(points, layout, options);
}
template std::shared_ptr<sorted_line<float> const> sort_line(point_set<float>, sum_layout const&,
                                                             step_options const&);
template std::shared_ptr<sorted_line<double> const> sort_line(point_set<double>, sum_layout const&,
                                                              step_options const&);

template <class Real>
std::unique_ptr<assignment_step> make_line(std::shared_ptr<sorted_line<Real> const> line, index k,
                                           step_options const& options) {
  return std::make_unique<line_step<Real>>(std::move(line), k, options);
}
template std::unique_ptr<assignment_step> make_line(std::shared_ptr<sorted_line<float> const>, index,
                                                    step_options const&);
template std::unique_ptr<assignment_step> make_line(std::shared_ptr<sorted_line<double> const>, index,
                                                    step_options const&);

} // namespace kopse
