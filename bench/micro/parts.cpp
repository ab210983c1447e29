// SPDX-License-Identifier: BSD-3-Clause
// The parts of a run, on one thread: trees, an assignment, a start, a file read.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <limits>

#include "kopse/assignment_step.hpp"
#include "kopse/io.hpp"
#include "kopse/seeding.hpp"
#include "micro.hpp"

namespace kopse::micro {
namespace {

constexpr index n = 100'000, d = 3, k = 250;

// 2,000 clumps of 50 rows, a hundredth as wide as all, and the first k rows as centroids.
struct scene {
  matrix<double> rows{n, d}, centroids{k, d};
  scene() {
    std::vector<double> const centre = numbers(n / 50 * d, 1), apart = numbers(n * d, 2);
    for (index i = 0; i < n; ++i)
      for (index j = 0; j < d; ++j)
        rows(i, j) = centre[at(i % (n / 50) * d + j)] + 0.01 * apart[at(i * d + j)];
    std::copy_n(rows.row(0), k * d, centroids.row(0));
  }
  double square(index i, double const* c) const {
    double sum = 0;
    for (index j = 0; j < d; ++j) sum += (rows(i, j) - c[j]) * (rows(i, j) - c[j]);
    return sum;
  }
};

// Whether the step gives each row to its nearest centroid.
void check_labels(scene const& s, assignment_step& step) {
  step.assign(s.centroids);
  std::vector<label> found(at(n));
  step.labels(found);
  for (index i = 0; i < n; ++i) {
    label nearest = 0;
    double least = std::numeric_limits<double>::infinity();
    for (label c = 0; c < k; ++c)
      if (double const d2 = s.square(i, s.centroids.row(c)); d2 < least) least = d2, nearest = c;
    check(found[at(i)] == nearest, "the owner of a row");
  }
}

step_maker<double> maker_of(scene const& s, std::string_view algorithm, built_tree<double> tree = {}) {
  point_set<double> const points(s.rows.view());
  step_options o;
  o.algorithm = algorithm;
  o.threads = 1;
  return {points, summarise(points, false).layout(), o, std::move(tree)};
}

job time_build(std::string_view name) {
  auto const s = std::make_shared<scene>();
  auto const run = [s, name] { return build_tree(s->rows.view(), name, 40, 1); };
  check_labels(*s, *maker_of(*s, "filter", run()).make(k));
  return job_of([run] { benchmark::DoNotOptimize(run()); }, {.run = {}, .items = n});
}

// The first assignment of a step, which knows nothing of the rows, and makes what it keeps.
job time_assignment(std::string_view algorithm) {
  auto const s = std::make_shared<scene>();
  auto const maker = std::make_shared<step_maker<double>>(maker_of(*s, algorithm));
  maker->build();
  check_labels(*s, *maker->make(k));
  return job_of([s, maker] { benchmark::DoNotOptimize(maker->make(k)->assign(s->centroids)); },
                {.run = {}, .items = static_cast<double>(n) * k});
}

// Rows drawn by their squared distances to those drawn before.
std::vector<index> plain_plus_plus(scene const& s, std::uint64_t seed) {
  random_stream const random(seed, 0);
  std::vector<double> masses(at(n), 1.0);
  std::vector<index> rows;
  for (index c = 0; c < k; ++c) {
    long double total = 0, sum = 0;
    for (double const m : masses) total += m;
    long double const target = total * 0x1p-64L * random.bits(static_cast<std::uint64_t>(c));
    index row = 0;
    while (row < n - 1 && (sum += masses[at(row)]) <= target) ++row;
    rows.push_back(row);
    for (index i = 0; i < n; ++i) {
      double const d2 = s.square(i, s.rows.row(row));
      masses[at(i)] = c == 0 ? d2 : std::min(masses[at(i)], d2);
    }
  }
  return rows;
}

job time_seeding() {
  auto const s = std::make_shared<scene>();
  seeding_options o;
  o.threads = 1;
  auto const run = [s, o, tree = build_tree(s->rows.view(), "kd", 40, 1)] {
    return seed(point_set<double>(s->rows.view()), k, o, tree);
  };
  check(run().rows == plain_plus_plus(*s, o.seed), "rows drawn");
  return job_of([run] { benchmark::DoNotOptimize(run()); }, {.run = {}, .items = k});
}

// A file that is there as long as this is.
struct file {
  std::filesystem::path path;
  explicit file(matrix_view<double> rows)
      : path(std::filesystem::temp_directory_path() / ("kopse_micro-" + std::to_string(getpid()) + ".csv")) {
    save(path.string(), rows);
  }
  ~file() { std::filesystem::remove(path); }
};

job time_reading() {
  scene const s;
  auto const csv = std::make_shared<file>(s.rows.view());
  load_options o;
  o.threads = 1;
  auto const run = [csv, o] { return load(csv->path.string(), o); };
  table const t = run();
  check(t.rows() == n && t.cols() == d, "the size of a table");
  t.visit([&](auto const& rows) {
    for (index i = 0; i < n; ++i)
      for (index j = 0; j < d; ++j) check(static_cast<double>(rows(i, j)) == s.rows(i, j), "a number");
  });
  return job_of([run] { benchmark::DoNotOptimize(run()); },
                {.run = {}, .items = n, .bytes = static_cast<double>(std::filesystem::file_size(csv->path))});
}

} // namespace

void add_parts() {
  for (std::string_view const name : trees())
    add(
        "build_tree/" + std::string(name), [name] { return time_build(name); }, targets::best);
  for (std::string_view const name : {"lloyd", "filter", "dualtree"})
    add(
        "first_assignment/" + std::string(name), [name] { return time_assignment(name); }, targets::best);
  add("plus_plus", time_seeding, targets::best);
  add("read_csv", time_reading, targets::best);
}

} // namespace kopse::micro
