// SPDX-License-Identifier: BSD-3-Clause
// A user's program: the headers belong to the library that is linked, and two groups are found.
#include <kopse/kopse.hpp>
#include <string_view>
#include <vector>

int main() {
  std::vector<float> const values = {0, 1, 2, 100, 101, 102};
  kopse::options options;
  options.centroids = kopse::matrix<double>(2, 1);
  (*options.centroids)(1, 0) = 1;
  auto const run = kopse::fit(kopse::matrix_view<float>(values.data(), 6, 1), 2, options);
  bool const found =
      run.converged() && run.centroids(0, 0) == 1 && run.centroids(1, 0) == 101 && run.inertia == 4;
  return found && std::string_view(kopse::version()) == KOPSE_VERSION ? 0 : 1;
}
