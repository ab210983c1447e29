// SPDX-License-Identifier: BSD-3-Clause
#include "long_runs.hpp"

#include <fmt/format.h>

#include <charconv>
#include <csignal>
#include <filesystem>

namespace kopse::cli {
namespace {

std::atomic<bool> watched = false, raised = false; // lock-free: a signal handler may use them
std::atomic<int> taken = 0;
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free);

/// Seconds of "90s", "30m", "1.5h", "2d"; negative if it is no time.
double seconds_of(std::string const& text) {
  double number = 0;
  auto const [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  std::string_view const unit(end, text.data() + text.size());
  double const seconds = unit == "s" ? 1 : unit == "m" ? 60 : unit == "h" ? 3600 : unit == "d" ? 86400 : -1;
  return problem == std::errc{} && number > 0 && number * seconds <= 1e9 ? number * seconds : -1;
}

/// "50" = iterations, "90s" = time.
void set_interval(checkpoint_options& checkpoint, std::string const& text) {
  index iterations = 0;
  auto const [end, problem] = std::from_chars(text.data(), text.data() + text.size(), iterations);
  if (problem == std::errc{} && end == text.data() + text.size() && iterations > 0) {
    checkpoint.every_iterations = iterations;
    return;
  }
  checkpoint.every_seconds = seconds_of(text);
  if (checkpoint.every_seconds < 0)
    throw usage_error(
        fmt::format("--checkpoint-every '{}': a number of iterations above 0, or a time such as "
                    "90s, 10m, 2h is expected",
                    printable(text)));
}

} // namespace

void check_long_run(fit_settings& s) {
  checkpoint_options& checkpoint = s.fit.checkpoint;
  if (!s.time_limit.empty()) {
    s.fit.time_limit = seconds_of(s.time_limit);
    if (s.fit.time_limit < 0)
      throw usage_error(fmt::format("--time-limit '{}': a time such as 90s, 30m, 1.5h, 2d is expected",
                                    printable(s.time_limit)));
  }
  if (!s.checkpoint_every.empty()) set_interval(checkpoint, s.checkpoint_every);
  if (checkpoint.file.empty()) {
    if (checkpoint.resume) throw usage_error("--resume: --checkpoint FILE must say from where");
    if (!s.checkpoint_every.empty())
      throw usage_error("--checkpoint-every: without effect, as there is no --checkpoint");
    return;
  }
}

void refuse_old_checkpoint(checkpoint_options const& checkpoint) {
  std::error_code problem; // which reading it will tell
  if (!checkpoint.file.empty() && !checkpoint.resume
      && std::filesystem::is_regular_file(checkpoint.file, problem))
    throw error(
        fmt::format("--checkpoint {} is there already: --resume goes on from it; remove it to start anew",
                    checkpoint.file));
}

signal_watch::signal_watch() {
  taken = 0;
  raised = false;
  watched = true;
}
signal_watch::~signal_watch() { watched = false; }
std::atomic<bool> const* signal_watch::flag() const { return &raised; }
int signal_watch::signal() const { return taken; }

bool take_signal(int signal) noexcept {
  if (!watched || raised.exchange(true)) return false;
  taken = signal;
  return true;
}

} // namespace kopse::cli
