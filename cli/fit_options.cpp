// SPDX-License-Identifier: BSD-3-Clause
// The options of kopse fit (docs/command_line.md says the same in sentences; a test keeps the two together).
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

#include "fit.hpp"
#include "kopse/seeding.hpp"

namespace kopse::cli {
namespace {

void add_clustering(CLI::App& app, fit_settings& s) {
  add_number(app, "-k,-c,--clusters", s.k, index{1},
             "How many clusters: 1 to the number of points (required)", std::numeric_limits<label>::max());
  add_number(app, "--max-iter", s.fit.max_iter, index{1}, "Most iterations, at least 1");
  add_real(
      app, "--tol", s.fit.tol, 0, false,
      "Also stop when the squared movements of all centroids add up to at most X times the mean variance "
      "of the columns; 0 = only when no label changes");
  auto* empty =
      app.add_option("--empty", s.empty,
                     "A cluster without points: relocate (it takes the farthest point) or keep (its "
                     "centroid stays)");
  empty->type_name("WORD")->capture_default_str();
  app.add_flag("-e,--allow-empty", s.allow_empty, "The same as --empty keep")->excludes(empty);
  app.add_flag("--spherical", s.fit.spherical,
               "By angle: divide points by their lengths, and in each iteration the means of clusters");
  app.add_option("--weights", s.weights, "One weight a point, 0 or more, in a file of one column")
      ->type_name("FILE");
}

void add_start(CLI::App& app, fit_settings& s) {
  auto* given = app.add_option("-I,--initial-centroids", s.initial_centroids, "Start from these K centroids");
  given->type_name("FILE");
  app.add_option("--init", s.fit.init, fmt::format("How to start otherwise: {}", fmt::join(inits(), ", ")))
      ->type_name("NAME")
      ->capture_default_str()
      ->excludes(given);
  add_draws(app, s.fit.seed, s.fit.candidates);
  add_number(app, "--restarts", s.fit.restarts, index{1},
             "Runs from different starts; the least inertia wins", most_starts);
  for (char const* other : {"--restarts", "--candidates"}) app.get_option(other)->excludes(given);
}

void add_method(CLI::App& app, fit_settings& s) {
  app.add_option(
         "-a,--algorithm", s.fit.algorithm,
         fmt::format("Every algorithm gives the same result: {} (also naive = lloyd, dualtree-kd = dualtree "
                     "with --tree kd)",
                     fmt::join(algorithms(), ", ")))
      ->type_name("NAME")
      ->capture_default_str();
  app.add_option("--tree", s.fit.tree,
                 fmt::format("The tree of the dual-tree algorithms: {}", fmt::join(trees(), ", ")))
      ->type_name("NAME")
      ->capture_default_str();
  add_number(app, "--leaf-size", s.fit.leaf_size, index{1}, "Most points in a leaf of the tree, at least 1");
  add_number(app, "--groups", s.fit.groups, index{0},
             "How many groups yinyang puts the centroids into; 0 = a tenth of K");
  app.add_option("--bisector", s.bisector,
                 "Whether dualtree has rules past the paper's, bisectors foremost: on or off")
      ->type_name("WORD")
      ->capture_default_str();
  add_threads(app, s.fit.threads);
  app.add_option(
         "--memory", s.memory,
         "Hold no more memory than this: 500M, 2G; K, M, G and T are powers of 1024. Rows that do not "
         "fit stay on the disk, and an algorithm that takes less is used in place of one that takes "
         "more")
      ->type_name("SIZE");
  app.add_flag("--verify", s.fit.verify, "Run brute force beside it and fail where the two differ (slow)");
}

void add_output(CLI::App& app, fit_settings& s) {
  app.add_option(
         "-o,--centroids-out", s.centroids_out,
         "Write the centroids, a row a cluster: .csv .tsv .txt .npy .fvecs, also with .gz or .zst, .h5")
      ->type_name("FILE");
  app.add_option("-l,--labels-out", s.labels_out,
                 "Write each point's cluster, from 0, in the order of the data: .csv .tsv .txt .npy .ivecs, "
                 "also with .gz or .zst, .h5")
      ->type_name("FILE");
  app.add_option("--stats", s.stats, "Write what was done and how long it took, by iteration: .json")
      ->type_name("FILE");
  app.add_option("--report", s.report, "Write a page with pictures of clusters and run: .html")
      ->type_name("FILE");
  app.add_flag("-v,--verbose", s.verbose, "Print a line an iteration on stderr");
  app.add_flag("-q,--quiet", s.quiet, "Print nothing but warnings and errors");
}

void add_long_runs(CLI::App& app, fit_settings& s) {
  app.add_option("--checkpoint", s.fit.checkpoint.file,
                 "Keep where the run stands in this file, to go on from there: .ckpt")
      ->type_name("FILE");
  app.add_option("--checkpoint-every", s.checkpoint_every,
                 "How often: after so many iterations, or a time such as 90s, 10m, 2h")
      ->type_name("N")
      ->default_str("1m");
  app.add_flag("--resume", s.fit.checkpoint.resume,
               "Go on from the checkpoint, to the same result; where there is none yet, begin");
  app.add_option("--time-limit", s.time_limit,
                 "Begin no iteration after such a time (90s, 30m, 1.5h, 2d) and write what there is")
      ->type_name("TIME");
}

/// Puts all that `add` adds under one heading of the help.
template <class Add>
void add_group(CLI::App& app, std::string const& heading, fit_settings& settings, Add add) {
  app.option_defaults()->group(heading);
  add(app, settings);
}

} // namespace

void add_fit(CLI::App& app) {
  auto const settings = std::make_shared<fit_settings>();
  CLI::App* fit = add_command(app, "fit", "Cluster the points of a file", "kopse fit DATA -k K [OPTIONS]");
  add_data_file(*fit, settings->data);
  add_group(*fit, "Clustering", *settings, add_clustering);
  add_group(*fit, "Start", *settings, add_start);
  add_group(*fit, "Method", *settings, add_method);
  add_group(*fit, "Output", *settings, add_output);
  add_group(*fit, "Long runs", *settings, add_long_runs);
  fit->footer(
      "Times are in seconds, memory in bytes; the inertia is in squared units of the data.\n\n"
      "Examples:\n"
      "  kopse fit points.csv -k 10 -o centroids.csv -l labels.csv\n"
      "  kopse fit data/stars.npy --columns 0,1,2 -k 1000 --report stars.html\n"
      "  kopse fit -i dataset.csv -I centroids.csv -c 100 -v -e -a dualtree\n"
      "  mpirun -n 4 kopse fit stars.npy -k 1000 --init 'k-means||'    rows divided among four processes");
  fit->callback([settings] { run_fit_command(*settings); });
}

} // namespace kopse::cli
