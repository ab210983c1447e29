// SPDX-License-Identifier: BSD-3-Clause
// Clusters rows that are already in memory, and prints the centroids.
#include <iostream>
#include <kopse/kopse.hpp>
#include <vector>

int main() {
  std::vector<double> const values = {1, 2, 1, 4, 1, 0, 10, 2, 10, 4, 10, 0}; // six rows of two columns
  kopse::matrix_view<double> const rows(values.data(), 6, 2);

  kopse::result const run = kopse::fit(rows, 2);

  for (kopse::index j = 0; j < 2; ++j)
    std::cout << "centroid " << j << ": " << run.centroids(j, 0) << ", " << run.centroids(j, 1) << '\n';
  std::cout << "inertia " << run.inertia << " after " << run.iterations << " iterations\n";
}
