// SPDX-License-Identifier: BSD-3-Clause
#include "memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>

#include "kopse/memory_plan.hpp"
#include "kopse/parallel.hpp"
#include "kopse/seeding.hpp"
#include "stats.hpp"

namespace kopse::cli {
namespace {

double mib(double bytes) { return bytes / 0x1p20; }

double bytes_of(table const& data) {
  return data.visit([]<class Real>(matrix_view<Real> const& rows) {
    return static_cast<double>(rows.rows()) * static_cast<double>(rows.stride()) * double{sizeof(Real)};
  });
}

memory_plan plan_within(double left, fit_settings const& s, table const& data, bool weighted,
                        double other_labels) {
  options o = s.fit;
  o.memory_limit = std::max(left, 1.0);
  memory_plan plan = plan_memory(data.rows(), data.cols(), data.is_float32(), s.k, o, weighted);
  plan.others = other_labels;
  return plan;
}

// What would take less, for those who can give no more memory.
std::string advice(fit_settings const& s, memory_plan const& plan, int threads) {
  std::string fewer = threads > 1 ? "; fewer --threads take less" : "";
  bool const of_start = plan.start > plan.step + plan.labels;
  if (s.fit.centroids || s.fit.init == "random" || !of_start) return fewer;
  return (s.fit.init == "k-means++"
              ? "; --init random takes less"
              : fmt::format("; {} takes much of it, --init k-means++ or random less", s.fit.init))
         + fewer;
}

std::string where_rows_are(table const& data) {
  if (!data.paged) return "in memory";
  return data.on_disk ? "in a temporary file, page by page" : "in their file, page by page";
}

} // namespace

double parse_memory(std::string const& text) {
  double number = 0;
  auto const [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  std::string unit(end, text.data() + text.size());
  for (char& c : unit) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (char const* tail : {"ib", "b"})
    if (unit.ends_with(tail)) {
      unit.resize(unit.size() - std::string_view(tail).size());
      break;
    }
  static constexpr std::string_view units = "kmgt";
  auto const power = unit.empty() ? 0 : unit.size() == 1 ? units.find(unit[0]) + 1 : 0;
  bool const known = unit.empty() || (unit.size() == 1 && units.find(unit[0]) != units.npos);
  double const bytes = std::ldexp(number, 10 * static_cast<int>(known ? power : 0));
  if (problem == std::errc{} && known && bytes >= 1 && bytes < 0x1p62) return std::floor(bytes);
  throw usage_error(
      fmt::format("--memory '{}': a number of bytes such as 500M, 2G or 1.5GiB is expected (K, M, G, T: "
                  "powers of 1024)",
                  printable(text)));
}

double memory_of_rows(double limit) {
  constexpr double blocks = 0x1p24; // of what is read
  return std::max(0.0, (limit - static_cast<double>(memory_held())) / 4 - blocks);
}

index keep_within(fit_settings& s, table& data, bool weighted, double other_labels) {
  double const limit = s.memory_limit, held = static_cast<double>(memory_held()), rows = bytes_of(data);
  int const threads = s.fit.threads > 0 ? s.fit.threads : available_threads();
  double pages = data.paged ? static_cast<double>(pages_of_a_thread) * threads : 0;
  memory_plan plan = plan_within(limit - held - pages, s, data, weighted, other_labels);
  if (data.paged) { // perhaps all of them can stay
    memory_plan const with_rows = plan_within(limit - held - rows, s, data, weighted, other_labels);
    if (with_rows.ample() <= limit - held - rows && with_rows.algorithm == plan.algorithm
        && with_rows.by_passes == plan.by_passes) {
      data.paged.reset();
      plan = with_rows;
      pages = rows;
    }
  }
  double const least = std::max(static_cast<double>(peak_memory()), held + pages + plan.ample());
  if (least > limit)
    throw error(
        fmt::format("--memory {}: clustering these rows takes at least {:.0f} MiB: {:.1f} held with what "
                    "was read, {:.1f} for pages of rows, {:.1f} for the start or the labels, {:.1f} for "
                    "clusters and threads{}",
                    s.memory, std::ceil(mib(least) + 0.5), mib(held), mib(pages), mib(plan.of_points()),
                    mib(plan.ample() - plan.of_points()), advice(s, plan, threads)));
  double const expected = std::max(static_cast<double>(peak_memory()), held + pages + plan.peak());
  if (!s.quiet)
    complain(
        fmt::format("memory: at most {:.1f} MiB, about {:.1f} expected: rows ({:.1f}) {}{}; algorithm {}{}",
                    mib(limit), mib(expected), mib(rows), where_rows_are(data),
                    plan.by_passes ? "; k-means++ by passes over them" : "", plan.algorithm,
                    plan.algorithm != s.fit.algorithm ? " in place of " + s.fit.algorithm : ""));
  s.fit.memory_limit = limit - held - pages;
  s.fit.algorithm = plan.algorithm;
  return static_cast<index>(expected);
}

} // namespace kopse::cli
