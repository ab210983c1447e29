// SPDX-License-Identifier: BSD-3-Clause
// One line, written over itself: \r returns to its start, ESC [K wipes what is left of the longer line
// before.
#include "progress.hpp"

#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <sys/ioctl.h>
#include <unistd.h>

#include "format.hpp"

namespace kopse::cli {
namespace {

// Read by the signal handler.
volatile std::sig_atomic_t line_open = 0;

constexpr double least_pause =
    0.05; // seconds between two updates in place: thousands of fast iterations need not flicker

std::size_t terminal_width() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

} // namespace

progress::progress(bool quiet, bool verbose)
    : style_(quiet                        ? style::none
             : verbose                    ? style::lines
             : isatty(STDERR_FILENO) != 0 ? style::in_place
                                          : style::none) {}

void progress::phase(std::string_view what) {
  if (style_ == style::in_place) show(fmt::format("{} ...", what));
}

void progress::start(index n, index k, index restarts) {
  n_ = n;
  k_ = k;
  restarts_ = restarts;
  restart_ = 0;
  watch_ = stopwatch();
  phase("starting");
}

void progress::go_on(index restart, index iteration) { restart_ = restart + (iteration > 0 ? 1 : 0); }

void progress::operator()(index iteration, iteration_record const& record) {
  if (iteration == 1) ++restart_;
  double const now = watch_.seconds();
  if (style_ == style::none || (style_ == style::in_place && now - last_shown_ < least_pause)) return;
  last_shown_ = now;
  double const pruned = percent_pruned(static_cast<double>(record.work.distances), static_cast<double>(n_),
                                       static_cast<double>(k_));
  std::string line = restarts_ > 1 ? fmt::format("run {}/{}, ", restart_, restarts_) : "";
  line += fmt::format("iteration {}: {} labels changed, inertia {:.{}g}, {:.2f} % pruned, {:.3g} s",
                      iteration, grouped(record.labels_changed), record.inertia,
                      style_ == style::lines ? 8 : 6, pruned, style_ == style::lines ? record.seconds : now);
  show(std::move(line));
}

void progress::show(std::string line) {
  if (style_ == style::lines) {
    fmt::print(stderr, "{}\n", line);
    return;
  }
  // A line wider than the terminal would wrap, and could not be wiped again.
  if (std::size_t const width = terminal_width(); line.size() >= width) line.resize(width - 1);
  line_open = 1;
  fmt::print(stderr, "\r{}\x1b[K", line);
  std::fflush(stderr);
}

void progress::clear() {
  if (line_open == 0) return;
  fmt::print(stderr, "\r\x1b[K");
  std::fflush(stderr);
  line_open = 0;
}

double percent_pruned(double distances, double n, double k) { return 100 * (1 - distances / (n * k)); }

void end_progress_line() noexcept {
  if (line_open != 0) {
    [[maybe_unused]] auto const written = write(STDERR_FILENO, "\n", 1);
  }
}

} // namespace kopse::cli
