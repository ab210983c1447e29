// SPDX-License-Identifier: BSD-3-Clause
// Places are in units of the picture, x to the right and y down; every number has at most two decimals.
#include "svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "format.hpp"

namespace kopse::cli::svg {

std::string number(double value) {
  std::string text = fmt::format("{:.2f}", value);
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

std::string escape(std::string_view text) {
  std::string result;
  for (char c : text) switch (c) {
    case '&':
      result += "&amp;";
      break;
    case '<':
      result += "&lt;";
      break;
    case '>':
      result += "&gt;";
      break;
    case '"':
      result += "&quot;";
      break;
    case '\'':
      result += "&#39;";
      break;
    default:
      result += c;
    }
  return result;
}

std::string open(double width, double height, std::string_view description) {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" "
      "role=\"img\" aria-label=\"{2}\" font-family=\"Inter, Helvetica Neue, Segoe UI, Liberation "
      "Sans, Arial, sans-serif\" font-size=\"13\" fill=\"{3}\">\n",
      number(width), number(height), escape(description), ink);
}

std::string text(double x, double y, std::string_view content, std::string_view attributes) {
  return fmt::format("<text x=\"{}\" y=\"{}\"{}{}>{}</text>\n", number(x), number(y),
                     attributes.empty() ? "" : " ", attributes, escape(content));
}

namespace {

/// 1, 2 or 5 times a power of ten, so that about `count` steps fill `span`.
double round_step(double span, int count) {
  double const raw = span / count;
  double const power = std::pow(10, std::floor(std::log10(raw)));
  for (double factor : {1.0, 2.0, 5.0})
    if (factor * power >= 0.999 * raw) return factor * power;
  return 10 * power;
}

/// With thousands separated; decimals as asked.
std::string tick_label(double value, int decimals) {
  if (decimals == 0) return grouped(static_cast<index>(std::llround(value)));
  std::string const text = fmt::format("{:.{}f}", value, decimals);
  return text.find_first_not_of("-0.") == std::string::npos ? "0" : text;
}

} // namespace

axis axis::linear(double lo, double hi, int about, bool round_ends) {
  axis result;
  if (!(hi > lo)) { // a single value still gets an axis around it
    double const half = lo == 0 ? 1 : 0.1 * std::abs(lo);
    lo -= half;
    hi += half;
  }
  double const step = round_step(hi - lo, about);
  result.lo_ = round_ends ? std::floor(lo / step + 1e-9) * step : lo;
  result.hi_ = round_ends ? std::ceil(hi / step - 1e-9) * step : hi;
  result.linear_ticks(step);
  return result;
}

void axis::linear_ticks(double step) {
  double const first = std::ceil(lo_ / step - 1e-6) * step;
  double largest = std::max(std::abs(lo_), std::abs(hi_));
  if (step < 1e-5 * largest) { // too many digits for labels: they count from the first one
    base_ = first;
    largest = hi_ - first;
  }
  if (largest >= 1e6 || largest < 1e-2) exponent_ = static_cast<int>(std::floor(std::log10(largest)));
  double const unit = std::pow(10, exponent_);
  int const decimals = std::max(0, -static_cast<int>(std::floor(std::log10(step / unit) + 1e-9)));
  for (int i = 0; first + i * step <= hi_ + 1e-6 * step; ++i)
    ticks_.push_back({first + i * step, tick_label((first - base_ + i * step) / unit, decimals)});
}

axis axis::logarithmic(double lo, double hi, bool with_zero) {
  axis result;
  result.log_ = true;
  result.zero_ = with_zero;
  double const first = std::floor(std::log10(lo) + 1e-9), last = std::ceil(std::log10(hi) - 1e-9);
  result.lo_ = std::pow(10, std::min(first, last - 1));
  result.hi_ = std::pow(10, last);
  result.log_ticks();
  return result;
}

void axis::log_ticks() {
  auto const label = [](int factor, int power) {
    double const value = factor * std::pow(10, power);
    if (power >= -3 && power <= 4)
      return power < 0 ? fmt::format("{:g}", value) : grouped(std::llround(value));
    return factor == 1 ? power_of_ten(power) : std::string();
  };
  if (zero_) ticks_.push_back({0, "0"});
  int const first = static_cast<int>(std::lround(std::log10(lo_))),
            last = static_cast<int>(std::lround(std::log10(hi_)));
  int const every = (last - first + 6) / 7;
  for (int power = first; power <= last; power += every) {
    ticks_.push_back({std::pow(10, power), label(1, power)});
    if (last - first > 2 || power == last) continue;
    for (int factor : {2, 5}) // few powers: steps between them
      ticks_.push_back({factor * std::pow(10, power), label(factor, power)});
  }
}

double axis::place(double value) const {
  if (!log_) return (value - lo_) / (hi_ - lo_);
  double const decades = std::log10(hi_ / lo_), below = zero_ ? 0.12 * decades : 0;
  if (zero_ && value <= 0) return 0;
  return (below + std::log10(std::max(value, lo_) / lo_)) / (below + decades);
}

std::string axis::unit() const {
  std::string const from =
      base_ == 0 ? "" : fmt::format(" {} {:.15g}", base_ < 0 ? "+" : "−", std::abs(base_));
  return exponent_ == 0 ? from : fmt::format("{} ({})", from, power_of_ten(exponent_));
}

namespace {

/// Room for the longest tick label and the rotated axis label.
double left_margin(axis const& y) {
  std::size_t longest = 1;
  for (tick const& t : y.ticks()) {
    std::size_t characters = 0;
    for (char c : t.label) characters += (c & 0xC0) != 0x80; // UTF-8
    longest = std::max(longest, characters);
  }
  return 34 + 7.0 * static_cast<double>(longest);
}

} // namespace

std::string draw(frame const& f, std::string_view x_label, std::string_view y_label) {
  std::string out = fmt::format("<g stroke=\"{}\" stroke-width=\"1\">", grid_colour);
  for (tick const& t : f.y.ticks())
    out += fmt::format("<path d=\"M{} {}H{}\"/>", number(f.left), number(f.py(t.value)), number(f.right));
  out += fmt::format("</g>\n<g stroke=\"{}\" stroke-width=\"1\"><path d=\"M{} {}H{}\"/>", muted,
                     number(f.left), number(f.bottom), number(f.right));
  for (tick const& t : f.x.ticks())
    out += fmt::format("<path d=\"M{} {}v5\"/>", number(f.px(t.value)), number(f.bottom));
  out += fmt::format("</g>\n<g fill=\"{}\" font-size=\"12\">", muted);
  for (tick const& t : f.y.ticks())
    out += text(f.left - 8, f.py(t.value) + 4, t.label, "text-anchor=\"end\"");
  for (tick const& t : f.x.ticks())
    out += text(f.px(t.value), f.bottom + 19, t.label, "text-anchor=\"middle\"");
  out += text((f.left + f.right) / 2, f.bottom + 38, fmt::format("{}{}", x_label, f.x.unit()),
              "text-anchor=\"middle\"");
  double const middle = (f.top + f.bottom) / 2;
  out +=
      fmt::format("<text transform=\"translate({} {}) rotate(-90)\" text-anchor=\"middle\">{}{}</text></g>\n",
                  number(f.left - left_margin(f.y) + 14), number(middle), escape(y_label), f.y.unit());
  return out;
}

namespace {

constexpr std::size_t most_points = 1500; // of a line: more cannot be seen

std::string title_text(std::string const& title) {
  return text(0, 16, title, "font-size=\"15\" font-weight=\"600\"");
}

std::string legend(std::vector<line> const& lines, double width) {
  std::string out;
  double x = 0, y = 38;
  for (line const& l : lines) {
    double const needed = 40 + 6.6 * static_cast<double>(l.name.size());
    if (x > 0 && x + needed > width) x = 0, y += 18;
    out += fmt::format("<path d=\"M{} {}h18\" stroke=\"{}\" stroke-width=\"3\" stroke-linecap=\"round\"/>",
                       number(x + 2), number(y - 4), l.colour);
    out += text(x + 26, y, l.name, "font-size=\"12\"");
    x += needed;
  }
  return out;
}

double legend_height(std::vector<line> const& lines, double width) {
  if (lines.size() < 2) return 0;
  double x = 0, height = 20;
  for (line const& l : lines) {
    double const needed = 40 + 6.6 * static_cast<double>(l.name.size());
    if (x > 0 && x + needed > width) x = 0, height += 18;
    x += needed;
  }
  return height;
}

/// The line as path data, thinned where there are more points than can be seen; the last one always stays.
std::string path_of(line const& l, frame const& f, bool dots) {
  std::string out;
  std::size_t const every = l.points.size() / most_points + 1;
  for (std::size_t i = 0; i < l.points.size(); ++i) {
    if (i % every != 0 && i + 1 != l.points.size()) continue;
    out += fmt::format("{}{} {}{}", dots || i == 0 ? "M" : "L", number(f.px(l.points[i].first)),
                       number(f.py(l.points[i].second)), dots ? "h.01" : "");
  }
  return out;
}

/// How many steps to ask for so that none is a fraction.
int whole_steps(double span) { return static_cast<int>(std::clamp(span, 1.0, 7.0)); }

struct range {
  double lo = std::numeric_limits<double>::infinity(), hi = -lo, least_positive = lo;
  void add(double v) {
    lo = std::min(lo, v);
    hi = std::max(hi, v);
    if (v > 0) least_positive = std::min(least_positive, v);
  }
};

} // namespace

std::string draw(chart const& c, double width, double height) {
  range xs, ys;
  for (line const& l : c.lines)
    for (auto const& [x, y] : l.points) xs.add(x), ys.add(y);
  bool const log_y = c.log_y && ys.hi > 20 * ys.least_positive;
  axis const y = log_y ? axis::logarithmic(ys.least_positive, ys.hi, ys.lo <= 0)
                       : axis::linear(c.from_zero ? 0 : ys.lo, ys.hi, 5, true);
  int const about = c.whole_x ? whole_steps(xs.hi - xs.lo) : 7;
  axis x =
      xs.hi > xs.lo ? axis::linear(xs.lo, xs.hi, about, false) : axis::linear(xs.lo - 1, xs.lo + 1, 2, false);
  if (c.log_x && xs.lo > 0 && xs.hi > 20 * xs.lo) x = axis::logarithmic(xs.lo, xs.hi, false);
  frame const f{left_margin(y), 34 + legend_height(c.lines, width), width - 14, height - 48, x, y};
  std::string out = open(width, height, c.title) + title_text(c.title);
  if (c.lines.size() > 1) out += legend(c.lines, width);
  out += draw(f, c.x_label, c.y_label);
  for (line const& l : c.lines) {
    out +=
        fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\" stroke-linejoin=\"round\" "
                    "stroke-linecap=\"round\"/>\n",
                    path_of(l, f, false), l.colour);
    if (l.points.size() <= 60 / c.lines.size())
      out += fmt::format(
          "<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"6\" stroke-linecap=\"round\"/>\n",
          path_of(l, f, true), l.colour);
  }
  return out + "</svg>\n";
}

std::string draw(bar_chart const& c, double width, double height) {
  range xs, ys;
  double top = 0, last = std::numeric_limits<double>::quiet_NaN();
  for (bar const& b : c.bars) {
    xs.add(b.from);
    xs.add(b.to);
    top = b.from == last ? top + b.height : b.height;
    last = b.from;
    ys.add(top);
  }
  axis const y = axis::linear(0, ys.hi, 5, true);
  axis x = axis::linear(xs.lo, xs.hi, c.whole_x ? whole_steps(xs.hi - xs.lo - 1) : 7, false);
  if (c.log_x && xs.lo > 0) x = axis::logarithmic(xs.lo, xs.hi, false);
  frame const f{left_margin(y), 34, width - 14, height - 48, x, y};
  std::string out = open(width, height, c.title) + title_text(c.title) + draw(f, c.x_label, c.y_label);
  last = std::numeric_limits<double>::quiet_NaN();
  for (bar const& b : c.bars) {
    double const base = b.from == last ? top : 0;
    top = base + b.height;
    last = b.from;
    double const left = f.px(b.from), wide = f.px(b.to) - left, gap = wide > 4 ? 1 : 0;
    out +=
        fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"", number(left + gap / 2),
                    number(f.py(top)), number(wide - gap), number(f.py(base) - f.py(top)), b.colour);
    out += b.title.empty() ? "/>" : fmt::format("><title>{}</title></rect>", escape(b.title));
  }
  return out + "\n</svg>\n";
}

} // namespace kopse::cli::svg
