// SPDX-License-Identifier: BSD-3-Clause
// Points in a plane: two columns as they are, or the two principal axes of more.
#include <fmt/format.h>

#include <algorithm>

#include "format.hpp"
#include "kopse/random.hpp"
#include "picture.hpp"

namespace kopse::cli {
namespace {

constexpr double width = 1040, tallest = 760;
constexpr double margin_left = 84, margin_right = 14, margin_top = 12, margin_bottom = 50;

using axis_vector = std::vector<double>;

double dot(double const* a, double const* b, std::size_t d) {
  double sum = 0;
  for (std::size_t j = 0; j < d; ++j) sum += a[j] * b[j];
  return sum;
}

/// What makes a plane of d dimensions: places are (x - mean)·axis.
struct plane {
  std::vector<double> mean;
  axis_vector first, second;
  double share_first = 1, share_second = 0; ///< of the variance

  place operator()(double const* x) const {
    place p{0, 0};
    for (std::size_t j = 0; j < mean.size(); ++j) {
      p.x += (x[j] - mean[j]) * first[j];
      p.y += (x[j] - mean[j]) * second[j];
    }
    return p;
  }
};

/// Covariance times v, straight from the rows: no d × d matrix.
axis_vector spread_along(matrix<double> const& rows, std::vector<double> const& mean, axis_vector const& v) {
  std::size_t const d = mean.size();
  axis_vector result(d, 0.0);
  double const offset = dot(mean.data(), v.data(), d);
  for (index i = 0; i < rows.rows(); ++i) {
    double const along = dot(rows.row(i), v.data(), d) - offset;
    for (std::size_t j = 0; j < d; ++j) result[j] += along * (rows.row(i)[j] - mean[j]);
  }
  for (double& x : result) x /= static_cast<double>(rows.rows());
  return result;
}

/// Makes a of length 1 and orthogonal to b (if there is one); false if nothing is left of it.
bool normalise(axis_vector& a, axis_vector const* b = nullptr) {
  for (int twice = 0; b != nullptr && twice < 2; ++twice) {
    double const along = dot(a.data(), b->data(), a.size());
    for (std::size_t j = 0; j < a.size(); ++j) a[j] -= along * (*b)[j];
  }
  double const length = std::sqrt(dot(a.data(), a.data(), a.size()));
  if (!(length > 1e-150)) return false;
  for (double& x : a) x /= length;
  return true;
}

/// The sign of an axis is free: its largest part is made positive, so that equal data give equal pictures.
void fix_sign(axis_vector& a) {
  double const largest =
      *std::max_element(a.begin(), a.end(), [](double p, double q) { return std::abs(p) < std::abs(q); });
  if (largest < 0)
    for (double& x : a) x = -x;
}

axis_vector random_axis(std::size_t d, std::uint32_t stream) {
  axis_vector v;
  random_stream const numbers(0, stream);
  for (std::size_t j = 0; j < d; ++j) v.push_back(static_cast<double>(numbers.bits(j) >> 11) * 0x1p-53 - 0.5);
  return v;
}

/// The two principal axes by power iteration on both at once, then turned within their plane to be principal
/// there. A picture needs no more than a few digits.
plane principal_plane(matrix<double> const& rows) {
  auto const d = static_cast<std::size_t>(rows.cols());
  plane p{std::vector<double>(d, 0.0), random_axis(d, 0), random_axis(d, 1)};
  double const count = static_cast<double>(rows.rows());
  for (index i = 0; i < rows.rows(); ++i)
    for (std::size_t j = 0; j < d; ++j) p.mean[j] += rows.row(i)[j] / count;
  double total = 0;
  for (index i = 0; i < rows.rows(); ++i)
    for (std::size_t j = 0; j < d; ++j) total += std::pow(rows.row(i)[j] - p.mean[j], 2) / count;

  normalise(p.first);
  normalise(p.second, &p.first);
  axis_vector a, b;
  int const rounds = static_cast<int>(std::clamp(4e9 / (4 * count * static_cast<double>(d)), 8.0, 100.0));
  for (int round = 0; round < rounds; ++round) {
    a = spread_along(rows, p.mean, p.first);
    b = spread_along(rows, p.mean, p.second);
    axis_vector first = a, second = b;
    if (!normalise(first) || !normalise(second, &first)) break; // no variance (left): any axis will do
    p.first = std::move(first);
    p.second = std::move(second);
  }
  a = spread_along(rows, p.mean, p.first);
  b = spread_along(rows, p.mean, p.second);
  double const xx = dot(p.first.data(), a.data(), d), yy = dot(p.second.data(), b.data(), d),
               xy = dot(p.first.data(), b.data(), d);
  double const angle = 0.5 * std::atan2(2 * xy, xx - yy), c = std::cos(angle), s = std::sin(angle);
  for (std::size_t j = 0; j < d; ++j) {
    double const u = p.first[j], v = p.second[j];
    p.first[j] = c * u + s * v;
    p.second[j] = c * v - s * u;
  }
  fix_sign(p.first);
  fix_sign(p.second);
  bool const varies = total > 1e-24 * dot(p.mean.data(), p.mean.data(), d); // more than rounding
  p.share_first = varies ? (c * c * xx + 2 * c * s * xy + s * s * yy) / total : 0;
  p.share_second = varies ? (s * s * xx - 2 * c * s * xy + c * c * yy) / total : 0;
  return p;
}

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

} // namespace

svg::figure plane_figure(run_record const& run, sample const& s) {
  bool const flat = run.d == 2, few = run.k <= most_centroids;
  plane const view = flat ? as_it_is() : principal_plane(s.rows);
  std::vector<place> const values = project_all(view, s.rows);
  std::vector<double> xs, ys;
  for (place const& v : values) xs.push_back(v.x), ys.push_back(v.y);
  visible_range const x_range = range_of(xs), y_range = range_of(ys);
  bool same_scale = false;
  svg::frame const f = make_frame(x_range, y_range, same_scale);
  double const height = f.bottom + margin_bottom;

  std::vector<place> dots;
  std::vector<label> labels;
  for (std::size_t i = 0; i < values.size(); ++i) {
    place const p{f.px(values[i].x), f.py(values[i].y)};
    if (p.x < f.left || p.x > f.right || p.y < f.top || p.y > f.bottom) continue;
    dots.push_back(p);
    labels.push_back(s.labels[i]);
  }
  raster cells{f.left,
               f.top,
               2,
               static_cast<index>((f.right - f.left) / 2),
               static_cast<index>((f.bottom - f.top) / 2),
               {}};
  bool const ground = flat && run.k <= most_cells;
  if (ground)
    cells = owners(std::move(cells), run.result.centroids, run.threads, [&](place p, double* x) {
      x[0] = f.x.lo() + (p.x - f.left) / (f.right - f.left) * (f.x.hi() - f.x.lo());
      x[1] = f.y.hi() - (p.y - f.top) / (f.bottom - f.top) * (f.y.hi() - f.y.lo());
      return true;
    });
  auto const colour =
      colour_clusters(run.k, ground ? touching(cells) : touching(dots, labels, width, height));

  auto const axis_name = [&](std::size_t which, double share) {
    return flat ? run.columns[which]
                : fmt::format("principal axis {} ({:.1f} % of the variance)", which + 1, 100 * share);
  };
  std::string out = svg::open(width, height, "Points coloured by cluster");
  out += svg::draw(f, axis_name(0, view.share_first), axis_name(1, view.share_second));
  out += fmt::format(
      "<clipPath id=\"plot\"><path d=\"M{} {}H{}V{}H{}z\"/></clipPath>\n<g clip-path=\"url(#plot)\">\n",
      f.left, f.top, f.right, svg::number(f.bottom), f.left);
  if (ground) out += draw_cells(cells, colour, on_light, "#ffffff", 0.16);
  out += draw_dots(dots, labels, colour, on_light,
                   dot_radius((f.right - f.left) * (f.bottom - f.top), static_cast<index>(dots.size())));
  if (few) {
    std::vector<place> centroids = project_all(view, run.result.centroids);
    for (place& p : centroids) p = {f.px(p.x), f.py(p.y)};
    out += draw_centroids(centroids, cluster_sizes(run), "#ffffff", svg::ink);
  }
  out += "</g></svg>\n";

  std::string caption = which_points(s) + ", coloured by cluster";
  caption += flat ? "." : fmt::format(", along the two axes of greatest variance of {} columns.", run.d);
  if (few) caption += " Rings: centroids.";
  if (ground) caption += " The ground shows whose each place is.";
  if (!same_scale) caption += " The two axes have different scales.";
  caption += left_outside(static_cast<index>(values.size() - dots.size()));
  return {out, caption};
}

} // namespace kopse::cli
