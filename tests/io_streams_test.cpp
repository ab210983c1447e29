// SPDX-License-Identifier: BSD-3-Clause
// Standard input and what the shell opens: told by its first bytes, read in blocks, the same as a file.

#include <csignal>
#include <random>
#include <thread>

#include <fcntl.h>

#include "io_files.hpp"

namespace kopse {
namespace {

using namespace test;

class io_streams : public testing::Test {
protected:
  /// Loads "-" while `content` comes by a pipe, `step` bytes at a time.
  table piped(std::string const& content, load_options const& options = {}, std::size_t step = 1 << 20) {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    int const old = ::dup(STDIN_FILENO);
    ::dup2(ends[0], STDIN_FILENO);
    ::close(ends[0]);
    std::thread writer([&] {
      for (std::size_t at = 0; at < content.size(); at += step) {
        std::string_view const part = std::string_view(content).substr(at, step);
        if (::write(ends[1], part.data(), part.size()) != static_cast<ssize_t>(part.size())) break;
      }
      ::close(ends[1]);
    });
    struct restore {
      int old;
      std::thread& writer;
      ~restore() {
        ::dup2(old, STDIN_FILENO); // nobody reads any more: the writer ends
        ::close(old);
        writer.join();
      }
    } const after{old, writer};
    return load("-", options);
  }
  std::string fault(std::string const& content, load_options const& options = {}) {
    try {
      piped(content, options);
    } catch (error const& e) {
      EXPECT_TRUE(std::string(e.what()).starts_with("standard input:")) << e.what();
      return e.what();
    }
    return "";
  }
  void SetUp() override { ::signal(SIGPIPE, SIG_IGN); }

  directory dir;
  nested const four{{1, 2}, {3, 4}};
};

load_options of_format(std::string const& name) {
  load_options options;
  options.format = name;
  return options;
}

TEST_F(io_streams, text_in_all_its_forms) {
  for (std::size_t const step : {1, 3, 1000}) {
    EXPECT_EQ(rows_of(piped("1,2\n3,4\n", {}, step)), four);
    EXPECT_EQ(rows_of(piped("\xEF\xBB\xBFx;y\r\n1;2\r\n\r\n# no\r\n3;4", {}, step)), four);
    EXPECT_EQ(rows_of(piped("1 2\r\r\n3 4\r\r\n", {}, step)), four);
    EXPECT_EQ(rows_of(piped("1\t2\r3\t4\r", {}, step)), four);
  }
  table const named = piped("x,y\n1,2\n3,4\n");
  EXPECT_EQ(named.names, (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(named.notes.front(), "header skipped: x,y");
}

TEST_F(io_streams, the_same_as_a_file_with_any_line_ends) {
  std::mt19937 draw(5);
  std::string text = "a,b\n";
  while (text.size() < (10u << 20)) { // more than a block
    text += std::to_string(draw()) + "," + std::to_string(draw()) + "e-9";
    for (auto n = draw() % 3; n > 0; --n) text += '\r';
    text += draw() % 4 ? "\n" : text.back() == '\r' ? "" : "\r";
  }
  table const file = load(write(dir / "a.csv", text)), stream = piped(text);
  EXPECT_EQ(file.rows(), stream.rows());
  EXPECT_TRUE(rows_of(file) == rows_of(stream));
  for (std::size_t const at : {text.size() - 100, text.size() - 5000000, std::size_t{9} << 20}) {
    std::string broken = text;
    broken.insert(broken.find(',', at), "x");
    std::string const path = write(dir / "a.csv", broken);
    std::string const said = load_error(path);
    EXPECT_EQ(fault(broken), "standard input" + said.substr(path.size()));
  }
}

TEST_F(io_streams, carriage_returns_alone_over_many_blocks) {
  std::string text;
  for (int i = 0; i < 3000000; ++i) text += std::to_string(i) + "\r";
  table const all = piped(text);
  EXPECT_EQ(all.rows(), 3000000);
  EXPECT_EQ(all.visit([](auto const& v) { return static_cast<double>(v(2999999, 0)); }), 2999999);
  EXPECT_HAS(fault(text + "x\r"), "standard input:3000001:1: ");
}

TEST_F(io_streams, arrays_and_packed_text) {
  matrix<double> values(3, 2);
  for (index i = 0; i < 6; ++i) values.row(0)[i] = static_cast<double>(i) / 3;
  for (auto const* name : {"a.npy", "a.npy.gz", "a.csv.gz", "a.csv.zst", "a.npy.zst"}) {
    try {
      save(dir / name, values);
    } catch (error const&) {
      continue; // built without
    }
    for (std::size_t const step : {1u, 7u, 100000u})
      EXPECT_EQ(rows_of(piped(read(dir / name), {}, step)), rows_of(table(matrix<double>(values)))) << name;
  }
  save(dir / "a.npy", values);
  std::string const npy = read(dir / "a.npy");
  EXPECT_EQ(piped(npy, rows_only(1, 2)).rows(), 1);
  for (std::size_t size = 6; size < npy.size(); ++size) EXPECT_NE(fault(npy.substr(0, size)), "") << size;
  std::string fortran = npy;
  fortran.replace(fortran.find("False"), 5, "True ");
  EXPECT_HAS(fault(fortran), "Fortran order");
}

TEST_F(io_streams, headers_that_promise_more_than_comes) {
  auto const npy = [](std::string const& shape) {
    std::string dict = "{'descr': '<f8', 'fortran_order': False, 'shape': " + shape + ", }";
    dict.resize(117, ' ');
    return std::string("\x93NUMPY\x01\x00\x76\x00", 10) + dict + "\n" + std::string(64, '\0');
  };
  for (auto const* shape : {"(1000000000000, 2)", "(1, 1000000000000)", "(1, 1152921504606846975)"})
    EXPECT_HAS(fault(npy(shape)), "it is cut short") << shape;
  EXPECT_HAS(fault(npy("(9223372036854775807, 9223372036854775807)")), "more than any memory holds");
  load_options const fvecs = of_format("fvecs");
  EXPECT_HAS(fault(bytes_of<std::int32_t>({2147483647, 1, 2, 3}), fvecs), "it ends within row 0");
  EXPECT_HAS(fault(bytes_of<std::int32_t>({-1, 1, 2, 3}), fvecs), "the dimension -1");
  EXPECT_HAS(fault(bytes_of<std::int32_t>({1, 0, 2, 0, 0}), fvecs), "the dimension 2 in row 1");
  EXPECT_HAS(fault("", fvecs), "empty file");
}

TEST_F(io_streams, formats_that_are_named) {
  EXPECT_EQ(rows_of(piped(bytes_of<std::int32_t>({2, 1, 2, 2, 3, 4}), of_format("ivecs"))), four);
  EXPECT_EQ(rows_of(piped("1,2\n3,4\n", of_format("csv"))), four);
  EXPECT_THROW(piped("1,2\n", of_format("dat")), usage_error);
  load_options raw;
  raw.raw = parse_raw_layout("uint8:2x2@1");
  EXPECT_EQ(rows_of(piped("x\1\2\3\4", raw)), four);
  EXPECT_HAS(fault("x\1\2\3", raw), "it is cut short: 2 rows were promised, and it ends within row 1");
  EXPECT_HAS(fault("x\1\2\3\4\5", raw), "more bytes than those of the 2 rows expected");
  EXPECT_HAS(fault("", raw), "fewer bytes than the 1 to be skipped");
  raw.raw = parse_raw_layout("uint8:2");
  EXPECT_HAS(fault("\1\2\3", raw), "it ends within row 1");
  EXPECT_EQ(rows_of(load(write(dir / "a.dat", "1,2\n3,4\n"), of_format("csv"))), four);
}

TEST_F(io_streams, what_is_no_data) {
  EXPECT_HAS(fault(""), "standard input: found an empty file");
  EXPECT_HAS(fault("x,y\n"), "nothing below it");
  EXPECT_HAS(fault("# no\n\n"), "found no values");
  EXPECT_HAS(fault(std::string(std::size_t{20} << 20, '\0')), "a line of more than");
  EXPECT_THROW(piped("1\n2\n", rows_only(1, 3)), usage_error);
  EXPECT_THROW(piped("1\n2\n", rows_only(2)), usage_error);
}

TEST_F(io_streams, what_the_shell_opens) {
  write(dir / "a.csv", "1,2\n3,4\n");
  int const descriptor = ::open((dir / "a.csv").c_str(), O_RDONLY);
  ASSERT_GE(descriptor, 0);
  EXPECT_EQ(rows_of(load("/dev/fd/" + std::to_string(descriptor))), four);
  ::close(descriptor);
  EXPECT_HAS(load_error("/dev/fd/" + std::to_string(descriptor)), "cannot read /dev/fd/");
}

} // namespace
} // namespace kopse
