// SPDX-License-Identifier: BSD-3-Clause
// What all pages share: the look, the head, the foot.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "svg.hpp"

namespace kopse::cli {

/// Sizes of a chart of which two stand side by side.
inline constexpr double half_page = 508, chart_height = 330;

/// A picture with its sentence.
std::string figure(svg::figure const& f);
/// The row of large numbers below the heading: value, what it is.
std::string key_row(std::vector<std::pair<std::string, std::string>> const& entries);
/// The whole page; title, heading and the line below it are plain text, the body is HTML.
std::string html_page(std::string const& title, std::string const& heading, std::string const& below,
                      std::string const& body);

} // namespace kopse::cli
