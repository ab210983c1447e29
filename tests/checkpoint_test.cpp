// SPDX-License-Identifier: BSD-3-Clause
// Runs that are stopped and taken up again: the bits of the run that was not, wherever it was stopped, by
// whatever algorithm it goes on.
#include <set>

#include "exactness.hpp"
#include "io_files.hpp"

namespace {

using namespace exactness;
using kopse::index;
using kopse::test::directory;

AssertionResult same_outcome(kopse::result const& got, kopse::result const& want) {
  AssertionResult trace =
      same_count("trace", static_cast<index>(got.trace.size()), static_cast<index>(want.trace.size()));
  for (std::size_t i = 0; trace && i < got.trace.size(); ++i)
    trace = all({same_count("labels changed", got.trace[i].labels_changed, want.trace[i].labels_changed),
                 same_number("movement", got.trace[i].largest_movement, want.trace[i].largest_movement),
                 same_number("inertia of an iteration", got.trace[i].inertia, want.trace[i].inertia)});
  return all({same_count("iterations", got.iterations, want.iterations),
              same_matrix(got.centroids, want.centroids), same_labels(got.labels, want.labels),
              same_number("inertia", got.inertia, want.inertia),
              same_count("reason", static_cast<index>(got.reason), static_cast<index>(want.reason)),
              same_count("empty clusters", got.empty_clusters, want.empty_clusters),
              same_count("restart", got.best_restart, want.best_restart), trace});
}

/// A fit of a scenario by any algorithm, whole or in pieces.
template <class Real> class pieces {
public:
  pieces(scenario<Real> const& s, index k, kopse::options o) : s_(s), k_(k), o_(std::move(o)) {}

  kopse::result whole(config const& c) const { return kopse::fit(s_.user_points(), k_, with(c)); }

  /// Stopped after each `step` iterations, until it ends.
  kopse::result in_pieces(std::string const& file, index step, std::vector<config> const& by) const {
    for (std::size_t turn = 0;; ++turn) {
      std::atomic<bool> stop = false;
      kopse::options o = with(by[turn % by.size()]);
      o.checkpoint.file = file, o.checkpoint.resume = true,
      o.checkpoint.every_iterations = turn % 2 == 0 ? 1 : 100;
      o.stop = &stop;
      index made = 0;
      o.on_iteration = [&](index, kopse::iteration_record const&) { stop = ++made == step; };
      try {
        return kopse::fit(s_.user_points(), k_, o);
      } catch (kopse::interrupted const& e) {
        EXPECT_HAS(std::string(e.what()), "the checkpoint " + file + " is of iteration ");
      }
    }
  }

  kopse::options with(config const& c) const {
    kopse::options o = o_;
    o.algorithm = c.algorithm, o.tree = c.tree, o.leaf_size = c.leaf_size, o.threads = c.threads;
    return o;
  }

private:
  scenario<Real> const& s_;
  index k_;
  kopse::options o_;
};

template <class Real> void compare(plan const& p, bool given, index restarts, index step) {
  directory dir;
  scenario<Real> const s(p);
  kopse::options o;
  o.max_iter = p.settings.max_iter, o.tol = p.settings.tol, o.empty = p.settings.empty, o.seed = p.seed;
  if (given)
    o.centroids = s.start;
  else
    o.init = p.seed % 2 ? "random" : "k-means++", o.restarts = restarts;
  pieces<Real> const run(s, p.k, o);
  std::vector<config> const by = few_configs(p.seed, columns::of_the_data);
  std::vector<config> suited;
  for (config const& c : by)
    if (suits(c, p.d)) suited.push_back(c);
  kopse::result const want = run.whole(suited.front());
  ASSERT_FALSE(want.resumed);
  kopse::result const got = run.in_pieces(dir / "run.ckpt", step, suited);
  ASSERT_TRUE(same_outcome(got, want)) << s.name << " step " << step << " restarts " << restarts;
  // Of a run that is over: the same at once.
  kopse::options again = run.with(suited.back());
  again.checkpoint.file = dir / "run.ckpt", again.checkpoint.resume = true;
  index iterations = 0;
  again.on_iteration = [&](index, kopse::iteration_record const&) { ++iterations; };
  kopse::result const once_more = kopse::fit(s.user_points(), p.k, again);
  ASSERT_TRUE(same_outcome(once_more, want)) << s.name;
  ASSERT_TRUE(once_more.resumed);
  ASSERT_EQ(iterations, 0);
  ASSERT_EQ(dir.files(), 1u) << "temporary files";
}

TEST(checkpoint, pieces_make_the_whole) {
  std::uint64_t turn = 0;
  for (std::size_t f = 0; f < families::family_names.size(); ++f)
    for (auto const start : {families::start::rows, families::start::mixed, families::start::far}) {
      ++turn;
      if (sanitized && turn % 3 != 0) continue;
      plan p{.data = static_cast<family>(f),
             .seed = turn,
             .n = 80,
             .k = 9,
             .d = turn % 5 == 0 ? 1 : 2 + static_cast<index>(turn % 3)};
      p.weights = static_cast<weighting>(turn % families::weighting_names.size());
      p.start = start;
      p.settings = {.max_iter = turn % 4 == 0 ? 5 : 60,
                    .tol = turn % 7 == 0 ? 1e-3 : 0,
                    .empty = turn % 3 == 0 ? empty_policy::keep : empty_policy::relocate};
      index const step = 1 + static_cast<index>(turn % 3);
      if (turn % 2)
        compare<float>(p, true, 1, step);
      else
        compare<double>(p, true, 1, step);
      compare<double>(p, false, 1 + static_cast<index>(turn % 4), 1 + step);
    }
}

TEST(checkpoint, tells_when_it_is_written) {
  directory dir;
  scenario<double> const s({.data = family::uniform, .seed = 1, .n = 400, .k = 20});
  kopse::options o;
  o.checkpoint.file = dir / "a", o.checkpoint.every_iterations = 3, o.restarts = 2;
  std::vector<std::pair<index, index>> told;
  o.checkpoint.on_write = [&](index restart, index iteration) { told.emplace_back(restart, iteration); };
  std::vector<index> lengths; // of the two runs
  o.on_iteration = [&](index iteration, kopse::iteration_record const&) {
    if (iteration == 1) lengths.push_back(0);
    lengths.back() = iteration;
  };
  kopse::fit(s.user_points(), 20, o);
  ASSERT_EQ(lengths.size(), 2U);
  ASSERT_GT(std::min(lengths[0], lengths[1]), 3);
  EXPECT_EQ(told.front(), (std::pair<index, index>{0, 0}));
  EXPECT_EQ(told.back(), (std::pair{index{1}, lengths[1]}));
  EXPECT_EQ(std::count(told.begin(), told.end(), std::pair<index, index>{0, 3}), 1);
  EXPECT_EQ(std::set(told.begin(), told.end()).size(), told.size());
}

TEST(checkpoint, of_directions) {
  directory dir;
  scenario<double> s({.data = family::clustered, .seed = 5, .n = 300, .k = 20, .d = 3});
  kopse::normalise_rows(s.rows);
  kopse::options o;
  o.spherical = true;
  pieces<double> const run(s, 20, o);
  config const lloyd{.algorithm = "lloyd", .tree = "kd"}, frontier{.algorithm = "frontier", .tree = "ball"};
  ASSERT_TRUE(same_outcome(run.in_pieces(dir / "a", 1, {frontier, lloyd}), run.whole(lloyd)));
}

// All rows are equal to the one that the empty cluster takes: no label changes, yet the run goes on.
TEST(checkpoint, knows_that_a_cluster_was_filled) {
  matrix<double> rows(6, 1), start(3, 1);
  for (index i = 3; i < 6; ++i) rows(i, 0) = 10;
  start(0, 0) = 1, start(1, 0) = 9, start(2, 0) = 100;
  scenario<double> const s("equal rows", rows, start);
  kopse::options o;
  o.centroids = start;
  pieces<double> const run(s, 3, o);
  config const lloyd{.algorithm = "lloyd", .tree = "kd"};
  kopse::result const want = run.whole(lloyd);
  ASSERT_EQ(want.trace[1].labels_changed, 0);
  ASSERT_EQ(want.iterations, 3);
  directory dir;
  ASSERT_TRUE(same_outcome(run.in_pieces(dir / "a", 1, {lloyd}), want));
}

/// Fails as often as it is asked for the farthest rows.
class interrupted_step : public kopse::assignment_step {
public:
  explicit interrupted_step(std::unique_ptr<assignment_step> step) : step_(std::move(step)) {}
  kopse::cluster_sums assign(matrix_view<double> c) override { return step_->assign(c); }
  kopse::far_rows farthest(index) const override { throw kopse::interrupted(); }
  kopse::exact_sum inertia(matrix_view<double> c) const override { return step_->inertia(c); }
  void labels(std::span<label> out) const override { step_->labels(out); }
  kopse::work_counters work() const override { return step_->work(); }

private:
  std::unique_ptr<assignment_step> step_;
};

TEST(checkpoint, what_is_stopped_in_the_midst_of_a_move_is_of_the_iteration_before) {
  scenario<double> s(
      {.data = family::clustered, .seed = 3, .n = 200, .k = 12, .start = families::start::far});
  s.run_oracle();
  kopse::sum_layout const layout = kopse::summarise(s.points(), false).layout();
  kopse::step_maker<double> maker(s.points(), layout, config{.algorithm = "lloyd", .tree = "kd"}.options());
  kopse::driver_options o;
  o.max_iter = s.settings.max_iter;
  index told = -1;
  matrix<double> kept;
  o.on_point = [&](kopse::run_point const& point, bool last) {
    EXPECT_EQ(last, told == 0);
    told = point.iteration;
    kept = matrix<double>(point.centroids);
  };
  kopse::reduction alone;
  interrupted_step step(maker.make(12));
  EXPECT_THROW(kopse::iterate(step, layout, s.start, 0, o, alone), kopse::interrupted);
  EXPECT_EQ(told, 0) << "an empty cluster was expected at once";
  EXPECT_TRUE(same_matrix(kept, s.start));
}

TEST(checkpoint, a_time_limit_ends_each_piece_and_the_last_is_whole) {
  directory dir;
  scenario<double> const s({.data = family::uniform, .seed = 4, .n = 300, .k = 15});
  kopse::options o;
  o.restarts = 3;
  kopse::result const want = kopse::fit(s.user_points(), 15, o);
  o.checkpoint.file = dir / "a", o.checkpoint.resume = true, o.time_limit = 0;
  kopse::result got = kopse::fit(s.user_points(), 15, o);
  EXPECT_EQ(got.iterations, 1);
  EXPECT_EQ(got.reason, kopse::stop_reason::time_limit);
  ASSERT_EQ(got.warnings.size(), 2u);
  EXPECT_EQ(got.warnings[0], "stopped after the time limit, before it converged");
  EXPECT_EQ(got.warnings[1], "3 of 3 restarts were cut short or left out, after the time limit");
  EXPECT_TRUE(same_labels(got.labels, kopse::predict(s.rows.view(), got.centroids)));
  EXPECT_TRUE(same_number("inertia", got.inertia, kopse::inertia(s.user_points(), got.centroids)));
  index pieces = 1;
  for (; got.warnings.size() > want.warnings.size(); ++pieces) got = kopse::fit(s.user_points(), 15, o);
  EXPECT_TRUE(same_outcome(got, want));
  EXPECT_GT(pieces, want.iterations);
}

} // namespace
