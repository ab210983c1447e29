// SPDX-License-Identifier: BSD-3-Clause
// When a checkpoint is written, and what is done where it cannot be.
//
// The first write is made as soon as there is a start, so that what cannot be written is known before the
// work; then the fit fails. Later ones are not worth a fit: it goes on without, the old file stays, and the
// next one that is due is tried.
#include "checkpoint.hpp"

#include <filesystem>

#include "fingerprint.hpp"
#include "io_formats.hpp"
#include "kopse/io.hpp"
#include "kopse/seeding.hpp"

namespace kopse {

template <class Real>
fit_identity identify(point_set<Real> const& points, index k, options const& o, whole_data const& whole,
                      reduction& all) {
  fit_identity of;
  of.rows = whole.rows, of.cols = points.dims(), of.clusters = k;
  of.float32 = sizeof(Real) == sizeof(float);
  of.weighted = whole.weighted;
  index const first = all.parts() > 1 ? whole.first : 0;
  of.row_hash = sum_of(hash_of(points.rows, o.threads, first), all);
  of.weight_hash = sum_of(hash_of(points.weights, first), all);
  if (o.centroids)
    of.start_hash = hash_of(o.centroids->view(), 1);
  else
    of.init = resolve_init(o.init), of.candidates = o.candidates, of.seed = o.seed, of.restarts = o.restarts;
  of.max_iter = o.max_iter, of.tol = o.tol;
  of.keep_empty = o.empty == empty_policy::keep, of.spherical = o.spherical;
  return of;
}
template fit_identity identify(point_set<float> const&, index, options const&, whole_data const&, reduction&);
template fit_identity identify(point_set<double> const&, index, options const&, whole_data const&,
                               reduction&);

void check_short(options const& o) {
  if (!o.checkpoint.file.empty() || o.checkpoint.resume
      || o.time_limit < std::numeric_limits<double>::infinity()
      || o.memory_limit < std::numeric_limits<double>::infinity())
    throw usage_error("checkpoints and limits of time and memory are for a single fit: expected none");
}

namespace {
// Also if it cannot be told: reading it will say why.
bool is_there(std::string const& path) {
  std::error_code problem;
  return std::filesystem::exists(path, problem) || problem;
}
} // namespace

checkpoint_keeper::checkpoint_keeper(checkpoint_options const& options, fit_identity of)
    : options_(options), of_(std::move(of)) {
  if (!options.resume && is_there(options.file))
    throw error("the checkpoint " + options.file + " is there already: resume from it, or remove it");
  check_save_text(options.file);
}

std::optional<std::string> checkpoint_keeper::bytes() const {
  if (!options_.resume || !is_there(options_.file)) return {};
  return std::string(io::mapped_file(options_.file).bytes());
}

void checkpoint_keeper::go_on(checkpoint const& from) {
  there_ = true;
  restart_ = from.now.restart, iteration_ = from.started ? from.iteration : -1;
  written_at_ = std::chrono::steady_clock::now();
}

bool checkpoint_keeper::due(bool must) {
  if (!there_ || must) return true;
  if (options_.every_iterations > 0) return since_ >= options_.every_iterations;
  std::chrono::duration<double> const passed = std::chrono::steady_clock::now() - written_at_;
  return passed.count() >= options_.every_seconds;
}

void checkpoint_keeper::offer(phase_seconds const& seconds, result const* best, restart_state const& now,
                              run_point const* point, bool must) {
  index const iteration = point != nullptr ? point->iteration : -1;
  if (there_ && restart_ == now.restart && iteration_ == iteration) return;
  ++since_;
  if (!due(must)) return;
  since_ = 0;
  bool written = true;
  try {
    save_checkpoint(options_.file, of_, seconds, best, now, point);
    there_ = true;
    restart_ = now.restart, iteration_ = iteration;
  } catch (error const& e) {
    if (!there_) throw;
    written = false;
    note_failure(e.what());
  }
  written_at_ =
      std::chrono::steady_clock::now(); // a file system that is slow to fail is not asked all the time
  if (written && options_.on_write) options_.on_write(restart_, std::max<index>(iteration_, 0));
}

void checkpoint_keeper::note_failure(std::string const& why) {
  if (options_.on_failure) return options_.on_failure(why);
  ++failures_;
  failure_ = why;
}

std::string checkpoint_keeper::where() const {
  if (!there_) return "there is no checkpoint yet";
  std::string const restart = of_.restarts > 1 ? " of run " + std::to_string(restart_ + 1) : "";
  return "the checkpoint " + options_.file + " is of iteration "
         + std::to_string(std::max<index>(iteration_, 0)) + restart;
}

std::vector<std::string> checkpoint_keeper::warnings() const {
  if (failures_ == 0) return {};
  return {"the checkpoint could not be replaced " + std::to_string(failures_)
          + (failures_ == 1 ? " time: " : " times, the last time: ") + failure_};
}

} // namespace kopse
