// SPDX-License-Identifier: BSD-3-Clause
// k-means: the driver, one loop for every algorithm and any number of partitions, and fit(), the front door.
#pragma once

#include <chrono>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kopse/assignment_step.hpp"
#include "kopse/matrix.hpp"
#include "kopse/point_set.hpp"
#include "kopse/reduction.hpp"

namespace kopse {

/// What happens to a cluster without weight.
enum class empty_policy {
  relocate, ///< it takes the row farthest from its own centroid (ties to the lowest row)
  keep      ///< its centroid stays where it is
};

/// Why a run ended.
enum class stop_reason {
  labels,    ///< converged: an assignment changed no label
  tol,       ///< the centroids moved by no more than the tolerance
  max_iter,  ///< the iterations were used up
  time_limit ///< the time was; the run would have gone on
};
char const* name(stop_reason reason);

/// One iteration: assign all points, then move the centroids.
struct iteration_record {
  double seconds = 0;
  work_counters work;
  index labels_changed = 0;
  double largest_movement = 0; ///< of a centroid, in the units of the data; 0 in the iteration that converged
  double inertia = 0; ///< of these labels about the means of their clusters (spherical: divided by their
                      ///< lengths), from the sums, about 10 digits
};

/// Called after each iteration (from 1).
using observer = std::function<void(index iteration, iteration_record const&)>;

/// Where a run stands after an iteration: what it takes to go on from there to the same bits.
struct run_point {
  index iteration = 0;              ///< so many are done; 0: only the start is known
  matrix_view<double> assigned;     ///< the centroids of the last assignment; none at the start
  matrix_view<double> centroids;    ///< where they moved: those of the next one
  bool relocated = false;           ///< the last move filled an empty cluster
  std::optional<stop_reason> ended; ///< why, if no iteration follows
  std::span<iteration_record const> trace;
};

/// Called with each point of a run, the start included. `last`: no other will come, as the run ends, is
/// stopped or fails; what it throws then counts for nothing.
using point_observer = std::function<void(run_point const&, bool last)>;

struct driver_options {
  index max_iter = 300; ///< >= 1
  double tol = 0;       ///< stop when Σ shift² <= tol · mean column variance; 0 = never
  empty_policy empty = empty_policy::relocate;
  observer on_iteration;
  std::atomic<bool> const* stop = nullptr; ///< raise it from any thread to stop with interrupted
  int threads = 1;                         ///< for what the driver does itself; 0 = all
  bool spherical = false; ///< centroids are of length 1; the rows must be: check_unit_length()
  point_observer on_point = {};
  /// No iteration begins after it, but for one that is always made.
  std::optional<std::chrono::steady_clock::time_point> deadline = {};
};

struct run_result {
  matrix<double> centroids; ///< k × d
  double inertia = 0;       ///< Σ w·d² of the final labels and centroids, exact, rounded once
  index iterations = 0;     ///< assignments, the last that changed nothing included
  stop_reason reason = stop_reason::max_iter;
  bool converged() const { return reason == stop_reason::labels; }
  index empty_clusters = 0; ///< clusters that own no weight
  std::vector<iteration_record> trace;
};

/// Runs Lloyd's iterations from `centroids` with any step. `mean_variance` scales tol (0 when tol is 0).
/// The step must be fresh. Spherical, it throws error for a starting centroid that is 0. Afterwards its
/// labels belong to the returned centroids.
run_result iterate(assignment_step& step, sum_layout const& layout, matrix<double> centroids,
                   double mean_variance, driver_options const& options, reduction& reduce);

/// Goes on from a point of such a run, with the same data, tol and policy but any step: what is returned is
/// what the run would have, but for seconds and work in the trace. It takes one assignment more, for the
/// labels at that point, whose work counts for the iteration that follows.
run_result resume(assignment_step& step, sum_layout const& layout, run_point const& from,
                  double mean_variance, driver_options const& options, reduction& reduce);

/// A file that keeps where a fit stands, to go on from there (docs/long_runs.md). It is replaced as a whole.
struct checkpoint_options {
  std::string file;           ///< "" = none. One that is there is refused, unless `resume`
  bool resume = false;        ///< goes on from the file, if it is there; error if it is of another fit
  double every_seconds = 60;  ///< least time between two writes, if every_iterations is 0
  index every_iterations = 0; ///< written after so many iterations; >= 0
  /// The fit goes on from this iteration (so many were done) of this restart.
  std::function<void(index restart, index iteration)> on_resume;
  /// The file is of this iteration of this restart now.
  std::function<void(index restart, index iteration)> on_write;
  /// Why the file could not be replaced; the fit goes on, and tries again when it is due. Unless this is set,
  /// it is among the warnings. Where the first write of all fails, so does the fit.
  std::function<void(std::string const& why)> on_failure;
};

/// All of a fit's settings, with their defaults.
struct options : step_options {
  std::string init = "k-means++";          ///< how to start when `centroids` is empty; see seeding.hpp
  index candidates = 1;                    ///< of k-means++, as in seeding_options
  std::optional<matrix<double>> centroids; ///< starting centroids, k × d
  index restarts = 1;     ///< runs from different starts; the least inertia wins, the first among equals
  std::uint64_t seed = 0; ///< restart r uses stream r of this seed
  index max_iter = 300;
  double tol = 0;
  empty_policy empty = empty_policy::relocate;
  bool spherical = false; ///< of rows of length 1, see normalise_rows(): centroids are made so too
  bool verify = false;    ///< run brute force beside it, and throw verification_error where they differ
  observer on_iteration;
  /// In seconds from the call: no iteration begins after it, but for one. What was found by then is returned,
  /// with a warning; a checkpoint goes on as if there had been no limit.
  double time_limit = std::numeric_limits<double>::infinity();
  checkpoint_options checkpoint;
  /// Bytes that the fit may take beside its rows and weights. Where the algorithm needs more, another takes
  /// its place, and k-means++ does without its tree (memory_plan.hpp says which; the bits are the same);
  /// where none can do with it, memory_error says how many would. An estimate: what depends on the values may
  /// be off.
  double memory_limit = std::numeric_limits<double>::infinity();
};

/// Seconds by phase, of all restarts together.
struct phase_seconds {
  double tree = 0, seed = 0, iterate = 0;
};

struct result : run_result {
  std::vector<label> labels; ///< of each row, the nearest centroid
  index best_restart = 0;
  phase_seconds seconds;
  std::string algorithm, tree;           ///< what was asked for; the tree that was built, or ""
  std::vector<algorithm_choice> choices; ///< of `auto`: what ran, from when on, and why
  std::vector<std::string> warnings;
  /// Where the fit went on, if it was from a checkpoint.
  struct resumed_at {
    index restart, iteration;
  };
  std::optional<resumed_at> resumed;
};

/// Clusters the rows. Float and double rows are read in place. Throws usage_error, error (bad values, with
/// row and column), interrupted, verification_error.
result fit(point_set<double> points, index k, options const& options = kopse::options());
result fit(point_set<float> points, index k, options const& options = kopse::options());

/// The same over a tree that build_tree() made of these rows, in place of options.tree and leaf_size: the
/// same bits, without building it each time. usage_error if it was built on other rows.
result fit(point_set<double> points, index k, options const& options, built_tree<double> const& tree);
result fit(point_set<float> points, index k, options const& options, built_tree<float> const& tree);

/// The same of rows that are spread: each partition calls it with its own (point_set::offset follows from
/// theirs) and the same k and options, but for what changes the time alone and callbacks. Its labels are
/// those of its rows, seconds and warnings its own, all else is of the whole. A checkpoint is kept by the
/// first. Where one of them throws, all do. Starts are `random`, `k-means++` and `k-means||`, or centroids
/// that are given.
result fit(point_set<double> points, index k, options const& options, reduction& partitions);
result fit(point_set<float> points, index k, options const& options, reduction& partitions);

/// The nearest centroid of every row, ties to the lowest index; on so many threads (0: all). Throws error for
/// values that fit() refuses and for widths that differ, interrupted if `stop` is raised.
std::vector<label> predict(matrix_view<double> rows, matrix_view<double> centroids, int threads = 0,
                           std::atomic<bool> const* stop = nullptr);
std::vector<label> predict(matrix_view<float> rows, matrix_view<double> centroids, int threads = 0,
                           std::atomic<bool> const* stop = nullptr);

/// Σ w·d² from each row to its nearest centroid: of the rows, weights and centroids of a fit, its inertia,
/// bit for bit. Throws as predict() does.
double inertia(point_set<double> points, matrix_view<double> centroids, int threads = 0,
               std::atomic<bool> const* stop = nullptr);
double inertia(point_set<float> points, matrix_view<double> centroids, int threads = 0,
               std::atomic<bool> const* stop = nullptr);
/// That of rows that are spread, as in fit(): each partition calls it, and has that of the whole.
double inertia(point_set<double> points, matrix_view<double> centroids, reduction& partitions,
               int threads = 0, std::atomic<bool> const* stop = nullptr);
double inertia(point_set<float> points, matrix_view<double> centroids, reduction& partitions, int threads = 0,
               std::atomic<bool> const* stop = nullptr);

/// All distances (not squared), n × k: the root of the computed d², rounded, to float for float rows. Throws
/// as predict() does.
matrix<double> distances(matrix_view<double> rows, matrix_view<double> centroids, int threads = 0,
                         std::atomic<bool> const* stop = nullptr);
matrix<float> distances(matrix_view<float> rows, matrix_view<double> centroids, int threads = 0,
                        std::atomic<bool> const* stop = nullptr);

} // namespace kopse
