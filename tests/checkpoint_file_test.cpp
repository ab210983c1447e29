// SPDX-License-Identifier: BSD-3-Clause
// The file of a checkpoint: what it refuses, what is damaged, and what is done where it cannot be written.
#include <csignal>
#include <cstring>

#include <sys/resource.h>

#include "exactness.hpp"
#include "fingerprint.hpp"
#include "io_files.hpp"

namespace {

using namespace exactness;
using kopse::index;
using kopse::test::directory;

class checkpoint_file : public testing::Test {
protected:
  checkpoint_file() { o.max_iter = 3, o.checkpoint.file = file; }

  kopse::result fit() { return kopse::fit(s.user_points(), 7, o); }
  std::string fault() { return fault_of(s.user_points(), 7); }
  template <class Real> std::string fault_of(kopse::point_set<Real> points, index k) {
    try {
      kopse::fit(points, k, o);
    } catch (kopse::error const& e) {
      return e.what();
    }
    return "";
  }
  void expect_fault(std::string const& part) {
    EXPECT_EQ(fault(), file + ": the checkpoint is of another fit: " + part);
  }

  directory dir;
  std::string const file = dir / "a.ckpt";
  scenario<double> s{{.data = family::uniform, .seed = 1, .n = 90, .k = 7}};
  kopse::options o;
};

TEST_F(checkpoint_file, of_another_fit) {
  fit();
  EXPECT_EQ(fault(), "the checkpoint " + file + " is there already: resume from it, or remove it");
  o.checkpoint.resume = true;
  EXPECT_EQ(fault(), "");
  kopse::options const same = o;
  auto const with = [&](auto const& change, std::string const& part) {
    o = same;
    change();
    expect_fault(part);
    o = same;
  };
  with([&] { o.seed = 8; }, "seed = 0 there, 8 here");
  with([&] { o.init = "random", o.tol = 0.5; },
       "init = k-means++ there, random here; tol = 0 there, 0.5 here");
  with([&] { o.candidates = 0; }, "candidates = 1 there, 0 here");
  with([&] { o.restarts = 2; }, "restarts = 1 there, 2 here");
  with([&] { o.empty = empty_policy::keep; }, "empty clusters = relocate there, keep here");
  with([&] { o.centroids = s.start; },
       "init = k-means++ there, starting centroids here; candidates = 1 there, 0 here");
  std::string const another = file + ": the checkpoint is of another fit: ";
  EXPECT_EQ(fault_of(s.user_points(), 6), another + "k = 7 there, 6 here");
  EXPECT_EQ(fault_of(kopse::point_set(s.rows.view().slice(1, 90)), 7), another + "rows = 90 there, 89 here");
  EXPECT_EQ(fault_of(kopse::point_set(s.rows.view().columns(0, 1)), 7),
            another + "columns = 2 there, 1 here");
  scenario<float> const single({.data = family::uniform, .seed = 1, .n = 90, .k = 7});
  EXPECT_EQ(fault_of(single.user_points(), 7), another + "type = float64 there, float32 here");
  std::vector<double> weights(90, 1.0);
  EXPECT_EQ(fault_of(kopse::point_set(s.rows.view(), weights), 7),
            another + "weights = none there, given here");
  s.rows(89, 1) = std::nextafter(s.rows(89, 1), 2.0);
  expect_fault("the values of the data differ");
}

TEST_F(checkpoint_file, of_other_weights_or_starts) {
  std::vector<double> weights(90, 1.0);
  kopse::point_set const points(s.rows.view(), weights);
  o.centroids = s.start;
  o.checkpoint.resume = true;
  EXPECT_EQ(fault_of(points, 7), "") << "where there is none yet, it begins";
  weights[5] = 2;
  EXPECT_EQ(fault_of(points, 7), file + ": the checkpoint is of another fit: the weights differ");
  weights[5] = 1;
  (*o.centroids)(0, 0) += 1;
  EXPECT_EQ(fault_of(points, 7), file + ": the checkpoint is of another fit: the starting centroids differ");
}

TEST_F(checkpoint_file, max_iter_may_change_for_a_single_run) {
  fit();
  o.checkpoint.resume = true;
  o.max_iter = 2;
  EXPECT_EQ(fault(), file + ": max_iter = 2 here, but 3 iterations are done there");
  o.max_iter = 300;
  kopse::result const more = fit();
  kopse::options whole;
  kopse::result const want = kopse::fit(s.user_points(), 7, whole);
  EXPECT_TRUE(same_matrix(more.centroids, want.centroids));
  EXPECT_EQ(more.iterations, want.iterations);
  o.max_iter = 3, o.restarts = 2, o.checkpoint.file = dir / "b.ckpt";
  fit();
  o.max_iter = 4;
  EXPECT_HAS(fault(), "max_iter = 3 there, 4 here");
}

TEST_F(checkpoint_file, damaged) {
  fit();
  o.checkpoint.resume = true;
  std::string const whole = kopse::test::read(file);
  std::string const damage = file
                             + ": the checkpoint is damaged: its bytes are not what was written; without the "
                               "file the fit starts anew";
  std::string const stranger = file + ": this is no checkpoint of a fit, or one of another version of kopse";
  for (std::size_t length = 0; length < whole.size(); length += length < 64 ? 1 : 29) {
    kopse::test::write(file, whole.substr(0, length));
    EXPECT_EQ(fault(), length < 8 ? stranger : damage) << length;
  }
  for (std::size_t at = 0; at < whole.size(); at += at < 64 ? 1 : 31) {
    std::string bad = whole;
    bad[at] = static_cast<char>(bad[at] ^ 1 << at % 8);
    kopse::test::write(file, bad);
    EXPECT_EQ(fault(), at < 8 ? stranger : damage) << at;
  }
  kopse::test::write(file, whole + whole);
  EXPECT_EQ(fault(), damage);
  kopse::test::write(file, "x,y\n1,2\n3,4\n5,6\n");
  EXPECT_EQ(fault(), stranger);
}

/// With the right checksum, but words that cannot be: an error, or some result, but no fault of memory.
TEST_F(checkpoint_file, forged) {
  o.restarts = 2;
  fit();
  o.checkpoint.resume = true;
  std::string const whole = kopse::test::read(file);
  std::size_t const words = whole.size() / 8;
  int refused = 0;
  for (std::uint64_t const value :
       {std::uint64_t{0}, ~std::uint64_t{0}, std::uint64_t{1} << 62, std::uint64_t{3}})
    for (std::size_t at = 1; at + 1 < words; at += sanitized ? 3 : 1) {
      std::vector<std::uint64_t> forged(words);
      std::memcpy(forged.data(), whole.data(), whole.size());
      forged[at] = value;
      kopse::hasher hash;
      for (std::size_t i = 0; i + 1 < words; ++i) hash.add(forged[i]);
      forged.back() = hash.value();
      std::string bytes(whole.size(), '\0');
      std::memcpy(bytes.data(), forged.data(), bytes.size());
      kopse::test::write(file, bytes);
      refused += fault().empty() ? 0 : 1;
    }
  EXPECT_GT(refused, sanitized ? 30 : 100);
}

TEST_F(checkpoint_file, that_cannot_be_written) {
  o.checkpoint.file = dir / "no/a.ckpt";
  EXPECT_HAS(fault(),
             "cannot write " + dir / "no/a.ckpt" + ": the directory " + dir / "no" + " does not exist");
  o.checkpoint.file = dir.path();
  EXPECT_HAS(fault(), "is there already");
  o.checkpoint.resume = true;
  EXPECT_HAS(fault(), "it is a directory");
  o.checkpoint = {};
  o.checkpoint.resume = true;
  EXPECT_EQ(fault(), "resume: expected a checkpoint's file");
  o.checkpoint = {};
  o.checkpoint.every_seconds = -1;
  EXPECT_HAS(fault(), "checkpoints every -1 seconds");
}

/// Files may grow no more, as on a full disk.
class full_disk {
public:
  full_disk() : old_handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &old_);
    rlimit const now{100, old_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &now);
  }
  ~full_disk() {
    ::setrlimit(RLIMIT_FSIZE, &old_);
    std::signal(SIGXFSZ, old_handler_);
  }
  full_disk(full_disk const&) = delete;
  full_disk& operator=(full_disk const&) = delete;

private:
  rlimit old_{};
  void (*old_handler_)(int);
};

TEST_F(checkpoint_file, of_a_disk_that_runs_full) {
  o.max_iter = 300;
  kopse::options plain;
  kopse::result const want = kopse::fit(s.user_points(), 7, plain);
  {
    full_disk const full;
    EXPECT_HAS(fault(), "cannot write " + file + ": File too large") << "before the work: it fails";
  }
  EXPECT_EQ(dir.files(), 0u);
  o.checkpoint.every_iterations = 1;
  std::optional<full_disk> full;
  std::string at_two;
  o.on_iteration = [&](index iteration, kopse::iteration_record const&) {
    if (iteration != 3) return;
    at_two = kopse::test::read(file);
    full.emplace();
  };
  kopse::result const got = fit();
  full.reset();
  EXPECT_TRUE(same_matrix(got.centroids, want.centroids)) << "later: it goes on";
  ASSERT_EQ(got.warnings.size(), want.warnings.size() + 1);
  EXPECT_HAS(got.warnings.back(), "the checkpoint could not be replaced "
                                      + std::to_string(want.iterations - 2)
                                      + " times, the last time: cannot write " + file + ": File too large");
  EXPECT_EQ(kopse::test::read(file), at_two) << "the one before stays";
  EXPECT_EQ(dir.files(), 1u);
  o.on_iteration = nullptr, o.checkpoint.resume = true;
  kopse::result const resumed = fit();
  EXPECT_TRUE(same_matrix(resumed.centroids, want.centroids));
  EXPECT_EQ(resumed.resumed->iteration, 2);
}

TEST_F(checkpoint_file, keeps_its_mode_and_follows_links) {
  kopse::test::write(dir / "real.ckpt", "");
  std::filesystem::remove(dir / "real.ckpt");
  std::filesystem::create_symlink("real.ckpt", file);
  fit();
  EXPECT_TRUE(std::filesystem::is_symlink(file));
  std::filesystem::permissions(dir / "real.ckpt",
                               std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  o.checkpoint.resume = true, o.max_iter = 300;
  fit();
  EXPECT_EQ(std::filesystem::status(dir / "real.ckpt").permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  EXPECT_EQ(dir.files(), 2u);
}

} // namespace
