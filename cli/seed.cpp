// SPDX-License-Identifier: BSD-3-Clause
// kopse seed: starting centroids, without a fit.
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <memory>

#include "cli.hpp"
#include "kopse/seeding.hpp"
#include "ranks.hpp"

namespace kopse::cli {
namespace {

struct seed_settings {
  data_file data;
  index k = 0;
  seeding_options seeding;
  std::string weights, centroids_out, rows_out, stats;
  bool spherical = false, quiet = false;
};

load_options check_settings(seed_settings& settings) {
  load_options how = settings.data.options();
  if (settings.k == 0)
    throw usage_error("the number of centroids is required, e.g. kopse seed points.csv -k 10");
  if (settings.centroids_out.empty()) throw usage_error("seed needs --centroids-out FILE");
  how.threads = settings.seeding.threads;
  settings.seeding.init = resolve_init(settings.seeding.init);
  if (!settings.rows_out.empty() && !takes_rows(settings.seeding.init))
    throw usage_error(fmt::format("--rows-out {}: the centroids of {} are no points of the data",
                                  settings.rows_out, settings.seeding.init));
  check_start(settings.seeding);
  if (!settings.weights.empty() && settings.seeding.init == "random")
    throw usage_error("--weights: without effect on --init random, which draws from all rows alike");
  choose("--tree", settings.seeding.tree, trees());
  check_outputs({{"--centroids-out", settings.centroids_out},
                 {"--rows-out", settings.rows_out, {".csv", ".tsv", ".txt"}},
                 {"--stats", settings.stats, {".json"}}},
                settings.data, {{"--weights", settings.weights}});
  return how;
}

void write_outputs(seed_settings const& settings, table const& data, seeding_result const& found) {
  output_files out;
  out.save(settings.centroids_out, found.centroids);
  if (!settings.rows_out.empty())
    out.save_text(settings.rows_out, fmt::format("{}\n", fmt::join(found.rows, "\n")));
  nlohmann::ordered_json const json{{"n", data.rows()},
                                    {"d", data.cols()},
                                    {"k", settings.k},
                                    {"init", settings.seeding.init},
                                    {"seed", settings.seeding.seed},
                                    {"distinct", found.distinct},
                                    {"distances", found.work.distances},
                                    {"node_scores", found.work.node_scores},
                                    {"seconds", found.seconds},
                                    {"version", version()}};
  if (!settings.stats.empty()) out.save_text(settings.stats, json.dump(2) + "\n");
  out.commit();
}

void run_seed(seed_settings& settings) {
  refuse_ranks("kopse seed");
  load_options const how = check_settings(settings);
  stopwatch const watch;
  std::vector<std::string> notes;
  table data = load_data(settings.data, how, notes);
  if (settings.spherical) data = of_unit_length(settings.data.name(), data, settings.seeding.threads);
  std::vector<double> const weights = load_weights(settings.weights, how);
  if (!settings.quiet)
    for (std::string const& note : notes) complain(note);
  seeding_result found = data.visit([&](auto const& rows) {
    return seed(point_set(rows, std::span(weights)), settings.k, settings.seeding);
  });
  if (settings.spherical) normalise_rows(found.centroids, settings.seeding.threads);
  write_outputs(settings, data, found);
  for (std::string const& warning : found.warnings) complain("warning: " + warning);
  if (settings.quiet) return;
  std::string text =
      fmt::format("n: {}\nd: {}\nk: {}\ninit: {}\nseconds: {:.3f} (seed {:.3f})\n", data.rows(), data.cols(),
                  settings.k, settings.seeding.init, watch.seconds(), found.seconds);
  for (std::string const& path : {settings.centroids_out, settings.rows_out, settings.stats})
    if (!path.empty()) text += fmt::format("wrote: {}\n", path);
  print(text);
}

void add_method(CLI::App& app, seed_settings& s) {
  add_number(app, "-k,-c,--clusters", s.k, index{1},
             "How many centroids: 1 to the number of points (required)", std::numeric_limits<label>::max());
  app.add_option("--init", s.seeding.init, fmt::format("How to start: {}", fmt::join(inits(), ", ")))
      ->type_name("NAME")
      ->capture_default_str();
  add_draws(app, s.seeding.seed, s.seeding.candidates);
  add_number(app, "--restart", s.seeding.restart, index{0},
             "Which start of this seed, from 0: that of restart 0, 1, ... of kopse fit", most_starts - 1);
  app.add_flag("--spherical", s.spherical,
               "Divide points and centroids by their lengths, as fit --spherical does");
  app.add_option("--weights", s.weights, "One weight a point, 0 or more, in a file of one column")
      ->type_name("FILE");
  add_number(app, "--rounds", s.seeding.rounds, index{1}, "k-means||: rounds of drawing", most_draws);
  add_real(app, "--oversampling", s.seeding.oversampling, 0, true,
           "k-means||: rows drawn a round, in units of K");
  add_number(app, "--samples", s.seeding.samples, index{1}, "refined: samples that are clustered",
             most_draws);
  add_number(app, "--sample-rows", s.seeding.sample_rows, index{0},
             "refined, coreset: rows of a sample; 0 = by the number of points and K");
  app.add_option("--tree", s.seeding.tree,
                 fmt::format("The tree on the points: {}", fmt::join(trees(), ", ")))
      ->type_name("NAME")
      ->capture_default_str();
  add_number(app, "--leaf-size", s.seeding.leaf_size, index{1},
             "Most points in a leaf of the tree, at least 1");
  add_threads(app, s.seeding.threads);
}

void add_output(CLI::App& app, seed_settings& s) {
  app.add_option(
         "-o,--centroids-out", s.centroids_out,
         "Write the centroids, a row each: .csv .tsv .txt .npy .fvecs, also with .gz or .zst, .h5 (required)")
      ->type_name("FILE");
  std::vector<std::string_view> of_rows;
  std::copy_if(inits().begin(), inits().end(), std::back_inserter(of_rows), takes_rows);
  app.add_option(
         "--rows-out", s.rows_out,
         fmt::format("Write which points they are, counted from 0: .csv .tsv .txt; only with --init {}, "
                     "whose centroids are points",
                     fmt::join(of_rows, ", ")))
      ->type_name("FILE");
  app.add_option("--stats", s.stats, "Write what was done, for programs: .json")->type_name("FILE");
  app.add_flag("-q,--quiet", s.quiet, "Print nothing but warnings and errors");
}

} // namespace

void add_seed(CLI::App& app) {
  auto const settings = std::make_shared<seed_settings>();
  CLI::App* command =
      add_command(app, "seed", "Find starting centroids for a fit", "kopse seed DATA -k K -o FILE [OPTIONS]");
  add_data_file(*command, settings->data);
  command->option_defaults()->group("Start");
  add_method(*command, *settings);
  command->option_defaults()->group("Output");
  add_output(*command, *settings);
  command->footer("kopse fit -I FILE starts from what this writes.\n\n"
                  "Example:\n"
                  "  kopse seed data/stars.npy --columns 0,1,2 -k 1000 -o start.csv");
  command->callback([settings] { run_seed(*settings); });
}

} // namespace kopse::cli
