// SPDX-License-Identifier: BSD-3-Clause
// kopse info: what is in a file of numbers.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cmath>
#include <memory>

#include "cli.hpp"
#include "kopse/exact_sum.hpp"

namespace kopse::cli {
namespace {

/// One column; the sums are exact, so neither the order of the rows nor a large offset shows in mean and std.
struct column_summary {
  double least = std::numeric_limits<double>::infinity();
  double largest = -std::numeric_limits<double>::infinity();
  exact_sum sum;
  exact_variance variance;

  void add(double x) {
    least = std::min(least, x);
    largest = std::max(largest, x);
    sum.add(x);
    variance.add(x);
  }
};

std::string column_table(table const& data) {
  std::vector<column_summary> columns(static_cast<std::size_t>(data.cols()));
  data.visit([&](auto const& rows) {
    for (index i = 0; i < rows.rows(); ++i)
      for (std::size_t j = 0; j < columns.size(); ++j)
        columns[j].add(static_cast<double>(rows(i, static_cast<index>(j))));
  });
  std::size_t width = 6;
  for (std::string const& name : data.names) width = std::max(width, name.size());
  std::string text = fmt::format("{:>6}  {:<{}}  {:>13}  {:>13}  {:>13}  {:>13}\n", "column", "name", width,
                                 "min", "mean", "max", "std");
  for (std::size_t j = 0; j < columns.size(); ++j) {
    column_summary const& c = columns[j];
    text += fmt::format("{:>6}  {:<{}}  {:>13.7g}  {:>13.7g}  {:>13.7g}  {:>13.7g}\n", j,
                        j < data.names.size() ? data.names[j] : "", width, c.least,
                        c.sum.value() / static_cast<double>(data.rows()), c.largest,
                        std::sqrt(c.variance.value()));
  }
  return text;
}

void run_info(data_file const& file) {
  table const data = load(file.path, file.options());
  std::string text =
      fmt::format("file: {}\nrows: {}\ncolumns: {}\ntype: {}\nmapped: {}\n", file.path, data.rows(),
                  data.cols(), data.is_float32() ? "float32" : "float64",
                  data.mapped ? "yes, the file is used in place" : "no, the numbers were copied");
  for (std::string const& note : data.notes) text += fmt::format("note: {}\n", note);
  print(text + "\n" + column_table(data));
}

} // namespace

void add_info(CLI::App& app) {
  auto const file = std::make_shared<data_file>();
  CLI::App* info = add_command(app, "info", "Show what is in a file: size, type, range of every column",
                               "kopse info DATA [OPTIONS]");
  add_data_file(*info, *file);
  info->footer("std is the population standard deviation, in the units of the data.\n\n"
               "Example:\n"
               "  kopse info stars.npy");
  info->callback([file] { run_info(*file); });
}

} // namespace kopse::cli
