// SPDX-License-Identifier: BSD-3-Clause
// Rows that stay on the disk, and fits under a limit: the same numbers from each format, the same bits from
// each algorithm and start. That memory stays below the limit is seen from outside
// (cli_larger_than_memory_test.sh).
#include <cstdlib>

#include <csignal>
#include <sys/resource.h>

#include "exactness.hpp"
#include "io_files.hpp"
#include "kopse/memory_plan.hpp"
#include "kopse/seeding.hpp"

namespace {

using namespace exactness;
using kopse::index;
using kopse::load_options;
using kopse::table;
using kopse::test::directory;

load_options on_disk(load_options options = {}) {
  options.memory = 0;
  return options;
}

template <class Real> std::string bytes(matrix<Real> const& m) {
  return kopse::test::bytes_of(std::vector<Real>(m.row(0), m.row(0) + m.rows() * m.cols()));
}

// The rows of a scenario, mapped from a file and given back page by page.
template <class Real> class paged_rows {
public:
  paged_rows(directory const& where, matrix<Real> const& rows) {
    std::string const path = kopse::test::write(where / "rows.bin", bytes(rows));
    load_options options = on_disk();
    options.raw =
        kopse::parse_raw_layout((sizeof(Real) == 4 ? "float32:" : "float64:") + std::to_string(rows.cols()));
    data_ = kopse::load(path, options);
  }
  bool paged() const { return data_.paged != nullptr; }
  matrix_view<Real> view() const { return std::get<matrix_view<Real>>(data_.view()); }

private:
  table data_;
};

// What it says, and no more.
::testing::AssertionResult same_result(kopse::result const& got, kopse::result const& want) {
  return all({same_labels(got.labels, want.labels), same_matrix(got.centroids, want.centroids),
              same_number("inertia", got.inertia, want.inertia),
              same_count("iterations", got.iterations, want.iterations),
              same_count("restart", got.best_restart, want.best_restart)});
}

matrix<double> some_rows(index n, index d) {
  scenario<double> const s({.data = family::clustered, .seed = 3, .n = n, .k = 2, .d = d});
  return s.rows;
}

TEST(rows_on_disk, are_the_same_from_every_format) {
  directory const dir;
  matrix<double> const rows = some_rows(3000, 5);
  std::size_t files = 0;
  for (std::string const name :
       {"a.npy", "a.csv", "a.tsv", "a.fvecs", "a.csv.gz", "a.npy.gz", "a.fvecs.gz", "a.csv.zst", "a.h5"}) {
    try {
      kopse::save(dir / name, rows);
    } catch (kopse::error const&) { // a library that this build does without
      continue;
    }
    ++files;
    for (std::vector<index> const& columns : {std::vector<index>{}, {1, 2, 3}, {4, 0}})
      for (kopse::row_range const range : {kopse::row_range{}, {17, 2000}}) {
        load_options options;
        options.columns = columns, options.rows = range;
        table const want = kopse::load(dir / name, options), got = kopse::load(dir / name, on_disk(options));
        EXPECT_EQ(kopse::test::rows_of(got), kopse::test::rows_of(want)) << name;
        EXPECT_EQ(got.is_float32(), want.is_float32());
        EXPECT_EQ(got.notes, want.notes);
        EXPECT_EQ(got.mapped, want.mapped) << name;
        EXPECT_EQ(got.on_disk, !got.mapped) << name;
        EXPECT_TRUE(got.paged) << name;
        EXPECT_FALSE(want.paged || want.on_disk);
      }
  }
  std::vector<std::string> const two{dir / "a.npy", dir / "a.csv"};
  EXPECT_EQ(kopse::test::rows_of(kopse::load(two, on_disk())), kopse::test::rows_of(kopse::load(two)));
  EXPECT_EQ(dir.files(), files) << "a temporary file has a name";
}

TEST(rows_on_disk, are_converted_by_blocks_as_at_once) {
  directory const dir;
  std::string numbers;
  for (int i = 0; i < 3 * 400000; ++i) numbers += {static_cast<char>(i % 251), static_cast<char>(i % 7)};
  kopse::test::write(dir / "a.bin", numbers);
  for (char const* type : {"int8", "uint16be", "int16"}) {
    load_options options;
    options.raw = kopse::parse_raw_layout(std::string(type) + ":3");
    table const want = kopse::load(dir / "a.bin", options),
                got = kopse::load(dir / "a.bin", on_disk(options));
    EXPECT_TRUE(kopse::test::rows_of(got) == kopse::test::rows_of(want)) << type;
    EXPECT_TRUE(got.on_disk);
  }
  std::string header = "{'descr': '<i2', 'fortran_order': True, 'shape': (400000, 3), }";
  header.resize(117, ' ');
  kopse::test::write(dir / "f.npy", std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header + "\n" + numbers);
  for (std::vector<index> const& columns : {std::vector<index>{}, {2, 0}}) {
    load_options options;
    options.columns = columns;
    table const want = kopse::load(dir / "f.npy", options),
                got = kopse::load(dir / "f.npy", on_disk(options));
    EXPECT_TRUE(kopse::test::rows_of(got) == kopse::test::rows_of(want));
    EXPECT_TRUE(got.on_disk);
  }
}

TEST(rows_on_disk, stay_in_memory_where_they_fit) {
  directory const dir;
  kopse::save(dir / "a.csv", some_rows(1000, 2));
  load_options options;
  options.memory = 16000;
  EXPECT_FALSE(kopse::load(dir / "a.csv", options).on_disk);
  options.memory = 15999;
  EXPECT_TRUE(kopse::load(dir / "a.csv", options).on_disk);
}

TEST(rows_on_disk, name_the_same_faults) {
  directory const dir;
  kopse::test::write(dir / "a.csv", "1,2\n3,x\n");
  EXPECT_EQ(kopse::test::load_error(dir / "a.csv", on_disk()), kopse::test::load_error(dir / "a.csv"));
  matrix<double> rows = some_rows(300000, 3);
  rows(299998, 2) = std::numeric_limits<double>::infinity();
  kopse::save(dir / "a.npy", rows);
  std::string const want = kopse::test::load_error(dir / "a.npy");
  EXPECT_HAS(want, "an infinity in row 299998, column 2");
  EXPECT_EQ(kopse::test::load_error(dir / "a.npy", on_disk()), want);
}

TEST(rows_on_disk, that_find_no_room_are_an_error) {
  directory const dir;
  kopse::save(dir / "a.csv", some_rows(1000, 2));
  std::string const before = std::getenv("TMPDIR") != nullptr ? std::getenv("TMPDIR") : "";
  ::setenv("TMPDIR", (dir / "none").c_str(), 1);
  EXPECT_HAS(kopse::test::load_error(dir / "a.csv", on_disk()), "cannot be kept in " + dir / "none: ");
  if (before.empty())
    ::unsetenv("TMPDIR");
  else
    ::setenv("TMPDIR", before.c_str(), 1);

  auto const handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit old{};
  ::getrlimit(RLIMIT_FSIZE, &old);
  rlimit const now{1000, old.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &now);
  std::string const message = kopse::test::load_error(dir / "a.csv", on_disk());
  ::setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, handler);
  EXPECT_HAS(message, "File too large; TMPDIR names another folder");
}

TEST(rows_on_disk, of_unit_length_are_those_of_memory) {
  directory const dir;
  matrix<double> rows = some_rows(40000, 3);
  kopse::save(dir / "a.npy", rows);
  kopse::save(dir / "a.fvecs", rows);
  for (char const* name : {"a.npy", "a.fvecs"}) {
    table const plain = kopse::load(dir / name);
    table const want = kopse::of_unit_length(plain);
    table const got = kopse::of_unit_length(kopse::load(dir / name, on_disk()), 2, 0);
    EXPECT_TRUE(got.on_disk && !want.on_disk);
    EXPECT_TRUE(kopse::test::rows_of(got) == kopse::test::rows_of(want)) << name;
  }
  kopse::normalise_rows(rows);
  EXPECT_TRUE(same_matrix(
      std::get<matrix_view<double>>(kopse::of_unit_length(kopse::load(dir / "a.npy")).view()), rows));
}

template <class Real> void compare_fits(plan const& p) {
  directory const dir;
  scenario<Real> s(p);
  paged_rows<Real> const paged(dir, s.rows);
  ASSERT_TRUE(paged.paged());
  kopse::point_set<Real> const there(paged.view(), s.weights);
  for (config const& c : algorithms_and_trees()) {
    if (!suits(c, p.d)) continue;
    kopse::options o = c.options();
    o.centroids = s.start, o.max_iter = 30, o.empty = s.settings.empty;
    EXPECT_TRUE(same_result(kopse::fit(there, p.k, o), kopse::fit(s.user_points(), p.k, o))) << name(c);
  }
  for (std::string_view const init : kopse::inits()) {
    kopse::options o;
    o.init = init, o.threads = 2, o.seed = 5, o.restarts = 2, o.max_iter = 5;
    EXPECT_TRUE(same_result(kopse::fit(there, p.k, o), kopse::fit(s.user_points(), p.k, o))) << init;
  }
}

TEST(fit_of_rows_on_disk, is_the_same_to_the_bit) {
  index const n = sanitized ? 500 : 5000;
  compare_fits<double>({.data = family::clustered, .seed = 1, .n = n, .k = 30, .d = 3});
  compare_fits<float>(
      {.data = family::uniform, .seed = 2, .n = n, .k = 20, .d = 7, .weights = weighting::random});
  compare_fits<float>(
      {.data = family::duplicates, .seed = 3, .n = n, .k = 12, .d = 2, .start = families::start::mixed});
}

// All that a limit may choose, from plenty to too little.
template <class Real>
void compare_limits(plan const& p, kopse::options o, std::vector<std::string> const& expected) {
  scenario<Real> const s(p);
  kopse::result const want = kopse::fit(s.user_points(), p.k, o);
  std::vector<std::string> seen;
  double limit = 1e12;
  for (; seen.size() < 20; limit *= 0.97) {
    o.memory_limit = limit;
    kopse::memory_plan const what =
        kopse::plan_memory(p.n, p.d, sizeof(Real) == 4, p.k, o, !s.weights.empty());
    if (what.ample() > limit) break;
    std::string const chosen = what.algorithm + (what.by_passes ? " by passes" : "");
    if (!seen.empty() && seen.back() == chosen) continue;
    seen.push_back(chosen);
    kopse::result const got = kopse::fit(s.user_points(), p.k, o);
    EXPECT_TRUE(same_result(got, want)) << chosen;
    EXPECT_EQ(got.algorithm, what.algorithm);
  }
  if (!sanitized) {
    EXPECT_EQ(seen, expected); // of few rows others are chosen
  }
  EXPECT_THROW(kopse::fit(s.user_points(), p.k, o), kopse::memory_error);
}

TEST(memory_limit, changes_the_way_and_not_the_bits) {
  index const n = sanitized ? 3000 : 20000;
  kopse::options o;
  o.threads = 1, o.algorithm = "frontier";
  plan p{.data = family::clustered, .seed = 4, .n = n, .k = 60, .d = 3, .weights = weighting::random};
  std::vector<std::string> const by_passes{"frontier", "frontier by passes", "filter by passes",
                                           "lloyd by passes"};
  compare_limits<double>(p, o, by_passes);
  o.restarts = 3, o.candidates = 0, o.seed = 9;
  compare_limits<float>(p, o, by_passes);
  o = {}, o.threads = 2, o.init = "random";
  compare_limits<double>(p, o, {"auto", "filter", "lloyd"});
  p.d = 20;
  o.algorithm = "elkan";
  compare_limits<float>(p, o, {"elkan", "lloyd"});
  o.init = "coreset", o.algorithm = "auto"; // the start must stay the same, and takes most
  compare_limits<float>(p, o, {"auto"});
}

TEST(memory_limit, goes_on_from_a_checkpoint_of_another) {
  directory const dir;
  plan const p{.data = family::uniform, .seed = 6, .n = 4000, .k = 40, .d = 3};
  scenario<double> const s(p);
  kopse::options o;
  o.threads = 1;
  kopse::result const want = kopse::fit(s.user_points(), p.k, o);
  o.checkpoint.file = dir / "a.ckpt", o.checkpoint.every_iterations = 1, o.max_iter = 4;
  kopse::fit(s.user_points(), p.k, o);
  o.checkpoint.resume = true, o.max_iter = 300, o.memory_limit = 1, o.algorithm = "frontier";
  while (true) {
    kopse::memory_plan const what = kopse::plan_memory(p.n, p.d, false, p.k, o);
    if (what.ample() <= o.memory_limit) break;
    o.memory_limit = what.ample();
  }
  kopse::result const got = kopse::fit(s.user_points(), p.k, o);
  EXPECT_EQ(got.algorithm, "lloyd");
  EXPECT_TRUE(got.resumed);
  EXPECT_TRUE(same_result(got, want));
}

TEST(memory_limit, must_be_one) {
  scenario<double> const s({.data = family::uniform, .seed = 6, .n = 10, .k = 2});
  kopse::options o;
  for (double const limit : {0.0, -1.0, std::nan("")}) {
    o.memory_limit = limit;
    EXPECT_THROW(kopse::fit(s.user_points(), 2, o), kopse::usage_error) << limit;
  }
}

} // namespace
