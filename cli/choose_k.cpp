// SPDX-License-Identifier: BSD-3-Clause
// kopse choose-k: fits for many k, or X-means, over one tree.
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <memory>

#include "choice.hpp"
#include "cli.hpp"
#include "kopse/seeding.hpp"
#include "progress.hpp"
#include "ranks.hpp"

namespace kopse::cli {
namespace {

struct choose_settings {
  data_file data;
  std::string ks;
  choose_options fit;
  bool x_means = false;
  std::vector<index> numbers; ///< for the sweep
  k_bounds bounds;            ///< for X-means
  std::string warm = "on", silhouette = "on", weights;
  std::string centroids_out, labels_out, stats, report;
  bool quiet = false;
};

load_options check_settings(choose_settings& s) {
  load_options how = s.data.options();
  if (s.ks.empty()) throw usage_error("which k is required, e.g. kopse choose-k points.csv -k 2:1024");
  how.threads = s.fit.threads;
  resolve(s.fit);
  s.fit.init = resolve_init(s.fit.init);
  if (s.x_means)
    s.bounds = parse_k_bounds(s.ks);
  else
    s.numbers = parse_ks(s.ks);
  static constexpr std::array<std::string_view, 2> switches{"on", "off"};
  s.fit.warm = choose("--warm", s.warm, switches) == 0;
  s.fit.silhouette = choose("--silhouette", s.silhouette, switches) == 0;
  for (auto const& [option, path] :
       {std::pair("--centroids-out", &s.centroids_out), std::pair("--labels-out", &s.labels_out)})
    if (!s.x_means && !path->empty())
      throw usage_error(
          fmt::format("{}: only with --x-means; otherwise kopse fit writes them, once k is chosen", option));
  for (auto const& [option, changed] :
       {std::pair("--report", !s.report.empty()), std::pair("--warm off", !s.fit.warm),
        std::pair("--silhouette off", !s.fit.silhouette)})
    if (s.x_means && changed) throw usage_error(fmt::format("{}: not with --x-means", option));
  seeding_options start;
  start.init = s.fit.init, start.candidates = s.fit.candidates;
  check_start(start, s.fit.warm && s.numbers.size() > 1);
  check_outputs({{"--centroids-out", s.centroids_out},
                 {"--labels-out", s.labels_out, {}, content::labels},
                 {"--stats", s.stats, {".json"}},
                 {"--report", s.report, {".html"}}},
                s.data, {{"--weights", s.weights}});
  return how;
}

std::string wrote(choose_settings const& s) {
  std::string text;
  for (std::string const& path : {s.centroids_out, s.labels_out, s.stats, s.report})
    if (!path.empty()) text += fmt::format("wrote: {}\n", path);
  return text;
}

template <class Record> Record record_of(choose_settings const& s, table const& data, double seconds) {
  Record record;
  record.data = s.data.name();
  record.n = data.rows();
  record.d = data.cols();
  record.seed = s.fit.seed;
  record.load_seconds = seconds;
  return record;
}

std::string run_sweep(choose_settings& s, table const& data, std::vector<double> const& weights,
                      double load_seconds, progress& watcher, std::vector<std::string>& warnings) {
  auto record = record_of<choice_record>(s, data, load_seconds);
  std::size_t done = 0;
  s.fit.on_k = [&](k_scores const& scores) {
    watcher.phase(fmt::format("k = {} done, {} of {}", scores.k, ++done, s.numbers.size()));
  };
  record.result = data.visit(
      [&](auto const& rows) { return choose_k(point_set(rows, std::span(weights)), s.numbers, s.fit); });
  output_files out;
  if (!s.stats.empty()) out.save_text(s.stats, choice_stats(record).dump(2) + "\n");
  if (!s.report.empty()) out.save_text(s.report, choice_html(record));
  out.commit();
  warnings = record.result.warnings;
  return table_text(record);
}

std::string run_x_means(choose_settings const& s, table const& data, std::vector<double> const& weights,
                        double load_seconds, std::vector<std::string>& warnings) {
  auto record = record_of<x_means_record>(s, data, load_seconds);
  x_means_options bounded;
  static_cast<options&>(bounded) = s.fit;
  bounded.least_k = s.bounds.least;
  bounded.most_k = s.bounds.most;
  record.result =
      data.visit([&](auto const& rows) { return x_means(point_set(rows, std::span(weights)), bounded); });
  output_files out;
  if (!s.centroids_out.empty()) out.save(s.centroids_out, record.result.centroids);
  if (!s.labels_out.empty()) out.save(s.labels_out, std::span<label const>(record.result.labels));
  if (!s.stats.empty()) out.save_text(s.stats, choice_stats(record).dump(2) + "\n");
  out.commit();
  warnings = record.result.warnings;
  return table_text(record);
}

void run_choose_k(choose_settings& s) {
  refuse_ranks("kopse choose-k");
  load_options const how = check_settings(s);
  progress watcher(s.quiet, false);
  stopwatch const watch;
  watcher.phase("reading " + s.data.name());
  std::vector<std::string> notes, warnings;
  table const data = load_data(s.data, how, notes);
  std::vector<double> const weights = load_weights(s.weights, how);
  double const load_seconds = watch.seconds();
  watcher.clear();
  if (!s.quiet)
    for (std::string const& note : notes) complain(note);
  std::string const text = s.x_means ? run_x_means(s, data, weights, load_seconds, warnings)
                                     : run_sweep(s, data, weights, load_seconds, watcher, warnings);
  watcher.clear();
  for (std::string const& warning : warnings) complain("warning: " + warning);
  if (!s.quiet) print(text + fmt::format("seconds: {:.3f}\n", watch.seconds()) + wrote(s));
}

void add_choice(CLI::App& app, choose_settings& s) {
  app.add_option(
         "-k,--k", s.ks,
         "Which k: numbers and ranges between commas. A:B = A, 2A, 4A, ... up to B; A:B:S = every S-th; "
         "A:B:xF = A, A*F, A*F*F, ... rounded (required)")
      ->type_name("LIST");
  app.add_flag(
      "--x-means", s.x_means,
      "Let X-means find k from the least to the largest number named, A to B of a range: clusters are "
      "split where the BIC says so");
  app.add_option("--warm", s.warm, "Also start from the centroids of the k before: on or off")
      ->type_name("WORD")
      ->capture_default_str();
  app.add_option("--silhouette", s.silhouette, "Work out the simplified silhouette: on or off")
      ->type_name("WORD")
      ->capture_default_str();
  add_number(app, "--max-iter", s.fit.max_iter, index{1}, "Most iterations of a run, at least 1");
  app.add_option("--weights", s.weights,
                 "One weight a point, 0 or more, in a file of one column; they count as so many points")
      ->type_name("FILE");
}

void add_start(CLI::App& app, choose_settings& s) {
  app.add_option("--init", s.fit.init, fmt::format("How to start: {}", fmt::join(inits(), ", ")))
      ->type_name("NAME")
      ->capture_default_str();
  add_draws(app, s.fit.seed, s.fit.candidates);
  add_number(app, "--restarts", s.fit.restarts, index{1}, "Runs from different starts for each k",
             most_starts);
}

void add_method(CLI::App& app, choose_settings& s) {
  app.add_option("-a,--algorithm", s.fit.algorithm,
                 fmt::format("Every algorithm gives the same result: {}", fmt::join(algorithms(), ", ")))
      ->type_name("NAME")
      ->capture_default_str();
  app.add_option("--tree", s.fit.tree, fmt::format("The tree on the points: {}", fmt::join(trees(), ", ")))
      ->type_name("NAME")
      ->capture_default_str();
  add_number(app, "--leaf-size", s.fit.leaf_size, index{1}, "Most points in a leaf of the tree, at least 1");
  add_threads(app, s.fit.threads);
}

void add_output(CLI::App& app, choose_settings& s) {
  app.add_option("--stats", s.stats, "Write all numbers: .json")->type_name("FILE");
  app.add_option("--report", s.report, "Write a page with the curves: .html; not with --x-means")
      ->type_name("FILE");
  app.add_option("-o,--centroids-out", s.centroids_out, "With --x-means: write the centroids, as fit does")
      ->type_name("FILE");
  app.add_option("-l,--labels-out", s.labels_out, "With --x-means: write each point's cluster, as fit does")
      ->type_name("FILE");
  app.add_flag("-q,--quiet", s.quiet, "Print nothing but warnings and errors");
}

} // namespace

void add_choose_k(CLI::App& app) {
  auto const settings = std::make_shared<choose_settings>();
  CLI::App* command = add_command(app, "choose-k", "Compare numbers of clusters, or find one",
                                  "kopse choose-k DATA -k LIST [OPTIONS]");
  add_data_file(*command, settings->data);
  auto const add_group = [&](std::string const& heading, auto add) {
    command->option_defaults()->group(heading);
    add(*command, *settings);
  };
  add_group("Choice", add_choice);
  add_group("Start", add_start);
  add_group("Method", add_method);
  add_group("Output", add_output);
  command->footer(
      "Each criterion has a view of its own of what a cluster is; where they differ, look at the curves.\n\n"
      "Examples:\n"
      "  kopse choose-k points.csv -k 2:1024 --report choice.html\n"
      "  kopse choose-k points.csv -k 1:5000 --x-means -o centroids.csv");
  command->callback([settings] { run_choose_k(*settings); });
}

} // namespace kopse::cli
