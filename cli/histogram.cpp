// SPDX-License-Identifier: BSD-3-Clause
// One column: a histogram of all rows, coloured by cluster.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "format.hpp"
#include "picture.hpp"

namespace kopse::cli {
namespace {

constexpr double width = 1040, height = 460;

/// Clusters of a line touch those next to them.
neighbours next_to_each_other(matrix_view<double> centroids) {
  std::vector<label> order(static_cast<std::size_t>(centroids.rows()));
  std::iota(order.begin(), order.end(), label{0});
  std::sort(order.begin(), order.end(), [&](label a, label b) { return centroids(a, 0) < centroids(b, 0); });
  neighbours pairs;
  for (std::size_t i = 0; i + 1 < order.size(); ++i) pairs.emplace_back(order[i], order[i + 1]);
  return pairs;
}

} // namespace

svg::figure histogram_figure(run_record const& run, table const& data, sample const& s) {
  std::vector<double> values;
  for (index i = 0; i < s.rows.rows(); ++i) values.push_back(s.rows(i, 0));
  visible_range range = range_of(std::move(values));
  if (!(range.hi > range.lo)) range.hi = range.lo + 1;
  auto const bins =
      static_cast<std::size_t>(std::clamp(2 * std::cbrt(static_cast<double>(run.n)), 10.0, 130.0));
  auto const colour = colour_clusters(run.k, next_to_each_other(run.result.centroids));

  // Rows by bin and colour; where many clusters share a bin only their colours can be told apart.
  std::vector<std::array<index, colours>> counts(bins, std::array<index, colours>{});
  index outside = 0;
  data.visit([&](auto const& rows) {
    for (index i = 0; i < rows.rows(); ++i) {
      double const at = (static_cast<double>(rows(i, 0)) - range.lo) / (range.hi - range.lo);
      give_back(rows.row(i), rows.row(i) + 1, false);
      if (at < 0 || at > 1) {
        ++outside;
        continue;
      }
      auto const bin = std::min(bins - 1, static_cast<std::size_t>(at * static_cast<double>(bins)));
      ++counts[bin][colour[static_cast<std::size_t>(run.result.labels[static_cast<std::size_t>(i)])]];
    }
  });
  svg::bar_chart chart{"", run.columns[0], "points", {}};
  double const step = (range.hi - range.lo) / static_cast<double>(bins);
  for (std::size_t bin = 0; bin < bins; ++bin)
    for (std::size_t c = 0; c < colours; ++c)
      if (counts[bin][c] > 0)
        chart.bars.push_back({range.lo + static_cast<double>(bin) * step,
                              range.lo + static_cast<double>(bin + 1) * step,
                              static_cast<double>(counts[bin][c]), on_light[c], ""});
  std::string caption = fmt::format("All {} in {} bins, coloured by cluster.", counted(run.n, "point"), bins);
  caption += left_outside(outside);
  return {svg::draw(chart, width, height), caption};
}

} // namespace kopse::cli
