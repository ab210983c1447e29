// SPDX-License-Identifier: BSD-3-Clause
// One tree for seeding, a fit from the start found, and a choice of k.

#include <iostream>
#include <kopse/kopse.hpp>
#include <vector>

int main() {
  std::vector<double> values; // 300 rows of two columns, in six clusters
  for (int i = 0; i < 300; ++i) {
    values.push_back(i % 6 * 20 + i % 7);
    values.push_back(i % 2 * 30 + i % 5);
  }
  kopse::matrix_view<double> const rows(values.data(), 300, 2);
  kopse::built_tree<double> const tree = kopse::build_tree(rows);

  kopse::seeding_options start;
  start.init = "k-means++";
  start.candidates = 0; // greedy: the best of 2 + ln k rows drawn
  kopse::options from;
  from.centroids = kopse::seed(rows, 6, start, tree).centroids;
  std::cout << "inertia " << kopse::fit(rows, 6, from, tree).inertia << '\n';

  kopse::choice_result const choice = kopse::choose_k(rows, kopse::parse_ks("2:12:1"), {}, tree);
  std::cout << "k by the BIC: " << choice.chosen.bic << ", by the silhouette: " << choice.chosen.silhouette
            << '\n';
  std::cout << "k by X-means: " << kopse::x_means(rows, {}, tree).k << '\n';
}
