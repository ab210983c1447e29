// SPDX-License-Identifier: BSD-3-Clause
// fit() on small problems of any kind, with any options: the oracle is the judge, of a whole run and of every
// assignment on the way.
#include <array>
#include <cmath>
#include <cstring>

#include "exactness.hpp"
#include "fuzz.hpp"

namespace {

using namespace exactness;
using kopse::index;

/// A coordinate: of a lattice, of any bits, or a neighbour of one of few others.
template <class Real> Real coordinate(FuzzedDataProvider& in, int kind) {
  constexpr double most = sizeof(Real) == sizeof(float) ? 1e37 : 1e149;
  double x = in.ConsumeIntegralInRange(-4, 4);
  if (kind == 1) {
    auto const word = in.ConsumeIntegral<std::uint64_t>();
    std::memcpy(&x, &word, sizeof x);
  } else if (kind == 2) {
    Real y = static_cast<Real>(x) + 1000;
    for (int steps = in.ConsumeIntegralInRange(0, 3); steps > 0; --steps)
      y = std::nextafter(y, std::numeric_limits<Real>::infinity());
    return y;
  }
  return std::isfinite(x) && std::abs(x) <= most ? static_cast<Real>(x) : Real(1);
}

template <class Real> scenario<Real> any_scenario(FuzzedDataProvider& in) {
  plan p;
  p.settings.max_iter = in.ConsumeIntegralInRange<index>(1, 30);
  p.settings.tol =
      in.ConsumeIntegralInRange(0, 3) == 0 ? std::ldexp(1.0, -in.ConsumeIntegralInRange(0, 20)) : 0;
  p.settings.empty = in.ConsumeBool() ? empty_policy::keep : empty_policy::relocate;
  p.seed = in.ConsumeIntegral<std::uint16_t>();
  p.weights = static_cast<weighting>(in.ConsumeIntegralInRange(0, static_cast<int>(weighting::count) - 1));
  p.start = static_cast<families::start>(
      in.ConsumeIntegralInRange(0, static_cast<int>(families::start::count) - 1));
  p.d = in.PickValueInArray<index>({1, 2, 3, 4, 5, 9, 17});
  p.n = in.ConsumeIntegralInRange<index>(1, 90);
  p.k = in.ConsumeIntegralInRange<index>(1, std::min<index>(p.n, 40));
  int const kind = in.ConsumeIntegralInRange(0, 5);
  if (kind > 2) {
    p.data = static_cast<family>(in.ConsumeIntegralInRange(0, static_cast<int>(family::count) - 1));
    return scenario<Real>(p);
  }
  matrix<Real> rows(p.n, p.d);
  for (index i = 0; i < p.n * p.d; ++i) rows.row(0)[i] = coordinate<Real>(in, kind);
  matrix<double> start = families::make_start(p.start, rows, p.k, p.seed);
  std::vector<double> weights = families::make_weights(p.weights, p.n, p.seed);
  return scenario<Real>("bytes", std::move(rows), std::move(start), p.settings, std::move(weights));
}

template <class Real> void check(FuzzedDataProvider& in) {
  scenario<Real> s = any_scenario<Real>(in);
  s.run_oracle();
  if (in.ConsumeBool()) wander(s, in.ConsumeIntegral<std::uint8_t>());
  for (int left = in.ConsumeIntegralInRange(1, 3); left > 0; --left) {
    static std::vector<config> const all = few_configs(0, columns::of_the_data);
    config c = all[in.ConsumeIntegralInRange<std::size_t>(0, all.size() - 1)];
    if (!suits(c, s.rows.cols())) continue;
    c.leaf_size = in.ConsumeIntegralInRange<index>(1, 40);
    c.threads = in.ConsumeIntegralInRange(1, 3);
    AssertionResult const run = check_fit(s, c), steps = check_steps(s, c);
    fuzz::require(static_cast<bool>(run), std::string("a fit is exact: ") + run.message());
    fuzz::require(static_cast<bool>(steps), std::string("every assignment is exact: ") + steps.message());
  }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  FuzzedDataProvider in(data, size);
  if (in.ConsumeBool())
    check<float>(in);
  else
    check<double>(in);
  return 0;
}
