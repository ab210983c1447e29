// SPDX-License-Identifier: BSD-3-Clause
// As much as there can be: products of sizes past 32 bits, as many clusters as rows, thousands of columns.
// What takes minutes or most of a machine's memory runs only where the environment has KOPSE_LIMITS.
#include "cases.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include "kopse/memory_plan.hpp"

namespace {

using namespace cases;
using kopse::index;

#define ONLY_ON_REQUEST()                                                                                    \
  if (sanitized || std::getenv("KOPSE_LIMITS") == nullptr) GTEST_SKIP() << "takes long: set KOPSE_LIMITS=1"

matrix<float> uniform_rows(index n, index d, std::uint64_t seed) {
  return families::make_rows<float>(family::uniform, n, d, seed);
}

/// A view of n × d floats of which only as many are there as one block has: its pages are mapped again and
/// again.
class repeated_block {
public:
  static constexpr index block_floats = index{1} << 24;

  repeated_block(index n, index d) : n_(n), d_(d) {
    bytes_ = static_cast<std::size_t>(n * d) * sizeof(float);
    std::FILE* const file = std::tmpfile();
    families::random r(1);
    std::vector<float> block(static_cast<std::size_t>(block_floats));
    for (float& x : block) x = static_cast<float>(r.unit());
    std::fwrite(block.data(), sizeof(float), block.size(), file);
    std::fflush(file);
    bytes_ = (bytes_ + block_bytes - 1) / block_bytes * block_bytes;
    void* const place =
        ::mmap(nullptr, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    base_ = static_cast<char*>(place);
    for (std::size_t at = 0; at < bytes_; at += block_bytes)
      if (::mmap(base_ + at, block_bytes, PROT_READ, MAP_SHARED | MAP_FIXED, fileno(file), 0) == MAP_FAILED)
        throw std::runtime_error("mmap");
    std::fclose(file);
  }
  repeated_block(repeated_block const&) = delete;
  repeated_block& operator=(repeated_block const&) = delete;
  ~repeated_block() { ::munmap(base_, bytes_); }
  kopse::matrix_view<float> view() const { return {reinterpret_cast<float const*>(base_), n_, d_}; }

private:
  static constexpr std::size_t block_bytes = block_floats * sizeof(float);
  index n_, d_;
  std::size_t bytes_ = 0;
  char* base_ = nullptr;
};

AssertionResult nearest_of_some(kopse::matrix_view<float> x, result const& r, index step) {
  for (index i = 0; i < x.rows(); i += step) {
    labels nearest;
    numbers d2;
    oracle::assign(x.slice(i, i + 1), r.centroids.view(), nearest, d2);
    if (r.labels[static_cast<std::size_t>(i)] != nearest[0])
      return AssertionFailure() << "row " << i << " has label " << r.labels[static_cast<std::size_t>(i)]
                                << " for " << nearest[0];
  }
  return AssertionSuccess();
}

double status_bytes(std::string const& name) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (double kilobytes = 0; word == name + ":" && status >> kilobytes) return 1024 * kilobytes;
  return 0;
}

options of(char const* algorithm, index max_iter) {
  options o;
  o.algorithm = algorithm, o.init = "random", o.max_iter = max_iter;
  return o;
}

TEST(limits, rows_times_clusters_past_32_bits) {
  index const n = sanitized ? 5000 : 4400000, k = sanitized ? 100 : 1000;
  matrix<float> const x = uniform_rows(n, 2, 1);
  std::optional<result> first;
  for (char const* algorithm : {"frontier", "filter"}) {
    result const r = kopse::fit(point_set<float>(x.view()), k, of(algorithm, 2));
    EXPECT_TRUE(nearest_of_some(x.view(), r, n / 1000)) << algorithm;
    if (!first) first = r;
    EXPECT_TRUE(r.labels == first->labels && same(r.inertia, first->inertia)) << algorithm;
  }
}

TEST(limits, every_algorithm_past_32_bits) {
  ONLY_ON_REQUEST();
  index const n = 4400000, k = 1000;
  matrix<float> const x = uniform_rows(n, 2, 1);
  std::optional<result> first;
  for (config const& c : algorithms_and_trees()) {
    if (c.algorithm == "elkan") continue; // 18 GB of bounds
    options o = c.options();
    o.init = "random", o.max_iter = 2, o.threads = 2;
    result const r = kopse::fit(point_set<float>(x.view()), k, o);
    if (!first) first = r;
    EXPECT_TRUE(r.labels == first->labels && same(r.inertia, first->inertia)) << name(c);
  }
  EXPECT_TRUE(nearest_of_some(x.view(), *first, n / 1000));
}

TEST(limits, rows_times_columns_past_32_bits) {
  ONLY_ON_REQUEST();
  index const n = 43000000, d = 100; // 17 GB
  repeated_block const rows(n, d);
  result const r = kopse::fit(point_set<float>(rows.view()), 3, of("lloyd", 1));
  EXPECT_TRUE(nearest_of_some(rows.view(), r, n / 100000));
  EXPECT_TRUE(r.labels == kopse::predict(rows.view(), r.centroids.view()));
}

TEST(limits, as_many_clusters_as_a_million_rows) {
  ONLY_ON_REQUEST();
  index const n = 1000000;
  matrix<float> const x = uniform_rows(n, 2, 2);
  for (config const& c : algorithms_and_trees()) {
    if (!c.uses_tree && c.algorithm != "exponion") continue; // n·n distances, or a table of them
    options o = c.options();
    o.max_iter = 2, o.threads = 2;
    result const r = kopse::fit(point_set<float>(x.view()), n, o);
    EXPECT_EQ(r.empty_clusters, r.warnings.empty() ? 0 : r.empty_clusters) << name(c);
    EXPECT_EQ(r.inertia, 0) << name(c);
  }
}

TEST(limits, fifty_million_rows_in_the_memory_that_was_told) {
  ONLY_ON_REQUEST();
  index const n = 50000000;
  matrix<float> const x = uniform_rows(n, 2, 3);
  for (char const* algorithm : {"lloyd", "filter", "frontier"}) {
    options o = of(algorithm, 2);
    std::ofstream("/proc/self/clear_refs") << 5; // the peak is the present again
    double const before = status_bytes("VmRSS");
    double const told = kopse::plan_memory(n, 2, true, 1000, o).peak();
    result const r = kopse::fit(point_set<float>(x.view()), std::string(algorithm) == "lloyd" ? 20 : 1000, o);
    EXPECT_LT(status_bytes("VmHWM") - before, 1.15 * told) << algorithm;
    EXPECT_TRUE(nearest_of_some(x.view(), r, n / 1000)) << algorithm;
  }
}

TEST(limits, ten_thousand_columns) {
  plan p{.data = family::clustered, .seed = 4, .n = 30, .k = 4, .d = sanitized ? 1000 : 10000};
  p.settings.max_iter = 3;
  scenario<float> s(p);
  s.run_oracle();
  for (config const& c : algorithms_and_trees())
    if (suits(c, p.d)) {
      EXPECT_TRUE(check_fit(s, c));
      EXPECT_TRUE(check_steps(s, c));
    }
}

} // namespace
