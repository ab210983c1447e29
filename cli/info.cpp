// SPDX-License-Identifier: BSD-3-Clause
// kopse info: what is in a file of numbers, and what a tree on it is like.
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <memory>
#include <optional>

#include "cli.hpp"
#include "kopse/assignment_step.hpp"
#include "kopse/exact_sum.hpp"
#include "kopse/parallel.hpp"
#include "ranks.hpp"
#include "stats.hpp"

namespace kopse::cli {
namespace {

struct info_settings {
  data_file data;
  std::string tree, stats;
  index leaf_size = step_options().leaf_size;
  int threads = 0;
};

/// One column; the sums are exact, so neither the order of the rows nor a large offset shows in mean and std.
struct column_summary {
  std::string name;
  double least = std::numeric_limits<double>::infinity();
  double largest = -std::numeric_limits<double>::infinity();
  exact_sum sum;
  exact_variance variance;
  double mean = 0, deviation = 0;

  void add(double x) {
    least = std::min(least, x);
    largest = std::max(largest, x);
    sum.add(x);
    variance.add(x);
  }
  column_summary& operator+=(column_summary const& other) {
    least = std::min(least, other.least);
    largest = std::max(largest, other.largest);
    sum += other.sum;
    variance += other.variance;
    return *this;
  }
};

std::vector<column_summary> summarise_columns(table const& data, int threads) {
  std::vector<column_summary> columns(static_cast<std::size_t>(data.cols()));
  per_thread<std::vector<column_summary>> parts([&] { return std::vector<column_summary>(columns.size()); });
  data.visit([&](auto const& rows) {
    for_blocks(rows.rows(), 16384, threads, parts,
               [&](std::vector<column_summary>& part, index first, index last) {
                 for (index i = first; i < last; ++i)
                   for (std::size_t j = 0; j < part.size(); ++j)
                     part[j].add(static_cast<double>(rows(i, static_cast<index>(j))));
               });
  });
  parts.for_each([&](std::vector<column_summary> const& part) {
    for (std::size_t j = 0; j < columns.size(); ++j) columns[j] += part[j];
  });
  for (std::size_t j = 0; j < columns.size(); ++j) {
    if (j < data.names.size()) columns[j].name = data.names[j];
    columns[j].mean = columns[j].sum.value() / static_cast<double>(data.rows());
    columns[j].deviation = std::sqrt(columns[j].variance.value());
  }
  return columns;
}

std::string column_table(std::vector<column_summary> const& columns) {
  std::size_t width = 6;
  for (column_summary const& c : columns) width = std::max(width, c.name.size());
  std::string text = fmt::format("{:>6}  {:<{}}  {:>13}  {:>13}  {:>13}  {:>13}\n", "column", "name", width,
                                 "min", "mean", "max", "std");
  for (std::size_t j = 0; j < columns.size(); ++j) {
    column_summary const& c = columns[j];
    text += fmt::format("{:>6}  {:<{}}  {:>13.7g}  {:>13.7g}  {:>13.7g}  {:>13.7g}\n", j, c.name, width,
                        c.least, c.mean, c.largest, c.deviation);
  }
  return text;
}

std::string tree_text(info_settings const& settings, tree_report const& tree) {
  std::string text = fmt::format("tree: {} (leaf size {})\nnodes: {}\nleaves: {}\ndepth: {}\n", settings.tree,
                                 settings.leaf_size, tree.nodes, tree.leaves, tree.depth);
  if (!tree.of_cover) return text;
  tree_report::cover const& cover = *tree.of_cover;
  return text
         + fmt::format("base: {}\nimbalance: {}\nexpansion constant: at least {:.3g} (mean ratio {:.3g})\n"
                       "building: {} distances, {} scores of nodes\n",
                       cover.base, cover.imbalance, cover.points.largest, cover.points.mean,
                       cover.build_distances, cover.build_scores);
}

nlohmann::ordered_json tree_json(info_settings const& settings, tree_report const& tree, double seconds) {
  nlohmann::ordered_json json{{"name", settings.tree}, {"leaf_size", settings.leaf_size},
                              {"seconds", seconds},    {"nodes", tree.nodes},
                              {"leaves", tree.leaves}, {"depth", tree.depth}};
  if (!tree.of_cover) return json;
  json["base"] = tree.of_cover->base;
  json["imbalance"] = tree.of_cover->imbalance;
  json["expansion"] = {{"largest", tree.of_cover->points.largest}, {"mean", tree.of_cover->points.mean}};
  json["build_distances"] = tree.of_cover->build_distances;
  json["build_scores"] = tree.of_cover->build_scores;
  return json;
}

nlohmann::ordered_json data_json(table const& data, std::vector<column_summary> const& columns) {
  nlohmann::ordered_json json{{"n", data.rows()},
                              {"d", data.cols()},
                              {"type", data.is_float32() ? "float32" : "float64"},
                              {"columns", nlohmann::ordered_json::array()}};
  for (column_summary const& c : columns)
    json["columns"].push_back(
        {{"name", c.name}, {"min", c.least}, {"mean", c.mean}, {"max", c.largest}, {"std", c.deviation}});
  return json;
}

void run_info(info_settings const& settings) {
  refuse_ranks("kopse info");
  load_options how = settings.data.options();
  how.threads = settings.threads;
  if (!settings.tree.empty()) choose("--tree", settings.tree, trees());
  check_outputs({{"--stats", settings.stats, {".json"}}}, settings.data);
  std::vector<std::string> notes; // those of the table are on stdout
  table const data = load_data(settings.data, how, notes);
  std::string text =
      fmt::format("file: {}\nrows: {}\ncolumns: {}\ntype: {}\nmapped: {}\n", settings.data.name(),
                  data.rows(), data.cols(), data.is_float32() ? "float32" : "float64",
                  data.mapped ? "yes, the file is used in place" : "no, the numbers were copied");
  for (std::string const& note : data.notes) text += fmt::format("note: {}\n", note);
  std::vector<column_summary> const columns = summarise_columns(data, settings.threads);
  text += "\n" + column_table(columns);
  nlohmann::ordered_json json = data_json(data, columns);
  if (!settings.tree.empty()) {
    stopwatch const watch;
    double seconds = 0;
    tree_report const report = data.visit([&](auto const& rows) {
      auto const tree = build_tree(rows, settings.tree, settings.leaf_size, settings.threads);
      seconds = watch.seconds();
      return tree.report();
    });
    text += "\n" + tree_text(settings, report);
    json["tree"] = tree_json(settings, report, seconds);
  }
  json["peak_bytes"] = peak_memory();
  json["version"] = version();
  if (!settings.stats.empty()) save_text(settings.stats, json.dump(2) + "\n");
  print(text);
}

} // namespace

void add_info(CLI::App& app) {
  auto const settings = std::make_shared<info_settings>();
  CLI::App* info = add_command(app, "info", "Show what is in a file: size, type, range of every column",
                               "kopse info DATA [OPTIONS]");
  add_data_file(*info, settings->data);
  info->add_option(
          "--tree", settings->tree,
          fmt::format("Build a tree on the points too, and show its size: {}", fmt::join(trees(), ", ")))
      ->type_name("NAME");
  add_number(*info, "--leaf-size", settings->leaf_size, index{1},
             "Most points in a leaf of the tree, at least 1");
  add_threads(*info, settings->threads);
  info->add_option("--stats", settings->stats, "Write the same and more, for programs: .json")
      ->type_name("FILE");
  info->footer("std is the population standard deviation, in the units of the data.\n\n"
               "Examples:\n"
               "  kopse info data/stars.npy\n"
               "  kopse info data/stars.npy --columns 0,1,2 --tree cover");
  info->callback([settings] { run_info(*settings); });
}

} // namespace kopse::cli
