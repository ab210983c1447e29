// SPDX-License-Identifier: BSD-3-Clause
// The settings of kopse fit: fit_options.cpp parses them, fit.cpp acts on them.
#pragma once

#include "cli.hpp"
#include "kopse/kmeans.hpp"

namespace kopse::cli {

struct fit_settings {
  data_file data;
  index k = 0;
  options fit;
  std::string empty = "relocate", bisector = "on";
  bool allow_empty = false;
  std::string initial_centroids, weights;
  std::string centroids_out, labels_out, stats, report; ///< empty = not asked for
  std::string checkpoint_every, time_limit, memory;     ///< as they were given
  double memory_limit = 0;                              ///< in bytes, of all the program; 0 = none
  bool verbose = false, quiet = false;
};

void run_fit_command(fit_settings& settings);

} // namespace kopse::cli
