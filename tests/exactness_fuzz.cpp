// SPDX-License-Identifier: BSD-3-Clause
// exactness_fuzz SECONDS [SEED]: scenarios at random against the oracle, until the time is over or a bit
// differs. Not run by CTest. What it finds becomes a test: a failure prints all that a plan needs, and the
// seed to repeat it.
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "exactness.hpp"

namespace {

using namespace exactness;
using kopse::index;

template <class Enum> Enum any(families::random& r) {
  return static_cast<Enum>(r.below(static_cast<index>(Enum::count)));
}

plan random_plan(families::random& r, std::uint64_t seed) {
  constexpr std::array<index, 10> dims{1, 1, 2, 2, 3, 3, 5, 8, 20, 100};
  plan p;
  p.data = any<family>(r), p.seed = seed, p.weights = any<weighting>(r), p.start = any<families::start>(r);
  p.d = dims[static_cast<std::size_t>(r.below(10))];
  p.n = 1 + r.below(r.one_in(20) ? 4000 : p.d > 8 ? 60 : 200);
  p.k = 1 + r.below(std::min<index>(p.n, r.one_in(4) ? p.n : 25));
  if (p.n > 300) p.k = std::min<index>(p.k, 60);
  p.settings.max_iter = 1 + r.below(r.one_in(3) ? 5 : 60);
  p.settings.tol = r.one_in(4) ? std::ldexp(r.unit(), -static_cast<int>(r.below(20))) : 0;
  p.settings.empty = r.one_in(2) ? empty_policy::keep : empty_policy::relocate;
  return p;
}

/// After some of Lloyd's passes a caller moves the centroids: other starts, then back among the passes.
template <class Real> void wander(scenario<Real>& s, families::random& r) {
  std::vector<oracle::pass> const passes = s.expected.passes;
  for (index i = r.below(40); i > 0; --i) {
    if (r.one_in(3))
      s.visit(passes[static_cast<std::size_t>(r.below(static_cast<index>(passes.size())))].centroids);
    else if (r.one_in(2))
      s.visit(families::make_start(any<families::start>(r), s.rows, s.start.rows(), s.passes.size()));
    else
      s.visit(s.passes.back().means); // clusters without weight go to the origin
  }
}

template <class Real> bool one(std::uint64_t seed) {
  families::random r(seed);
  r.unit();
  scenario<Real> s(random_plan(r, seed));
  s.run_oracle();
  std::vector<config> const all = algorithms_and_trees();
  std::vector<config> chosen;
  for (config c : all) {
    c.leaf_size = r.one_in(2) ? leaf_sizes[static_cast<std::size_t>(r.below(5))] : 1 + r.below(40);
    c.threads = static_cast<int>(1 + r.below(4));
    chosen.push_back(c);
  }
  auto const report = [&](AssertionResult const& result) {
    if (!result) std::printf("seed %llu: %s\n", static_cast<unsigned long long>(seed), result.message());
    return static_cast<bool>(result);
  };
  for (config const& c : chosen)
    if (!report(check_fit(s, c))) return false;
  wander(s, r);
  for (config const& c : chosen)
    if (!report(check_steps(s, c))) return false;
  return true;
}

} // namespace

int main(int argc, char** argv) {
  double const seconds = argc > 1 ? std::atof(argv[1]) : 10;
  std::uint64_t const first = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  auto const start = std::chrono::steady_clock::now();
  std::uint64_t seed = first, failures = 0;
  // At least one, so that a seed can be repeated with 0 seconds; ten failures are enough to look at.
  do {
    bool const right = seed % 2 ? one<float>(seed) : one<double>(seed);
    failures += !right;
    ++seed;
  } while (failures < 10
           && std::chrono::steady_clock::now() - start < std::chrono::duration<double>(seconds));
  std::printf("%llu scenarios from seed %llu, %llu failed\n", static_cast<unsigned long long>(seed - first),
              static_cast<unsigned long long>(first), static_cast<unsigned long long>(failures));
  return failures == 0 ? 0 : 1;
}
