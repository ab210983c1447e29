// SPDX-License-Identifier: BSD-3-Clause
// What is seen while a fit runs: on a terminal one line that updates in place, with -v one line an iteration.
#pragma once

#include "cli.hpp"
#include "kopse/kmeans.hpp"

namespace kopse::cli {

class progress {
public:
  /// quiet wins over verbose; without either a line is shown only where stderr is a terminal.
  progress(bool quiet, bool verbose);
  ~progress() { clear(); }
  progress(progress const&) = delete;
  progress& operator=(progress const&) = delete;

  /// A phase without iterations, e.g. "reading stars.npy" (on a terminal only).
  void phase(std::string_view what);
  /// Follow a fit of n rows and k clusters.
  void start(index n, index k, index restarts);
  /// It goes on after this iteration of this restart.
  void go_on(index restart, index iteration);
  void operator()(index iteration, iteration_record const& record);
  /// Wipes the line that updates in place, so that other text can be printed.
  void clear();

private:
  void show(std::string line);

  enum class style { none, in_place, lines } style_;
  index n_ = 0, k_ = 0, restarts_ = 1, restart_ = 0;
  stopwatch watch_;
  double last_shown_ = -1;
};

/// The share of all n·k distances that was not computed, in percent.
double percent_pruned(double distances, double n, double k);

/// For signal handlers: moves to a new line if a progress line is open.
void end_progress_line() noexcept;

} // namespace kopse::cli
