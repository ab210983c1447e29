// SPDX-License-Identifier: BSD-3-Clause
#include "input_checks.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

namespace kopse {

namespace {
constexpr index most_columns = index{1} << 24; // with values up to 1e150, squared distances stay finite
}

std::string shape(index rows, index cols) { return std::to_string(rows) + " x " + std::to_string(cols); }

std::string in_digits(double value) {
  if (std::isnan(value)) return "NaN";
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

void check_shape(index n, index d) {
  if (n < 1 || d < 1)
    throw error("the data are " + shape(n, d) + ": expected at least one row and one column");
  if (d > most_columns)
    throw error("the data have " + std::to_string(d) + " columns: expected at most "
                + std::to_string(most_columns));
}

void check_k(index n, index k) {
  if (k < 1) throw usage_error("k = " + std::to_string(k) + ": expected at least 1 cluster");
  if (k > n)
    throw usage_error("k = " + std::to_string(k) + " is more than the " + std::to_string(n)
                      + " rows there are");
  if (k > std::numeric_limits<label>::max())
    throw usage_error("k = " + std::to_string(k) + ": expected less than 2^31");
}

// A distance may be 0 in double between rows that differ: squares below 5e-324 do not exist.
std::string too_few_rows(index found, bool weighted, std::string const& asked) {
  return "only " + std::to_string(found) + (found == 1 ? " distinct row" : " distinct rows")
         + (weighted ? " of weight above 0" : "") + (found == 1 ? " was" : " were")
         + " found (rows at distance 0 in double precision count as one), " + asked + " were asked for";
}

double largest_of(std::span<double const> weights) {
  double largest = 0;
  for (double const w : weights) largest = std::max(largest, w);
  return largest;
}

std::vector<double> scaled(std::span<double const> weights, int& exponent) {
  exponent = 0;
  return weights.empty() ? std::vector<double>() : scaled(weights, largest_of(weights), exponent);
}

std::vector<double> scaled(std::span<double const> weights, double largest, int& exponent) {
  exponent = std::ilogb(largest);
  if (exponent == 0) return {};
  std::vector<double> out(weights.begin(), weights.end());
  for (double& w : out) w = std::ldexp(w, -exponent);
  return out;
}

int worthwhile(int threads, index n, index k) {
  constexpr double few_distances = 1 << 20;
  return threads == 0 && static_cast<double>(n) * static_cast<double>(k) < few_distances ? 1 : threads;
}

} // namespace kopse
