// SPDX-License-Identifier: BSD-3-Clause
// The page of a fit: the charts of the run, the tables. Pictures of the points come from picture.hpp.
#include "report.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>

#include "format.hpp"
#include "page.hpp"
#include "picture.hpp"
#include "progress.hpp"
#include "svg.hpp"

namespace kopse::cli {
namespace {

constexpr std::size_t most_trace_rows = 1000; // of the table; the JSON of --stats has all

/// One number an iteration, as a line.
svg::line by_iteration(run_record const& run, std::string name, std::string_view colour,
                       std::function<double(iteration_record const&)> const& value) {
  svg::line line{std::move(name), colour, {}};
  for (std::size_t i = 0; i < run.result.trace.size(); ++i)
    line.points.emplace_back(static_cast<double>(i + 1), value(run.result.trace[i]));
  return line;
}

std::string convergence(run_record const& run) {
  auto const inertia = by_iteration(run, "", svg::blue, [](auto const& r) { return r.inertia; });
  auto const changed =
      by_iteration(run, "", svg::red, [](auto const& r) { return static_cast<double>(r.labels_changed); });
  svg::chart const left{"Inertia", "iteration", "inertia", {inertia}, true};
  svg::chart const right{"Labels changed", "iteration", "points", {changed}, true};
  return "<div class=\"pair\">\n"
         + figure({svg::draw(left, half_page, chart_height),
                   fmt::format("Sum of squared distances of all points to the means of their clusters{}, "
                               "at the end of each iteration.",
                               run.spherical ? ", divided by their lengths" : "")})
         + figure({svg::draw(right, half_page, chart_height),
                   "Points whose nearest centroid is another one than in the iteration before."})
         + "</div>\n";
}

std::string work(run_record const& run) {
  double const all = static_cast<double>(run.n) * static_cast<double>(run.k);
  auto const share = [all](index count) { return 100 * static_cast<double>(count) / all; };
  svg::chart left{"Work done", "iteration", "% of n·k", {}, true, true};
  left.lines.push_back(by_iteration(run, "distances computed", svg::blue,
                                    [&](auto const& r) { return share(r.work.distances); }));
  auto scores = by_iteration(run, "nodes scored", svg::orange,
                             [&](auto const& r) { return share(r.work.node_scores); });
  auto const worked = [](svg::line const& l) {
    return std::any_of(l.points.begin(), l.points.end(), [](auto const& p) { return p.second > 0; });
  };
  if (worked(scores)) left.lines.push_back(std::move(scores));

  svg::chart right{"Work avoided, by rule", "iteration", "times applied", {}, true};
  for (std::size_t rule = 0; rule < static_cast<std::size_t>(prune_rule::count); ++rule) {
    std::string label = name(static_cast<prune_rule>(rule));
    std::replace(label.begin(), label.end(), '_', ' ');
    auto line = by_iteration(run, label, on_light[rule % colours],
                             [rule](auto const& r) { return static_cast<double>(r.work.prunes[rule]); });
    if (worked(line)) right.lines.push_back(std::move(line));
  }
  std::string out =
      "<div class=\"pair\">\n"
      + figure({svg::draw(left, half_page, chart_height),
                "Distances between points and centroids that were computed, in percent of the n·k that plain "
                "Lloyd iterations compute."});
  if (!right.lines.empty())
    out += figure({svg::draw(right, half_page, chart_height),
                   "How often each rule of the algorithm made distances unnecessary: for a point or, at "
                   "once, for all points of a node."});
  return out + "</div>\n";
}

/// Sizes in bins of equal width, or of equal ratio where they differ widely.
svg::bar_chart size_histogram(std::vector<index> const& sorted) {
  double const least = static_cast<double>(std::max<index>(1, sorted.back())),
               most = static_cast<double>(sorted.front());
  bool const log_x = most > 30 * least;
  double const lo = log_x ? std::log10(least) : least, hi = (log_x ? std::log10(most) : most);
  auto const bins =
      static_cast<std::size_t>(std::clamp(2 * std::sqrt(static_cast<double>(sorted.size())), 5.0, 40.0));
  double const step = std::max(hi - lo, 1e-9) / static_cast<double>(bins);
  std::vector<index> counts(bins, 0);
  for (index size : sorted) {
    if (size == 0 && log_x) continue;
    double const value = log_x ? std::log10(static_cast<double>(size)) : static_cast<double>(size);
    ++counts[std::min(bins - 1, static_cast<std::size_t>(std::max(0.0, (value - lo) / step)))];
  }
  svg::bar_chart chart{"Clusters by size", "points in the cluster", "clusters", {}, log_x};
  for (std::size_t bin = 0; bin < bins; ++bin) {
    double const from = lo + static_cast<double>(bin) * step, to = from + step;
    chart.bars.push_back({log_x ? std::pow(10, from) : from, log_x ? std::pow(10, to) : to,
                          static_cast<double>(counts[bin]), svg::teal, ""});
  }
  return chart;
}

std::string sizes(run_record const& run) {
  std::vector<index> sorted = cluster_sizes(run);
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  bool const few = sorted.size() <= 40;
  std::string left;
  if (few) {
    svg::bar_chart chart{"Sizes, largest first", "rank", "points", {}, false, true};
    for (std::size_t i = 0; i < sorted.size(); ++i)
      chart.bars.push_back({static_cast<double>(i) + 0.5, static_cast<double>(i) + 1.5,
                            static_cast<double>(sorted[i]), svg::blue, counted(sorted[i], "point")});
    left = svg::draw(chart, half_page, chart_height);
  } else {
    svg::line line{"", svg::blue, {}};
    for (std::size_t i = 0; i < sorted.size(); ++i)
      line.points.emplace_back(static_cast<double>(i + 1), static_cast<double>(sorted[i]));
    left = svg::draw(svg::chart{"Sizes, largest first", "rank", "points", {line}, true, true}, half_page,
                     chart_height);
  }
  std::string const caption =
      fmt::format("From {} to {} a cluster; half of the clusters have at least {}.", grouped(sorted.back()),
                  counted(sorted.front(), "point"), grouped(sorted[sorted.size() / 2]));
  std::string out = "<div class=\"pair\">\n" + figure({left, caption});
  if (!few)
    out += figure(
        {svg::draw(size_histogram(sorted), half_page, chart_height), "How many clusters have which size."});
  return out + "</div>\n";
}

/// A value of the stats for people: thousands separated, times in a few digits, the inertia in all of its
/// own.
std::string plain(std::string const& key, nlohmann::ordered_json const& value) {
  if (value.is_string()) return value.get<std::string>().empty() ? "none" : value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (value.is_number_float())
    return key == "inertia" ? fmt::format("{}", value.get<double>())
                            : fmt::format("{:.4g}", value.get<double>());
  if (value.is_number_integer() && key != "seed") return grouped(value.get<index>());
  return value.dump();
}

/// All of the stats but the trace.
std::string run_table(nlohmann::ordered_json const& stats) {
  std::string out = "<div class=\"columns\"><table>\n";
  auto const row = [&](std::string const& key, nlohmann::ordered_json const& value) {
    out += fmt::format("<tr><th>{}</th><td>{}</td></tr>\n", svg::escape(key), svg::escape(plain(key, value)));
  };
  for (auto const& [key, value] : stats.items()) {
    if (value.is_object())
      for (auto const& [part, seconds] : value.items()) row(key + ": " + part, seconds);
    else if (key == "choices")
      for (auto const& choice : value)
        row(fmt::format("from iteration {}", choice["iteration"].get<index>()),
            choice["algorithm"].get<std::string>() + ": " + choice["why"].get<std::string>());
    else if (!value.is_array() && (key != "pass_seconds" || value > 0)) // measured for --stats only
      row(key, value);
  }
  return out + "</table></div>\n";
}

std::string trace_table(run_record const& run) {
  auto const& trace = run.result.trace;
  std::string out = "<details><summary>Every iteration in numbers</summary><div "
                    "class=\"trace\"><table>\n<tr><th>iteration</th>"
                    "<th>seconds</th><th>distances</th><th>node scores</th>";
  for (std::size_t rule = 0; rule < static_cast<std::size_t>(prune_rule::count); ++rule)
    out += fmt::format("<th>{}</th>", name(static_cast<prune_rule>(rule)));
  out += "<th>labels changed</th><th>largest movement</th><th>inertia</th></tr>\n";
  for (std::size_t i = 0; i < std::min(trace.size(), most_trace_rows); ++i) {
    iteration_record const& r = trace[i];
    out += fmt::format("<tr><td>{}</td><td>{:.4f}</td><td>{}</td><td>{}</td>", i + 1, r.seconds,
                       grouped(r.work.distances), grouped(r.work.node_scores));
    for (index prunes : r.work.prunes) out += fmt::format("<td>{}</td>", grouped(prunes));
    out += fmt::format("<td>{}</td><td>{:.4g}</td><td>{:.9g}</td></tr>\n", grouped(r.labels_changed),
                       r.largest_movement, r.inertia);
  }
  out += "</table></div></details>\n";
  if (trace.size() > most_trace_rows)
    out += fmt::format("<p>The first {} of {} iterations; --stats writes all.</p>\n", most_trace_rows,
                       trace.size());
  return out;
}

std::string key_figures(run_record const& run) {
  result const& r = run.result;
  double distances = 0;
  for (iteration_record const& record : r.trace) distances += static_cast<double>(record.work.distances);
  double const pruned =
      percent_pruned(distances, static_cast<double>(run.n) * static_cast<double>(r.trace.size()),
                     static_cast<double>(run.k));
  return key_row(
      {{grouped(r.iterations), r.converged() ? "iterations, converged" : "iterations, not converged"},
       {pretty(r.inertia, 6), "inertia"},
       {duration(run.load_seconds + r.seconds.tree + r.seconds.seed + r.seconds.iterate),
        "from file to result"},
       {fmt::format("{:.2f} %", pruned), "of all distances avoided"},
       {r.choices.empty() ? r.algorithm : r.choices.back().algorithm,
        r.tree.empty() ? "algorithm" : "algorithm, " + r.tree + " tree"}});
}

} // namespace

std::string report_html(run_record const& run, table const& data) {
  std::string const name = std::filesystem::path(run.data).filename().string();
  std::string out;
  out += key_figures(run);
  out += "<h2>Clusters</h2>\n" + figure(points_figure(run, data));
  out += "<h2>Convergence</h2>\n" + convergence(run);
  out += "<h2>Work</h2>\n" + work(run);
  out += "<h2>Cluster sizes</h2>\n" + sizes(run);
  out += "<h2>Run</h2>\n" + run_table(stats(run)) + trace_table(run);
  return html_page(fmt::format("{}: {}", name, counted(run.k, "cluster")), name,
                   fmt::format("{} in {}, {} by exact k-means", counted(run.n, "point"),
                               counted(run.d, "dimension"), counted(run.k, "cluster")),
                   out);
}

} // namespace kopse::cli
