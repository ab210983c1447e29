// SPDX-License-Identifier: BSD-3-Clause
// kopse fit: read, cluster, write, tell.
#include "fit.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <csignal>
#include <filesystem>

#include "format.hpp"
#include "kopse/memory_plan.hpp"
#include "kopse/parallel.hpp"
#include "kopse/seeding.hpp"
#include "long_runs.hpp"
#include "memory.hpp"
#include "progress.hpp"
#include "ranks.hpp"
#include "report.hpp"
#include "stats.hpp"

namespace kopse::cli {
namespace {

/// Finds everything that can be known to be wrong before a byte of the data is read; returns how to read
/// them.
load_options check_settings(fit_settings& settings) {
  load_options how = settings.data.options();
  if (settings.k == 0)
    throw usage_error("the number of clusters is required, e.g. kopse fit points.csv -k 10");
  how.threads = settings.fit.threads;
  resolve(settings.fit);
  settings.fit.threads = how.threads; // fit() knows how many are worth it
  settings.fit.init = resolve_init(settings.fit.init);
  seeding_options start;
  start.init = settings.fit.init, start.candidates = settings.fit.candidates;
  check_start(start);
  if (!settings.initial_centroids.empty() && settings.fit.seed != start.seed)
    throw usage_error("--seed: without effect beside --initial-centroids, which says where to start");
  static constexpr std::array<std::string_view, 2> policies{"relocate", "keep"};
  static constexpr std::array<empty_policy, 2> meanings{empty_policy::relocate, empty_policy::keep};
  settings.fit.empty = meanings[choose("--empty", settings.allow_empty ? "keep" : settings.empty, policies)];
  static constexpr std::array<std::string_view, 2> switches{"on", "off"};
  settings.fit.bisector = choose("--bisector", settings.bisector, switches) == 0;
  if (!settings.memory.empty()) {
    settings.memory_limit = parse_memory(settings.memory);
    how.memory = memory_of_rows(settings.memory_limit);
  }
  check_long_run(settings);
  if (!settings.report.empty()) refuse_ranks("--report");
  for (std::string const& path : settings.data.paths) refuse_standard_input(path);
  refuse_standard_input(settings.weights);
  refuse_standard_input(settings.initial_centroids);
  if (!speaks()) return how; // the first rank alone writes
  check_outputs({{"--centroids-out", settings.centroids_out},
                 {"--labels-out", settings.labels_out, {}, content::labels},
                 {"--stats", settings.stats, {".json"}},
                 {"--report", settings.report, {".html"}},
                 {"--checkpoint", settings.fit.checkpoint.file, {".ckpt"}}},
                settings.data,
                {{"--weights", settings.weights}, {"--initial-centroids", settings.initial_centroids}});
  refuse_old_checkpoint(settings.fit.checkpoint);
  return how;
}

/// The starting centroids, which must be k × d.
matrix<double> starting_centroids(std::string const& path, index k, index d,
                                  std::vector<std::string>& notes) {
  matrix<double> centroids = load_centroids(path, notes);
  if (centroids.rows() != k || centroids.cols() != d)
    throw error(
        fmt::format("{}: {} × {} numbers, but {} starting centroids of {} columns are needed ({} × {})", path,
                    centroids.rows(), centroids.cols(), k, d, k, d));
  return centroids;
}

/// Names of the header line, else the numbers the columns have in the file.
std::vector<std::string> column_names(table const& data, load_options const& how) {
  std::vector<std::string> names = data.names;
  for (index j = static_cast<index>(names.size()); j < data.cols(); ++j)
    names.push_back(
        fmt::format("column {}", how.columns.empty() ? j : how.columns[static_cast<std::size_t>(j)]));
  return names;
}

void write_outputs(fit_settings const& settings, run_record& run, table const& data) {
  if (!settings.stats.empty())
    run.pass_seconds = largest_of_ranks(measure_pass(data, run.threads, settings.memory_limit == 0));
  if (!speaks()) return;
  stopwatch const watch;
  output_files out;
  if (!settings.centroids_out.empty()) out.save(settings.centroids_out, run.result.centroids);
  if (!settings.labels_out.empty()) out.save(settings.labels_out, std::span<label const>(run.result.labels));
  run.write_seconds = watch.seconds();
  if (!settings.stats.empty()) out.save_text(settings.stats, stats(run).dump(2) + "\n");
  if (!settings.report.empty()) out.save_text(settings.report, report_html(run, data));
  out.commit();
}

/// The algorithm, what `auto` chose, and the tree.
std::string how(result const& r) {
  std::string text = r.algorithm;
  for (algorithm_choice const& c : r.choices)
    text += c.iteration == 1 ? fmt::format(": {}", c.algorithm)
                             : fmt::format(", from iteration {} {}", c.iteration, c.algorithm);
  return r.tree.empty() ? text : fmt::format("{} ({} tree)", text, r.tree);
}

std::string summary(fit_settings const& settings, run_record const& run) {
  result const& r = run.result;
  phase_seconds const& s = r.seconds;
  std::string text =
      fmt::format("n: {}\nd: {}\nk: {}\nalgorithm: {}\niterations: {}\nconverged: {} ({})\n", run.n, run.d,
                  run.k, how(r), r.iterations, r.converged() ? "yes" : "no", reason(run));
  if (run.rows_per_rank.size() > 1) text = fmt::format("ranks: {}\n", run.rows_per_rank.size()) + text;
  text += fmt::format("inertia: {}\n", r.inertia);
  if (r.resumed) text += fmt::format("resumed from: iteration {}\n", r.resumed->iteration);
  if (run.restarts > 1) text += fmt::format("restart: {} of {} was best\n", r.best_restart + 1, run.restarts);
  if (r.empty_clusters > 0) text += fmt::format("empty clusters: {}\n", r.empty_clusters);
  if (settings.fit.verify) text += "verified: yes, brute force gives the same\n";
  text +=
      fmt::format("seconds: {:.3f} (load {:.3f}, tree {:.3f}, seed {:.3f}, iterate {:.3f}, write {:.3f})\n",
                  run.load_seconds + s.tree + s.seed + s.iterate + run.write_seconds, run.load_seconds,
                  s.tree, s.seed, s.iterate, run.write_seconds);
  for (std::string const& path :
       {settings.centroids_out, settings.labels_out, settings.stats, settings.report})
    if (!path.empty()) text += fmt::format("wrote: {}\n", path);
  return text;
}

/// What is held already, the data among it, and what the fit will take, with labels of other ranks in the
/// end.
index predict_memory(fit_settings const& settings, table const& data, bool weighted, double other_labels) {
  memory_plan plan =
      plan_memory(data.rows(), data.cols(), data.is_float32(), settings.k, settings.fit, weighted);
  plan.others = other_labels;
  index const held = memory_held();
  index const all = std::max(peak_memory(), held + static_cast<index>(plan.peak())); // reading may take more
  auto const mib = [](double bytes) { return bytes / 0x1p20; };
  if (settings.verbose && !settings.quiet)
    fmt::print(
        stderr,
        "memory: about {:.1f} MiB at most: {:.1f} with the data, tree {:.1f}, start {:.1f}, then algorithm "
        "{:.1f} and labels {:.1f}, clusters {:.1f}, threads {:.1f}\n",
        mib(static_cast<double>(all)), mib(static_cast<double>(held)), mib(plan.tree), mib(plan.start),
        mib(plan.step), mib(plan.labels), mib(plan.clusters), mib(plan.threads));
  return all;
}

/// Tells what there is to tell of the checkpoint, and answers a signal with one.
template <class Work> result with_checkpoint(fit_settings& settings, progress& watcher, Work const& work) {
  checkpoint_options& checkpoint = settings.fit.checkpoint;
  auto const tell = [&](std::string const& text) {
    watcher.clear();
    complain(text);
  };
  auto const run = [&](index restart) {
    return settings.fit.restarts > 1 ? fmt::format(" of run {}", restart + 1) : std::string();
  };
  if (settings.verbose && !settings.quiet)
    checkpoint.on_write = [&](index restart, index iteration) {
      tell(fmt::format("note: {}: written, of iteration {}{}", checkpoint.file, iteration, run(restart)));
    };
  checkpoint.on_resume = [&](index restart, index iteration) {
    watcher.go_on(restart, iteration);
    if (!settings.quiet)
      tell(fmt::format("note: {}: going on from iteration {}{}", checkpoint.file, iteration, run(restart)));
  };
  checkpoint.on_failure = [&](std::string const& why) {
    tell(fmt::format("warning: {}; the run goes on, and the checkpoint before stays", why));
  };
  if (std::error_code missing;
      checkpoint.resume && !settings.quiet && !std::filesystem::exists(checkpoint.file, missing))
    tell(fmt::format("note: {} is not there yet: starting from the beginning", checkpoint.file));
  signal_watch const watch;
  settings.fit.stop = watch.flag();
  int signal = SIGTERM; // where another rank has taken one
  try {
    result done = work();
    signal = static_cast<int>(largest_of_ranks(watch.signal()));
    if (signal == 0) return done;
    tell(fmt::format("interrupted: the checkpoint {} is of the whole run", checkpoint.file));
  } catch (interrupted const& stopped) {
    if (watch.signal() != 0) signal = watch.signal();
    tell(stopped.what());
  }
  throw ended_by_signal{signal};
}

/// Runs the fit on data of either type; the observer lives only as long as the call.
result run_fit(fit_settings& settings, share const& data, std::vector<double> const& weights,
               progress& watcher) {
  settings.fit.on_iteration = [&watcher](index iteration, iteration_record const& record) {
    watcher(iteration, record);
  };
  watcher.start(data.all, settings.k, settings.fit.restarts);
  auto const work = [&] {
    return data.rows.visit([&](auto const& rows) {
      return fit(point_set(rows, std::span(weights)), settings.k, settings.fit, ranks());
    });
  };
  return settings.fit.checkpoint.file.empty() ? work() : with_checkpoint(settings, watcher, work);
}

} // namespace

void run_fit_command(fit_settings& settings) {
  if (!speaks()) settings.quiet = true;
  load_options how = check_settings(settings);
  if (ranks().parts() > 1 && settings.fit.threads == 0)
    how.threads = settings.fit.threads = threads_of_rank();
  progress watcher(settings.quiet, settings.verbose);
  stopwatch const watch;
  watcher.phase("reading " + settings.data.name());
  std::vector<std::string> notes;
  share data = load_share(settings.data, how, notes);
  if (settings.fit.spherical) {
    data.rows = of_unit_length(settings.data.name(), data.rows, how.threads, how.memory, data.first);
    if (settings.verbose)
      notes.push_back(fmt::format("note: {}: rows were divided by their lengths", settings.data.name()));
  }
  std::vector<double> const weights = weights_of_share(settings.weights, how, data);
  if (!settings.initial_centroids.empty())
    settings.fit.centroids =
        starting_centroids(settings.initial_centroids, settings.k, data.rows.cols(), notes);

  run_record run;
  run.data = settings.data.name();
  run.n = data.all;
  run.d = data.rows.cols();
  run.k = settings.k;
  run.columns = column_names(data.rows, how);
  run.seed = settings.fit.seed;
  run.threads = settings.fit.threads == 0 ? available_threads() : settings.fit.threads;
  run.rows_per_rank = data.per_rank;
  run.restarts = settings.fit.restarts;
  run.spherical = settings.fit.spherical;
  run.load_seconds = watch.seconds();
  watcher.clear();
  if (!settings.quiet)
    for (std::string const& note : notes) complain(note);

  run.memory_limit = static_cast<index>(settings.memory_limit);
  double const other_labels = settings.labels_out.empty() ? 0 : bytes_of_all_labels(data);
  if (settings.memory_limit > 0)
    run.predicted_bytes = keep_within(settings, data.rows, !weights.empty(), other_labels);
  else
    run.predicted_bytes = predict_memory(settings, data.rows, !weights.empty(), other_labels);
  settings.fit.time_limit = std::max(0.0, settings.fit.time_limit - watch.seconds());
  run.result = run_fit(settings, data, weights, watcher);
  watcher.phase("writing");
  if (!settings.labels_out.empty() || !settings.report.empty())
    run.result.labels = all_labels(std::move(run.result.labels), data);
  run.peak_bytes = static_cast<index>(largest_of_ranks(static_cast<double>(peak_memory())));
  write_outputs(settings, run, data.rows);
  watcher.clear();
  for (std::string const& warning : run.result.warnings) complain("warning: " + warning);
  if (!settings.quiet) print(summary(settings, run));
}

} // namespace kopse::cli
