// SPDX-License-Identifier: BSD-3-Clause
// Where a fit stands, as a file: what is in it, and when it is written.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "kopse/kmeans.hpp"
#include "partitions.hpp"

namespace kopse {

/// All that decides the result of a fit. Algorithm, tree and threads do not.
struct fit_identity {
  index rows = 0, cols = 0, clusters = 0;
  bool float32 = false, weighted = false;
  std::uint64_t row_hash = 0, weight_hash = 0;
  std::string init; ///< "" = centroids were given; then the next three are 0, and restarts 1
  index candidates = 0;
  std::uint64_t seed = 0, start_hash = 0;
  index restarts = 1, max_iter = 0;
  double tol = 0;
  bool keep_empty = false, spherical = false;
};

/// The weights as the user gave them.
template <class Real>
fit_identity identify(point_set<Real> const& points, index k, options const& o, whole_data const& whole,
                      reduction& all);

/// Throws usage_error where a checkpoint or a limit of time is asked for: of calls that make many fits.
void check_short(options const& o);

/// A restart that is under way.
struct restart_state {
  index restart = 0;
  std::vector<std::string> warnings;     ///< of its start
  std::vector<algorithm_choice> choices; ///< of `auto`, so far
};

/// What a file holds.
struct checkpoint {
  phase_seconds seconds;      ///< so far
  std::optional<result> best; ///< of the restarts before; without labels
  restart_state now;
  bool started = false; ///< the rest is known of it
  index iteration = 0;
  matrix<double> assigned, centroids;
  bool relocated = false;
  std::optional<stop_reason> ended;
  std::vector<iteration_record> trace;
  run_point point() const { return {iteration, assigned, centroids, relocated, ended, trace}; }
};

/// Replaces the file, or throws error; then the old one stays. `point` may be none: not started.
void save_checkpoint(std::string const& path, fit_identity const& of, phase_seconds const& seconds,
                     result const* best, restart_state const& now, run_point const* point);

/// What bytes of the file say. Throws error if they are damaged, or of another fit, naming what differs.
checkpoint read_checkpoint(std::string const& path, std::string_view bytes, fit_identity const& of);

/// Writes the file when it is due.
class checkpoint_keeper {
public:
  /// Throws error for a file that is there, but is not to be resumed, or could not be written.
  checkpoint_keeper(checkpoint_options const& options, fit_identity of);

  std::optional<std::string> bytes() const; ///< of the file, if it is there and to be resumed
  void go_on(checkpoint const& from);       ///< which is what the file holds

  /// Writes, unless the file knows it already, if it is due or `must`. Throws where the first write fails.
  void offer(phase_seconds const& seconds, result const* best, restart_state const& now,
             run_point const* point, bool must);

  std::string where() const;                 ///< how far the file is, in words
  std::vector<std::string> warnings() const; ///< what could not be told on the way

private:
  bool due(bool must);
  void note_failure(std::string const& why);

  checkpoint_options const& options_;
  fit_identity of_;
  std::chrono::steady_clock::time_point written_at_ = std::chrono::steady_clock::now();
  bool there_ = false;                // the file holds a state of this fit
  index since_ = 0;                   // iterations since it was last tried
  index restart_ = 0, iteration_ = 0; // that it holds; -1: a restart that has no start yet
  index failures_ = 0;
  std::string failure_; // the last one
};

} // namespace kopse
