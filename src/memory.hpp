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

/// The same of a whole fit, whose need is an estimate: thrown where more than a seventh of it is missing.
/// `address_space`: what it takes of that besides, where it is limited.
void require_memory_of_fit(double bytes, double address_space);
/// For one that ran out of memory in spite of it.
[[noreturn]] void report_exhausted_memory(double bytes);

} // namespace kopse
