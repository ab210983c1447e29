// SPDX-License-Identifier: BSD-3-Clause
// Building cover trees.
//
// In the whole (implicit) tree a point x is at all scales up to a largest, top(x); it hangs by the scale
// above that from a point p with d(x, p) <= b^(top(x) + 1) and top(p) > top(x). Let the points before x have
// their places. Separation allows x at scale i when no p with top(p) >= i is within b^i; so of the points
// that reach x, which are those with d(x, p) <= b^top(p), the nearest decides: x is to hang from it by the
// smallest scale that reaches, and every scale below is free. One search for the nearest point that reaches x
// thus gives x its place for good, at any scale, without a look at the scales between; no later point moves
// it.
//
// The search goes through a kd-tree on all points whose nodes know how far their points reach (nothing, as
// long as none has its place). Points come in the order of that tree, breadth first, one of each node: so the
// first ones are spread out, as if they were drawn at random, and those that follow one another are near one
// another in memory.
#include "kopse/tree/cover_tree.hpp"

#include <array>
#include <ranges>
#include <span>
#include <utility>
#include <vector>

#include "input_checks.hpp"
#include "kopse/tree/binary_tree.hpp"

namespace kopse {

scale_table::scale_table(double base) : base_(base) {
  if (!(base >= 1.1 && base <= 1e6))
    throw usage_error("the base of a cover tree is " + in_digits(base) + ": expected 1.1 or more");
  double const factor = base * base;
  // Down to where squares stop getting smaller: 0, or the least double itself, which 1.1² rounds to itself.
  for (double x = 1; x > 0; x = x / factor < x ? x / factor : 0) squares_.push_back(x);
  lowest_ = 1 - static_cast<int>(squares_.size());
  std::reverse(squares_.begin(), squares_.end());
  for (double x = factor; x < std::numeric_limits<double>::infinity(); x *= factor) squares_.push_back(x);
  squares_.push_back(std::numeric_limits<double>::infinity());
}

int scale_table::above(double d2) const {
  return lowest_
         + static_cast<int>(std::lower_bound(squares_.begin(), squares_.end(), d2) - squares_.begin());
}

namespace {

template <class T> T& of(std::vector<T>& values, index i) { return values[static_cast<std::size_t>(i)]; }
template <class T> T const& of(std::vector<T> const& values, index i) {
  return values[static_cast<std::size_t>(i)];
}

constexpr int no_scale = cover_tree<double>::leaf_scale; // of a link of length 0

/// What hangs from what, and by which scale. Points are named by their positions in the kd-tree.
struct links {
  std::vector<index> order;  // the root first, each point after its parent
  std::vector<index> parent; // -1 of the root
  std::vector<int> scale;
  std::vector<index> rows; // of points
};

/// Finds each point its place.
template <class Real> class finder {
public:
  static constexpr index group = 16; // points in a leaf of the kd-tree, unless all are equal

  explicit finder(kd_tree<Real> const& kd)
      : kd_(kd), x_(static_cast<std::size_t>(kd.dims())),
        above_(static_cast<std::size_t>(kd.node_count()), no_node), node_reach_(above_.size(), nothing),
        leaf_(static_cast<std::size_t>(kd.points(kd.root()).last)), reach_(leaf_.size(), nothing) {
    for (node_id q = 0; q < kd.node_count(); ++q) {
      for (node_id const c : kd.children(q)) of(above_, c) = q;
      if (is_leaf(q)) std::fill(leaf_.begin() + kd.points(q).first, leaf_.begin() + kd.points(q).last, q);
    }
  }

  links run(scale_table const& scales) {
    index const n = static_cast<index>(leaf_.size());
    links all{
        breadth_first(), std::vector<index>(leaf_.size(), -1), std::vector<int>(leaf_.size(), no_scale), {}};
    set_reach(all.order.front(), std::numeric_limits<double>::infinity());
    for (std::size_t i = 1; i < all.order.size(); ++i) {
      index const x = all.order[i];
      find(x);
      of(all.parent, x) = nearest_;
      if (nearest2_ == 0) continue;
      of(all.scale, x) = scales.above(nearest2_);
      set_reach(x, scales.square(of(all.scale, x) - 1));
    }
    for (index x = 0; x < n; ++x)
      if (index const first = distinct(x); first != x) all.order.push_back(x), of(all.parent, x) = first;
    return all;
  }
  index distances() const { return distances_; }
  index scores() const { return scores_; }

private:
  static constexpr node_id no_node = -1;
  static constexpr double nothing = -1; // less than any squared distance

  bool is_leaf(node_id q) const { return std::ranges::empty(kd_.children(q)); }
  // The points of a leaf that look for a place: of equal points the first.
  point_range distinct_points(node_id leaf) const {
    point_range const range = kd_.points(leaf);
    return range.size() > group ? point_range{range.first, range.first + 1} : range;
  }
  index distinct(index x) const { return std::min(x, distinct_points(of(leaf_, x)).last - 1); }

  // One point of each node, the middle one, then what is left in the leaves.
  std::vector<index> breadth_first() const {
    std::vector<index> order;
    std::vector<char> taken(leaf_.size(), 0);
    auto const take = [&](index x) {
      if (!std::exchange(of(taken, x), char{1})) order.push_back(x);
    };
    std::vector<node_id> level{kd_.root()}, next;
    for (; !level.empty(); level.swap(next), next.clear())
      for (node_id const q : level) {
        take(distinct((kd_.points(q).first + kd_.points(q).last) / 2));
        for (node_id const c : kd_.children(q)) next.push_back(c);
        if (!is_leaf(q)) continue;
        for (index x = distinct_points(q).first; x < distinct_points(q).last; ++x) take(x);
      }
    return order;
  }

  void set_reach(index x, double reach2) {
    of(reach_, x) = reach2;
    for (node_id q = of(leaf_, x); q != no_node && of(node_reach_, q) < reach2; q = of(above_, q))
      of(node_reach_, q) = reach2;
  }

  // Sets nearest_ to the nearest point that reaches x, the first among equals on the way. The root reaches
  // all.
  void find(index x) {
    std::copy_n(kd_.point(x), kd_.dims(), x_.begin());
    nearest2_ = std::numeric_limits<double>::infinity();
    nearest_ = -1;
    search(kd_.root(), 0);
  }

  // No point of q is nearer than lo2. As deep as the kd-tree, which bounds its depth.
  void search(node_id q, double lo2) {
    if (lo2 > nearest2_ || lo2 > of(node_reach_, q)) return;
    if (is_leaf(q)) return search_leaf(q);
    struct child {
      double lo2;
      node_id q;
    };
    std::array<child, 2> pair{};
    std::size_t count = 0;
    for (node_id const c : kd_.children(q)) {
      if (of(node_reach_, c) == nothing) continue;
      ++scores_;
      pair[count++] = {kd_.distance(c, x_.data()).lo, c};
    }
    if (count == 2 && pair[1].lo2 < pair[0].lo2) std::swap(pair[0], pair[1]);
    for (std::size_t i = 0; i < count; ++i) search(pair[i].q, pair[i].lo2);
  }

  void search_leaf(node_id q) {
    point_range const range = distinct_points(q);
    for (index i = range.first; i < range.last; ++i) {
      if (of(reach_, i) == nothing) continue;
      ++distances_;
      double const d2 = squared_distance(kd_.point(i), x_.data(), kd_.dims());
      if (d2 <= of(reach_, i) && (d2 < nearest2_ || nearest_ < 0)) nearest2_ = d2, nearest_ = i;
    }
  }

  kd_tree<Real> const& kd_;
  std::vector<double> x_;
  std::vector<node_id> above_;     // parents of the nodes of the kd-tree
  std::vector<double> node_reach_; // the largest of a node's points
  std::vector<node_id> leaf_;      // of each point
  std::vector<double> reach_;      // squared; nothing before a point has its place
  double nearest2_ = 0;
  index nearest_ = -1, distances_ = 0, scores_ = 0;
};

/// Finds all of them their places. The cost is added to `distances` and `scores`.
template <class Real>
links find_links(matrix_view<Real> rows, int threads, scale_table const& scales, index& distances,
                 index& scores) {
  kd_tree<Real> const kd(rows, finder<Real>::group, threads);
  finder<Real> places(kd);
  links all = places.run(scales);
  for (index x = 0; x < rows.rows(); ++x) all.rows.push_back(kd.row(x));
  distances += places.distances();
  scores += places.scores();
  return all;
}

/// Makes nodes of links: a point has a node for each scale by which something hangs from it, and a leaf.
class assembly {
public:
  assembly(links all, index leaf_size)
      : leaf_size_(leaf_size), scale_(std::move(all.scale)), begin_(scale_.size() + 2, 0),
        below_(scale_.size()), count_(scale_.size(), 1) {
    index const n = static_cast<index>(scale_.size());
    auto const hanging = std::span(all.order).subspan(1);
    for (index const x : hanging) ++of(begin_, of(all.parent, x) + 2);
    for (index p = 0; p < n; ++p) of(begin_, p + 2) += of(begin_, p + 1);
    for (index const x : hanging) of(below_, of(begin_, of(all.parent, x) + 1)++) = x;
    for (index p = 0; p < n; ++p)
      std::stable_sort(below_.begin() + of(begin_, p), below_.begin() + of(begin_, p + 1),
                       [&](index x, index y) { return of(scale_, x) > of(scale_, y); });
    for (std::size_t i = hanging.size(); i-- > 0;)
      of(count_, of(all.parent, hanging[i])) += of(count_, hanging[i]);
    all.parent = {};
    walk(all.order.front());
    for (index& x : rows) x = of(all.rows, x);
  }

  std::vector<preorder_node> nodes;
  std::vector<std::int32_t> node_scales;
  std::vector<index> rows; // by position in the cover tree

private:
  // Nodes to come: that of point x for its links from `link` on, which has `count` points; or, x < 0, all
  // nodes below `node` have come.
  struct task {
    index x, link, count;
    node_id node;
  };

  void walk(index root) {
    std::vector<task> stack{{root, of(begin_, root), of(count_, root), 0}};
    while (!stack.empty()) {
      task const t = stack.back();
      stack.pop_back();
      if (nodes.size() >= std::numeric_limits<node_id>::max())
        throw error("the tree has more than 2^31 nodes: take a larger leaf size");
      node_id const q = static_cast<node_id>(nodes.size());
      if (t.x < 0) {
        of(nodes, t.node).size = q - t.node;
        continue;
      }
      index const first = static_cast<index>(rows.size()), last = of(begin_, t.x + 1);
      int const scale = t.link == last ? no_scale : of(scale_, of(below_, t.link));
      bool const leaf = t.count <= leaf_size_ || scale == no_scale;
      nodes.push_back({{first, first + t.count}, 1});
      node_scales.push_back(leaf ? no_scale : scale);
      if (leaf) {
        gather(t.x, t.link);
        continue;
      }
      stack.push_back({-1, 0, 0, q});
      index link = t.link, rest = t.count;
      for (; link < last && of(scale_, of(below_, link)) == scale; ++link) {
        index const x = of(below_, link);
        stack.push_back({x, of(begin_, x), of(count_, x), 0});
        rest -= of(count_, x);
      }
      stack.push_back({t.x, link, rest, 0}); // the self-child: it comes first
    }
  }

  // x, and all that hangs from it from `link` on.
  void gather(index x, index link) {
    rows.push_back(x);
    waiting_.assign(below_.begin() + link, below_.begin() + of(begin_, x + 1));
    while (!waiting_.empty()) {
      index const y = waiting_.back();
      waiting_.pop_back();
      rows.push_back(y);
      waiting_.insert(waiting_.end(), below_.begin() + of(begin_, y), below_.begin() + of(begin_, y + 1));
    }
  }

  index leaf_size_;
  std::vector<int> scale_;
  // What hangs from x, by scale downwards: below_[begin_[x]] to below_[begin_[x + 1]].
  std::vector<index> begin_, below_;
  std::vector<index> count_; // of points that hang from x, directly or not, and x
  std::vector<index> waiting_;
};

} // namespace

template <class Real>
cover_tree<Real>::cover_tree(matrix_view<Real> rows, index leaf_size, int threads, double base)
    : scales_(base), bounds_(rows.cols()) {
  {
    assembly tree(find_links(rows, threads, scales_, build_distances_, build_scores_), leaf_size);
    nodes_ = std::move(tree.nodes);
    node_scales_ = std::move(tree.node_scales);
    rows_ = std::move(tree.rows);
  }
  nodes_.shrink_to_fit();
  node_scales_.shrink_to_fit();
  rows_.shrink_to_fit();
  points_ = matrix<Real>(rows.rows(), rows.cols());
  for (index i = 0; i < rows.rows(); ++i) {
    std::copy_n(rows.row(row(i)), dims(), points_.row(i));
    give_back(rows, row(i));
  }
  measure_radii();
}

// From the leaves upwards. A self-child has the same routing point, so its points need no second look.
template <class Real> void cover_tree<Real>::measure_radii() {
  std::vector<double> farthest2(nodes_.size()), centre(static_cast<std::size_t>(dims()));
  for (node_id q = static_cast<node_id>(node_count()); q-- > 0;) {
    point_range const range = points(q);
    std::copy_n(routing_point(q), dims(), centre.begin());
    double most = is_leaf(q) ? 0 : of(farthest2, q + 1);
    index const first = is_leaf(q) ? range.first + 1 : points(q + 1).last;
    for (index i = first; i < range.last; ++i)
      most = std::max(most, squared_distance(point(i), centre.data(), dims()));
    build_distances_ += range.last - first;
    of(farthest2, q) = most;
  }
  bounds_.reserve(node_count());
  for (node_id q = 0; q < node_count(); ++q) bounds_.push(routing_point(q), of(farthest2, q));
}

template cover_tree<float>::cover_tree(matrix_view<float>, index, int, double);
template cover_tree<double>::cover_tree(matrix_view<double>, index, int, double);

} // namespace kopse
