// SPDX-License-Identifier: BSD-3-Clause
// Trees built from the top down: a bound, a rule for splitting, any number of children a node. kd-trees, the
// ball tree and the octree are compositions of it; so may be yours.
//
// Nodes are numbered depth first: below a node of `size` nodes lie the numbers q + 1 to q + size − 1, and the
// next child of its parent is q + size. Neither numbers nor the order of points depend on threads.
//
// Build: O(n·depth·d). Memory: the points once more, in tree order and in their own type, 8 bytes a point for
// their rows, and per node 24 bytes and its bound; about n / 14 nodes at the default leaf size of 40.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <limits>
#include <utility>
#include <vector>

#include "kopse/parallel.hpp"
#include "kopse/tree/bound.hpp"
#include "kopse/tree/space_tree.hpp"

namespace kopse {

/// The rows of a tree, and the order that its splits put them in; on so many threads.
template <class Real> class row_order {
public:
  static constexpr index block_points = 16384; ///< what a thread does alone

  explicit row_order(matrix_view<Real> rows, int threads = 1)
      : points_(rows, threads), rows_(static_cast<std::size_t>(rows.rows())), threads_(threads) {
    for (index i = 0; i < rows.rows(); ++i) rows_[static_cast<std::size_t>(i)] = i;
  }

  index size() const { return points_.rows(); }
  index dims() const { return points_.cols(); }
  Real const* point(index position) const { return points_.row(position); }
  index row(index position) const { return rows_[static_cast<std::size_t>(position)]; }

  /// Points of the range for which goes_left(x) is true come first; returns where the others start. The order
  /// is the same for any number of threads: blocks are partitioned by themselves, then what is on the wrong
  /// side of the middle changes places, first with first.
  template <class Side> index partition(point_range range, Side const& goes_left) {
    if (range.size() <= block_points) return partition_block(range, goes_left);
    std::vector<point_range> blocks;
    for (index first = range.first; first < range.last; first += block_points)
      blocks.push_back({first, std::min(range.last, first + block_points)});
    std::vector<index> others(blocks.size()); // where they start in each block
    for_blocks(std::ssize(blocks), 1, threads_, [&](index b, index) {
      others[static_cast<std::size_t>(b)] = partition_block(blocks[static_cast<std::size_t>(b)], goes_left);
    });
    index middle = range.first;
    for (std::size_t b = 0; b < blocks.size(); ++b) middle += others[b] - blocks[b].first;

    std::vector<point_range> wrong_left, wrong_right;
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      point_range const left{others[b], std::min(blocks[b].last, middle)};
      point_range const right{std::max(blocks[b].first, middle), others[b]};
      if (left.size() > 0) wrong_left.push_back(left);
      if (right.size() > 0) wrong_right.push_back(right);
    }
    swap_all(wrong_left, wrong_right);
    return middle;
  }

  /// The corners of the smallest box around the points of the range.
  void enclose(point_range range, Real* low, Real* high) const {
    if (range.size() <= block_points) return kopse::enclose(*this, range, dims(), low, high);
    index const blocks = (range.size() + block_points - 1) / block_points;
    matrix<Real> boxes(blocks, 2 * dims());
    for_blocks(range.size(), block_points, threads_, [&](index first, index last) {
      Real* const box = boxes.row(first / block_points);
      kopse::enclose(*this, {range.first + first, range.first + last}, dims(), box, box + dims());
    });
    std::copy_n(boxes.row(0), dims(), low);
    std::copy_n(boxes.row(0) + dims(), dims(), high);
    for (index b = 1; b < blocks; ++b)
      for (index j = 0; j < dims(); ++j) {
        low[j] = std::min(low[j], boxes(b, j));
        high[j] = std::max(high[j], boxes(b, dims() + j));
      }
  }

private:
  // Sides are as unpredictable as coins, so nothing branches on them: it is written down who is on the wrong
  // side, and then the first on the left changes places with the last on the right.
  template <class Side> index partition_block(point_range range, Side const& goes_left) {
    std::array<bool, block_points> left; // by place in the range
    index middle = range.first;
    for (index i = range.first; i < range.last; ++i) {
      bool const side = goes_left(point(i));
      left[static_cast<std::size_t>(i - range.first)] = side;
      middle += side ? 1 : 0;
    }
    constexpr index at_a_time = 64;
    std::array<index, at_a_time> here, there;
    std::size_t h = 0, heres = 0, t = 0, theres = 0;
    for (index i = range.first, o = range.last; i < middle || h < heres;) {
      if (h == heres) {
        h = heres = 0;
        for (index const end = std::min(middle, i + at_a_time); i < end; ++i) {
          here[heres] = i;
          heres += left[static_cast<std::size_t>(i - range.first)] ? 0 : 1;
        }
      }
      if (t == theres) {
        t = theres = 0;
        for (index const end = std::max(middle, o - at_a_time); o > end; --o) {
          there[theres] = o - 1;
          theres += left[static_cast<std::size_t>(o - 1 - range.first)] ? 1 : 0;
        }
      }
      for (; h < heres && t < theres; ++h, ++t) swap(here[h], there[t], 1);
    }
    return middle;
  }

  // Swaps the points of the ranges of one list with those of the other, in their order; both have as many.
  void swap_all(std::vector<point_range> const& left, std::vector<point_range> const& right) {
    struct exchange {
      index a, b, count;
    };
    std::vector<exchange> exchanges;
    for (std::size_t i = 0, j = 0, a = 0, b = 0; i < left.size() && j < right.size();) {
      index const from = left[i].first + static_cast<index>(a), with = right[j].first + static_cast<index>(b);
      index const count = std::min(left[i].last - from, right[j].last - with);
      exchanges.push_back({from, with, count});
      a += static_cast<std::size_t>(count), b += static_cast<std::size_t>(count);
      if (from + count == left[i].last) ++i, a = 0;
      if (with + count == right[j].last) ++j, b = 0;
    }
    for_blocks(std::ssize(exchanges), 1, threads_, [&](index e, index) {
      exchange const& one = exchanges[static_cast<std::size_t>(e)];
      swap(one.a, one.b, one.count);
    });
  }
  void swap(index a, index b, index count) {
    std::swap_ranges(points_.row(a), points_.row(a) + count * dims(), points_.row(b));
    std::swap_ranges(rows_.begin() + a, rows_.begin() + a + count, rows_.begin() + b);
  }

  matrix<Real> points_;
  std::vector<index> rows_;
  int threads_;
};

/// A node that is to be split: its points, which are not all equal, and the smallest box around them.
template <class Real> struct cell {
  point_range points;
  int depth; ///< the root's is 0
  index leaf_size;
  Real const *low, *high;
};

/// What a Split promises: cut() partitions the points of the cell into groups and appends the position where
/// each but the last one ends, ascending (groups without points are passed over; a single group makes a
/// leaf); check() throws when points of that many dimensions are not for it.
template <class Split, class Real>
concept split_rule = requires(row_order<Real>& rows, cell<Real> const& node, std::vector<index>& ends) {
  { Split::check(rows.dims()) } -> std::same_as<void>;
  { Split::cut(rows, node, ends) } -> std::same_as<void>;
};

/// A node's points, and how many nodes its subtree has, itself included.
struct preorder_node {
  point_range points;
  node_id size;
};

/// The children of a node: each lies behind the subtree of the one before.
class preorder_children {
public:
  class iterator {
  public:
    using value_type = node_id;
    using difference_type = std::ptrdiff_t;
    iterator() = default;
    iterator(preorder_node const* nodes, node_id q) : nodes_(nodes), q_(q) {}
    node_id operator*() const { return q_; }
    iterator& operator++() {
      q_ += nodes_[q_].size;
      return *this;
    }
    iterator operator++(int) {
      iterator const old = *this;
      ++*this;
      return old;
    }
    bool operator==(iterator const& other) const { return q_ == other.q_; }

  private:
    preorder_node const* nodes_ = nullptr;
    node_id q_ = 0;
  };

  preorder_children(preorder_node const* nodes, node_id q) : nodes_(nodes), q_(q) {}
  iterator begin() const { return {nodes_, q_ + 1}; }
  iterator end() const { return {nodes_, q_ + nodes_[q_].size}; }
  bool empty() const { return nodes_[q_].size == 1; }

private:
  preorder_node const* nodes_;
  node_id q_;
};

template <class Real, template <class> class Bound, class Split> class preorder_tree {
  static_assert(split_rule<Split, Real>);

public:
  using real = Real;
  using reference = preorder_tree<double, Bound, Split>;

  /// Copies the rows, of which there is one at least; leaf_size >= 1. A node of equal rows is a leaf, however
  /// many there are. The tree is the same for any number of threads.
  preorder_tree(matrix_view<Real> rows, index leaf_size, int threads = 1)
      : order_((Split::check(rows.cols()), rows), threads), bounds_(rows.cols()) {
    build(leaf_size, threads);
  }

  index dims() const { return order_.dims(); }
  index node_count() const { return static_cast<index>(nodes_.size()); }
  node_id root() const { return 0; }
  preorder_children children(node_id q) const { return {nodes_.data(), q}; }
  point_range points(node_id q) const { return nodes_[static_cast<std::size_t>(q)].points; }
  Real const* point(index position) const { return order_.point(position); }
  index row(index position) const { return order_.row(position); }

  template <class Other>
  interval distance(node_id q, preorder_tree<Other, Bound, Split> const& other, node_id r) const {
    return bounds_.distance(q, other.bounds_, r);
  }
  interval distance(node_id q, double const* x) const { return bounds_.distance(q, x); }
  void distances(node_id q, double const* x, index m, index stride, double* lo2, double* hi2) const {
    bounds_.distances(q, x, m, stride, lo2, hi2);
  }
  nearest_column nearest(node_id q, double const* x, index m, index stride, double* hi2) const {
    return bounds_.nearest(q, x, m, stride, hi2);
  }
  double lead(node_id q, double const* near, double const* far, double near_hi2) const {
    return bounds_.lead(q, near, far, near_hi2);
  }
  void leads(node_id q, double const* near, double const* far, index m, index stride, double near_hi2,
             double* out) const {
    bounds_.leads(q, near, far, m, stride, near_hi2, out);
  }
  double lowest(node_id q, double const* w) const { return bounds_.lowest(q, w); }
  double extent(node_id q) const { return bounds_.extent(q); }

private:
  template <class, template <class> class, class> friend class preorder_tree;

  // What one thread builds at a time: a node of many points, opened, or some of the groups of such a node
  // with all that lies below them. Its nodes are numbered from 0.
  struct piece {
    point_range points;
    std::vector<index> ends; // of its groups
    int depth;
    Bound<Real> bounds;
    std::vector<preorder_node> nodes = {};
    std::vector<std::size_t> below = {}; // the pieces of an opened node's groups
    bool opened() const { return points.size() > many_points; }
  };
  static constexpr index many_points = row_order<Real>::block_points;

  // From the root down, level by level, all pieces of a level side by side; then one behind the other.
  void build(index leaf_size, int threads) {
    std::vector<piece> pieces;
    pieces.push_back({{0, order_.size()}, {order_.size()}, 0, Bound<Real>(dims())});
    for (std::size_t begin = 0, end = 1; begin < end; begin = end, end = pieces.size()) {
      for_blocks(static_cast<index>(end - begin), 1, threads, [&](index first, index last) {
        std::vector<Real> box(static_cast<std::size_t>(2 * dims()));
        for (index i = first; i < last; ++i)
          work(pieces[begin + static_cast<std::size_t>(i)], leaf_size, box.data());
      });
      for (std::size_t i = begin; i < end; ++i)
        if (pieces[i].opened()) hand_out(pieces, i);
    }
    std::size_t nodes = 0;
    for (piece const& p : pieces) nodes += p.nodes.size();
    check_count(nodes);
    nodes_.reserve(nodes);
    append(pieces, 0);
  }

  // An opened piece's `ends` become those of the groups it was cut into, none if it is a leaf.
  void work(piece& p, index leaf_size, Real* box) {
    std::vector<index> const groups = std::exchange(p.ends, {});
    if (p.opened()) {
      if (open(p, p.points, p.depth, leaf_size, p.ends, box)) p.ends.push_back(p.points.last);
      return;
    }
    std::vector<index> ends;
    index first = p.points.first;
    for (index const last : groups)
      grow(p, {std::exchange(first, last), last}, p.depth, leaf_size, ends, box);
  }

  // Makes pieces of a piece's groups: one of each group with many points, and of some of the others together.
  void hand_out(std::vector<piece>& pieces, std::size_t parent) {
    index first = pieces[parent].points.first;
    bool alone = true;
    for (index const last : std::exchange(pieces[parent].ends, {})) {
      if (last == first) continue;
      if (alone || last - pieces.back().points.first > many_points) {
        pieces[parent].below.push_back(pieces.size());
        pieces.push_back({{first, last}, {}, pieces[parent].depth + 1, Bound<Real>(dims())});
      }
      pieces.back().points.last = last;
      pieces.back().ends.push_back(last);
      alone = pieces.back().opened();
      first = last;
    }
  }

  // Adds the node of the range; returns whether its points were cut into groups.
  bool open(piece& p, point_range range, int depth, index leaf_size, std::vector<index>& ends, Real* box) {
    check_count(p.nodes.size() + 1);
    Real *const low = box, *const high = box + dims();
    order_.enclose(range, low, high);
    p.nodes.push_back({range, 1});
    p.bounds.push(order_, range, low, high);
    if (range.size() <= leaf_size || std::equal(low, low + dims(), high)) return false;
    std::size_t const before = ends.size();
    Split::cut(order_, cell<Real>{range, depth, leaf_size, low, high}, ends);
    bool const cut = std::any_of(ends.begin() + static_cast<std::ptrdiff_t>(before), ends.end(),
                                 [&](index end) { return end > range.first && end < range.last; });
    if (!cut) ends.resize(before);
    return cut;
  }

  // Adds the subtree of the range. `ends` is a stack: the groups of the nodes from the piece's root to here.
  void grow(piece& p, point_range range, int depth, index leaf_size, std::vector<index>& ends, Real* box) {
    std::size_t const q = p.nodes.size(), before = ends.size();
    if (!open(p, range, depth, leaf_size, ends, box)) return;
    std::size_t const after = ends.size();
    index first = range.first;
    for (std::size_t i = before; i <= after; ++i) {
      index const last = i < after ? ends[i] : range.last;
      if (last > first) grow(p, {first, last}, depth + 1, leaf_size, ends, box);
      first = last;
    }
    ends.resize(before);
    p.nodes[q].size = static_cast<node_id>(p.nodes.size() - q);
  }

  // Adds a piece, and then the pieces of its groups.
  void append(std::vector<piece>& pieces, std::size_t i) {
    piece const p = std::move(pieces[i]);
    std::size_t const q = nodes_.size();
    nodes_.insert(nodes_.end(), p.nodes.begin(), p.nodes.end());
    bounds_.append(p.bounds);
    for (std::size_t const group : p.below) append(pieces, group);
    if (p.opened()) nodes_[q].size = static_cast<node_id>(nodes_.size() - q);
  }

  static void check_count(std::size_t nodes) {
    if (nodes > std::numeric_limits<node_id>::max())
      throw error("the tree has more than 2^31 nodes: take a larger leaf size");
  }

  row_order<Real> order_;
  std::vector<preorder_node> nodes_;
  Bound<Real> bounds_;
};

} // namespace kopse
