// SPDX-License-Identifier: BSD-3-Clause
// Numbers for people.
#pragma once

#include <string>
#include <string_view>

#include "kopse/core.hpp"

namespace kopse::cli {

/// 1234567 as "1,234,567".
std::string grouped(index value);
/// "1 point", "2,000 points".
std::string counted(index count, std::string_view noun);
/// About `digits` digits, large and small ones as "1.25 × 10⁶".
std::string pretty(double value, int digits = 4);
/// 10ⁿ with the exponent in superscript digits.
std::string power_of_ten(int exponent);
/// "0.42 s", "3 min 20 s".
std::string duration(double seconds);

} // namespace kopse::cli
