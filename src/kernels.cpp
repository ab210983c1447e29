// SPDX-License-Identifier: BSD-3-Clause
// Compiled once for each instruction set, by including itself (Google Highway's foreach_target).
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels.cpp"
#include <hwy/foreach_target.h> // first: sets the target

#include <hwy/highway.h>

#include "kopse/kernels.hpp"

#ifndef KOPSE_KERNELS_ONCE
#define KOPSE_KERNELS_ONCE
#include <array>
#include <limits>
namespace kopse {
// For each set of lanes: their numbers, and behind them those of the others; of both halves of each.
inline constexpr auto kept_first = [] {
  std::array<std::array<std::int32_t, 2 * lanes>, std::size_t{1} << lanes> order{};
  for (std::size_t bits = 0; bits < order.size(); ++bits) {
    std::size_t next = 0;
    for (std::size_t const stays : {1, 0})
      for (std::size_t i = 0; i < lanes; ++i)
        if ((bits >> i & 1) == stays)
          for (std::size_t half : {0, 1}) order[bits][next++] = static_cast<std::int32_t>(2 * i + half);
  }
  return order;
}();
} // namespace kopse
#endif

HWY_BEFORE_NAMESPACE();
namespace kopse {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using wide = hn::CappedTag<double, lanes>; // as many lanes as the processor has
using one = hn::CappedTag<double, 1>;      // for what is left over

// f(tag, i) over all i below m.
template <class F> HWY_INLINE void for_each_vector(index m, F const& f) {
  index const width = static_cast<index>(hn::Lanes(wide()));
  index i = 0;
  for (; i + width <= m; i += width) f(wide(), i);
  for (; i < m; ++i) f(one(), i);
}

template <class Real>
void box_distances_of(Real const* low, Real const* high, index d, double const* x, index m, index stride,
                      double relative, double subnormal, double* lo2, double* hi2) {
  for_each_vector(m, [&](auto t, index i) HWY_ATTR {
    auto lo = hn::Zero(t), hi = hn::Zero(t);
    for (index j = 0; j < d; ++j) {
      auto const xj = hn::LoadU(t, x + j * stride + i);
      auto const below = hn::Sub(xj, hn::Set(t, static_cast<double>(high[j]))),
                 above = hn::Sub(hn::Set(t, static_cast<double>(low[j])), xj);
      auto const apart = hn::Max(hn::Max(below, above), hn::Zero(t)), span = hn::Min(below, above);
      lo = hn::Add(lo, hn::Mul(apart, apart));
      hi = hn::Add(hi, hn::Mul(span, span));
    }
    auto const least = hn::Set(t, subnormal);
    hn::StoreU(hn::Sub(hn::Mul(lo, hn::Set(t, 1 - relative)), least), t, lo2 + i);
    hn::StoreU(hn::Add(hn::Mul(hi, hn::Set(t, 1 + relative)), least), t, hi2 + i);
  });
}

// The least of m > 0 numbers.
double least(double const* values, index m) {
  wide const t;
  index const width = static_cast<index>(hn::Lanes(t));
  double result = values[0];
  index i = 0;
  if (m >= width) {
    auto all = hn::LoadU(t, values);
    for (i = width; i + width <= m; i += width) all = hn::Min(all, hn::LoadU(t, values + i));
    result = hn::GetLane(hn::MinOfLanes(t, all));
  }
  for (; i < m; ++i) result = values[i] < result ? values[i] : result;
  return result;
}

// Calls f with the dimensions as a constant, or 0 where they are many.
template <class F> HWY_INLINE auto with_dims(index d, F const& f) {
  switch (d) {
  case 1:
    return f(std::integral_constant<index, 1>());
  case 2:
    return f(std::integral_constant<index, 2>());
  case 3:
    return f(std::integral_constant<index, 3>());
  case 4:
    return f(std::integral_constant<index, 4>());
  default:
    return f(std::integral_constant<index, 0>());
  }
}

// Largest computed d² from a box to points.
template <index D, class Real>
void farthest_of_box(Real const* low, Real const* high, index dims, double const* x, index m, index stride,
                     double relative, double subnormal, double* hi2) {
  wide const t;
  index const d = D == 0 ? dims : D, width = static_cast<index>(hn::Lanes(t));
  auto const more = hn::Set(t, 1 + relative), most = hn::Set(t, subnormal);
  for (index i = 0; i < m; i += width) {
    auto hi = hn::Zero(t);
    for (index j = 0; j < d; ++j) {
      auto const xj = hn::LoadU(t, x + j * stride + i);
      auto const span = hn::Min(hn::Sub(xj, hn::Set(t, static_cast<double>(high[j]))),
                                hn::Sub(hn::Set(t, static_cast<double>(low[j])), xj));
      hi = hn::Add(hi, hn::Mul(span, span));
    }
    hn::StoreU(hn::Add(hn::Mul(hi, more), most), t, hi2 + i);
  }
}

template <class Real>
nearest_column nearest_to_box_of(Real const* low, Real const* high, index d, double const* x, index m,
                                 index stride, double relative, double subnormal, double* hi2) {
  with_dims(d, [&](auto dims) HWY_ATTR {
    farthest_of_box<decltype(dims)::value>(low, high, d, x, m, stride, relative, subnormal, hi2);
  });
  wide const t;
  index const width = static_cast<index>(hn::Lanes(t));
  double const nearest = least(hi2, m);
  auto const wanted = hn::Set(t, nearest);
  for (index i = 0; i < m; i += width)
    if (auto const at = hn::FindFirstTrue(t, hn::Eq(hn::LoadU(t, hi2 + i), wanted)); at >= 0)
      return {nearest, i + static_cast<index>(at)};
  return {hi2[0], 0}; // no number at all
}

// With g = far − near the difference of the squares is g·g − 2·g·(p − near), in each dimension least where
// g·(p − near) is largest.
template <index D, class Real>
void box_leads_in(Real const* low, Real const* high, index dims, double const* near, double const* far,
                  index m, index stride, double near_hi2, double relative, double subnormal, double* out) {
  index const d = D == 0 ? dims : D;
  double corner2 = 0; // the farthest of the box from near
  std::array<double, D == 0 ? 1 : D> lows, highs;
  for (index j = 0; j < d; ++j) {
    double const l = static_cast<double>(low[j]) - near[j], h = static_cast<double>(high[j]) - near[j];
    corner2 += HWY_MAX(l * l, h * h);
    if constexpr (D != 0) lows[j] = 2 * l, highs[j] = 2 * h;
  }
  for_each_vector(m, [&](auto t, index i) HWY_ATTR {
    auto least = hn::Zero(t), squares = hn::Zero(t);
    for (index j = 0; j < d; ++j) {
      double const to_low = D != 0 ? lows[j] : 2 * (static_cast<double>(low[j]) - near[j]),
                   to_high = D != 0 ? highs[j] : 2 * (static_cast<double>(high[j]) - near[j]);
      auto const g = hn::Sub(hn::LoadU(t, far + j * stride + i), hn::Set(t, near[j]));
      auto const g2 = hn::Mul(g, g);
      least = hn::Add(least,
                      hn::Sub(g2, hn::Max(hn::Mul(g, hn::Set(t, to_low)), hn::Mul(g, hn::Set(t, to_high)))));
      squares = hn::Add(squares, g2);
    }
    auto const magnitude = hn::Add(hn::Add(squares, squares), hn::Set(t, near_hi2 + corner2));
    auto const margin = hn::Add(hn::Mul(magnitude, hn::Set(t, 4 * relative)), hn::Set(t, subnormal));
    hn::StoreU(hn::Sub(least, margin), t, out + i);
  });
}
template <class Real>
void box_leads_of(Real const* low, Real const* high, index d, double const* near, double const* far, index m,
                  index stride, double near_hi2, double relative, double subnormal, double* out) {
  with_dims(d, [&](auto dims) HWY_ATTR {
    box_leads_in<decltype(dims)::value>(low, high, d, near, far, m, stride, near_hi2, relative, subnormal,
                                        out);
  });
}

template <class Real>
void squares_of(Real const* x, index d, double const* c, index m, index stride, double* out) {
  for_each_vector(m, [&](auto t, index i) HWY_ATTR {
    auto sum = hn::Zero(t);
    for (index j = 0; j < d; ++j) {
      auto const apart = hn::Sub(hn::Set(t, static_cast<double>(x[j])), hn::LoadU(t, c + j * stride + i));
      sum = hn::Add(sum, hn::Mul(apart, apart));
    }
    hn::StoreU(sum, t, out + i);
  });
}

// U vectors of points from i on against all centroids. D: the dimensions, or 0 for any.
template <index D, int U, bool Second>
HWY_INLINE void offer_to(double const* x, index i, index x_stride, index dims, double const* c, index m,
                         index along, index across, double first, double* best, double* who, double* second) {
  wide const t;
  index const d = D == 0 ? dims : D, width = static_cast<index>(hn::Lanes(t));
  using vector = hn::Vec<wide>;
  vector nearest[U], owner[U], next[U];
  for (int u = 0; u < U; ++u) {
    if constexpr (Second) next[u] = hn::LoadU(t, second + i + u * width);
    nearest[u] = hn::LoadU(t, best + i + u * width);
    owner[u] = hn::LoadU(t, who + i + u * width);
  }
  for (index o = 0; o < m; ++o, c += along) {
    vector sum[U];
    for (int u = 0; u < U; ++u) sum[u] = hn::Zero(t);
    for (index j = 0; j < d; ++j) {
      vector const cj = hn::Set(t, c[j * across]);
      for (int u = 0; u < U; ++u) {
        vector const apart = hn::Sub(hn::LoadU(t, x + j * x_stride + i + u * width), cj);
        sum[u] = hn::Add(sum[u], hn::Mul(apart, apart));
      }
    }
    vector const number = hn::Set(t, first + static_cast<double>(o));
    for (int u = 0; u < U; ++u) {
      if constexpr (Second) next[u] = hn::Min(next[u], hn::Max(nearest[u], sum[u]));
      auto const nearer = hn::Lt(sum[u], nearest[u]); // strict: ties stay with the first
      nearest[u] = hn::IfThenElse(nearer, sum[u], nearest[u]);
      owner[u] = hn::IfThenElse(nearer, number, owner[u]);
    }
  }
  for (int u = 0; u < U; ++u) {
    if constexpr (Second) hn::StoreU(next[u], t, second + i + u * width);
    hn::StoreU(nearest[u], t, best + i + u * width);
    hn::StoreU(owner[u], t, who + i + u * width);
  }
}

template <index D, bool Second>
void offer_dims(double const* x, index n, index x_stride, index d, double const* c, index m, index along,
                index across, double first, double* best, double* who, double* second) {
  constexpr int many = D == 0 ? 4 : 2; // vectors in hand, so that their additions overlap
  index const width = static_cast<index>(hn::Lanes(wide()));
  index i = 0;
  for (; i + many * width <= n; i += many * width)
    offer_to<D, many, Second>(x, i, x_stride, d, c, m, along, across, first, best, who, second);
  for (; i < n; i += width)
    offer_to<D, 1, Second>(x, i, x_stride, d, c, m, along, across, first, best, who, second);
}

// What is called from outside has no template parameters.

void box_distances_f(float const* low, float const* high, index d, double const* x, index m, index stride,
                     double relative, double subnormal, double* lo2, double* hi2) {
  box_distances_of(low, high, d, x, m, stride, relative, subnormal, lo2, hi2);
}
void box_distances_d(double const* low, double const* high, index d, double const* x, index m, index stride,
                     double relative, double subnormal, double* lo2, double* hi2) {
  box_distances_of(low, high, d, x, m, stride, relative, subnormal, lo2, hi2);
}
nearest_column nearest_to_box_f(float const* low, float const* high, index d, double const* x, index m,
                                index stride, double relative, double subnormal, double* hi2) {
  return nearest_to_box_of(low, high, d, x, m, stride, relative, subnormal, hi2);
}
nearest_column nearest_to_box_d(double const* low, double const* high, index d, double const* x, index m,
                                index stride, double relative, double subnormal, double* hi2) {
  return nearest_to_box_of(low, high, d, x, m, stride, relative, subnormal, hi2);
}
void box_leads_f(float const* low, float const* high, index d, double const* near, double const* far, index m,
                 index stride, double near_hi2, double relative, double subnormal, double* out) {
  box_leads_of(low, high, d, near, far, m, stride, near_hi2, relative, subnormal, out);
}
void box_leads_d(double const* low, double const* high, index d, double const* near, double const* far,
                 index m, index stride, double near_hi2, double relative, double subnormal, double* out) {
  box_leads_of(low, high, d, near, far, m, stride, near_hi2, relative, subnormal, out);
}
void squares_f(float const* x, index d, double const* c, index m, index stride, double* out) {
  squares_of(x, d, c, m, stride, out);
}
void squares_d(double const* x, index d, double const* c, index m, index stride, double* out) {
  squares_of(x, d, c, m, stride, out);
}

// What stays in front, by the bits of the lanes that do.
template <class V> HWY_INLINE V in_front(V v, [[maybe_unused]] std::uint8_t stay) {
#if HWY_TARGET == HWY_SCALAR
  return v;
#else
  hn::Repartition<float, wide> const halves; // their numbers need no conversion
  return hn::BitCast(wide(), hn::TableLookupLanes(hn::BitCast(halves, v),
                                                  hn::SetTableIndices(halves, kept_first[stay].data())));
#endif
}

kept_columns keep(double limit, double const* values, index m, index rows, double const* x, index stride,
                  double* to, index to_stride) {
  wide const t;
  index const width = static_cast<index>(hn::Lanes(t));
  auto const most = hn::Set(t, limit), infinite = hn::Set(t, std::numeric_limits<double>::infinity());
  auto dropped = infinite;
  index count = 0;
  for (index i = 0; i < m; i += width) {
    auto const inside = hn::FirstN(t, static_cast<std::size_t>(m - i));
    auto const value = hn::LoadU(t, values + i);
    auto const above = hn::Gt(value, most), stays = hn::And(hn::Not(above), inside);
    dropped = hn::Min(dropped, hn::IfThenElse(hn::And(above, inside), value, infinite));
    std::uint8_t bits[8] = {};
    hn::StoreMaskBits(t, stays, bits);
    for (index j = 0; j < rows; ++j) // read before it is written over: count <= i
      hn::StoreU(in_front(hn::LoadU(t, x + j * stride + i), bits[0]), t, to + j * to_stride + count);
    count += static_cast<index>(hn::CountTrue(t, stays));
  }
  // clang's minimum of lanes is at most the largest finite number.
  double const least = hn::GetLane(hn::MinOfLanes(t, dropped));
  return {count,
          least < std::numeric_limits<double>::max() ? least : std::numeric_limits<double>::infinity()};
}

template <bool Second>
void offer_any(double const* x, index n, index x_stride, index d, double const* c, index m, index along,
               index across, double first, double* best, double* who, double* second) {
  with_dims(d, [&](auto dims) HWY_ATTR {
    offer_dims<decltype(dims)::value, Second>(x, n, x_stride, d, c, m, along, across, first, best, who,
                                              second);
  });
}
void offer(double const* x, index n, index x_stride, index d, double const* c, index m, index along,
           index across, double first, double* best, double* who, double* second) {
  if (second == nullptr)
    offer_any<false>(x, n, x_stride, d, c, m, along, across, first, best, who, second);
  else
    offer_any<true>(x, n, x_stride, d, c, m, along, across, first, best, who, second);
}

template <index D>
void four_dims(double const* x, index n, index x_stride, index dims, double const* c, index m, index along,
               index across, nearest_rows const& found) {
  wide const t;
  index const d = D == 0 ? dims : D, width = static_cast<index>(hn::Lanes(t));
  for (index i = 0; i < n; i += width) {
    auto first = hn::Set(t, std::numeric_limits<double>::infinity()), second = first, third = first,
         fourth = first;
    auto who_first = hn::Zero(t), who_second = hn::Zero(t), who_third = hn::Zero(t);
    for (index o = 0; o < m; ++o) {
      auto d2 = hn::Zero(t);
      for (index j = 0; j < d; ++j) {
        auto const apart = hn::Sub(hn::LoadU(t, x + j * x_stride + i), hn::Set(t, c[o * along + j * across]));
        d2 = hn::Add(d2, hn::Mul(apart, apart));
      }
      auto const number = hn::Set(t, static_cast<double>(o));
      auto const is_first = hn::Lt(d2, first), is_second = hn::Lt(d2, second), is_third = hn::Lt(d2, third);
      who_third = hn::IfThenElse(is_second, who_second, hn::IfThenElse(is_third, number, who_third));
      who_second = hn::IfThenElse(is_first, who_first, hn::IfThenElse(is_second, number, who_second));
      who_first = hn::IfThenElse(is_first, number, who_first);
      fourth = hn::Min(fourth, hn::Max(third, d2));
      third = hn::Min(third, hn::Max(second, d2));
      second = hn::Min(second, hn::Max(first, d2));
      first = hn::Min(first, d2);
    }
    hn::StoreU(first, t, found.square[0] + i);
    hn::StoreU(second, t, found.square[1] + i);
    hn::StoreU(third, t, found.square[2] + i);
    hn::StoreU(fourth, t, found.square[3] + i);
    hn::StoreU(who_first, t, found.who[0] + i);
    hn::StoreU(who_second, t, found.who[1] + i);
    hn::StoreU(who_third, t, found.who[2] + i);
  }
}

void find_four(double const* x, index n, index x_stride, index d, double const* c, index m, index along,
               index across, nearest_rows const& found) {
  with_dims(d, [&](auto dims) HWY_ATTR {
    four_dims<decltype(dims)::value>(x, n, x_stride, d, c, m, along, across, found);
  });
}

} // namespace
} // namespace HWY_NAMESPACE
} // namespace kopse
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kopse {

namespace {
HWY_EXPORT(box_distances_f);
HWY_EXPORT(box_distances_d);
HWY_EXPORT(nearest_to_box_f);
HWY_EXPORT(nearest_to_box_d);
HWY_EXPORT(box_leads_f);
HWY_EXPORT(box_leads_d);
HWY_EXPORT(squares_f);
HWY_EXPORT(squares_d);
HWY_EXPORT(least);
HWY_EXPORT(keep);
HWY_EXPORT(offer);
HWY_EXPORT(find_four);
} // namespace

void box_distances(float const* low, float const* high, index d, double const* x, index m, index stride,
                   slack const& s, double* lo2, double* hi2) {
  HWY_DYNAMIC_DISPATCH(box_distances_f)
  (low, high, d, x, m, stride, s.relative(), s.subnormal(), lo2, hi2);
}
void box_distances(double const* low, double const* high, index d, double const* x, index m, index stride,
                   slack const& s, double* lo2, double* hi2) {
  HWY_DYNAMIC_DISPATCH(box_distances_d)
  (low, high, d, x, m, stride, s.relative(), s.subnormal(), lo2, hi2);
}
nearest_column nearest_to_box(float const* low, float const* high, index d, double const* x, index m,
                              index stride, slack const& s, double* hi2) {
  return HWY_DYNAMIC_DISPATCH(nearest_to_box_f)(low, high, d, x, m, stride, s.relative(), s.subnormal(), hi2);
}
nearest_column nearest_to_box(double const* low, double const* high, index d, double const* x, index m,
                              index stride, slack const& s, double* hi2) {
  return HWY_DYNAMIC_DISPATCH(nearest_to_box_d)(low, high, d, x, m, stride, s.relative(), s.subnormal(), hi2);
}
void box_leads(float const* low, float const* high, index d, double const* near, double const* far, index m,
               index stride, double near_hi2, slack const& s, double* out) {
  HWY_DYNAMIC_DISPATCH(box_leads_f)
  (low, high, d, near, far, m, stride, near_hi2, s.relative(), s.subnormal(), out);
}
void box_leads(double const* low, double const* high, index d, double const* near, double const* far, index m,
               index stride, double near_hi2, slack const& s, double* out) {
  HWY_DYNAMIC_DISPATCH(box_leads_d)
  (low, high, d, near, far, m, stride, near_hi2, s.relative(), s.subnormal(), out);
}
void squared_distances(float const* x, index d, double const* c, index m, index stride, double* out) {
  HWY_DYNAMIC_DISPATCH(squares_f)(x, d, c, m, stride, out);
}
void squared_distances(double const* x, index d, double const* c, index m, index stride, double* out) {
  HWY_DYNAMIC_DISPATCH(squares_d)(x, d, c, m, stride, out);
}

double least_of(double const* values, index m) { return HWY_DYNAMIC_DISPATCH(least)(values, m); }

kept_columns keep_at_most(double limit, double const* values, index m, index rows, double const* x,
                          index stride, double* to, index to_stride) {
  return HWY_DYNAMIC_DISPATCH(keep)(limit, values, m, rows, x, stride, to, to_stride);
}

void offer_centroids(double const* x, index n, index x_stride, index d, double const* c, index m, index along,
                     index across, double first, double* best, double* who, double* second) {
  HWY_DYNAMIC_DISPATCH(offer)(x, n, x_stride, d, c, m, along, across, first, best, who, second);
}

void find_nearest_four(double const* x, index n, index x_stride, index d, double const* c, index m,
                       index along, index across, nearest_rows const& found) {
  HWY_DYNAMIC_DISPATCH(find_four)(x, n, x_stride, d, c, m, along, across, found);
}

} // namespace kopse
#endif
