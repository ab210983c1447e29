// SPDX-License-Identifier: BSD-3-Clause
// What kopse choose-k tells: a table, JSON, and a page with the curves.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>

#include "kopse/choose_k.hpp"

namespace kopse::cli {

/// All that is told of a sweep over k, or of X-means.
struct choice_record {
  std::string data; ///< its path
  index n = 0, d = 0;
  std::uint64_t seed = 0;
  double load_seconds = 0;
  choice_result result;
};
struct x_means_record {
  std::string data;
  index n = 0, d = 0;
  std::uint64_t seed = 0;
  double load_seconds = 0;
  x_means_result result;
};

std::string table_text(choice_record const& record);
std::string table_text(x_means_record const& record);
nlohmann::ordered_json choice_stats(choice_record const& record);
nlohmann::ordered_json choice_stats(x_means_record const& record);
/// An HTML page, complete in itself.
std::string choice_html(choice_record const& record);

} // namespace kopse::cli
