// SPDX-License-Identifier: BSD-3-Clause
// --report: one page with pictures, complete in itself (no network, fonts or scripts).
#pragma once

#include <string>

#include "stats.hpp"

namespace kopse::cli {

std::string report_html(run_record const& run, table const& data);

} // namespace kopse::cli
