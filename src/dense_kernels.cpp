// SPDX-License-Identifier: BSD-3-Clause
// Compiled once for each instruction set, by including itself (Google Highway's foreach_target).
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "dense_kernels.cpp"
#include <hwy/foreach_target.h> // first: sets the target

#include <hwy/highway.h>

#include <bit>
#include <limits>

#include "dense_kernels.hpp"

#ifndef KOPSE_DENSE_KERNELS_ONCE
#define KOPSE_DENSE_KERNELS_ONCE
#include <array>
namespace kopse::dense {
inline constexpr std::int32_t block_lanes = block;
// What scores are raised to: nothing, or, sixteen from `block` − o on, infinity for the one in lane o.
inline constexpr auto own_is_nowhere = [] {
  std::array<float, static_cast<std::size_t>(2 * block + 1)> floor{};
  floor.fill(-std::numeric_limits<float>::infinity());
  floor[static_cast<std::size_t>(block)] = std::numeric_limits<float>::infinity();
  return floor;
}();
} // namespace kopse::dense
#endif

HWY_BEFORE_NAMESPACE();
namespace kopse::dense {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using floats = hn::CappedTag<float, block>;
using vector = hn::Vec<floats>;
constexpr int width = static_cast<int>(hn::MaxLanes(floats()));
constexpr int vectors = static_cast<int>(block) / width; // of a block
constexpr index in_a_sum = 64; // products are summed so many at a time: less rounding
constexpr float infinite = std::numeric_limits<float>::infinity();

template <class Tag> HWY_INLINE auto load(Tag t, double const* x) { return hn::LoadU(t, x); }
template <class Tag> HWY_INLINE auto load(Tag t, float const* x) {
  return hn::PromoteTo(t, hn::LoadU(hn::Rebind<float, Tag>(), x));
}

template <class Real>
void spread_of(Real const* const* points, index n, index d, double const* origin, double scale, float* x) {
  hn::CappedTag<double, 8> const t;
  hn::Rebind<float, decltype(t)> const narrow;
  index const step = static_cast<index>(hn::Lanes(t)), whole = d / step * step, stride = whole_blocks(d);
  auto const factor = hn::Set(t, scale);
  for (index p = 0; p < n; ++p, x += stride) {
    Real const* const row = points[p];
    for (index j = 0; j < whole; j += step) {
      auto const apart = hn::Sub(load(t, row + j), hn::LoadU(t, origin + j));
      hn::StoreU(hn::DemoteTo(narrow, hn::Mul(apart, factor)), narrow, x + j);
    }
    for (index j = whole; j < d; ++j)
      x[j] = static_cast<float>((static_cast<double>(row[j]) - origin[j]) * scale);
    for (index j = d; j < stride; ++j) x[j] = 0;
  }
}
void spread_f(float const* const* points, index n, index d, double const* origin, double scale, float* x) {
  spread_of(points, n, d, origin, scale, x);
}
void spread_d(double const* const* points, index n, index d, double const* origin, double scale, float* x) {
  spread_of(points, n, d, origin, scale, x);
}

float product_of(float const* x, float const* c, index size) {
  floats const t;
  vector sum[vectors];
  for (int v = 0; v < vectors; ++v) sum[v] = hn::Zero(t);
  for (index j = 0; j < size; j += block)
    for (int v = 0; v < vectors; ++v)
      sum[v] = hn::MulAdd(hn::LoadU(t, x + j + v * width), hn::LoadU(t, c + j + v * width), sum[v]);
  for (int v = 1; v < vectors; ++v) sum[0] = hn::Add(sum[0], sum[v]);
  return hn::GetLane(hn::SumOfLanes(t, sum[0]));
}

// Sums over dimensions [first, last) of P rows with a block.
template <int P>
HWY_INLINE void products(float const* const* x, index first, index last, float const* c,
                         vector (&sum)[P][vectors]) {
  floats const t;
  for (int p = 0; p < P; ++p)
    for (int v = 0; v < vectors; ++v) sum[p][v] = hn::Zero(t);
  for (index j = first; j < last; ++j) {
    vector cj[vectors];
    for (int v = 0; v < vectors; ++v) cj[v] = hn::LoadU(t, c + j * block + v * width);
    for (int p = 0; p < P; ++p) {
      vector const xj = hn::Set(t, x[p][j]);
      for (int v = 0; v < vectors; ++v) sum[p][v] = hn::MulAdd(xj, cj[v], sum[p][v]);
    }
  }
}
template <int P>
HWY_INLINE void all_products(float const* const* x, index d, float const* c, vector (&total)[P][vectors]) {
  products<P>(x, 0, HWY_MIN(d, in_a_sum), c, total);
  for (index first = in_a_sum; first < d; first += in_a_sum) {
    vector sum[P][vectors];
    products<P>(x, first, HWY_MIN(d, first + in_a_sum), c, sum);
    for (int p = 0; p < P; ++p)
      for (int v = 0; v < vectors; ++v) total[p][v] = hn::Add(total[p][v], sum[p][v]);
  }
}

void scores_of(float const* x, index d, block_view const& b, float* out) {
  floats const t;
  vector total[1][vectors];
  all_products<1>(&x, d, b.c, total);
  for (int v = 0; v < vectors; ++v)
    hn::StoreU(hn::Sub(hn::LoadU(t, b.half + v * width), total[0][v]), t, out + v * width);
}

// The least lanes of P vectors, to the first P lanes of one: each step lays the halves of two next to each
// other, or of one.
template <int P> HWY_INLINE vector least_lanes(vector (&v)[P]) {
#if HWY_TARGET != HWY_SCALAR
  floats const t;
  int lanes_each = width;
  for (int left = P; left > 1; left /= 2, lanes_each /= 2)
    for (int i = 0; i < left / 2; ++i)
      v[i] = hn::Min(hn::ConcatEven(t, v[2 * i + 1], v[2 * i]), hn::ConcatOdd(t, v[2 * i + 1], v[2 * i]));
  for (; lanes_each > 1; lanes_each /= 2)
    v[0] = hn::Min(hn::ConcatEven(t, v[0], v[0]), hn::ConcatOdd(t, v[0], v[0]));
#endif
  return v[0];
}

// P rows, or the first n of fewer.
template <int P>
HWY_INLINE void lower_rows(tile_view const& tile, std::int32_t const* rows, index n, block_view const& b) {
  floats const t;
  index const stride = whole_blocks(tile.d);
  float const* x[P];
  for (int p = 0; p < P; ++p) x[p] = tile.x + rows[p < n ? p : 0] * stride;
  vector total[P][vectors], low[P];
  all_products<P>(x, tile.d, b.c, total);
  vector half[vectors];
  for (int v = 0; v < vectors; ++v) half[v] = hn::LoadU(t, b.half + v * width);
  for (int p = 0; p < P; ++p) {
    std::int32_t const own = tile.own[rows[p < n ? p : 0]] - b.first;
    float const* const floor = own_is_nowhere.data() + block - HWY_MAX(-1, HWY_MIN(own, block_lanes));
    low[p] = hn::Set(t, infinite);
    for (int v = 0; v < vectors; ++v)
      low[p] = hn::Min(low[p], hn::Max(hn::Sub(half[v], total[p][v]), hn::LoadU(t, floor + v * width)));
  }
  HWY_ALIGN float least[block];
  hn::StoreU(least_lanes<P>(low), t, least);
  for (int p = 0; p < HWY_MIN(P, n); ++p) {
    float& lowest = tile.least[rows[p] * tile.least_stride];
    lowest = HWY_MIN(lowest, least[p]);
  }
}

void lower_least(tile_view const& tile, std::int32_t const* rows, index n, block_view const& b) {
  constexpr int many = HWY_MAX(1, 8 / vectors), few = HWY_MAX(1, many / 2); // as there are registers
  for (; n > few; rows += many, n -= many) lower_rows<many>(tile, rows, n, b);
  for (; n > 0; rows += few, n -= few) lower_rows<few>(tile, rows, n, b);
}

// f(tag, g) over vectors of all groups and of those up to the next four.
template <class F> HWY_INLINE void for_each_vector(index t, F const& f) {
  index g = 0;
  for (; g + width <= t; g += width) f(floats(), g);
  hn::CappedTag<float, 4> const few;
  for (; g < t; g += static_cast<index>(hn::Lanes(few))) f(few, g);
}

// Which of the groups from g on are not above the limit, and are groups.
template <class Tag>
HWY_INLINE auto not_above(Tag tag, float const* lower, float const* meters, index g, index t,
                          hn::Vec<Tag> limit) {
  auto const now = hn::Sub(hn::LoadU(tag, lower + g), hn::LoadU(tag, meters + g));
  auto const left = hn::Not(hn::Gt(now, limit));
  return g + static_cast<index>(hn::Lanes(tag)) <= t
             ? left
             : hn::And(left, hn::FirstN(tag, static_cast<std::size_t>(t - g)));
}

index sift(bounds_view const& b, index first, index n, float const* upper, std::int32_t* left) {
  index count = 0;
  for (index i = 0; i < n; ++i) {
    float const* const lower = b.row(first + i);
    float const limit = limit_of(upper[i]);
    bool any = false;
    for_each_vector(b.t, [&](auto tag, index g) HWY_ATTR {
      any |= !hn::AllFalse(tag, not_above(tag, lower, b.meters, g, b.t, hn::Set(tag, limit)));
    });
    left[count] = static_cast<std::int32_t>(i);
    count += any ? 1 : 0;
  }
  return count;
}

void ask(bounds_view const& b, index n, index const* row, float const* upper, asking const& to) {
  for (std::int32_t slot = 0; slot < n; ++slot) {
    float const* const lower = b.row(row[slot]);
    float const limit = limit_of(upper[slot]);
    std::int32_t opened = 0;
    for_each_vector(b.t, [&](auto tag, index g) HWY_ATTR {
      auto const left = not_above(tag, lower, b.meters, g, b.t, hn::Set(tag, limit));
      if (hn::AllFalse(tag, left)) return;
      std::uint8_t bits[8] = {};
      hn::StoreMaskBits(tag, left, bits);
      for (unsigned rest = bits[0] | static_cast<unsigned>(bits[1]) << 8; rest != 0; rest &= rest - 1) {
        index const group = g + std::countr_zero(rest);
        to.slots[group * most_rows + to.count[group]++] = slot;
        ++opened;
      }
    });
    to.opened[slot] = opened;
  }
}

void measure(float const* x, index n, index d, float* norm2) {
  for (index p = 0; p < n; ++p, x += whole_blocks(d)) norm2[p] = product_of(x, x, whole_blocks(d));
}

void least_of(float const* least, index t, index n, float* low) {
  for (index slot = 0; slot < n; ++slot, least += whole_groups(t)) {
    float lowest = infinite;
    for_each_vector(t, [&](auto tag, index g) HWY_ATTR {
      lowest = HWY_MIN(lowest, hn::GetLane(hn::MinOfLanes(tag, hn::LoadU(tag, least + g))));
    });
    low[slot] = lowest;
  }
}

void close_bounds(bounds_view const& b, index i, float const* least, float shift) {
  constexpr float down = 1 - 0x1p-22f;
  float* const lower = b.row(i);
  for_each_vector(b.t, [&](auto tag, index g) HWY_ATTR {
    auto const low = hn::LoadU(tag, least + g), round = hn::Set(tag, down);
    auto const square = hn::MulAdd(low, hn::Set(tag, 2.0f), hn::Set(tag, shift));
    auto const root = hn::Mul(hn::Sqrt(hn::Max(square, hn::Zero(tag))), round);
    auto const stored = hn::Mul(hn::Add(root, hn::LoadU(tag, b.meters_down + g)), round);
    auto const found = hn::Lt(low, hn::Set(tag, infinite));
    hn::StoreU(hn::IfThenElse(found, stored, hn::LoadU(tag, lower + g)), tag, lower + g);
  });
}

} // namespace
} // namespace HWY_NAMESPACE
} // namespace kopse::dense
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kopse::dense {

namespace {
HWY_EXPORT(spread_f);
HWY_EXPORT(spread_d);
HWY_EXPORT(product_of);
HWY_EXPORT(scores_of);
HWY_EXPORT(lower_least);
HWY_EXPORT(sift);
HWY_EXPORT(ask);
HWY_EXPORT(measure);
HWY_EXPORT(least_of);
HWY_EXPORT(close_bounds);
} // namespace

void spread(float const* const* points, index n, index d, double const* origin, double scale, float* x) {
  HWY_DYNAMIC_DISPATCH(spread_f)(points, n, d, origin, scale, x);
}
void spread(double const* const* points, index n, index d, double const* origin, double scale, float* x) {
  HWY_DYNAMIC_DISPATCH(spread_d)(points, n, d, origin, scale, x);
}
float product(float const* x, float const* c, index size) {
  return HWY_DYNAMIC_DISPATCH(product_of)(x, c, size);
}
void scores(float const* x, index d, block_view const& b, float* out) {
  HWY_DYNAMIC_DISPATCH(scores_of)(x, d, b, out);
}
void lower_least(tile_view const& t, std::int32_t const* slots, index n, block_view const& b) {
  HWY_DYNAMIC_DISPATCH(lower_least)(t, slots, n, b);
}
index sift(bounds_view const& b, index first, index n, float const* upper, std::int32_t* left) {
  return HWY_DYNAMIC_DISPATCH(sift)(b, first, n, upper, left);
}
void ask(bounds_view const& b, index n, index const* row, float const* upper, asking const& to) {
  HWY_DYNAMIC_DISPATCH(ask)(b, n, row, upper, to);
}
void measure(float const* x, index n, index d, float* norm2) {
  HWY_DYNAMIC_DISPATCH(measure)(x, n, d, norm2);
}
void least_of(float const* least, index t, index n, float* low) {
  HWY_DYNAMIC_DISPATCH(least_of)(least, t, n, low);
}
void close_bounds(bounds_view const& b, index i, float const* least, float shift) {
  HWY_DYNAMIC_DISPATCH(close_bounds)(b, i, least, shift);
}

} // namespace kopse::dense
#endif
