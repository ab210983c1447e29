// SPDX-License-Identifier: BSD-3-Clause
// What tests of partitions share: where they meet when each is a thread, and one partition's part of a run.
#pragma once

#include "exactness.hpp"

#include <condition_variable>
#include <mutex>
#include <thread>

namespace exactness {

/// Where the partitions meet: each leaves the address of its part, reads those of the others, and goes on
/// when all have.
class meeting {
public:
  explicit meeting(std::size_t parts) : slots(parts) {}
  /// std::barrier of g++ 12 wakes up late where there are fewer cores than parts.
  void wait() {
    std::unique_lock lock(guard_);
    std::size_t const now = phase_;
    if (++arrived_ == slots.size()) {
      arrived_ = 0;
      ++phase_;
      all_.notify_all();
    } else {
      all_.wait(lock, [&] { return phase_ != now; });
    }
  }
  std::vector<void const*> slots;

private:
  std::mutex guard_;
  std::condition_variable all_;
  std::size_t arrived_ = 0, phase_ = 0;
};

/// All that a partition must know of the others: exchange() alone.
class thread_parts : public kopse::reduction {
public:
  thread_parts(meeting& m, std::size_t part) : meeting_(m), part_(part) {}
  index parts() const override { return std::ssize(meeting_.slots); }
  index part() const override { return static_cast<index>(part_); }

protected:
  std::vector<words> exchange(words const& mine) override {
    meeting_.slots[part_] = &mine;
    meeting_.wait();
    std::vector<words> all;
    for (void const* slot : meeting_.slots) all.push_back(*static_cast<words const*>(slot));
    meeting_.wait(); // all have read
    return all;
  }

  meeting& meeting_;
  std::size_t part_;
};

/// The first of them makes one message of all, and the others take it.
class star_parts final : public thread_parts {
public:
  using thread_parts::thread_parts;

protected:
  words fold_messages(words const& message, reading const& fold) override {
    std::vector<words> all = exchange(message);
    bool const failed = std::any_of(all.begin(), all.end(), [](words const& w) { return w.front() != 0; });
    words mine;
    if (failed || part_ == 0) mine = fold(std::move(all));
    return exchange(mine).front();
  }
};

/// f(partition, number), each in a thread of its own. An odd number of them meets at the first.
template <class F> void in_parts(std::size_t parts, F const& f) {
  meeting where(parts);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < parts; ++i)
    threads.emplace_back([&, i] {
      if (parts % 2 == 1) {
        star_parts all(where, i);
        f(all, i);
      } else {
        thread_parts all(where, i);
        f(all, i);
      }
    });
  for (std::thread& t : threads) t.join();
}

/// Data, start and settings of a turn: each takes others than the one before.
inline plan plan_of_turn(family data, weighting weights, std::size_t turn) {
  plan p{data, 50 + turn, 80, 9, 3, weights, static_cast<families::start>(turn % 6)};
  p.settings = {turn % 3 == 0 ? 3 : 40, turn % 4 == 0 ? 1e-3 : 0,
                turn % 2 ? empty_policy::keep : empty_policy::relocate};
  return p;
}

/// Where partition i of `parts` begins; the second of five is empty, the others differ in size.
inline index begin_of(std::size_t i, std::size_t parts, index n) {
  if (parts == 5 && i == 2) i = 1;
  return n * static_cast<index>(i * (i + 1)) / static_cast<index>(parts * (parts + 1));
}

template <class Real> kopse::point_set<Real> part_of(kopse::point_set<Real> points, index first, index last) {
  points.rows = points.rows.slice(first, last);
  points.offset = first;
  if (!points.weights.empty())
    points.weights =
        points.weights.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(last - first));
  return points;
}

struct outcome {
  kopse::run_result result;
  std::vector<label> labels;
};

/// Runs the rows [first, last) as one of several partitions.
template <class Real>
outcome run_part(scenario<Real> const& s, config const& c, index first, index last,
                 kopse::reduction& reduce) {
  kopse::point_set<Real> const points = part_of(s.points(), first, last);
  kopse::data_summary summary = kopse::summarise(points, true);
  reduce.merge(summary);
  double variance = 0;
  for (auto const& v : summary.variance) variance += v.value();
  variance /= static_cast<double>(summary.variance.size());
  kopse::sum_layout const layout = summary.layout();
  kopse::step_maker<Real> maker(points, layout, c.options());
  auto const step = maker.make(s.start.rows());
  kopse::driver_options o;
  o.max_iter = s.settings.max_iter, o.tol = s.settings.tol, o.empty = s.settings.empty;
  o.spherical = s.settings.spherical;
  outcome out{kopse::iterate(*step, layout, s.start, variance, o, reduce), {}};
  out.labels.resize(static_cast<std::size_t>(last - first));
  step->labels(out.labels);
  return out;
}

/// What every partition must say of the whole.
template <class Real> AssertionResult same_outcome(kopse::run_result const& got, scenario<Real> const& s) {
  oracle::run const& e = s.expected;
  int const exponent = oracle::scaled_weights(s.weights, s.rows.rows()).exponent;
  return all({same_count("iterations", got.iterations, e.iterations),
              same_matrix(got.centroids.view(), e.centroids.view()),
              same_number("inertia", std::ldexp(got.inertia, exponent), e.inertia),
              same_count("empty clusters", got.empty_clusters, e.empty_clusters),
              same_count("reason", static_cast<index>(got.reason), static_cast<index>(e.reason))});
}

} // namespace exactness
