// SPDX-License-Identifier: BSD-3-Clause
// Reads a file in its own type, clusters its rows, and writes the centroids: files DATA CENTROIDS
#include <exception>
#include <iostream>
#include <kopse/kopse.hpp>

int main(int count, char** words) {
  if (count != 3) return std::cerr << "usage: files DATA CENTROIDS\n", 2;
  try {
    kopse::load_options how;
    how.columns = {0, 1, 2};
    kopse::table const data = kopse::load(words[1], how);
    for (std::string const& note : data.notes) std::cerr << note << '\n';

    kopse::options settings;
    settings.threads = 2;
    kopse::result const run = data.visit([&](auto const& rows) { return kopse::fit(rows, 30, settings); });

    kopse::save(words[2], run.centroids);
    std::cout << "inertia " << run.inertia << " after " << run.iterations << " iterations\n";
  } catch (kopse::error const& e) { // what and where; e.code() is kopse::error_code::input, usage, memory, …
    return std::cerr << e.what() << '\n', 1;
  }
}
