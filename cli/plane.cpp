// SPDX-License-Identifier: BSD-3-Clause
// Points in a plane: two columns as they are, or the two principal axes of more.
#include <fmt/format.h>

#include "format.hpp"
#include "picture.hpp"

namespace kopse::cli {
namespace {

constexpr double width = 1040, tallest = 760;
constexpr double margin_left = 84, margin_right = 14, margin_top = 12, margin_bottom = 50;

plane as_it_is() { return {{0, 0}, {1, 0}, {0, 1}}; }

std::vector<place> project_all(plane const& p, matrix_view<double> rows) {
  std::vector<place> places;
  for (index i = 0; i < rows.rows(); ++i) places.push_back(p(rows.row(i)));
  return places;
}

/// One scale for both axes where the picture does not become a sliver by it.
svg::frame make_frame(visible_range x, visible_range y, bool& same_scale) {
  double const plot_width = width - margin_left - margin_right;
  double const margin_x = x.hi > x.lo ? 0.02 * (x.hi - x.lo) : 1,
               margin_y = y.hi > y.lo ? 0.02 * (y.hi - y.lo) : 1;
  x.lo -= margin_x, x.hi += margin_x, y.lo -= margin_y, y.hi += margin_y;
  double const ratio = (y.hi - y.lo) / (x.hi - x.lo);
  same_scale = ratio > 0.25 && ratio < 4;
  double plot_height = same_scale ? plot_width * ratio : 520;
  double const squeezed = std::min(1.0, tallest / plot_height); // a narrower plot, in the middle
  double const left = margin_left + 0.5 * (1 - squeezed) * plot_width;
  return {left,
          margin_top,
          left + squeezed * plot_width,
          margin_top + squeezed * plot_height,
          svg::axis::linear(x.lo, x.hi, 8, false),
          svg::axis::linear(y.lo, y.hi, 6, false)};
}

/// What is in the picture, in its own units.
struct scene {
  svg::frame frame;
  std::vector<place> dots; ///< without those outside the frame
  std::vector<label> labels;
  raster cells; ///< only where `ground`
  bool ground = false, same_scale = false;

  double width() const { return frame.right - frame.left; }
  double height() const { return frame.bottom - frame.top; }
};

scene make_scene(run_record const& run, sample const& s, std::vector<place> const& values) {
  std::vector<double> xs, ys;
  for (place const& v : values) xs.push_back(v.x), ys.push_back(v.y);
  bool same_scale = false;
  scene result{make_frame(range_of(std::move(xs)), range_of(std::move(ys)), same_scale), {}, {}, {}};
  svg::frame const& f = result.frame;
  result.same_scale = same_scale;
  for (std::size_t i = 0; i < values.size(); ++i) {
    place const p{f.px(values[i].x), f.py(values[i].y)};
    if (p.x < f.left || p.x > f.right || p.y < f.top || p.y > f.bottom) continue;
    result.dots.push_back(p);
    result.labels.push_back(s.labels[i]);
  }
  // Only in two dimensions has each place in the picture a nearest centroid.
  result.ground = run.d == 2 && run.k <= most_cells;
  if (!result.ground) return result;
  constexpr double step = 2;
  result.cells = {f.left,
                  f.top,
                  step,
                  static_cast<index>(result.width() / step),
                  static_cast<index>(result.height() / step),
                  {}};
  result.cells = owners(std::move(result.cells), run.result.centroids, run.threads, [&](place p, double* x) {
    x[0] = f.x.lo() + (p.x - f.left) / result.width() * (f.x.hi() - f.x.lo());
    x[1] = f.y.hi() - (p.y - f.top) / result.height() * (f.y.hi() - f.y.lo());
    return true;
  });
  return result;
}

/// Everything inside the frame: ground, then dots, then centroids.
std::string draw_inside(run_record const& run, scene const& s, plane const& view) {
  svg::frame const& f = s.frame;
  auto const colour =
      colour_clusters(run.k, s.ground ? touching(s.cells) : touching(s.dots, s.labels, width, f.bottom));
  std::string out = fmt::format(
      "<clipPath id=\"plot\"><path d=\"M{} {}H{}V{}H{}z\"/></clipPath>\n<g clip-path=\"url(#plot)\">\n",
      svg::number(f.left), svg::number(f.top), svg::number(f.right), svg::number(f.bottom),
      svg::number(f.left));
  if (s.ground) out += draw_cells(s.cells, colour, on_light, "#ffffff", 0.16);
  out += draw_dots(s.dots, s.labels, colour, on_light,
                   dot_radius(s.width() * s.height(), static_cast<index>(s.dots.size())));
  if (run.k <= most_centroids) {
    std::vector<place> centroids = project_all(view, run.result.centroids);
    for (place& p : centroids) p = {f.px(p.x), f.py(p.y)};
    out += draw_centroids(centroids, cluster_sizes(run), "#ffffff", svg::ink);
  }
  return out + "</g>";
}

} // namespace

svg::figure plane_figure(run_record const& run, sample const& s) {
  bool const flat = run.d == 2;
  plane const view = flat ? as_it_is() : principal_plane(s.rows);
  std::vector<place> const values = project_all(view, s.rows);
  scene const drawn = make_scene(run, s, values);
  auto const axis_name = [&](std::size_t which, double share) {
    return flat ? run.columns[which]
                : fmt::format("principal axis {} ({:.1f} % of the variance)", which + 1, 100 * share);
  };
  std::string out = svg::open(width, drawn.frame.bottom + margin_bottom, "Points coloured by cluster");
  out += svg::draw(drawn.frame, axis_name(0, view.share_first), axis_name(1, view.share_second));
  out += draw_inside(run, drawn, view) + "</svg>\n";

  std::string caption = which_points(s) + ", coloured by cluster";
  caption += flat ? "." : fmt::format(", along the two axes of greatest variance of {} columns.", run.d);
  if (run.k <= most_centroids) caption += " Rings: centroids.";
  if (drawn.ground) caption += " The ground shows whose each place is.";
  if (!drawn.same_scale) caption += " The two axes have different scales.";
  caption += left_outside(static_cast<index>(values.size() - drawn.dots.size()));
  return {out, caption};
}

} // namespace kopse::cli
