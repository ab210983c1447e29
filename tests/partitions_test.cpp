// SPDX-License-Identifier: BSD-3-Clause
// The same rows cut into partitions, each with a thread, a step and a driver of its own, merged at a barrier:
// every partition ends with the bits of a run over the whole.
#include "partitions.hpp"

#include <thread>

namespace {

using namespace exactness;
using kopse::index;

/// Merges in another order on each partition: nobody may see which.
class thread_reduction : public kopse::reduction {
public:
  thread_reduction(meeting& m, std::size_t rank) : meeting_(m), rank_(rank) {}
  void merge(kopse::data_summary& x) override { merge_all(x, add<kopse::data_summary>); }
  void merge(kopse::cluster_sums& x) override { merge_all(x, add<kopse::cluster_sums>); }
  void merge(kopse::exact_sum& x) override { merge_all(x, add<kopse::exact_sum>); }
  void merge(kopse::far_rows& x) override {
    merge_all(x, [](kopse::far_rows& a, kopse::far_rows const& b) { a.insert(a.end(), b.begin(), b.end()); });
    std::sort(x.begin(), x.end(), kopse::farther);
  }

private:
  template <class T> static void add(T& a, T const& b) { a += b; }
  template <class T, class Add> void merge_all(T& x, Add const& add_to) {
    meeting_.slots[rank_] = &x;
    meeting_.wait();
    std::size_t const parts = meeting_.slots.size();
    T sum = x;
    for (std::size_t i = 1; i < parts; ++i)
      add_to(sum, *static_cast<T const*>(meeting_.slots[(rank_ + i) % parts]));
    meeting_.wait(); // all have read
    x = std::move(sum);
  }
  meeting& meeting_;
  std::size_t rank_;
};

template <class Real>
AssertionResult check_parts(scenario<Real> const& s, config const& c, std::size_t parts) {
  meeting where(parts);
  std::vector<outcome> outcomes(parts);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < parts; ++i)
    threads.emplace_back([&, i] {
      thread_reduction reduce(where, i);
      index const n = s.rows.rows();
      outcomes[i] = run_part(s, c, begin_of(i, parts, n), begin_of(i + 1, parts, n), reduce);
    });
  for (std::thread& t : threads) t.join();
  std::vector<label> labels;
  AssertionResult r = AssertionSuccess();
  for (outcome const& o : outcomes) {
    labels.insert(labels.end(), o.labels.begin(), o.labels.end());
    if (r) r = same_outcome(o.result, s);
  }
  if (r) r = same_labels(labels, s.expected.labels);
  if (r) return r;
  return AssertionFailure() << s.name << " | " << name(c) << " | " << parts << " partitions: " << r.message();
}

template <class Real> void any_cut_gives_the_same_bits() {
  std::size_t turn = 0;
  for (std::size_t f = 0; f < families::family_names.size(); ++f)
    for (std::size_t w = 0; w < families::weighting_names.size(); ++w) {
      ++turn;
      if (sanitized && turn % (thread_sanitized ? 12 : 4) != 0) continue;
      scenario<Real> s(plan_of_turn(static_cast<family>(f), static_cast<weighting>(w), turn));
      s.run_oracle();
      std::size_t first_cut = 0; // under sanitizers half of them, which take turns
      for (config c : algorithms_and_trees()) {
        c.leaf_size = leaf_sizes[turn % leaf_sizes.size()];
        std::size_t cut = first_cut++;
        for (std::size_t const parts : {1u, 2u, 3u, 5u})
          if (cut++ % 2 == 0 || !sanitized) {
            ASSERT_TRUE(check_parts(s, c, parts));
          }
      }
    }
}

TEST(partitions, any_cut_gives_the_same_bits_double) { any_cut_gives_the_same_bits<double>(); }
TEST(partitions, any_cut_gives_the_same_bits_float) { any_cut_gives_the_same_bits<float>(); }

TEST(partitions, candidates_come_from_all_of_them) {
  // Six clusters far from all rows: the farthest rows of the whole are spread over the partitions.
  plan p{.data = family::uniform, .seed = 3, .n = 200, .k = 9, .start = families::start::far};
  for (weighting const w : {weighting::none, weighting::with_zeros}) {
    p.weights = w;
    scenario<double> s(p);
    s.run_oracle();
    ASSERT_GE(s.expected.passes[0].relocations, 3);
    for (config const& c : algorithms_and_trees())
      for (std::size_t const parts : {2u, 5u}) ASSERT_TRUE(check_parts(s, c, parts));
  }
}

TEST(partitions, of_directions) {
  matrix<double> const rows = oracle::unit_lengths(families::make_rows<double>(family::clustered, 200, 3, 5));
  scenario<double> s("directions", rows, families::make_start(families::start::far, rows, 9, 5),
                     {.max_iter = 40, .spherical = true});
  s.run_oracle();
  ASSERT_GE(s.expected.passes[0].relocations, 2);
  for (config const& c : algorithms_and_trees())
    for (std::size_t const parts : {2u, 5u}) ASSERT_TRUE(check_parts(s, c, parts));
}

TEST(partitions, many_rows) {
  plan p{.data = family::clustered,
         .seed = 4,
         .n = sanitized ? 1000 : 8000,
         .k = 30,
         .start = families::start::far};
  p.settings.max_iter = 10;
  scenario<float> s(p);
  s.run_oracle();
  for (config c : algorithms_and_trees()) {
    c.threads = 2;
    for (std::size_t const parts : {2u, 3u}) ASSERT_TRUE(check_parts(s, c, parts));
  }
}

} // namespace
