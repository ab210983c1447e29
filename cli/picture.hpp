// SPDX-License-Identifier: BSD-3-Clause
// The picture of the points, coloured by cluster: a histogram, a plane, or the sky.
#pragma once

#include <cmath>
#include <functional>
#include <span>

#include "kopse/matrix.hpp"
#include "palette.hpp"
#include "principal.hpp"
#include "stats.hpp"
#include "svg.hpp"

namespace kopse::cli {

/// Picks the picture that suits the data.
svg::figure points_figure(run_record const& run, table const& data);

/// The rows that are drawn, a random set that depends on n alone, in the order of the data.
struct sample {
  matrix<double> rows;
  std::vector<label> labels;
  index of = 0; ///< how many there are in the data

  bool all() const { return rows.rows() == of; }
};

/// Where there are more clusters than this they are drawn without centroids, and without the ground of each.
inline constexpr index most_centroids = 2000, most_cells = 5000;
inline constexpr label nobody = -1;

/// A raster over the picture that tells whose ground each cell is.
struct raster {
  double left, top, step;
  index width, height;
  std::vector<label> owner; ///< or nobody

  label at(index column, index row) const { return owner[static_cast<std::size_t>(row * width + column)]; }
};

/// Finds the cluster of each cell: `locate` turns a place in the picture into coordinates, or returns false
/// where there is nothing to draw.
raster owners(raster empty, matrix_view<double> centroids, int threads,
              std::function<bool(place, double*)> const& locate);

/// Clusters whose cells touch, or whose dots lie close together.
neighbours touching(raster const& cells);
neighbours touching(std::span<place const> dots, std::span<label const> labels, double width, double height);

std::string draw_cells(raster const& cells, std::span<std::uint8_t const> colour, palette const& colours_used,
                       std::string_view ground, double strength);
std::string draw_dots(std::span<place const> dots, std::span<label const> labels,
                      std::span<std::uint8_t const> colour, palette const& colours_used, double radius);
/// Rings, with cluster number and size where the pointer rests; places that are not finite are left out.
std::string draw_centroids(std::span<place const> places, std::span<index const> sizes, std::string_view fill,
                           std::string_view edge);

/// A radius with which `count` dots cover about a fifth of the area.
double dot_radius(double area, index count);
std::vector<index> cluster_sizes(run_record const& run);
/// "20,000 of 200,000 points, drawn at random" or "All 500 points".
std::string which_points(sample const& s);

bool on_unit_sphere(sample const& s);
svg::figure sky_figure(run_record const& run, sample const& s);
svg::figure plane_figure(run_record const& run, sample const& s);
svg::figure histogram_figure(run_record const& run, table const& data, sample const& s);

/// The smallest and largest of some values; far outliers are left outside, so that the rest can be seen.
struct visible_range {
  double lo, hi;
  index outside;
};
/// " 3 points lie far outside the frame." or nothing.
std::string left_outside(index count);
visible_range range_of(std::vector<double> values);

} // namespace kopse::cli
