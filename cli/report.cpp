// SPDX-License-Identifier: BSD-3-Clause
// The page: its style, the charts of the run, the tables. Pictures of the points come from picture.hpp.
#include "report.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>

#include "format.hpp"
#include "picture.hpp"
#include "progress.hpp"
#include "svg.hpp"

namespace kopse::cli {
namespace {

constexpr double half_page = 508, chart_height = 330;
constexpr std::size_t most_trace_rows = 1000; // of the table; the JSON of --stats has all

constexpr std::string_view style = R"css(
:root { color-scheme: light; }
body { margin: 0 auto; padding: 48px 24px 64px; max-width: 1040px; background: #fff; color: #1d2433;
  font: 16px/1.5 Inter, "Helvetica Neue", "Segoe UI", "Liberation Sans", Arial, sans-serif; }
header p { margin: 0; color: #667085; }
h1 { margin: 0 0 2px; font-size: 36px; line-height: 1.2; letter-spacing: -0.015em; font-weight: 700; overflow-wrap: anywhere; }
h2 { margin: 48px 0 14px; font-size: 21px; letter-spacing: -0.005em; }
.key { display: grid; grid-template-columns: repeat(auto-fit, minmax(128px, 1fr)); gap: 12px 24px; margin: 26px 0 8px;
  padding: 16px 0; border-top: 1px solid #e4e7ec; border-bottom: 1px solid #e4e7ec; }
.key div { font-size: 13px; color: #667085; }
.key b { display: block; font-size: 23px; line-height: 1.3; font-weight: 600; color: #1d2433; white-space: nowrap; }
figure { margin: 0; break-inside: avoid; }
figcaption { margin-top: 8px; font-size: 14px; color: #667085; }
svg { display: block; width: 100%; height: auto; }
.pair { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(420px, 100%), 1fr)); gap: 28px 24px; }
table { border-collapse: collapse; font-size: 14px; font-variant-numeric: tabular-nums; }
th, td { padding: 5px 18px 5px 0; text-align: left; border-bottom: 1px solid #e4e7ec; vertical-align: top; }
th { font-weight: 400; color: #667085; white-space: nowrap; }
.columns { columns: 2; column-gap: 48px; }
.columns table { width: 100%; }
.columns tr { break-inside: avoid; }
.trace { overflow-x: auto; margin-top: 12px; }
.trace th, .trace td { text-align: right; font-size: 12.5px; padding: 4px 10px 4px 0; white-space: nowrap; }
summary { cursor: pointer; margin-top: 22px; }
footer { margin-top: 48px; padding-top: 14px; border-top: 1px solid #e4e7ec; font-size: 13px; color: #667085; }
@media (max-width: 640px) { .columns { columns: 1; } }
@media print { body { padding: 0; max-width: none; print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  h2 { break-after: avoid; } .pair { grid-template-columns: 1fr 1fr; } details { display: none; } }
)css";

/// One number an iteration, as a line.
svg::line by_iteration(run_record const& run, std::string name, std::string_view colour,
                       std::function<double(iteration_record const&)> const& value) {
  svg::line line{std::move(name), colour, {}};
  for (std::size_t i = 0; i < run.result.trace.size(); ++i)
    line.points.emplace_back(static_cast<double>(i + 1), value(run.result.trace[i]));
  return line;
}

std::string figure(svg::figure const& f) {
  return fmt::format("<figure>\n{}<figcaption>{}</figcaption>\n</figure>\n", f.picture,
                     svg::escape(f.caption));
}

std::string convergence(run_record const& run) {
  auto const inertia = by_iteration(run, "", svg::blue, [](auto const& r) { return r.inertia; });
  auto const changed =
      by_iteration(run, "", svg::red, [](auto const& r) { return static_cast<double>(r.labels_changed); });
  svg::chart const left{"Inertia", "iteration", "inertia", {inertia}, true};
  svg::chart const right{"Labels changed", "iteration", "points", {changed}, true};
  return "<div class=\"pair\">\n"
         + figure({svg::draw(left, half_page, chart_height),
                   "Sum of squared distances of all points to the means "
                   "of their clusters, at the end of each iteration."})
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
  std::string out = "<div class=\"key\">\n";
  auto const add = [&](std::string const& value, std::string const& what) {
    out += fmt::format("<div><b>{}</b>{}</div>\n", svg::escape(value), svg::escape(what));
  };
  add(grouped(r.iterations), r.converged() ? "iterations, converged" : "iterations, not converged");
  add(pretty(r.inertia, 6), "inertia");
  add(duration(run.load_seconds + r.seconds.tree + r.seconds.seed + r.seconds.iterate),
      "from file to result");
  add(fmt::format("{:.2f} %", pruned), "of all distances avoided");
  add(r.algorithm, r.tree.empty() ? "algorithm" : "algorithm, " + r.tree + " tree");
  return out + "</div>\n";
}

} // namespace

std::string report_html(run_record const& run, table const& data) {
  std::string const name = svg::escape(std::filesystem::path(run.data).filename().string());
  std::string out = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
      "content=\"width=device-width, initial-scale=1\">\n<title>{}: {}</title>\n<style>{}</style>\n"
      "</head>\n<body>\n<header><h1>{}</h1>\n<p>{} in {}, {} by exact k-means</p></header>\n",
      name, counted(run.k, "cluster"), style, name, counted(run.n, "point"), counted(run.d, "dimension"),
      counted(run.k, "cluster"));
  out += key_figures(run);
  out += "<h2>Clusters</h2>\n" + figure(points_figure(run, data));
  out += "<h2>Convergence</h2>\n" + convergence(run);
  out += "<h2>Work</h2>\n" + work(run);
  out += "<h2>Cluster sizes</h2>\n" + sizes(run);
  out += "<h2>Run</h2>\n" + run_table(stats(run)) + trace_table(run);
  out += fmt::format("<footer>Made by kopse {}.</footer>\n</body>\n</html>\n", version());
  return out;
}

} // namespace kopse::cli
