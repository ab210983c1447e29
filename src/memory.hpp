// SPDX-License-Identifier: BSD-3-Clause
// Asking before taking: tables of n·k numbers may be more than the machine has.
#pragma once

#include <string_view>

namespace kopse {

/// Bytes that this process can still take: what the system has to give, and what the limit on its address
/// space leaves. Infinite where neither can be told.
double available_memory();

/// Throws memory_error, with both numbers, when `what` needs more bytes than are available.
void require_memory(std::string_view what, double bytes, double available = available_memory());

} // namespace kopse
