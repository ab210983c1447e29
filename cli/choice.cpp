// SPDX-License-Identifier: BSD-3-Clause
#include "choice.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <filesystem>
#include <functional>

#include "format.hpp"
#include "page.hpp"

namespace kopse::cli {
namespace {

std::string number_or_dash(double value, int digits) {
  return std::isnan(value) ? "-" : fmt::format("{:.{}g}", value, digits);
}

std::string k_or_none(index k) { return k == 0 ? "none" : fmt::format("{}", k); }

/// What each criterion takes: name, k, in one sentence why.
struct verdict {
  std::string name, why;
  index k;
};
std::vector<verdict> verdicts(k_choices const& c) {
  return {{"knee", "of inertia against k, both by their logarithms", c.knee},
          {"BIC", "least: equal round Gaussians, dear parameters", c.bic},
          {"AIC", "least: equal round Gaussians, cheap parameters", c.aic},
          {"Calinski-Harabasz", "most: scatter between clusters over scatter within", c.calinski_harabasz},
          {"silhouette", "most: how much nearer the own centroid is than the next", c.silhouette}};
}

using value_of = std::function<double(k_scores const&)>;

std::string chart_of(choice_record const& r, std::string const& title, std::string const& label,
                     std::string_view colour, bool log_y, value_of const& value, std::string const& caption) {
  svg::line line{"", colour, {}};
  for (k_scores const& s : r.result.curve)
    if (double const y = value(s); std::isfinite(y)) line.points.emplace_back(static_cast<double>(s.k), y);
  if (line.points.empty()) return "";
  svg::chart chart{title, "k", label, {line}, log_y};
  chart.log_x = true;
  return figure({svg::draw(chart, half_page, chart_height), caption});
}

std::string at(index k, std::string const& which) {
  return k == 0 ? "" : fmt::format(" {} at k = {}.", which, grouped(k));
}

std::string charts(choice_record const& r) {
  k_choices const& c = r.result.chosen;
  std::string out = "<h2>Curves</h2>\n<div class=\"pair\">\n";
  out += chart_of(
      r, "Inertia", "inertia", svg::blue, true, [](k_scores const& s) { return s.inertia; },
      "Sum of squared distances of all points to their centroids." + at(c.knee, "The knee is"));
  out += chart_of(
      r, "BIC", "BIC", svg::red, false, [](k_scores const& s) { return s.bic; },
      "Bayesian information criterion of equal round Gaussians; less is better." + at(c.bic, "Least"));
  out += chart_of(
      r, "Simplified silhouette", "silhouette", svg::green, false,
      [](k_scores const& s) { return s.silhouette; },
      "Mean of (b − a) / max(a, b), a the distance to the own centroid, b to the next; more is better."
          + at(c.silhouette, "Most"));
  out += chart_of(
      r, "Calinski–Harabasz", "index", svg::purple, true,
      [](k_scores const& s) { return s.calinski_harabasz; },
      "Scatter between clusters over scatter within them, each by its degrees of freedom; more is better."
          + at(c.calinski_harabasz, "Most"));
  out += chart_of(
      r, "AIC", "AIC", svg::orange, false, [](k_scores const& s) { return s.aic; },
      "Akaike information criterion of the same Gaussians; less is better." + at(c.aic, "Least"));
  out += chart_of(
      r, "Time", "seconds", svg::teal, true, [](k_scores const& s) { return s.seconds; },
      "Of all runs for this k, seeding and criteria included.");
  return out + "</div>\n";
}

std::string rows_html(choice_record const& r) {
  std::string out =
      "<h2>Numbers</h2>\n<div class=\"trace\"><table>\n<tr><th>k</th><th>inertia</th><th>iterations</th>"
      "<th>BIC</th><th>AIC</th><th>Calinski–Harabasz</th><th>silhouette</th><th>start</th><th>seconds</th></"
      "tr>\n";
  for (k_scores const& s : r.result.curve)
    out += fmt::format("<tr><td>{}</td><td>{:.9g}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td>"
                       "<td>{}</td><td>{:.3f}</td></tr>\n",
                       grouped(s.k), s.inertia, grouped(s.iterations), number_or_dash(s.bic, 9),
                       number_or_dash(s.aic, 9), number_or_dash(s.calinski_harabasz, 6),
                       number_or_dash(s.silhouette, 4), s.warm ? "warm" : "fresh", s.seconds);
  return out + "</table></div>\n";
}

} // namespace

std::string table_text(choice_record const& record) {
  std::string out = fmt::format("{:>8} {:>16} {:>6} {:>14} {:>14} {:>12} {:>10} {:>5} {:>9}\n", "k",
                                "inertia", "iter", "BIC", "AIC", "C-H", "silhouette", "start", "seconds");
  for (k_scores const& s : record.result.curve)
    out += fmt::format("{:>8} {:>16.9g} {:>6} {:>14} {:>14} {:>12} {:>10} {:>5} {:>9.3f}\n", s.k, s.inertia,
                       s.iterations, number_or_dash(s.bic, 9), number_or_dash(s.aic, 9),
                       number_or_dash(s.calinski_harabasz, 6), number_or_dash(s.silhouette, 4),
                       s.warm ? "warm" : "fresh", s.seconds);
  for (verdict const& v : verdicts(record.result.chosen))
    out += fmt::format("k by {}: {} ({})\n", v.name, k_or_none(v.k), v.why);
  out += fmt::format("trees built on the points: {}\n", record.result.tree_builds);
  return out;
}

std::string table_text(x_means_record const& record) {
  x_means_result const& r = record.result;
  std::string out = fmt::format("{:>6} {:>8} {:>8} {:>8} {:>16} {:>14}\n", "round", "k", "split", "merged",
                                "inertia", "BIC");
  for (std::size_t i = 0; i < r.rounds.size(); ++i)
    out += fmt::format("{:>6} {:>8} {:>8} {:>8} {:>16.9g} {:>14}\n", i, r.rounds[i].k, r.rounds[i].split,
                       r.rounds[i].merged, r.rounds[i].inertia, number_or_dash(r.rounds[i].bic, 9));
  return out
         + fmt::format("k: {}\ninertia: {}\nBIC: {}\ntrees built on the points: {}\n", r.k, r.inertia,
                       number_or_dash(r.bic, 12), r.tree_builds);
}

// JSON has no NaN: the library writes null.
nlohmann::ordered_json choice_stats(choice_record const& record) {
  choice_result const& r = record.result;
  nlohmann::ordered_json json{{"n", record.n},
                              {"d", record.d},
                              {"algorithm", r.algorithm},
                              {"tree", r.tree},
                              {"seed", record.seed},
                              {"tree_builds", r.tree_builds},
                              {"chosen",
                               {{"knee", r.chosen.knee},
                                {"bic", r.chosen.bic},
                                {"aic", r.chosen.aic},
                                {"calinski_harabasz", r.chosen.calinski_harabasz},
                                {"silhouette", r.chosen.silhouette}}},
                              {"version", version()}};
  nlohmann::ordered_json& curve = json["curve"] = nlohmann::ordered_json::array();
  for (k_scores const& s : r.curve)
    curve.push_back({{"k", s.k},
                     {"inertia", s.inertia},
                     {"bic", s.bic},
                     {"aic", s.aic},
                     {"calinski_harabasz", s.calinski_harabasz},
                     {"silhouette", s.silhouette},
                     {"iterations", s.iterations},
                     {"converged", s.converged},
                     {"empty_clusters", s.empty_clusters},
                     {"warm", s.warm},
                     {"seconds", s.seconds}});
  return json;
}

nlohmann::ordered_json choice_stats(x_means_record const& record) {
  x_means_result const& r = record.result;
  nlohmann::ordered_json json{{"n", record.n},
                              {"d", record.d},
                              {"k", r.k},
                              {"algorithm", r.algorithm},
                              {"tree", r.tree},
                              {"seed", record.seed},
                              {"inertia", r.inertia},
                              {"bic", r.bic},
                              {"tree_builds", r.tree_builds},
                              {"nodes_taken_whole", r.nodes_taken_whole},
                              {"version", version()}};
  nlohmann::ordered_json& rounds = json["rounds"] = nlohmann::ordered_json::array();
  for (x_means_round const& round : r.rounds)
    rounds.push_back({{"k", round.k},
                      {"split", round.split},
                      {"merged", round.merged},
                      {"inertia", round.inertia},
                      {"bic", round.bic}});
  return json;
}

std::string choice_html(choice_record const& record) {
  std::string const name = std::filesystem::path(record.data).filename().string();
  std::vector<std::pair<std::string, std::string>> key;
  for (verdict const& v : verdicts(record.result.chosen))
    key.emplace_back(v.k == 0 ? "none" : grouped(v.k), "k by " + v.name);
  std::vector<k_scores> const& curve = record.result.curve;
  return html_page(fmt::format("{}: how many clusters", name), name,
                   fmt::format("{} in {}: how many clusters, of {} to {}?", counted(record.n, "point"),
                               counted(record.d, "dimension"), grouped(curve.front().k),
                               grouped(curve.back().k)),
                   key_row(key) + charts(record) + rows_html(record));
}

} // namespace kopse::cli
