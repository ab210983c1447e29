// SPDX-License-Identifier: BSD-3-Clause
// Traversals of the heap, eight boxes or centroids at a time; compiled for several instruction sets.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "heap_searches.cpp"
#include <hwy/foreach_target.h> // first: sets the target

#include <hwy/highway.h>

#include <bit>
#include <limits>

#include "heap_searches.hpp"

HWY_BEFORE_NAMESPACE();
namespace kopse {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using wide = hn::CappedTag<double, centroid_heap::most>;

class search {
public:
  search(centroid_heap const& heap, node_id leaf, surroundings& around, index& distances)
      : heap_(heap), leaf_(leaf), around_(around), distances_(distances) {
    for (int s = 0; s < around.used; ++s) {
      widest2_[s] = -1;
      for (double const r : around.reach2[static_cast<std::size_t>(s)])
        widest2_[s] = r > widest2_[s] ? r : widest2_[s];
    }
  }

  void run() {
    summarise();
    visit(leaf_);
    around_.stack.clear();
    open(0, heap_.top(), 2 * heap_.top());
    while (!around_.stack.empty()) {
      auto const [q, lo2] = around_.stack.back();
      around_.stack.pop_back();
      if (q == leaf_ || !adds(heap_.moved(q), lo2)) continue;
      if (heap_.is_leaf(q))
        visit(q);
      else
        open(8 * q, 0, 8);
    }
  }

private:
  static constexpr index eight = centroid_heap::most;

  // All of mine against all of another leaf, or of this.
  void visit(node_id q) {
    wide const t;
    index const width = static_cast<index>(hn::Lanes(t)), d = heap_.dims();
    point_range const others = heap_.points(q);
    double const* const mine = heap_.eight(leaf_);
    for (index o = others.first; o < others.last; ++o) {
      double const moved = heap_.moved_at(o);
      // Safe: what is found within a reach is found within all wider ones.
      if (moved <= least_[0]) continue;
      distances_ += eight;
      double const* const x = heap_.point(o);
      for (index i = 0; i < eight; i += width) {
        auto d2 = hn::Zero(t);
        for (index j = 0; j < d; ++j) {
          auto const apart = hn::Sub(hn::LoadU(t, mine + j * eight + i), hn::Set(t, x[j]));
          d2 = hn::Add(d2, hn::Mul(apart, apart));
        }
        for (int s = 0; s < around_.used; ++s) {
          double* const most = around_.most[static_cast<std::size_t>(s)].data() + i;
          auto const within =
              hn::Le(d2, hn::LoadU(t, around_.reach2[static_cast<std::size_t>(s)].data() + i));
          hn::StoreU(hn::Max(hn::LoadU(t, most), hn::IfThenElseZero(within, hn::Set(t, moved))), t, most);
        }
      }
    }
    summarise();
  }

  void summarise() {
    wide const t;
    index const width = static_cast<index>(hn::Lanes(t));
    for (int s = 0; s < around_.used; ++s) {
      auto all = hn::Set(t, std::numeric_limits<double>::infinity());
      for (index i = 0; i < eight; i += width)
        all = hn::Min(all, hn::LoadU(t, around_.most[static_cast<std::size_t>(s)].data() + i));
      least_[s] = hn::GetLane(hn::MinOfLanes(t, all));
    }
  }

  // Safe: what is beyond the reaches below shell s, and moved no farther than every one of mine has found
  // within s, has nothing to add to that shell, nor to a wider one, which has found as much at least.
  bool adds(double moved, double lo2) const {
    for (int s = 0; s < around_.used; ++s)
      if (lo2 <= widest2_[s] && moved > least_[s]) return true;
    return false;
  }

  // Some of the eight nodes from `first` on.
  void open(node_id first, node_id begin, node_id end) {
    wide const t;
    index const width = static_cast<index>(hn::Lanes(t)), d = heap_.dims();
    double const* const corners = heap_.eight_boxes(first);
    double const *const low = around_.box.data(), *const high = low + d;
    for (index i = 0; i < eight; i += width) {
      auto const moved = hn::LoadU(t, heap_.moved_from(first) + i);
      if (hn::AllTrue(t, hn::Le(moved, hn::Set(t, least_[0])))) continue;
      auto sum = hn::Zero(t);
      for (index j = 0; j < d; ++j) {
        double const* const c = corners + j * 2 * eight + i;
        auto const below = hn::Sub(hn::Set(t, low[j]), hn::LoadU(t, c + eight)),
                   above = hn::Sub(hn::LoadU(t, c), hn::Set(t, high[j]));
        auto const apart = hn::Max(hn::Max(below, above), hn::Zero(t));
        sum = hn::Add(sum, hn::Mul(apart, apart));
      }
      slack const& rounding = heap_.rounding();
      auto const lo2 =
          hn::Sub(hn::Mul(sum, hn::Set(t, 1 - rounding.relative())), hn::Set(t, rounding.subnormal()));
      auto add = hn::Lt(moved, hn::Zero(t)); // none
      for (int s = 0; s < around_.used; ++s)
        add =
            hn::Or(add, hn::And(hn::Le(lo2, hn::Set(t, widest2_[s])), hn::Gt(moved, hn::Set(t, least_[s]))));
      std::uint8_t bits[8] = {};
      hn::StoreMaskBits(t, add, bits);
      if (bits[0] == 0) continue;
      double lows[eight];
      hn::StoreU(lo2, t, lows);
      for (index l = 0; l < width; ++l)
        if ((bits[0] >> l & 1) != 0 && i + l >= begin && i + l < end)
          around_.stack.push_back({static_cast<node_id>(first + i + l), lows[l]});
    }
  }

  centroid_heap const& heap_;
  node_id leaf_;
  surroundings& around_;
  index& distances_;
  double widest2_[surroundings::shells]; // the widest reach of all, and
  double least_[surroundings::shells];   // the least movement found
};

// Calls f(lane, square) for the lanes with a square up to the limit, one after the other.
template <class F> HWY_INLINE void for_each_near(hn::Vec<wide> d2, double limit2, F const& f) {
  wide const t;
  auto const near = hn::Le(d2, hn::Set(t, limit2));
  if (hn::AllFalse(t, near)) return;
  std::uint8_t bits[8] = {};
  hn::StoreMaskBits(t, near, bits);
  double squares[centroid_heap::most];
  hn::StoreU(d2, t, squares);
  for (unsigned rest = bits[0]; rest != 0; rest &= rest - 1) {
    index const l = std::countr_zero(rest);
    f(l, squares[l]);
  }
}

// Offers up to eight centroids: coordinate j of the i-th of them is at c[j·stride + i], its number who(i).
template <class Who>
HWY_INLINE void offer_eight(double const* x, index d, double const* c, index stride, index count,
                            Who const& who, nearest_four& found) {
  wide const t;
  index const width = static_cast<index>(hn::Lanes(t));
  for (index i = 0; i < count; i += width) {
    auto d2 = hn::Zero(t);
    for (index j = 0; j < d; ++j) {
      auto const apart = hn::Sub(hn::Set(t, x[j]), hn::LoadU(t, c + j * stride + i));
      d2 = hn::Add(d2, hn::Mul(apart, apart));
    }
    for_each_near(d2, found.fourth2, [&](index l, double square) {
      if (i + l < count) found.offer(who(i + l), square);
    });
  }
}

nearest_four find_four(centroid_heap const& heap, double const* x, node_id leaf, index& distances) {
  constexpr index eight = centroid_heap::most;
  wide const t;
  index const width = static_cast<index>(hn::Lanes(t)), d = heap.dims();
  nearest_four found;
  thread_local std::vector<surroundings::entry> stack;
  auto const visit = [&](node_id q) HWY_ATTR {
    point_range const range = heap.points(q);
    distances += range.size();
    auto const who = [&](index i) { return static_cast<label>(heap.row(range.first + i)); };
    offer_eight(x, d, heap.eight(q), eight, range.size(), who, found);
  };
  auto const open = [&](node_id first, node_id begin, node_id end) HWY_ATTR {
    double const* const corners = heap.eight_boxes(first);
    auto const down = hn::Set(t, 1 - heap.rounding().relative()),
               less = hn::Set(t, heap.rounding().subnormal());
    for (index i = 0; i < eight; i += width) {
      auto sum = hn::Zero(t);
      for (index j = 0; j < d; ++j) {
        double const* const c = corners + j * 2 * eight + i;
        auto const xj = hn::Set(t, x[j]);
        auto const below = hn::Sub(xj, hn::LoadU(t, c + eight)), above = hn::Sub(hn::LoadU(t, c), xj);
        auto const apart = hn::Max(hn::Max(below, above), hn::Zero(t));
        sum = hn::Add(sum, hn::Mul(apart, apart));
      }
      for_each_near(hn::Sub(hn::Mul(sum, down), less), found.fourth2, [&](index l, double lo2) {
        if (i + l >= begin && i + l < end) stack.push_back({static_cast<node_id>(first + i + l), lo2});
      });
    }
  };
  visit(leaf);
  stack.clear();
  open(0, heap.top(), 2 * heap.top());
  while (!stack.empty()) {
    auto const [q, lo2] = stack.back();
    stack.pop_back();
    if (q == leaf || lo2 > found.fourth2) continue;
    if (heap.is_leaf(q))
      visit(q);
    else
      open(8 * q, 0, 8);
  }
  return found;
}

bool find_four_around(centroid_blocks_around const& around, double const* x, index d, slack const& rounding,
                      nearest_four& found, index& distances) {
  constexpr index eight = centroid_heap::most;
  // Safe: beyond this distance there is nothing that computes as near as the fourth.
  auto const all_found = [&](double from) {
    double const away = rounding.down(from - around.nearer);
    return away > 0 && rounding.squared_down(away) > found.fourth2;
  };
  for (index block = 0; block < around.m; block += eight) {
    if (all_found(around.from[block / eight])) return true;
    index const count = HWY_MIN(eight, around.m - block);
    distances += count;
    offer_eight(
        x, d, around.c + block, around.stride, count, [&](index i) { return around.who[block + i]; }, found);
  }
  return all_found(around.beyond);
}

void find(centroid_heap const& heap, node_id leaf, surroundings& around, index& distances) {
  search(heap, leaf, around, distances).run();
}

} // namespace
} // namespace HWY_NAMESPACE
} // namespace kopse
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kopse {

namespace {
HWY_EXPORT(find);
HWY_EXPORT(find_four);
HWY_EXPORT(find_four_around);
} // namespace

void find_movements(centroid_heap const& heap, node_id leaf, surroundings& around, index& distances) {
  HWY_DYNAMIC_DISPATCH(find)(heap, leaf, around, distances);
}

nearest_four find_nearest_four(centroid_heap const& heap, double const* x, node_id leaf, index& distances) {
  return HWY_DYNAMIC_DISPATCH(find_four)(heap, x, leaf, distances);
}

bool find_nearest_four(centroid_blocks_around const& around, double const* x, index d, slack const& rounding,
                       nearest_four& found, index& distances) {
  return HWY_DYNAMIC_DISPATCH(find_four_around)(around, x, d, rounding, found, distances);
}

} // namespace kopse
#endif
