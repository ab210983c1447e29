// SPDX-License-Identifier: BSD-3-Clause
// kopse_micro [--targets=all] [--benchmark_…]: micro-benchmarks of kopse (docs/benchmarks.md). Ends with 1 at
// the first kernel whose output is not that of a plain loop.
#include <hwy/targets.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <optional>
#include <string_view>

#include "peak.hpp"

namespace kopse::micro {
namespace {

bool with_all_targets = false;

char const* name_of(roof bound) {
  switch (bound) {
  case roof::fma_float:
    return "of fused multiply-adds in float32";
  case roof::fma_double:
    return "of fused multiply-adds in double";
  case roof::read:
    return "of reading the first-level cache";
  case roof::copy:
    return "of copying within the first-level cache";
  case roof::none:
    break;
  }
  return "";
}

// The job of the benchmark that runs, which is called again and again until it has taken long enough.
job const& job_of(std::string const& name, maker const& make) {
  static std::optional<job> last;
  static std::string name_of_last;
  if (name == name_of_last) return *last;
  last.reset(); // before the next takes its memory
  try {
    last = make();
  } catch (wrong_output const& e) {
    std::fprintf(stderr, "kopse_micro: %s: wrong output: %s\n", name.c_str(), e.what());
    std::exit(1);
  }
  name_of_last = name;
  return *last;
}

void run(benchmark::State& state, std::string const& name, maker const& make, std::int64_t target) {
  double const peak = peak_of(roof::fma_float); // measured before anything else
  use_target(target);
  job const& what = job_of(name, make);
  auto const calls = static_cast<index>(20'000 / (what.flops + what.bytes + what.items + 20));
  index const batch = std::clamp<index>(calls, 1, 1000);
  std::clock_t const start = std::clock();
  while (state.KeepRunningBatch(batch)) what.run(batch);
  double const seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC,
               times = static_cast<double>(state.iterations());
  state.counters["items"] = benchmark::Counter(times * what.items, benchmark::Counter::kIsRate);
  if (what.flops > 0)
    state.counters["flops"] = benchmark::Counter(times * what.flops, benchmark::Counter::kIsRate);
  if (what.bytes > 0)
    state.counters["bytes"] = benchmark::Counter(times * what.bytes, benchmark::Counter::kIsRate);
  if (what.bound == roof::none || peak <= 0) return;
  bool const of_bytes = what.bound == roof::read || what.bound == roof::copy;
  double const done = times * (of_bytes ? what.bytes : what.flops);
  state.counters["percent"] = 100 * done / std::max(seconds, 1e-9) / peak_of(what.bound);
  state.SetLabel(name_of(what.bound));
}

} // namespace

void add(std::string const& name, maker make, targets which) {
  std::vector<std::int64_t> every = all_targets();
  if (which == targets::best || !with_all_targets) every.resize(1);
  for (std::int64_t const target : every) {
    std::string const full = which == targets::best ? name : name + "/" + hwy::TargetName(target);
    std::int64_t const chosen = which == targets::best ? 0 : target;
    benchmark::RegisterBenchmark(full.c_str(),
                                 [=](benchmark::State& state) { run(state, full, make, chosen); });
  }
}

} // namespace kopse::micro

int main(int count, char** arguments) {
  using namespace kopse::micro;
  char** const end = std::remove_if(arguments + 1, arguments + count, [](std::string_view argument) {
    if (argument != "--targets=all") return false;
    return with_all_targets = true;
  });
  count = static_cast<int>(end - arguments);
  benchmark::Initialize(&count, arguments);
  if (benchmark::ReportUnrecognizedArguments(count, arguments)) return 1;
  add_peaks();
  add_kernels();
  add_screen();
  add_dense();
  add_parts();
  benchmark::RunSpecifiedBenchmarks();
}
