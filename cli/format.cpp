// SPDX-License-Identifier: BSD-3-Clause
// Numbers for people: separated thousands, powers of ten, durations.
#include "format.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace kopse::cli {

std::string grouped(index value) {
  std::string const digits = fmt::format("{}", value);
  std::string result;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    std::size_t const left = digits.size() - i;
    if (i > 0 && digits[i - 1] != '-' && left % 3 == 0) result += ',';
    result += digits[i];
  }
  return result;
}

std::string counted(index count, std::string_view noun) {
  return fmt::format("{} {}{}", grouped(count), noun, count == 1 ? "" : "s");
}

std::string power_of_ten(int exponent) {
  static constexpr std::array<char const*, 10> digits{"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  std::string text = exponent < 0 ? "10⁻" : "10";
  for (char c : fmt::format("{}", std::abs(exponent))) text += digits[static_cast<std::size_t>(c - '0')];
  return text;
}

std::string pretty(double value, int digits) {
  double const size = std::abs(value);
  if (value == 0 || !std::isfinite(value) || (size >= 1e-3 && size < 1e6)) {
    if (size >= 1e4 && size < 1e6) return grouped(static_cast<index>(std::llround(value)));
    return fmt::format("{:.{}g}", value, digits);
  }
  std::string const text = fmt::format("{:.{}e}", value, digits - 1);
  auto const e = text.find('e');
  std::string mantissa = text.substr(0, e);
  if (mantissa.find('.') != std::string::npos) {
    while (mantissa.back() == '0') mantissa.pop_back();
    if (mantissa.back() == '.') mantissa.pop_back();
  }
  std::string const power = power_of_ten(std::stoi(text.substr(e + 1)));
  return mantissa == "1" ? power : fmt::format("{} × {}", mantissa, power);
}

std::string duration(double seconds) {
  if (seconds < 0.1) return fmt::format("{:.3g} ms", 1000 * seconds);
  if (seconds < 100) return fmt::format("{:.3g} s", seconds);
  auto const whole = std::llround(seconds);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

} // namespace kopse::cli
