// SPDX-License-Identifier: BSD-3-Clause
// Colours for clusters: a dozen that can be told apart, spread so that clusters that touch differ.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kopse/core.hpp"

namespace kopse::cli {

inline constexpr std::size_t colours = 12;
using palette = std::array<std::string_view, colours>;

/// Hues of about equal strength in OKLCH: one set for white ground, one for the night sky.
inline constexpr palette on_light{"#396ed6", "#ea8a18", "#2e9e52", "#de3b3d", "#854ece", "#2bb3b9",
                                  "#e0ba31", "#e266a7", "#005990", "#925019", "#95bb46", "#9e9ce1"};
inline constexpr palette on_dark{"#6ba5fb", "#f8ab4f", "#5fd37f", "#f75d59", "#b77ff2", "#61dde3",
                                 "#f7df69", "#f990c4", "#567cd3", "#cc7b4b", "#bee572", "#c9c3f6"};

/// A colour between two: share 0 gives `ground`, 1 gives `colour`.
std::string mix(std::string_view ground, std::string_view colour, double share);

/// Which clusters touch in the picture.
using neighbours = std::vector<std::pair<label, label>>;

/// The colour of each cluster. Up to a dozen clusters have one of their own; else greedily the least used
/// colour that no neighbour has, nor one much like it. O(k + pairs).
std::vector<std::uint8_t> colour_clusters(index k, neighbours pairs);

} // namespace kopse::cli
