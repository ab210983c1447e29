// SPDX-License-Identifier: BSD-3-Clause
// Directions as a map of the whole sky: Mollweide's projection (equal areas), equatorial coordinates, right
// ascension growing to the left as seen from inside the sphere.
#include <fmt/format.h>

#include <algorithm>
#include <numbers>

#include "format.hpp"
#include "picture.hpp"

namespace kopse::cli {
namespace {

constexpr double pi = std::numbers::pi, degree = pi / 180;
constexpr double width = 1040, height = 560;
constexpr place middle{520, 278};
constexpr double half_width = 482, half_height = 241;
constexpr std::string_view panel = "#080d19", ground = "#10182b";

/// The auxiliary angle: 2θ + sin 2θ = π sin(dec).
double auxiliary_angle(double dec) {
  double const target = pi * std::sin(dec);
  double theta = dec;
  for (int i = 0; i < 60; ++i) {
    double const slope = 2 + 2 * std::cos(2 * theta);
    if (slope < 1e-12) break; // the pole
    double const step = (2 * theta + std::sin(2 * theta) - target) / slope;
    theta -= step;
    if (std::abs(step) < 1e-12) break;
  }
  return std::clamp(theta, -pi / 2, pi / 2);
}

/// ra in (-π, π].
place project(double ra, double dec) {
  double const theta = auxiliary_angle(dec);
  return {middle.x - half_width * ra / pi * std::cos(theta), middle.y - half_height * std::sin(theta)};
}

place project(double const* x) {
  double const norm = std::sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]);
  if (!(norm > 1e-9)) return {NAN, NAN}; // a centroid in the middle of the sphere has no direction
  return project(std::atan2(x[1], x[0]), std::asin(std::clamp(x[2] / norm, -1.0, 1.0)));
}

/// The direction seen at a place, or false outside the map.
bool direction(place p, double* x) {
  double const u = (middle.x - p.x) / half_width, v = (middle.y - p.y) / half_height;
  if (u * u + v * v >= 1) return false;
  double const theta = std::asin(v), dec = std::asin((2 * theta + std::sin(2 * theta)) / pi);
  double const ra = pi * u / std::cos(theta);
  x[0] = std::cos(dec) * std::cos(ra);
  x[1] = std::cos(dec) * std::sin(ra);
  x[2] = std::sin(dec);
  return true;
}

std::string graticule() {
  std::string path;
  for (int ra = -150; ra <= 150; ra += 30)
    for (int dec = -90; dec <= 90; dec += 3) {
      place const p = project(ra * degree, dec * degree);
      path += fmt::format("{}{:.1f} {:.1f}", dec == -90 ? "M" : "L", p.x, p.y);
    }
  for (int dec = -60; dec <= 60; dec += 30) {
    double const y = project(0, dec * degree).y, half = half_width * std::cos(auxiliary_angle(dec * degree));
    path += fmt::format("M{:.1f} {:.1f}h{:.1f}", middle.x - half, y, 2 * half);
  }
  return fmt::format(
      "<path d=\"{}\" fill=\"none\" stroke=\"#ffffff\" stroke-opacity=\"0.38\" stroke-width=\"0.8\"/>\n",
      path);
}

std::string graticule_labels() {
  std::string out = "<g fill=\"#c9d3e6\" font-size=\"12\">\n";
  for (int dec = -60; dec <= 60; dec += 30) {
    place const p = project(pi, dec * degree);
    out += svg::text(p.x - 8, p.y + 4,
                     dec == 0 ? "0°" : fmt::format("{}{}°", dec > 0 ? "+" : "−", std::abs(dec)),
                     "text-anchor=\"end\"");
  }
  out += "</g>\n<g fill=\"#ffffff\" font-size=\"12\" font-weight=\"600\" text-anchor=\"middle\" "
         "stroke=\"#080d19\" "
         "stroke-width=\"3\" stroke-opacity=\"0.75\" stroke-linejoin=\"round\" paint-order=\"stroke\">\n";
  for (int hours = -10; hours <= 10; hours += 2)
    out += svg::text(project(hours * 15 * degree, 0).x, middle.y + 15, fmt::format("{}h", (hours + 24) % 24));
  return out + "</g>\n";
}

/// The plane of the Milky Way, from the directions (J2000) of its pole and its centre.
std::string galactic_plane() {
  auto const unit = [](double ra, double dec) {
    return std::array<double, 3>{std::cos(dec * degree) * std::cos(ra * degree),
                                 std::cos(dec * degree) * std::sin(ra * degree), std::sin(dec * degree)};
  };
  auto const pole = unit(192.85948, 27.12825), centre = unit(266.40500, -28.93617);
  std::array<double, 3> const side{pole[1] * centre[2] - pole[2] * centre[1],
                                   pole[2] * centre[0] - pole[0] * centre[2],
                                   pole[0] * centre[1] - pole[1] * centre[0]};
  std::string path;
  place last{NAN, NAN};
  for (int i = 0; i <= 720; ++i) {
    double const angle = i * 0.5 * degree;
    std::array<double, 3> x{};
    for (std::size_t j = 0; j < 3; ++j) x[j] = std::cos(angle) * centre[j] + std::sin(angle) * side[j];
    place const p = project(x.data());
    path += fmt::format("{}{:.1f} {:.1f}", std::abs(p.x - last.x) < 100 ? "L" : "M", p.x,
                        p.y); // M at the map's edge
    last = p;
  }
  place const c = project(centre.data());
  return fmt::format(
      "<g fill=\"none\" stroke=\"#ffffff\"><path d=\"{0}\" stroke=\"{1}\" stroke-opacity=\"0.7\" "
      "stroke-width=\"4\"/><path d=\"{0}\" stroke-width=\"1.4\" stroke-dasharray=\"7 4\"/>\n"
      "<circle cx=\"{2:.1f}\" cy=\"{3:.1f}\" r=\"5.5\" stroke-width=\"1.8\" fill=\"{1}\" "
      "fill-opacity=\"0.7\"><title>Galactic centre</title></circle></g>\n",
      path, panel, c.x, c.y);
}

std::vector<place> project_all(matrix_view<double> rows) {
  std::vector<place> places;
  for (index i = 0; i < rows.rows(); ++i) places.push_back(project(rows.row(i)));
  return places;
}

} // namespace

bool on_unit_sphere(sample const& s) {
  for (index i = 0; i < s.rows.rows(); ++i) {
    double const* x = s.rows.row(i);
    if (!(std::abs(x[0] * x[0] + x[1] * x[1] + x[2] * x[2] - 1) < 1e-3)) return false;
  }
  return true;
}

svg::figure sky_figure(run_record const& run, sample const& s) {
  std::vector<place> const dots = project_all(s.rows);
  bool const few = run.k <= most_centroids, ground_shown = run.k <= most_cells;
  raster cells{middle.x - half_width,
               middle.y - half_height,
               1.5,
               static_cast<index>(2 * half_width / 1.5),
               static_cast<index>(2 * half_height / 1.5),
               {}};
  if (ground_shown) cells = owners(std::move(cells), run.result.centroids, run.threads, direction);
  auto const colour =
      colour_clusters(run.k, ground_shown ? touching(cells) : touching(dots, s.labels, width, height));

  std::string const edge =
      fmt::format("cx=\"{}\" cy=\"{}\" rx=\"{}\" ry=\"{}\"", middle.x, middle.y, half_width, half_height);
  std::string out = svg::open(width, height, "Map of the sky, points coloured by cluster");
  out += fmt::format("<rect width=\"{}\" height=\"{}\" rx=\"14\" fill=\"{}\"/>\n<clipPath "
                     "id=\"sky\"><ellipse {}/></clipPath>\n",
                     width, height, panel, edge);
  out += fmt::format("<g clip-path=\"url(#sky)\"><ellipse {} fill=\"{}\"/>\n", edge, ground);
  if (ground_shown) out += draw_cells(cells, colour, on_dark, ground, 0.2);
  out += draw_dots(dots, s.labels, colour, on_dark, dot_radius(pi * half_width * half_height, s.rows.rows()));
  out += graticule();
  if (few) out += draw_centroids(project_all(run.result.centroids), cluster_sizes(run), "#ffffff", panel);
  out += galactic_plane();
  out += fmt::format("</g><ellipse {} fill=\"none\" stroke=\"#ffffff\" stroke-opacity=\"0.5\"/>\n", edge);
  out += graticule_labels() + "</svg>\n";
  return {out, fmt::format(
                   "{}, coloured by cluster, on the whole sky: equatorial coordinates, Mollweide projection "
                   "(equal areas), right ascension growing to the left.{} Dashed: the Galactic plane, with a "
                   "ring at its centre.",
                   which_points(s),
                   (few ? std::string(" White dots: centroids.") : std::string())
                       + (ground_shown ? " The ground shows whose each place is." : ""))};
}

} // namespace kopse::cli
