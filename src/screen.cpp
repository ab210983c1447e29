// SPDX-License-Identifier: BSD-3-Clause
// Compiled once for each instruction set, by including itself (Google Highway's foreach_target).
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "screen.cpp"
#include <hwy/foreach_target.h> // first: sets the target

#include <hwy/highway.h>

#include <bit>

#include "kopse/screen.hpp"

HWY_BEFORE_NAMESPACE();
namespace kopse {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using floats = hn::CappedTag<float, 16>;
using vector = hn::Vec<floats>;

template <class Tag> HWY_INLINE auto load(Tag t, double const* x) { return hn::LoadU(t, x); }
template <class Tag> HWY_INLINE auto load(Tag t, float const* x) {
  return hn::PromoteTo(t, hn::LoadU(hn::Rebind<float, Tag>(), x));
}

// Seen from the origin and scaled, in float32: m centroids by dimension, and half of their squared norms
// behind. Those that fill the last four are nowhere near.
void shrink(double const* c, index m, index d, index stride, double const* origin, double scale,
            double const* norms, float* to, index to_stride) {
  hn::CappedTag<double, 8> const t;
  hn::Rebind<float, decltype(t)> const narrow;
  index const width = static_cast<index>(hn::Lanes(t)), whole = m / width * width;
  auto const factor = hn::Set(t, scale);
  for (index j = 0; j <= d; ++j) {
    bool const is_norm = j == d;
    double const *const from = is_norm ? norms : c + j * stride, from_where = is_norm ? 0 : origin[j];
    double const by = is_norm ? scale * scale / 2 : scale;
    float* const out = to + j * to_stride;
    auto const start = hn::Set(t, from_where), times = is_norm ? hn::Set(t, by) : factor;
    for (index i = 0; i < whole; i += width)
      hn::StoreU(hn::DemoteTo(narrow, hn::Mul(hn::Sub(hn::LoadU(t, from + i), start), times)), narrow,
                 out + i);
    for (index i = whole; i < m; ++i) out[i] = static_cast<float>((from[i] - from_where) * by);
    for (index i = m; i < to_stride; ++i) out[i] = is_norm ? float_screen::nowhere : 0;
  }
}

// Points by dimension, seen from the origin and scaled, in float32: a block of as many points as a vector
// holds and of 16 dimensions is converted along its rows, then read across them.
template <class Real>
void spread_of(Real const* const* points, index n, index d, double const* origin, double scale, float* x,
               index x_stride) {
  constexpr index dims = 16;
  hn::CappedTag<double, 8> const t;
  hn::Rebind<float, decltype(t)> const narrow;
  floats const all;
  hn::RebindToSigned<floats> const numbers;
  index const step = static_cast<index>(hn::Lanes(t)), width = static_cast<index>(hn::Lanes(all));
  auto const factor = hn::Set(t, scale);
  auto const rows = hn::Mul(hn::Iota(numbers, 0), hn::Set(numbers, static_cast<std::int32_t>(dims)));
  HWY_ALIGN float block[dims * 16] = {}; // of points that are not there, any numbers
  for (index i = 0; i < n; i += width)
    for (index first = 0; first < d; first += dims) {
      index const count = HWY_MIN(dims, d - first), whole = count / step * step;
      for (index p = 0; p < HWY_MIN(width, n - i); ++p) {
        Real const* const row = points[i + p] + first;
        float* const to = block + p * dims;
        for (index j = 0; j < whole; j += step) {
          auto const apart = hn::Sub(load(t, row + j), hn::LoadU(t, origin + first + j));
          hn::StoreU(hn::DemoteTo(narrow, hn::Mul(apart, factor)), narrow, to + j);
        }
        for (index j = whole; j < count; ++j)
          to[j] = static_cast<float>((static_cast<double>(row[j]) - origin[first + j]) * scale);
      }
      for (index j = 0; j < count; ++j)
        hn::StoreU(hn::GatherIndex(all, block + j, rows), all, x + (first + j) * x_stride + i);
    }
}
void spread_f(float const* const* points, index n, index d, double const* origin, double scale, float* x,
              index x_stride) {
  spread_of(points, n, d, origin, scale, x, x_stride);
}
void spread_d(double const* const* points, index n, index d, double const* origin, double scale, float* x,
              index x_stride) {
  spread_of(points, n, d, origin, scale, x, x_stride);
}

// U vectors of points against four centroids at a time. D: the dimensions, or 0 for any.
template <index D, int U>
HWY_INLINE void offer_to(float const* x, index x_stride, index dims, float const* c, index first, index last,
                         index stride, float* best, float* second, float* who) {
  floats const t;
  hn::RebindToUnsigned<floats> const bits;
  auto const rest = hn::Set(bits, ~std::uint32_t{3});
  index const d = D == 0 ? dims : D, width = static_cast<index>(hn::Lanes(t));
  float const* const half = c + d * stride;
  for (index o = first; o < last; o += 4) {
    vector s[4][U];
    for (int q = 0; q < 4; ++q)
      for (int u = 0; u < U; ++u) s[q][u] = hn::Set(t, half[o + q]);
    for (index j = 0; j < d; ++j) {
      vector xj[U];
      for (int u = 0; u < U; ++u) xj[u] = hn::LoadU(t, x + j * x_stride + u * width);
      for (int q = 0; q < 4; ++q) {
        vector const cj = hn::Set(t, c[j * stride + o + q]);
        for (int u = 0; u < U; ++u) s[q][u] = hn::NegMulAdd(xj[u], cj, s[q][u]);
      }
    }
    // The least and the second least of four; which it is goes along in the last two bits.
    vector const four = hn::Set(t, static_cast<float>(o));
    for (int u = 0; u < U; ++u) {
      for (int q = 0; q < 4; ++q)
        s[q][u] = hn::BitCast(
            t, hn::OrAnd(hn::Set(bits, static_cast<std::uint32_t>(q)), hn::BitCast(bits, s[q][u]), rest));
      vector const nearest = hn::LoadU(t, best + u * width), next = hn::LoadU(t, second + u * width);
      vector const low0 = hn::Min(s[0][u], s[1][u]), low1 = hn::Min(s[2][u], s[3][u]),
                   low = hn::Min(low0, low1),
                   high = hn::Min(hn::Max(s[0][u], s[1][u]), hn::Max(s[2][u], s[3][u]));
      hn::StoreU(hn::Min(hn::Min(next, hn::Max(nearest, low)), hn::Min(high, hn::Max(low0, low1))), t,
                 second + u * width);
      hn::StoreU(hn::IfThenElse(hn::Lt(low, nearest), four, hn::LoadU(t, who + u * width)), t,
                 who + u * width);
      hn::StoreU(hn::Min(nearest, low), t, best + u * width);
    }
  }
}

template <index D>
void offer_dims(float const* x, index n, index x_stride, index d, float const* c, index first, index last,
                index stride, float* best, float* second, float* who) {
  index const width = static_cast<index>(hn::Lanes(floats()));
  index i = 0;
#if HWY_TARGET <= HWY_AVX3 // 32 registers
  for (; i + 4 * width <= n; i += 4 * width)
    offer_to<D, 4>(x + i, x_stride, d, c, first, last, stride, best + i, second + i, who + i);
#endif
  for (; i + 2 * width <= n; i += 2 * width)
    offer_to<D, 2>(x + i, x_stride, d, c, first, last, stride, best + i, second + i, who + i);
  for (; i < n; i += width)
    offer_to<D, 1>(x + i, x_stride, d, c, first, last, stride, best + i, second + i, who + i);
}

// The numbers of the nearest, or -1 where the lead is not beyond doubt. Then `second` becomes what those that
// may be nearer, or as near, do not exceed. A comparison with what is no number is false, too.
void keep_sure(float const* x, index n, index x_stride, index d, float const* margin, float const* best,
               float* second, float* who) {
  floats const t;
  hn::RebindToSigned<floats> const whole;
  index const width = static_cast<index>(hn::Lanes(t));
  for (index i = 0; i < n; i += width) {
    vector norm = hn::Zero(t);
    for (index j = 0; j < d; ++j) {
      vector const xj = hn::LoadU(t, x + j * x_stride + i);
      norm = hn::MulAdd(xj, xj, norm);
    }
    vector const r = hn::Sqrt(norm);
    vector const doubt =
        hn::MulAdd(r, hn::MulAdd(r, hn::Set(t, margin[2]), hn::Set(t, margin[1])), hn::Set(t, margin[0]));
    vector const nearest = hn::LoadU(t, best + i);
    auto const sure = hn::Gt(hn::Sub(hn::LoadU(t, second + i), nearest), doubt);
    auto const of_four = hn::And(hn::BitCast(whole, nearest), hn::Set(whole, 3));
    vector const number = hn::Add(hn::LoadU(t, who + i), hn::ConvertTo(t, of_four));
    hn::StoreU(hn::IfThenElse(sure, number, hn::Set(t, -1.0f)), t, who + i);
    hn::StoreU(hn::Add(nearest, doubt), t, second + i);
  }
}

// The numbers of all centroids that do not exceed a limit, for one point; how many there are.
index collect(float const* x, index x_stride, index d, float const* c, index m, index stride, float limit,
              label* found) {
  floats const t;
  index const width = static_cast<index>(hn::Lanes(t));
  index count = 0;
  for (index i = 0; i < m; i += width) {
    vector s = hn::LoadU(t, c + d * stride + i);
    for (index j = 0; j < d; ++j)
      s = hn::NegMulAdd(hn::Set(t, x[j * x_stride]), hn::LoadU(t, c + j * stride + i), s);
    auto const near = hn::And(hn::Le(s, hn::Set(t, limit)), hn::FirstN(t, static_cast<std::size_t>(m - i)));
    if (hn::AllFalse(t, near)) continue;
    std::uint8_t bits[8] = {};
    hn::StoreMaskBits(t, near, bits);
    for (unsigned rest = bits[0] | static_cast<unsigned>(bits[1]) << 8; rest != 0; rest &= rest - 1)
      found[count++] = static_cast<label>(i + std::countr_zero(rest));
  }
  return count;
}

void offer(float const* x, index n, index x_stride, index d, float const* c, index first, index last,
           index stride, float* best, float* second, float* who) {
  switch (d) {
  case 1:
    return offer_dims<1>(x, n, x_stride, d, c, first, last, stride, best, second, who);
  case 2:
    return offer_dims<2>(x, n, x_stride, d, c, first, last, stride, best, second, who);
  case 3:
    return offer_dims<3>(x, n, x_stride, d, c, first, last, stride, best, second, who);
  case 4:
    return offer_dims<4>(x, n, x_stride, d, c, first, last, stride, best, second, who);
  default:
    return offer_dims<0>(x, n, x_stride, d, c, first, last, stride, best, second, who);
  }
}

} // namespace
} // namespace HWY_NAMESPACE
} // namespace kopse
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "kopse/kernels.hpp"

namespace kopse {

namespace {
HWY_EXPORT(shrink);
HWY_EXPORT(spread_f);
HWY_EXPORT(spread_d);
HWY_EXPORT(offer);
HWY_EXPORT(keep_sure);
HWY_EXPORT(collect);

constexpr index x_stride = float_screen::most_points + 16; // not a power of two: lines of all sets
} // namespace

void float_screen::take(double const* c, index m, index d, index stride, double const* origin) {
  exact_ = c, m_ = m, d_ = d, exact_stride_ = stride;
  origin_.assign(origin, origin + d);
  norms_.resize(static_cast<std::size_t>(m));
  squared_distances(origin, d, c, m, stride, norms_.data());
  double const largest2 = *std::max_element(norms_.begin(), norms_.end());
  int const exponent = largest2 > 0 ? std::ilogb(std::sqrt(largest2)) : 2 * largest_exponent;
  usable_ = std::abs(exponent) <= largest_exponent && m < most_centroids && d <= most_dims;
  if (!usable_) return;
  scale_ = std::ldexp(1.0, -exponent);
  stride_ = (m + 3) / 4 * 4;
  c_.resize(static_cast<std::size_t>((d + 1) * stride_ + 16)); // whole vectors are read
  HWY_DYNAMIC_DISPATCH(shrink)(c, m, d, stride, origin, scale_, norms_.data(), c_.data(), stride_);
  double const far = std::sqrt(largest2) * scale_, dims = static_cast<double>(d),
               rounding = 1.25 * (2 * dims + 16) * 0x1p-24, deciding = 2.5 * (dims + 3) * 0x1p-53;
  margin_[0] = static_cast<float>(rounding * far * far + deciding * far * far);
  margin_[1] = static_cast<float>(2 * rounding * far + 2 * deciding * far);
  margin_[2] = static_cast<float>(deciding);
}

namespace {
void spread(float const* const* points, index n, index d, double const* origin, double scale, float* x) {
  HWY_DYNAMIC_DISPATCH(spread_f)(points, n, d, origin, scale, x, x_stride);
}
void spread(double const* const* points, index n, index d, double const* origin, double scale, float* x) {
  HWY_DYNAMIC_DISPATCH(spread_d)(points, n, d, origin, scale, x, x_stride);
}
} // namespace

template <class Real>
void float_screen::find(Real const* const* points, index n, scratch& room, label* who) const {
  std::array<float, most_points + 32> best, second, owner;
  index const whole = (n + 31) / 32 * 32;
  if (usable_) {
    room.x.resize(static_cast<std::size_t>(d_ * x_stride));
    spread(points, n, d_, origin_.data(), scale_, room.x.data());
    std::fill_n(best.begin(), whole, std::numeric_limits<float>::infinity());
    std::fill_n(second.begin(), whole, std::numeric_limits<float>::infinity());
    std::fill_n(owner.begin(), whole, 0.0f);
    index const block =
        std::max<index>(16, 4096 / d_ / 4 * 4); // centroids that stay in the first-level cache
    for (index first = 0; first < m_; first += block) HWY_DYNAMIC_DISPATCH(offer)
    (room.x.data(), whole, x_stride, d_, c_.data(), first, std::min(stride_, first + block), stride_,
     best.data(), second.data(), owner.data());
    HWY_DYNAMIC_DISPATCH(keep_sure)
    (room.x.data(), whole, x_stride, d_, margin_, best.data(), second.data(), owner.data());
  } else {
    std::fill_n(owner.begin(), n, -1.0f);
  }
  for (index i = 0; i < n; ++i) {
    auto const at = static_cast<std::size_t>(i);
    who[i] = owner[at] >= 0 ? static_cast<label>(owner[at]) : decide(points[i], i, second[at], room);
  }
}

// In double: the nearest of those that float32 cannot tell from it, or of all.
template <class Real>
label float_screen::decide(Real const* point, index i, float limit, scratch& room) const {
  ++room.in_double;
  if (!usable_ || !(limit < nowhere)) {
    room.squares.resize(static_cast<std::size_t>(m_));
    squared_distances(point, d_, exact_, m_, exact_stride_, room.squares.data());
    return static_cast<label>(std::min_element(room.squares.begin(), room.squares.end())
                              - room.squares.begin());
  }
  room.near.resize(static_cast<std::size_t>(m_));
  index const count = HWY_DYNAMIC_DISPATCH(collect)(room.x.data() + i, x_stride, d_, c_.data(), m_, stride_,
                                                    limit, room.near.data());
  double best = std::numeric_limits<double>::infinity();
  label who = room.near[0];           // the nearest of float32 is always among them
  for (index o = 0; o < count; ++o) { // in ascending order: of equals the first
    label const candidate = room.near[static_cast<std::size_t>(o)];
    double sum = 0;
    for (index j = 0; j < d_; ++j) {
      double const apart = static_cast<double>(point[j]) - exact_[j * exact_stride_ + candidate];
      sum += apart * apart;
    }
    if (sum < best) best = sum, who = candidate;
  }
  return who;
}

void float_screen::find_nearest(float const* const* points, index n, scratch& room, label* who) const {
  find(points, n, room, who);
}
void float_screen::find_nearest(double const* const* points, index n, scratch& room, label* who) const {
  find(points, n, room, who);
}

} // namespace kopse
#endif
