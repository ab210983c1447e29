// SPDX-License-Identifier: BSD-3-Clause
// Compiled once for each instruction set, by including itself (Google Highway's foreach_target).
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "peak.cpp"
#include <hwy/foreach_target.h> // first: sets the target

#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <numeric>

#include "kopse/matrix.hpp"
#include "peak.hpp"

HWY_BEFORE_NAMESPACE();
namespace kopse::micro {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr int in_hand = 12; // with a and b two less than there are registers without AVX-512

template <class Real> Real multiply_adds_of(Real start, Real by, Real plus, index rounds, double* count) {
  hn::CappedTag<Real, 64 / sizeof(Real)> const t;
  auto const a = hn::Set(t, by), b = hn::Set(t, plus);
  hn::Vec<decltype(t)> x[in_hand];
  for (int i = 0; i < in_hand; ++i) x[i] = hn::Set(t, start + static_cast<Real>(i)); // or they were one
  for (index r = 0; r < rounds; ++r)
    for (int i = 0; i < in_hand; ++i) x[i] = hn::MulAdd(x[i], a, b);
  *count = static_cast<double>(rounds) * in_hand * static_cast<double>(hn::Lanes(t));
  for (int i = 1; i < in_hand; ++i) x[0] = hn::Add(x[0], x[i]);
  return hn::GetLane(hn::SumOfLanes(t, x[0]));
}
float multiply_adds_f(float x, float a, float b, index rounds, double* count) {
  return multiply_adds_of(x, a, b, rounds, count);
}
double multiply_adds_d(double x, double a, double b, index rounds, double* count) {
  return multiply_adds_of(x, a, b, rounds, count);
}

double plain_squares_of(double start, double const* c, index n, double* count) {
  constexpr int points = 4;
  hn::CappedTag<double, 8> const t;
  hn::Vec<decltype(t)> x[points], sum[points];
  for (int i = 0; i < points; ++i) {
    x[i] = hn::Set(t, start + i);
    sum[i] = hn::Zero(t);
  }
  for (index j = 0; j < n; ++j) {
    auto const cj = hn::Set(t, c[j]);
    for (int i = 0; i < points; ++i) {
      auto const apart = hn::Sub(x[i], cj);
      sum[i] = hn::Add(sum[i], hn::Mul(apart, apart));
    }
  }
  *count = static_cast<double>(n) * points * static_cast<double>(hn::Lanes(t));
  for (int i = 1; i < points; ++i) sum[0] = hn::Add(sum[0], sum[i]);
  return hn::GetLane(hn::SumOfLanes(t, sum[0]));
}

double read_of(double const* x, index n) {
  constexpr int parts = 8;
  hn::CappedTag<double, 8> const t;
  index const width = static_cast<index>(hn::Lanes(t));
  hn::Vec<decltype(t)> sum[parts];
  for (int p = 0; p < parts; ++p) sum[p] = hn::Zero(t);
  for (index i = 0; i < n; i += parts * width)
    for (int p = 0; p < parts; ++p) sum[p] = hn::Add(sum[p], hn::LoadU(t, x + i + p * width));
  for (int p = 1; p < parts; ++p) sum[0] = hn::Add(sum[0], sum[p]);
  return hn::GetLane(hn::SumOfLanes(t, sum[0]));
}

void copy_of(double const* from, index n, double* to) {
  constexpr int parts = 8;
  hn::CappedTag<double, 8> const t;
  index const width = static_cast<index>(hn::Lanes(t));
  for (index i = 0; i < n; i += parts * width)
    for (int p = 0; p < parts; ++p) hn::StoreU(hn::LoadU(t, from + i + p * width), t, to + i + p * width);
}

} // namespace
} // namespace HWY_NAMESPACE
} // namespace kopse::micro
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kopse::micro {

namespace {
HWY_EXPORT(multiply_adds_f);
HWY_EXPORT(multiply_adds_d);
HWY_EXPORT(plain_squares_of);
HWY_EXPORT(read_of);
HWY_EXPORT(copy_of);

constexpr index rounds = 4000;
constexpr index in_first_level = 1024; // numbers: 8 KiB, and as much for a copy
constexpr index in_memory = 16 << 20;  // 128 MiB

// Numbers that begin with a cache line.
matrix<double> aligned(index n) {
  matrix<double> x(1, n);
  std::ranges::copy(numbers(n, 1), x.row(0));
  return x;
}

// n numbers and room for a copy, half a page apart in the addresses within a page: a load that seems to
// follow a store to the same place waits for it.
struct copied {
  static constexpr index half_a_page = 256;
  index n;
  matrix<double> x;
  explicit copied(index count) : n(count), x(aligned(2 * count + half_a_page)) {}
  double const* from() const { return x.row(0); }
  double* to() { return x.row(0) + n + half_a_page; }
};

// The largest of several rates: the others were disturbed.
template <class F> double best_rate(F const& amount_of) {
  double best = 0;
  for (int trial = 0; trial < 15; ++trial) {
    double amount = 0;
    std::clock_t const start = std::clock();
    while (std::clock() - start < CLOCKS_PER_SEC / 100)
      for (int i = 0; i < 20; ++i) amount += amount_of();
    best = std::max(best, amount * CLOCKS_PER_SEC / static_cast<double>(std::clock() - start));
  }
  return best;
}

template <class Real> double fused_rate() {
  return best_rate([] {
    double count = 0;
    benchmark::DoNotOptimize(multiply_adds(Real{0}, Real{0.5}, Real{1}, rounds, &count));
    return 2 * count;
  });
}

double read_rate() {
  matrix<double> const x = aligned(in_first_level);
  return best_rate([&] {
    for (int i = 0; i < 10; ++i) benchmark::DoNotOptimize(read_all(x.row(0), in_first_level));
    return 10.0 * 8 * in_first_level;
  });
}

double copy_rate() {
  copied c(in_first_level);
  return best_rate([&] {
    for (int i = 0; i < 10; ++i) {
      copy_all(c.from(), c.n, c.to());
      benchmark::ClobberMemory();
    }
    return 10.0 * 16 * in_first_level;
  });
}

// a·x + b with a = ½ and b = 1 comes to 2, exactly.
template <class Real> job fused() {
  double count = 0;
  Real const sum = multiply_adds(Real{0}, Real{0.5}, Real{1}, rounds, &count);
  check(sum == static_cast<Real>(2 * count / static_cast<double>(rounds)), "fused multiply-adds");
  return job_of(
      [] {
        double done;
        benchmark::DoNotOptimize(multiply_adds(Real{0}, Real{0.5}, Real{1}, rounds, &done));
      },
      {.run = {},
       .items = count,
       .flops = 2 * count,
       .bound = sizeof(Real) == 4 ? roof::fma_float : roof::fma_double});
}

job squares() {
  std::vector<double> const c = numbers(in_first_level, 2);
  double count = 0, sum = 0;
  for (double const cj : c)
    for (double const x : {0.5, 1.5, 2.5, 3.5}) sum += (x - cj) * (x - cj) / 4;
  double const all = plain_squares(0.5, c.data(), in_first_level, &count);
  check(std::abs(all - sum * count / in_first_level) <= 1e-9 * all, "plain squares");
  return job_of(
      [c] {
        double done;
        benchmark::DoNotOptimize(plain_squares(0.5, c.data(), in_first_level, &done));
      },
      {.run = {}, .items = count, .flops = 3 * count, .bound = roof::fma_double});
}

job reading(index n, roof bound) {
  auto const x = std::make_shared<matrix<double>>(aligned(n));
  double const sum = std::accumulate(x->row(0), x->row(0) + n, 0.0);
  check(std::abs(read_all(x->row(0), n) - sum) <= 1e-9 * sum, "a sum");
  double const count = static_cast<double>(n);
  return job_of([x, n] { benchmark::DoNotOptimize(read_all(x->row(0), n)); },
                {.run = {}, .items = count, .bytes = 8 * count, .bound = bound});
}

job copying(index n, roof bound) {
  auto const c = std::make_shared<copied>(n);
  copy_all(c->from(), n, c->to());
  check(std::equal(c->from(), c->from() + n, c->to()), "a copy");
  double const count = static_cast<double>(n);
  return job_of([c] { copy_all(c->from(), c->n, c->to()); },
                {.run = {}, .items = count, .bytes = 16 * count, .bound = bound});
}

} // namespace

std::vector<std::int64_t> all_targets() {
  std::vector<std::int64_t> targets;
  for (std::int64_t rest = hwy::SupportedTargets() & HWY_TARGETS; rest != 0; rest &= rest - 1)
    targets.push_back(rest & -rest);
  return targets;
}

void use_target(std::int64_t target) {
  hwy::SetSupportedTargetsForTest(target);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

float multiply_adds(float x, float a, float b, index times, double* count) {
  return HWY_DYNAMIC_DISPATCH(multiply_adds_f)(x, a, b, times, count);
}
double multiply_adds(double x, double a, double b, index times, double* count) {
  return HWY_DYNAMIC_DISPATCH(multiply_adds_d)(x, a, b, times, count);
}
double plain_squares(double x, double const* c, index n, double* count) {
  return HWY_DYNAMIC_DISPATCH(plain_squares_of)(x, c, n, count);
}
double read_all(double const* x, index n) { return HWY_DYNAMIC_DISPATCH(read_of)(x, n); }
void copy_all(double const* from, index n, double* to) { HWY_DYNAMIC_DISPATCH(copy_of)(from, n, to); }

double peak_of(roof bound) {
  static std::array<double, 5> const peaks = [] {
    use_target(0);
    return std::array{0.0, fused_rate<float>(), fused_rate<double>(), read_rate(), copy_rate()};
  }();
  return peaks[static_cast<std::size_t>(bound)];
}

void add_peaks() {
  add("peak/fma_float", fused<float>);
  add("peak/fma_double", fused<double>);
  add("peak/plain_squares", squares);
  add("peak/read_first_level", [] { return reading(in_first_level, roof::read); });
  add("peak/copy_first_level", [] { return copying(in_first_level, roof::copy); });
  add(
      "peak/read_memory", [] { return reading(in_memory, roof::read); }, targets::best);
  add(
      "peak/copy_memory", [] { return copying(in_memory, roof::copy); }, targets::best);
}

} // namespace kopse::micro
#endif
