// SPDX-License-Identifier: BSD-3-Clause
// Raw numbers of a type and shape that the user says.

#include <algorithm>
#include <random>

#include "io_files.hpp"

namespace kopse {
namespace {

using namespace test;

load_options raw(std::string const& layout, row_range rows = {}) {
  load_options options;
  options.raw = parse_raw_layout(layout);
  options.rows = rows;
  return options;
}

template <class T> std::string swapped(std::vector<T> numbers) {
  std::string bytes = bytes_of(numbers);
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(T))
    std::reverse(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                 bytes.begin() + static_cast<std::ptrdiff_t>(at + sizeof(T)));
  return bytes;
}

class io_raw : public testing::Test {
protected:
  std::string fault(std::string const& content, std::string const& layout) {
    auto const path = write(dir / "a.bin", content);
    std::string const message = load_error(path, raw(layout));
    EXPECT_TRUE(message.starts_with(path + ": ")) << message;
    return message.substr(std::min(message.size(), path.size() + 2));
  }
  template <class T>
  void expect_type(std::string const& type, std::vector<T> const& numbers, nested const& expected) {
    EXPECT_EQ(rows_of(load(write(dir / "t", bytes_of(numbers)), raw(type + ":2"))), expected) << type;
    EXPECT_EQ(rows_of(load(write(dir / "t", swapped(numbers)), raw(type + "be:2"))), expected) << type;
  }
  directory dir;
};

TEST_F(io_raw, layouts_in_words) {
  raw_layout const all = parse_raw_layout("uint8:1000x128@16");
  EXPECT_TRUE(all.type == "uint8" && all.rows == 1000 && all.cols == 128 && all.skip == 16);
  raw_layout const least = parse_raw_layout("float64be:3");
  EXPECT_TRUE(least.type == "float64be" && !least.rows && least.cols == 3 && least.skip == 0);
  for (auto const* wrong : {"",
                            "float32",
                            "float32:",
                            ":3",
                            "float32:x3",
                            "float32:3x",
                            "float32:3@",
                            "float32:3@-1",
                            "float32:-3",
                            "float32:0",
                            "float32:0x3",
                            "float33:3",
                            "float:3",
                            "FLOAT32:3",
                            "float32:3 ",
                            "float32:1.5",
                            "float32:99999999999999999999",
                            "float32:9223372036854775807",
                            "float32:4611686018427387904x4",
                            "bool:2"}) {
    EXPECT_THROW(parse_raw_layout(wrong), usage_error) << wrong;
  }
}

TEST_F(io_raw, types_and_orders) {
  expect_type<float>("float32", {1, -2.5f, 0x1p-149f, 4}, {{1, -2.5}, {0x1p-149, 4}});
  expect_type<double>("float64", {1, -2.5, 5e-324, 4}, {{1, -2.5}, {5e-324, 4}});
  expect_type<std::uint16_t>("float16", {0x3c00, 0xc000}, {{1, -2}});
  expect_type<std::int16_t>("int16", {-32768, 32767}, {{-32768, 32767}});
  expect_type<std::uint16_t>("uint16", {0, 65535}, {{0, 65535}});
  expect_type<std::int32_t>("int32", {-5, 7}, {{-5, 7}});
  expect_type<std::int64_t>("int64", {-5, std::int64_t{1} << 60}, {{-5, 0x1p60}});
  expect_type<std::uint8_t>("uint8", {0, 255}, {{0, 255}});
  expect_type<std::int8_t>("int8", {-128, 127}, {{-128, 127}});
  EXPECT_HAS(fault(bytes_of<std::int64_t>({1, (std::int64_t{1} << 53) + 1}), "int64:1"),
             "in row 1, column 0");
}

TEST_F(io_raw, floats_stay_where_they_are_if_they_can) {
  std::string const numbers = bytes_of<double>({1, 2, 3, 4});
  EXPECT_TRUE(load(write(dir / "a.bin", numbers), raw("float64:2")).mapped);
  table const behind = load(write(dir / "a.bin", "12345678" + numbers), raw("float64:2@8"));
  EXPECT_TRUE(behind.mapped);
  EXPECT_EQ(rows_of(behind), (nested{{1, 2}, {3, 4}}));
  table const odd = load(write(dir / "a.bin", "123" + numbers), raw("float64:2@3"));
  EXPECT_FALSE(odd.mapped);
  EXPECT_EQ(rows_of(odd), (nested{{1, 2}, {3, 4}}));
}

TEST_F(io_raw, sizes_that_do_not_fit) {
  std::string const six = bytes_of<float>({1, 2, 3, 4, 5, 6});
  EXPECT_HAS(fault(six, "float32:4"),
             "found 24 bytes of numbers, expected whole rows of 4 float32 (16 bytes)");
  EXPECT_HAS(fault(six, "float32:3x3"), "found 24 bytes of numbers, expected 3 rows of 3 float32 (12 bytes)");
  EXPECT_HAS(fault(six, "float32:1x3"), "expected 1 rows of 3 float32");
  EXPECT_HAS(fault(six, "float32:3@25"), "it has 24 bytes, fewer than the 25 to be skipped");
  EXPECT_HAS(fault(six, "float32:3@24"), "found no numbers");
  EXPECT_HAS(fault("", "float32:3"), "found no numbers");
  EXPECT_EQ(load(write(dir / "a.bin", six), raw("float32:2x3")).rows(), 2);
  for (std::size_t size = 0; size < six.size(); ++size)
    EXPECT_NE(fault(six.substr(0, size), "float32:2x3"), "") << size;
}

TEST_F(io_raw, any_bytes_are_read_or_refused) {
  std::mt19937 draw(2);
  for (int i = 0; i < 300; ++i) {
    std::string content(draw() % 200, '\0');
    for (char& c : content) c = static_cast<char>(draw());
    for (auto const* layout : {"float16:3", "float32be:2", "float64:1@5", "int64:2", "uint8:7x5"})
      load_error(write(dir / "a.bin", content), raw(layout));
  }
}

TEST_F(io_raw, rows_by_seeking) {
  auto const path = write(dir / "a.csv", bytes_of<float>({0, 1, 2, 3, 4, 5, 6, 7})); // whatever its suffix
  EXPECT_EQ(rows_of(load(path, raw("float32:2", {1, 3}))), (nested{{2, 3}, {4, 5}}));
  EXPECT_TRUE(load(path, raw("float32:2", {1, 3})).mapped);
  EXPECT_EQ(rows_of(load(path, raw("uint8:4", {7, {}}))), (nested{{0, 0, 224, 64}}));
  EXPECT_THROW(load(path, raw("float32:2", {3, 5})), usage_error);
}

} // namespace
} // namespace kopse
