// SPDX-License-Identifier: BSD-3-Clause
// A dozen colours for any number of clusters: as for maps, those that touch must differ, the others may be
// alike.
#include "palette.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

namespace kopse::cli {
namespace {

constexpr std::uint8_t uncoloured = 255;
/// The colour most like each: blue and dark blue, orange and brown, … Avoided beside it where there is a
/// choice.
constexpr std::array<std::uint8_t, colours> alike{8, 9, 10, 7, 11, 5, 6, 3, 0, 1, 2, 4};

int channel(std::string_view colour, std::size_t which) {
  int value = 0;
  std::from_chars(colour.data() + 1 + 2 * which, colour.data() + 3 + 2 * which, value, 16);
  return value;
}

} // namespace

std::string mix(std::string_view ground, std::string_view colour, double share) {
  std::string result = "#";
  for (std::size_t c = 0; c < 3; ++c)
    result +=
        fmt::format("{:02x}", std::lround((1 - share) * channel(ground, c) + share * channel(colour, c)));
  return result;
}

std::vector<std::uint8_t> colour_clusters(index k, neighbours pairs) {
  std::vector<std::uint8_t> result(static_cast<std::size_t>(k), uncoloured);
  if (static_cast<std::size_t>(k) <= colours) {
    std::iota(result.begin(), result.end(), std::uint8_t{0});
    return result;
  }
  // Both directions, sorted: the neighbours of a cluster then stand side by side.
  for (std::size_t i = pairs.size(); i-- > 0;) pairs.emplace_back(pairs[i].second, pairs[i].first);
  std::sort(pairs.begin(), pairs.end());
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  std::array<index, colours> used{};
  auto pair = pairs.begin();
  for (label c = 0; c < k; ++c) {
    std::array<index, colours> cost = used; // the least used colour is cheapest, one beside it dearest
    for (; pair != pairs.end() && pair->first == c; ++pair) {
      auto const other = result[static_cast<std::size_t>(pair->second)];
      if (other == uncoloured) continue;
      cost[alike[other]] += k;
      cost[other] += 100 * k;
    }
    auto const best = std::min_element(cost.begin(), cost.end()) - cost.begin();
    result[static_cast<std::size_t>(c)] = static_cast<std::uint8_t>(best);
    ++used[static_cast<std::size_t>(best)];
  }
  return result;
}

} // namespace kopse::cli
