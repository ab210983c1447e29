// SPDX-License-Identifier: BSD-3-Clause
// Pictures as SVG text: numbers, axes with round ticks, line charts, bars. Knows nothing of k-means.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kopse::cli::svg {

/// A picture and the sentence below it.
struct figure {
  std::string picture, caption;
};

inline constexpr std::string_view ink = "#1d2433", muted = "#667085", grid_colour = "#e4e7ec",
                                  blue = "#2f62c9", red = "#cf3f3d", green = "#26874a", orange = "#d97b0f",
                                  purple = "#7d49c4", teal = "#1f8f96";

/// At most two decimals, none that are zero: "12.5", "-3", "0.07".
std::string number(double value);
/// For text and attributes of SVG and HTML.
std::string escape(std::string_view text);
/// The start of a picture, everything drawn in one font; ends with </svg>.
std::string open(double width, double height, std::string_view description);
std::string text(double x, double y, std::string_view content, std::string_view attributes = {});

struct tick {
  double value;
  std::string label;
};

/// From values to places between 0 and 1.
class axis {
public:
  /// A straight scale; `round_ends` widens it to the next ticks.
  static axis linear(double lo, double hi, int about, bool round_ends);
  /// Powers of ten, for lo > 0; `with_zero` keeps a place for 0 below.
  static axis logarithmic(double lo, double hi, bool with_zero);

  double place(double value) const;
  double lo() const { return lo_; }
  double hi() const { return hi_; }
  std::vector<tick> const& ticks() const { return ticks_; }
  /// What the labels leave out, to follow the name of what is shown: " (10⁶)", " − 1000000000" or nothing.
  std::string unit() const;

private:
  void linear_ticks(double step);
  void log_ticks();

  double lo_ = 0, hi_ = 1;
  bool log_ = false, zero_ = false;
  int exponent_ = 0;
  double base_ = 0;
  std::vector<tick> ticks_;
};

struct line {
  std::string name;
  std::string_view colour;
  std::vector<std::pair<double, double>> points;
};

/// y against x, as lines, with a legend if there are several.
struct chart {
  std::string title, x_label, y_label;
  std::vector<line> lines;
  bool log_y = false;     ///< where the values differ by more than a factor of 20
  bool from_zero = false; ///< the y axis starts at 0 (straight axes)
  bool whole_x = true;    ///< x counts something
  bool log_x = false;     ///< where the values, all > 0, differ by more than a factor of 20
};
std::string draw(chart const& chart, double width, double height);

struct bar {
  double from, to, height;
  std::string_view colour;
  std::string title; ///< shown where the pointer rests
};

struct bar_chart {
  std::string title, x_label, y_label;
  std::vector<bar> bars; ///< stacked where they share `from`
  bool log_x = false;
  bool whole_x = false; ///< x counts something
};
std::string draw(bar_chart const& chart, double width, double height);

/// A frame with both axes, ticks and grid, for drawing into.
struct frame {
  double left, top, right, bottom;
  axis x, y;
  double px(double value) const { return left + x.place(value) * (right - left); }
  double py(double value) const { return bottom - y.place(value) * (bottom - top); }
};
std::string draw(frame const& frame, std::string_view x_label, std::string_view y_label);

} // namespace kopse::cli::svg
