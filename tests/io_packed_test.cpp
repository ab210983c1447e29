// SPDX-License-Identifier: BSD-3-Clause
// gzip and zstd: what is packed is what is read, in any number of parts; what is corrupt, short or followed
// by other things is refused; nothing is allocated before the data are there.

#include <random>

#include <sys/resource.h>

#include "io_files.hpp"
#include "sanitized.hpp"

namespace kopse {
namespace {

using namespace test;

class io_packed : public testing::TestWithParam<char const*> {
protected:
  io_packed() {
    if (load_error(write(dir / ("probe" + suffix), "")).find("this kopse was built without")
        != std::string::npos)
      available = false;
  }
  void SetUp() override {
    if (!available) GTEST_SKIP() << "built without";
  }
  std::string pack(std::string const& text) {
    save_packed(dir / ("packed.csv" + suffix), text);
    return read(dir / ("packed.csv" + suffix));
  }
  /// By writing labels, each on a line: what there is to pack is digits and line ends.
  void save_packed(std::string const& path, std::string const& digits) {
    std::vector<label> labels;
    std::size_t at = 0;
    while (at < digits.size()) {
      std::size_t const end = digits.find('\n', at);
      labels.push_back(static_cast<label>(std::stoi(digits.substr(at, end - at))));
      at = end + 1;
    }
    save(path, std::span<label const>(labels));
  }
  std::string fault(std::string const& content) {
    auto const path = write(dir / ("a.csv" + suffix), content);
    std::string const message = load_error(path);
    EXPECT_TRUE(message.starts_with(path + ":")) << message;
    return message.substr(std::min(message.size(), path.size() + 1));
  }
  std::string const suffix = GetParam();
  directory dir;
  bool available = true;
};

INSTANTIATE_TEST_SUITE_P(suffix, io_packed, testing::Values(".gz", ".zst"),
                         [](auto const& of) { return std::string(of.param + 1); });

TEST_P(io_packed, what_is_written_is_read_back) {
  matrix<double> values(30000, 3);
  std::mt19937_64 draw(3);
  for (index i = 0; i < 90000; ++i) values.row(0)[i] = static_cast<double>(draw()) * 0x1p-60;
  for (auto const* name : {"a.csv", "a.tsv", "a.txt", "a.npy", "a.CSV"}) {
    std::string const path = dir / (name + suffix);
    save(path, values);
    save(dir / "plain.csv", values);
    table const back = load(path), plain = load(dir / "plain.csv");
    EXPECT_EQ(rows_of(back), rows_of(plain)) << name;
    EXPECT_LT(std::filesystem::file_size(path), std::filesystem::file_size(dir / "plain.csv")) << name;
  }
  save(dir / ("c.fvecs" + suffix), values);
  save(dir / "c.fvecs", values);
  EXPECT_EQ(rows_of(load(dir / ("c.fvecs" + suffix))), rows_of(load(dir / "c.fvecs")));
  std::vector<label> const labels(1000, 7);
  for (auto const* name : {"l.csv", "l.npy", "l.ivecs"}) {
    save(dir / (name + suffix), std::span<label const>(labels));
    EXPECT_EQ(load_vector(dir / (name + suffix)), std::vector<double>(1000, 7)) << name;
  }
}

TEST_P(io_packed, parts_one_after_the_other) {
  std::string const whole = pack("1\n2\n") + pack("3\n") + pack("4\n5\n");
  EXPECT_EQ(rows_of(load(write(dir / ("a.csv" + suffix), whole))), (nested{{1}, {2}, {3}, {4}, {5}}));
  EXPECT_EQ(rows_of(load(write(dir / ("a.csv" + suffix), pack("1\n2\n3\n4\n5\n")), rows_only(1, 3))),
            (nested{{2}, {3}}));
}

TEST_P(io_packed, every_cut_is_an_error) {
  std::string const whole = pack("1\n2\n3\n") + pack("4\n5\n");
  std::size_t const between = pack("1\n2\n3\n").size();
  EXPECT_HAS(fault(""), "found an empty file");
  for (std::size_t size = 1; size < whole.size(); ++size) {
    if (size == between) continue;
    EXPECT_HAS(fault(whole.substr(0, size)), "it is cut short") << size;
  }
}

TEST_P(io_packed, what_is_no_packed_file) {
  EXPECT_HAS(fault("1,2\n3,4\n5,6\n7,8\n"), "data, expected a file that begins with \\x");
  for (auto const* behind : {"1,2\n3,4\n5,6\n7,8\n", "x"})
    EXPECT_HAS(fault(pack("1\n2\n") + behind), "behind those that are");
}

TEST_P(io_packed, spoilt_bytes_are_found_or_harmless) {
  std::string text;
  std::mt19937 draw(4);
  for (int i = 0; i < 2000; ++i) text += std::to_string(draw() % 1000000) + "\n";
  std::string const whole = pack(text);
  nested const expected = rows_of(load(write(dir / ("a.csv" + suffix), whole)));
  int found = 0;
  for (int i = 0; i < 300; ++i) {
    auto const path = write(dir / ("a.csv" + suffix), spoilt(whole, draw() % whole.size()));
    std::string const message = load_error(path);
    found += message != "";
    if (message != "") continue;
    EXPECT_EQ(rows_of(load(path)), expected); // a byte that says nothing, e.g. of a time
  }
  EXPECT_GT(found, 280);
}

// Rows that end where a block does: what comes next is the end of the file, not of something cut short.
TEST_P(io_packed, rows_in_whole_blocks) {
  for (index const rows : {64, 65536, 131072}) { // 16 bytes each
    save(dir / ("a.fvecs" + suffix), matrix<double>(rows, 3));
    EXPECT_EQ(load(dir / ("a.fvecs" + suffix)).rows(), rows);
  }
}

TEST_P(io_packed, lines_are_counted_over_blocks) {
  std::string text;
  constexpr int rows = 3000000; // more than two blocks
  for (int i = 0; i < rows; ++i) text += "1234567\n";
  save_packed(dir / ("a.csv" + suffix), text);
  std::string const whole = read(dir / ("a.csv" + suffix));
  table const all = load(dir / ("a.csv" + suffix));
  EXPECT_EQ(all.rows(), rows);
  EXPECT_EQ(all.visit([](auto const& v) { return static_cast<double>(v(rows - 1, 0)); }), 1234567);
  EXPECT_EQ(load(dir / ("a.csv" + suffix), rows_only(rows - 2)).rows(), 2);
  EXPECT_THROW(load(dir / ("a.csv" + suffix), rows_only(1, rows + 1)), usage_error);
}

TEST_P(io_packed, numbers_that_do_not_fit_in_memory) {
  if (exactness::sanitized) GTEST_SKIP() << "the address sanitizer takes all addresses";
  std::string text;
  for (int i = 0; i < 20000000; ++i) text += "1\n";
  save_packed(dir / ("a.csv" + suffix), text); // 160 MB of numbers in some tens of kB
  rlimit old{};
  ASSERT_EQ(::getrlimit(RLIMIT_AS, &old), 0);
  rlimit tight = old;
  tight.rlim_cur = std::size_t{1} << 27;
  std::string message;
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &tight), 0);
  load_options options;
  options.threads = 1;
  message = load_error(dir / ("a.csv" + suffix), options);
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &old), 0);
  EXPECT_HAS(message, "do not fit in memory");
}

} // namespace
} // namespace kopse
