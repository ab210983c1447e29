// SPDX-License-Identifier: BSD-3-Clause
// kopse predict: the nearest of given centroids for each row.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <memory>

#include "cli.hpp"
#include "kopse/kmeans.hpp"
#include "ranks.hpp"

namespace kopse::cli {
namespace {

struct predict_settings {
  data_file data;
  std::string centroids, labels_out;
  int threads = 0;
  bool spherical = false, quiet = false;
};

void run_predict(predict_settings const& settings) {
  refuse_ranks("kopse predict");
  if (settings.centroids.empty()) throw usage_error("predict needs --centroids FILE");
  if (settings.labels_out.empty()) throw usage_error("predict needs --labels-out FILE");
  load_options how = settings.data.options();
  how.threads = settings.threads;
  check_outputs({{"--labels-out", settings.labels_out, {}, content::labels}}, settings.data,
                {{"--centroids", settings.centroids}});
  stopwatch const watch;
  std::vector<std::string> notes;
  table data = load_data(settings.data, how, notes);
  if (settings.spherical) data = of_unit_length(settings.data.name(), data, settings.threads);
  matrix<double> const centroids = load_centroids(settings.centroids, notes);
  if (centroids.cols() != data.cols())
    throw error(fmt::format("{} has {} columns, but the centroids in {} have {}", settings.data.name(),
                            data.cols(), settings.centroids, centroids.cols()));
  if (!settings.quiet)
    for (std::string const& note : notes) complain(note);
  std::vector<label> const labels =
      data.visit([&](auto const& rows) { return predict(rows, centroids.view(), settings.threads); });
  save(settings.labels_out, std::span<label const>(labels));
  if (!settings.quiet)
    print(fmt::format("n: {}\nd: {}\nk: {}\nseconds: {:.3f}\nwrote: {}\n", data.rows(), data.cols(),
                      centroids.rows(), watch.seconds(), settings.labels_out));
}

} // namespace

void add_predict(CLI::App& app) {
  auto const settings = std::make_shared<predict_settings>();
  CLI::App* predict = add_command(app, "predict", "Find the nearest centroid of every point of a file",
                                  "kopse predict DATA --centroids FILE -l FILE [OPTIONS]");
  add_data_file(*predict, settings->data);
  predict
      ->add_option("--centroids", settings->centroids,
                   "The centroids, a row a cluster, as fit writes them (required)")
      ->type_name("FILE");
  predict->add_flag("--spherical", settings->spherical,
                    "Divide points by their lengths, as fit --spherical does");
  add_threads(*predict, settings->threads);
  predict
      ->add_option("-l,--labels-out", settings->labels_out,
                   "Write each point's cluster, from 0, in the order of the data: .csv .tsv .txt .npy "
                   ".ivecs, also with .gz or .zst, .h5 (required)")
      ->type_name("FILE");
  predict->add_flag("-q,--quiet", settings->quiet, "Print nothing but warnings and errors");
  predict->footer("Equally near centroids: the first of them.\n\n"
                  "Example:\n"
                  "  kopse predict new.csv --centroids centroids.csv -l labels.csv");
  predict->callback([settings] { run_predict(*settings); });
}

} // namespace kopse::cli
