// SPDX-License-Identifier: BSD-3-Clause
#include "kopse/seeding.hpp"

#include <unordered_map>

#include "kopse/random.hpp"

namespace kopse {

namespace {
constexpr std::string_view names[] = {"random"};
}

std::span<std::string_view const> inits() { return names; }

std::vector<index> draw_rows(index n, index k, std::uint64_t seed, index restart) {
  random_stream const random(seed, static_cast<std::uint32_t>(restart));
  // Position p of the shuffled rows 0 .. n-1, for the few positions where it is not p.
  std::unordered_map<index, index> moved;
  auto const at = [&](index p) {
    auto const found = moved.find(p);
    return found == moved.end() ? p : found->second;
  };
  std::vector<index> rows;
  rows.reserve(static_cast<std::size_t>(k));
  for (index i = 0; i < k; ++i) {
    index const pick =
        i
        + static_cast<index>(random.below(static_cast<std::uint64_t>(n - i), static_cast<std::uint64_t>(i)));
    rows.push_back(at(pick));
    moved[pick] = at(i);
  }
  return rows;
}

template <class Real>
matrix<double> seed(std::string_view init, point_set<Real> const& points, index k, std::uint64_t seed,
                    index restart) {
  if (init != "random") throw usage_error("unknown init '" + std::string(init) + "': expected random");
  matrix<double> centroids(k, points.dims());
  index out = 0;
  for (index const row : draw_rows(points.size(), k, seed, restart))
    std::copy_n(points.rows.row(row), points.dims(), centroids.row(out++));
  return centroids;
}
template matrix<double> seed<float>(std::string_view, point_set<float> const&, index, std::uint64_t, index);
template matrix<double> seed<double>(std::string_view, point_set<double> const&, index, std::uint64_t, index);

} // namespace kopse
