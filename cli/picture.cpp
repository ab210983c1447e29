// SPDX-License-Identifier: BSD-3-Clause
// What all pictures of points share: the sample, the ground of each cluster, dots, centroids. Dots of one
// colour are one path of dots without length, about 16 bytes each: 20,000 of them are 320 kB.
#include "picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numbers>
#include <numeric>

#include "format.hpp"
#include "kopse/kmeans.hpp"
#include "kopse/seeding.hpp"

namespace kopse::cli {
namespace {

constexpr index most_dots = 20000;                 // keeps a page below 2 MB
constexpr index most_coordinates = index{1} << 25; // of the sample: 256 MB

sample draw_sample(run_record const& run, table const& data) {
  sample result;
  result.of = run.n;
  index const count =
      std::min({run.n, most_dots, std::max<index>(1000, most_coordinates / std::max<index>(1, run.d))});
  std::vector<index> rows(static_cast<std::size_t>(count));
  if (count == run.n)
    std::iota(rows.begin(), rows.end(), index{0});
  else
    rows = draw_rows(run.n, count, 0, 0);
  std::sort(rows.begin(), rows.end());
  result.rows = matrix<double>(count, run.d);
  data.visit([&](auto const& all) {
    for (index i = 0; i < count; ++i) {
      index const row = rows[static_cast<std::size_t>(i)];
      std::copy_n(all.row(row), run.d, result.rows.row(i));
      give_back(all, row);
    }
  });
  for (index row : rows) result.labels.push_back(run.result.labels[static_cast<std::size_t>(row)]);
  return result;
}

} // namespace

svg::figure points_figure(run_record const& run, table const& data) {
  sample const s = draw_sample(run, data);
  if (run.d == 1) return histogram_figure(run, data, s);
  if (run.d == 3 && on_unit_sphere(s)) return sky_figure(run, s);
  return plane_figure(run, s);
}

raster owners(raster cells, matrix_view<double> centroids, int threads,
              std::function<bool(place, double*)> const& locate) {
  std::size_t const count = static_cast<std::size_t>(cells.width * cells.height);
  std::vector<std::size_t> inside;
  std::vector<double> coordinates;
  std::vector<double> x(static_cast<std::size_t>(centroids.cols()));
  for (std::size_t i = 0; i < count; ++i) {
    index const at = static_cast<index>(i), right = at % cells.width, down = at / cells.width;
    auto const column = static_cast<double>(right), row = static_cast<double>(down);
    if (!locate({cells.left + (column + 0.5) * cells.step, cells.top + (row + 0.5) * cells.step}, x.data()))
      continue;
    inside.push_back(i);
    coordinates.insert(coordinates.end(), x.begin(), x.end());
  }
  matrix_view<double> const rows(coordinates.data(), static_cast<index>(inside.size()), centroids.cols());
  std::vector<label> const labels = predict(rows, centroids, threads);
  cells.owner.assign(count, nobody);
  for (std::size_t i = 0; i < inside.size(); ++i) cells.owner[inside[i]] = labels[i];
  return cells;
}

neighbours touching(raster const& cells) {
  neighbours pairs;
  auto const add = [&](label a, label b) {
    if (a != b && a != nobody && b != nobody) pairs.emplace_back(a, b);
  };
  for (index row = 0; row < cells.height; ++row)
    for (index column = 0; column < cells.width; ++column) {
      if (column > 0) add(cells.at(column, row), cells.at(column - 1, row));
      if (row > 0) add(cells.at(column, row), cells.at(column, row - 1));
    }
  return pairs;
}

neighbours touching(std::span<place const> dots, std::span<label const> labels, double width, double height) {
  // Cells of a few dots each; every cell remembers its latest dot.
  double const step = std::sqrt(3 * width * height / static_cast<double>(dots.size() + 1));
  index const columns = static_cast<index>(width / step) + 1, rows = static_cast<index>(height / step) + 1;
  std::vector<label> latest(static_cast<std::size_t>(columns * rows), nobody);
  neighbours pairs;
  for (std::size_t i = 0; i < dots.size(); ++i) {
    index const x = std::clamp<index>(static_cast<index>(dots[i].x / step), 0, columns - 1);
    index const y = std::clamp<index>(static_cast<index>(dots[i].y / step), 0, rows - 1);
    for (index v = std::max<index>(0, y - 1); v <= std::min(rows - 1, y + 1); ++v)
      for (index u = std::max<index>(0, x - 1); u <= std::min(columns - 1, x + 1); ++u)
        if (label const other = latest[static_cast<std::size_t>(v * columns + u)];
            other != nobody && other != labels[i])
          pairs.emplace_back(labels[i], other);
    latest[static_cast<std::size_t>(y * columns + x)] = labels[i];
  }
  return pairs;
}

std::string draw_cells(raster const& cells, std::span<std::uint8_t const> colour, palette const& colours_used,
                       std::string_view ground, double strength) {
  std::array<std::string, colours> paths;
  for (index row = 0; row < cells.height; ++row)
    for (index column = 0, next; column < cells.width; column = next) {
      label const owner = cells.at(column, row);
      for (next = column + 1; next < cells.width && cells.at(next, row) == owner;) ++next;
      if (owner == nobody) continue;
      // A little longer than the run, so that no gap shows between neighbours.
      paths[colour[static_cast<std::size_t>(owner)]] +=
          fmt::format("M{} {}h{}", svg::number(cells.left + static_cast<double>(column) * cells.step),
                      svg::number(cells.top + (static_cast<double>(row) + 0.5) * cells.step),
                      svg::number(static_cast<double>(next - column) * cells.step + 0.3));
    }
  std::string out = fmt::format("<g fill=\"none\" stroke-width=\"{}\">\n", svg::number(1.25 * cells.step));
  for (std::size_t c = 0; c < colours; ++c)
    if (!paths[c].empty())
      out +=
          fmt::format("<path stroke=\"{}\" d=\"{}\"/>\n", mix(ground, colours_used[c], strength), paths[c]);
  return out + "</g>\n";
}

std::string draw_dots(std::span<place const> dots, std::span<label const> labels,
                      std::span<std::uint8_t const> colour, palette const& colours_used, double radius) {
  std::array<std::string, colours> paths;
  for (std::size_t i = 0; i < dots.size(); ++i)
    paths[colour[static_cast<std::size_t>(labels[i])]] +=
        fmt::format("M{:.1f} {:.1f}h.01", dots[i].x, dots[i].y);
  std::string out = fmt::format("<g fill=\"none\" stroke-linecap=\"round\" stroke-width=\"{}\">\n",
                                svg::number(2 * radius));
  for (std::size_t c = 0; c < colours; ++c)
    if (!paths[c].empty()) out += fmt::format("<path stroke=\"{}\" d=\"{}\"/>\n", colours_used[c], paths[c]);
  return out + "</g>\n";
}

std::string draw_centroids(std::span<place const> places, std::span<index const> sizes, std::string_view fill,
                           std::string_view edge) {
  double const count = static_cast<double>(places.size());
  double const radius = std::clamp(40 / std::sqrt(count), 1.4, 6.0);
  std::string out = fmt::format("<g fill=\"{}\" stroke=\"{}\" stroke-width=\"{}\">\n", fill, edge,
                                svg::number(std::clamp(radius / 3, 0.6, 1.5)));
  for (std::size_t c = 0; c < places.size(); ++c)
    if (std::isfinite(places[c].x) && std::isfinite(places[c].y))
      out +=
          fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\"><title>cluster {}: {}</title></circle>\n",
                      places[c].x, places[c].y, svg::number(radius), c, counted(sizes[c], "point"));
  return out + "</g>\n";
}

double dot_radius(double area, index count) {
  return std::clamp(std::sqrt(0.2 * area / (std::numbers::pi * static_cast<double>(count))), 0.7, 4.0);
}

std::vector<index> cluster_sizes(run_record const& run) {
  std::vector<index> sizes(static_cast<std::size_t>(run.k), 0);
  for (label c : run.result.labels) ++sizes[static_cast<std::size_t>(c)];
  return sizes;
}

std::string which_points(sample const& s) {
  if (s.of == 1) return "The only point";
  if (s.all()) return fmt::format("All {}", counted(s.of, "point"));
  return fmt::format("{} of {} points, drawn at random", grouped(s.rows.rows()), grouped(s.of));
}

std::string left_outside(index count) {
  if (count == 0) return "";
  return fmt::format(" {} far outside the frame.",
                     count == 1 ? "1 point lies" : grouped(count) + " points lie");
}

visible_range range_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  double lo = values.front(), hi = values.back();
  double const low = values[values.size() / 200], high = values[values.size() - 1 - values.size() / 200];
  // What lies more than one more width away from the middle 99 % would press all the rest into a corner.
  double const width = high - low;
  if (width > 0) lo = std::max(lo, low - width), hi = std::min(hi, high + width);
  index outside = 0;
  for (double v : values) outside += v < lo || v > hi;
  if (outside > 0) { // a margin that the frame does not cut through points
    lo = *std::lower_bound(values.begin(), values.end(), lo);
    hi = *std::prev(std::upper_bound(values.begin(), values.end(), hi));
  }
  return {lo, hi, outside};
}

} // namespace kopse::cli
