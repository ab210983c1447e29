// SPDX-License-Identifier: BSD-3-Clause
// Ranks of MPI in place of threads: started by mpirun, each rank runs all tests. What one of them finds
// wrong, all report, as they would wait for one that has left a test.
#include "kopse/mpi.hpp"
#include "partitions.hpp"

namespace {

using namespace exactness;
using kopse::index;

kopse::mpi_reduction* ranks = nullptr;

/// The same on all: what the first that fails says.
AssertionResult agreed(AssertionResult const& mine) {
  if (!ranks->any(!mine)) return AssertionSuccess();
  return AssertionFailure() << (mine ? "another rank fails" : mine.message());
}

/// The rows of this rank.
struct place {
  explicit place(index n)
      : first(begin_of(static_cast<std::size_t>(ranks->part()), static_cast<std::size_t>(ranks->parts()), n)),
        last(begin_of(static_cast<std::size_t>(ranks->part()) + 1, static_cast<std::size_t>(ranks->parts()),
                      n)) {}
  index first, last;
  std::span<label const> of(std::vector<label> const& all) const {
    return std::span(all).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(last - first));
  }
};

template <class Real> AssertionResult check_part(scenario<Real> const& s, config const& c) {
  place const here(s.rows.rows());
  outcome const o = run_part(s, c, here.first, here.last, *ranks);
  AssertionResult r = same_outcome(o.result, s);
  if (r) r = same_labels(o.labels, here.of(s.expected.labels));
  if (r) return r;
  return AssertionFailure() << s.name << " | " << name(c) << " | rank " << ranks->part() << ": "
                            << r.message();
}

template <class Real> void ranks_give_the_bits_of_one_process() {
  for (std::size_t f = 0; f < families::family_names.size(); ++f) {
    if (sanitized && f % 3 != 0) continue;
    auto const weights = static_cast<weighting>(f % families::weighting_names.size());
    scenario<Real> s(plan_of_turn(static_cast<family>(f), weights, f));
    s.run_oracle();
    for (config c : algorithms_and_trees()) {
      c.leaf_size = leaf_sizes[f % leaf_sizes.size()];
      ASSERT_TRUE(agreed(check_part(s, c)));
    }
  }
}

TEST(mpi, ranks_give_the_bits_of_one_process_double) { ranks_give_the_bits_of_one_process<double>(); }
TEST(mpi, ranks_give_the_bits_of_one_process_float) { ranks_give_the_bits_of_one_process<float>(); }

TEST(mpi, starts_of_ranks_are_those_of_one_process) {
  scenario<double> const s(
      {.data = family::clustered, .seed = 3, .n = 300, .k = 20, .weights = weighting::with_zeros});
  for (char const* init : {"random", "k-means++", "k-means||"}) {
    kopse::options o;
    o.init = init, o.candidates = init[0] == 'r' ? 1 : 3, o.threads = 1;
    kopse::result const want = kopse::fit(s.user_points(), 20, o);
    place const here(300);
    kopse::result const got = kopse::fit(part_of(s.user_points(), here.first, here.last), 20, o, *ranks);
    ASSERT_TRUE(agreed(all({same_matrix(got.centroids.view(), want.centroids.view()),
                            same_labels(got.labels, here.of(want.labels)),
                            same_number("inertia", got.inertia, want.inertia)})))
        << init;
  }
}

TEST(mpi, messages_of_any_length_come_in_order) {
  for (std::size_t const length : {0u, 1u, 13u, 14u, 15u, 16u, 1000u}) {
    kopse::reduction::words mine(length * static_cast<std::size_t>(ranks->part()),
                                 static_cast<std::uint64_t>(ranks->part()));
    bool right = true;
    index p = 0;
    for (auto const& words : ranks->all(mine)) {
      right = right && words.size() == length * static_cast<std::size_t>(p)
              && std::all_of(words.begin(), words.end(),
                             [&](std::uint64_t w) { return w == static_cast<std::uint64_t>(p); });
      ++p;
    }
    EXPECT_TRUE(agreed(right ? AssertionSuccess() : AssertionFailure() << "words of another rank"));
    auto const first = ranks->all_to_first(mine);
    EXPECT_TRUE(agreed(same_count("messages", std::ssize(first), ranks->part() == 0 ? ranks->parts() : 0)));
  }
}

TEST(mpi, messages_of_more_than_a_piece) {
  std::size_t const length = (std::size_t{1} << 23) / static_cast<std::size_t>(ranks->parts()) + 1000;
  kopse::reduction::words mine(length, static_cast<std::uint64_t>(ranks->part()));
  mine.back() = 77;
  auto const all_words = ranks->all(mine), first = ranks->all_to_first(mine);
  auto const whole = [&](kopse::reduction::words const& words, std::size_t p) {
    return words.size() == length && words.front() == p && words[length - 2] == p && words.back() == 77;
  };
  bool right = true;
  for (std::size_t p = 0; p < all_words.size(); ++p) right = right && whole(all_words[p], p);
  for (std::size_t p = 0; p < first.size(); ++p) right = right && whole(first[p], p);
  EXPECT_TRUE(agreed(right ? AssertionSuccess() : AssertionFailure() << "not the words that were sent"));
}

// The last: nothing can be agreed upon afterwards.
TEST(mpi, z_a_rank_that_fails_is_named_by_all) {
  if (ranks->parts() == 1) return;
  std::string fault;
  try {
    ranks->together([&] {
      if (ranks->part() == 1) throw kopse::usage_error("no");
      kopse::cluster_sums sums(kopse::sum_layout({}, {}, 1), 1);
      ranks->merge(sums);
    });
  } catch (kopse::usage_error const& e) {
    fault = e.what();
  }
  EXPECT_EQ(fault, "rank 1 of " + std::to_string(ranks->parts()) + ": no");
}

} // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  testing::InitGoogleTest(&argc, argv);
  int failed = 1;
  {
    kopse::mpi_reduction all;
    ranks = &all;
    auto& listeners = testing::UnitTest::GetInstance()->listeners();
    if (all.part() != 0) delete listeners.Release(listeners.default_result_printer());
    failed = RUN_ALL_TESTS();
  }
  MPI_Finalize();
  return failed;
}
