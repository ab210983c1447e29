// SPDX-License-Identifier: BSD-3-Clause
// What is known of a run once it is over: the JSON of --stats, and the report's source.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>

#include "kopse/io.hpp"
#include "kopse/kmeans.hpp"

namespace kopse::cli {

struct run_record {
  std::string data;                 ///< path of the data
  std::vector<std::string> columns; ///< their names, or "column 3"
  index n = 0, d = 0, k = 0;
  std::uint64_t seed = 0;
  int threads = 1;
  std::vector<index> rows_per_rank; ///< one number where mpirun has no part in it
  index restarts = 1;
  bool spherical = false;
  kopse::result result;
  double load_seconds = 0, write_seconds = 0;
  double pass_seconds = 0;   ///< 0 = not measured
  index memory_limit = 0;    ///< 0 = none
  index predicted_bytes = 0; ///< of the next one
  index peak_bytes = 0;      ///< most memory held until the fit ended
};

/// Why the run ended, as half a sentence.
std::string reason(run_record const& run);

/// The memory this process holds now.
index memory_held();

/// The most memory this process has held.
index peak_memory();

/// Seconds of the fastest possible pass over the data: the best of five sums of all coordinates in their own
/// type, from memory rather than cache. Data smaller than that are copied side by side first, if they may be,
/// and the time scaled back.
double measure_pass(table const& data, int threads, bool may_copy = true);

/// The fields stand in docs/command_line.md.
nlohmann::ordered_json stats(run_record const& run);

} // namespace kopse::cli
