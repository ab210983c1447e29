// SPDX-License-Identifier: BSD-3-Clause
// The numbers of a run. Times are of the steady clock; pass_seconds is the yardstick to hold them against.
#include "stats.hpp"

#include <nlohmann/json.hpp>

#include <array>
#include <atomic>
#include <fstream>

#include <sys/resource.h>
#include <unistd.h>

#include "cli.hpp"
#include "kopse/parallel.hpp"

namespace kopse::cli {
namespace {

constexpr index bytes_read = index{256} << 20; // larger than the caches of the machines we know
constexpr int repetitions = 5;

/// Enough sums side by side that memory, not the latency of one addition after the other, sets the time.
template <class Real> Real sum_of(Real const* x, index count) {
  std::array<Real, 64> lanes{};
  index i = 0;
  for (; i + 64 <= count; i += 64)
    for (std::size_t lane = 0; lane < lanes.size(); ++lane) lanes[lane] += x[i + static_cast<index>(lane)];
  Real sum{};
  for (; i < count; ++i) sum += x[i];
  for (Real lane : lanes) sum += lane;
  return sum;
}

/// Seconds of the best of a few sums over all rows.
template <class Real> double best_sum(matrix_view<Real> rows, int threads) {
  bool const dense = rows.stride() == rows.cols();
  index const grain = std::max<index>(1, (index{1} << 18) / std::max<index>(1, rows.cols()));
  double best = 0;
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    std::atomic<double> total = 0; // used below, so that the compiler keeps the sums
    stopwatch const watch;
    for_blocks(rows.rows(), grain, threads, [&](index first, index last) {
      Real sum{};
      by_pages(rows, first, last, [&](index a, index b) {
        if (dense)
          sum += sum_of(rows.row(a), (b - a) * rows.cols());
        else
          for (index i = a; i < b; ++i) sum += sum_of(rows.row(i), rows.cols());
      });
      total.fetch_add(static_cast<double>(sum), std::memory_order_relaxed);
    });
    double const seconds = watch.seconds() + 0 * total.load();
    if (repetition == 0 || seconds < best) best = seconds;
  }
  return best;
}

template <class Real> double pass_over(matrix_view<Real> rows, int threads, bool may_copy) {
  index const row_bytes = rows.cols() * static_cast<index>(sizeof(Real));
  if (!may_copy || rows.rows() * row_bytes >= bytes_read) return best_sum(rows, threads);
  index const copies = bytes_read / row_bytes + 1;
  matrix<Real> side_by_side(copies, rows.cols());
  for (index i = 0; i < copies; ++i) std::copy_n(rows.row(i % rows.rows()), rows.cols(), side_by_side.row(i));
  return best_sum(side_by_side.view(), threads) * static_cast<double>(rows.rows())
         / static_cast<double>(copies);
}

nlohmann::ordered_json trace_entry(iteration_record const& record) {
  nlohmann::ordered_json prunes = nlohmann::ordered_json::object();
  for (std::size_t rule = 0; rule < record.work.prunes.size(); ++rule)
    prunes[name(static_cast<prune_rule>(rule))] = record.work.prunes[rule];
  return {{"seconds", record.seconds},
          {"distances", record.work.distances},
          {"node_scores", record.work.node_scores},
          {"prunes", std::move(prunes)},
          {"labels_changed", record.labels_changed},
          {"largest_movement", record.largest_movement},
          {"inertia", record.inertia}};
}

} // namespace

std::string reason(run_record const& run) {
  switch (run.result.reason) {
  case stop_reason::labels:
    return "no label changed";
  case stop_reason::tol:
    return "the centroids moved no more than the tolerance";
  case stop_reason::time_limit:
    return "--time-limit reached";
  case stop_reason::max_iter:
    break;
  }
  return "--max-iter reached";
}

index memory_held() {
  std::ifstream statm("/proc/self/statm");
  index all = 0, resident = 0;
  return statm >> all >> resident ? resident * sysconf(_SC_PAGESIZE) : peak_memory();
}

index peak_memory() {
  // What getrusage() tells counts the process that this one was forked from, however large it was.
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (index kilobytes = 0; word == "VmHWM:" && status >> kilobytes) return kilobytes * 1024;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<index>(usage.ru_maxrss) * 1024;
}

double measure_pass(table const& data, int threads, bool may_copy) {
  if (data.rows() == 0) return 0;
  return data.visit([&](auto const& rows) { return pass_over(rows, threads, may_copy); });
}

nlohmann::ordered_json stats(run_record const& run) {
  result const& r = run.result;
  nlohmann::ordered_json json{{"n", run.n},
                              {"d", run.d},
                              {"k", run.k},
                              {"algorithm", r.algorithm},
                              {"tree", r.tree},
                              {"spherical", run.spherical},
                              {"seed", run.seed},
                              {"threads", run.threads},
                              {"ranks", run.rows_per_rank.size()},
                              {"rows_per_rank", run.rows_per_rank},
                              {"iterations", r.iterations},
                              {"converged", r.converged()},
                              {"reason", name(r.reason)},
                              {"inertia", r.inertia},
                              {"seconds",
                               {{"load", run.load_seconds},
                                {"tree", r.seconds.tree},
                                {"seed", r.seconds.seed},
                                {"iterate", r.seconds.iterate},
                                {"write", run.write_seconds}}},
                              {"pass_seconds", run.pass_seconds},
                              {"predicted_bytes", run.predicted_bytes},
                              {"peak_bytes", run.peak_bytes},
                              {"restart", r.best_restart},
                              {"empty_clusters", r.empty_clusters},
                              {"version", version()}};
  if (run.memory_limit > 0) json["memory_limit"] = run.memory_limit;
  if (r.resumed) {
    json["resumed_from"] = r.resumed->iteration;
    json["resumed_restart"] = r.resumed->restart;
  }
  if (!r.choices.empty()) {
    nlohmann::ordered_json& choices = json["choices"] = nlohmann::ordered_json::array();
    for (algorithm_choice const& c : r.choices)
      choices.push_back({{"iteration", c.iteration}, {"algorithm", c.algorithm}, {"why", c.why}});
  }
  nlohmann::ordered_json& trace = json["trace"] = nlohmann::ordered_json::array();
  for (iteration_record const& record : r.trace) trace.push_back(trace_entry(record));
  return json;
}

} // namespace kopse::cli
