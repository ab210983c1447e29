// SPDX-License-Identifier: BSD-3-Clause
#include "memory.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <limits>
#include <string>

#include "kopse/core.hpp"

namespace kopse {

namespace {

constexpr double unknown = std::numeric_limits<double>::infinity();

// A line "name:   1234 kB" of a file of /proc, in bytes.
double proc_bytes(char const* file, std::string const& name) {
  std::ifstream in(file);
  for (std::string word; in >> word;) {
    double kilobytes = 0;
    if (word == name + ":" && in >> kilobytes) return 1024 * kilobytes;
  }
  return unknown;
}

// Linux says what can be had without swapping; elsewhere it is the memory there is.
double system_memory() {
  double const available = proc_bytes("/proc/meminfo", "MemAvailable");
  if (available != unknown) return available;
  long const pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  return pages > 0 && page > 0 ? static_cast<double>(pages) * static_cast<double>(page) : unknown;
}

double address_space() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return unknown;
  double const used = proc_bytes("/proc/self/status", "VmSize");
  return std::max(0.0, static_cast<double>(limit.rlim_cur) - (used == unknown ? 0 : used));
}

// 12345678900 bytes (11.5 GiB)
std::string in_words(double bytes) {
  char text[80];
  std::snprintf(text, sizeof text, "%.0f bytes (%.3g GiB)", bytes, bytes / 0x1p30);
  return text;
}

} // namespace

double available_memory() { return std::min(system_memory(), address_space()); }

namespace {
[[noreturn]] void refuse_fit(double needed, double available) {
  throw memory_error("not enough memory: the fit needs about " + in_words(needed) + ", " + in_words(available)
                     + " are available");
}
} // namespace

void require_memory_of_fit(double bytes, double address_space_too) {
  constexpr double sure = 0.85;
  if (double const available = system_memory(); sure * bytes > available) refuse_fit(bytes, available);
  double const all = bytes + address_space_too, available = address_space();
  if (sure * all > available) refuse_fit(all, available);
}

void report_exhausted_memory(double bytes) {
  double const available = available_memory();
  if (bytes > available) refuse_fit(bytes, available);
  throw memory_error("not enough memory: the fit needs more than the " + in_words(bytes)
                     + " that were expected, " + in_words(available) + " are available");
}

void require_memory(std::string_view what, double bytes, double available) {
  if (bytes <= available) return;
  throw memory_error(std::string(what) + " needs " + in_words(bytes) + " of memory, " + in_words(available)
                     + " are available");
}

} // namespace kopse
