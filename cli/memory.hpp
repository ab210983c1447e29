// SPDX-License-Identifier: BSD-3-Clause
// A limit on the memory of a fit: where its rows lie, and what it does in place of what takes more.
#pragma once

#include "fit.hpp"

namespace kopse::cli {

/// Bytes of "500M", "2G", "1.5GiB", "1000000"; K, M, G and T are powers of 1024. Throws usage_error.
double parse_memory(std::string const& text);

/// Of such a limit, what the rows may take in memory: so much that the fit has most of it.
double memory_of_rows(double limit);

/// Decides what is done within settings.memory_limit, tells it on stderr unless it is to be quiet, and sets
/// settings.fit and data.paged by it. Throws error, with how much would be enough, where nothing can be done.
/// Returns the most memory that the program is thought to hold; other_labels: bytes for labels of other
/// ranks.
index keep_within(fit_settings& settings, table& data, bool weighted, double other_labels);

} // namespace kopse::cli
