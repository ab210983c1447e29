// SPDX-License-Identifier: BSD-3-Clause
// Runs that take hours: checkpoints, limits of time, signals that are answered with a checkpoint.
#pragma once

#include <atomic>
#include <string>

#include "fit.hpp"

namespace kopse::cli {

/// Finds what cannot be before the data are read; sets settings.fit by the words of the command line.
void check_long_run(fit_settings& settings);
/// A checkpoint that is there is not replaced unasked. After the other files are known to be others.
void refuse_old_checkpoint(checkpoint_options const& checkpoint);

/// While one lives, the first SIGINT or SIGTERM raises a flag in place of ending the program; the second ends
/// it.
class signal_watch {
public:
  signal_watch();
  ~signal_watch();
  signal_watch(signal_watch const&) = delete;
  signal_watch& operator=(signal_watch const&) = delete;

  std::atomic<bool> const* flag() const;
  int signal() const; ///< that was taken, or 0
};

/// For the signal handler: whether someone sees to it.
bool take_signal(int signal) noexcept;

/// The program ends with the exit code of this signal, once all is told.
struct ended_by_signal {
  int signal;
};

} // namespace kopse::cli
