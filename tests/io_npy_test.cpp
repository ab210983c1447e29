// SPDX-License-Identifier: BSD-3-Clause
// Reading .npy, with files built byte by byte as NumPy writes them. H46 and H47 are reports by users of other
// programs: transposed or long headers misread, types refused without a word of what is taken.

#include <array>
#include <bit>
#include <cstring>
#include <limits>

#include "io_files.hpp"

namespace kopse {
namespace {

using namespace test;

/// A header as NumPy writes it, of any version; the numbers begin at a multiple of 64, or where `length`
/// says.
std::string npy(std::string const& dict, std::string const& data, int version = 1, std::size_t length = 0) {
  std::size_t const before = version == 1 ? 10 : 12;
  if (length == 0) length = (before + dict.size() + 1 + 63) / 64 * 64 - before;
  std::string file = "\x93NUMPY";
  file += {static_cast<char>(version), '\0'};
  for (std::size_t i = 0; i < before - 8; ++i) file += static_cast<char>(length >> 8 * i & 255);
  return file + dict + std::string(length - dict.size() - 1, ' ') + "\n" + data;
}

std::string dict(std::string const& descr, std::string const& shape, bool fortran = false) {
  return "{'descr': '" + descr + "', 'fortran_order': " + (fortran ? "True" : "False") + ", 'shape': " + shape
         + ", }";
}

/// Numbers as bytes, in this machine's order or the other.
template <class T> std::string bytes(std::vector<T> const& numbers, bool swapped = false) {
  std::string all;
  for (T const number : numbers) {
    auto raw = std::bit_cast<std::array<char, sizeof(T)>>(number);
    if (swapped) std::reverse(raw.begin(), raw.end());
    all.append(raw.data(), raw.size());
  }
  return all;
}

constexpr bool little = std::endian::native == std::endian::little;

/// The type's bytes under its name with both byte orders.
template <class T>
void expect_read(directory const& dir, std::string const& type, std::vector<T> const& four,
                 nested const& expected) {
  for (bool const big : {false, true}) {
    auto const path =
        write(dir / "t.npy", npy(dict((big ? ">" : "<") + type, "(2, 2)"), bytes(four, big == little)));
    table const values = load(path);
    EXPECT_EQ(rows_of(values), expected) << type << big;
    EXPECT_EQ(values.is_float32(), type == "f4" || type[1] <= '2') << type;
    EXPECT_EQ(values.mapped, big != little && (type == "f4" || type == "f8"));
  }
}

class io_npy : public testing::Test {
protected:
  std::string fault(std::string const& content) {
    auto const path = write(dir / "a.npy", content);
    std::string const message = load_error(path);
    EXPECT_TRUE(message.starts_with(path + ": ")) << message;
    return message.substr(std::min(message.size(), path.size() + 2));
  }
  directory dir;
  nested const six{{1, 2, 3}, {4, 5, 6}};
  std::string const by_row = bytes<double>({1, 2, 3, 4, 5, 6}), by_column = bytes<double>({1, 4, 2, 5, 3, 6});
  std::string const f8 = little ? "<f8" : ">f8", f4 = little ? "<f4" : ">f4";
};

TEST_F(io_npy, H46_orders_and_versions) {
  for (int version : {1, 2, 3}) {
    EXPECT_EQ(rows_of(load(write(dir / "c.npy", npy(dict(f8, "(2, 3)"), by_row, version)))), six);
    EXPECT_EQ(rows_of(load(write(dir / "f.npy", npy(dict(f8, "(2, 3)", true), by_column, version)))), six);
  }
  // np.save of X.T, X of shape (3, 2) in C order: the bytes of X, and Fortran order
  table const transposed =
      load(write(dir / "t.npy", npy(dict(f8, "(2, 3)", true), bytes<double>({1, 4, 2, 5, 3, 6}))));
  EXPECT_EQ(rows_of(transposed), six);
  EXPECT_FALSE(transposed.mapped);
}

TEST_F(io_npy, H46_long_and_unaligned_headers) {
  for (std::size_t const length : {60000u, 65526u, 118u, 119u, 121u, 126u}) {
    table const values = load(write(dir / "a.npy", npy(dict(f8, "(2, 3)"), by_row, 1, length)));
    EXPECT_EQ(rows_of(values), six);
    EXPECT_EQ(values.mapped, (10 + length) % 8 == 0) << length;
  }
  EXPECT_EQ(rows_of(load(write(dir / "a.npy", npy(dict(f8, "(2, 3)"), by_row, 2, 100000)))), six);
}

TEST_F(io_npy, H46_header_written_by_others) {
  for (std::string const& text : std::vector<std::string>{
           "{\"shape\":(2L,3L),\"fortran_order\":False,\"descr\":\"" + f8 + "\"}",
           "{ 'fortran_order' : False ,\n'shape' : ( 2 , 3 ) , 'descr' : '=f8' }", dict("f8", "(2, 3)")}) {
    EXPECT_EQ(rows_of(load(write(dir / "a.npy", npy(text, by_row)))), six) << text;
  }
}

TEST_F(io_npy, H47_types_taken) {
  nested const small{{0, 1}, {2, 127}}, negative{{0, -1}, {-128, 127}};
  expect_read<double>(dir, "f8", {0, 1, 2, 127}, small);
  expect_read<float>(dir, "f4", {0, -1, -128, 127}, negative);
  expect_read<std::int8_t>(dir, "i1", {0, -1, -128, 127}, negative);
  expect_read<std::int16_t>(dir, "i2", {0, -1, -128, 127}, negative);
  expect_read<std::int32_t>(dir, "i4", {0, -1, -128, 127}, negative);
  expect_read<std::int64_t>(dir, "i8", {0, -1, -128, 127}, negative);
  expect_read<std::uint8_t>(dir, "u1", {0, 1, 2, 127}, small);
  expect_read<std::uint16_t>(dir, "u2", {0, 1, 2, 127}, small);
  expect_read<std::uint32_t>(dir, "u4", {0, 1, 2, 127}, small);
  expect_read<std::uint64_t>(dir, "u8", {0, 1, 2, 127}, small);
  expect_read<std::uint32_t>(dir, "u4", {0, 1, 2, 4294967295u}, {{0, 1}, {2, 4294967295.}});
  table const truth = load(write(dir / "b.npy", npy(dict("|b1", "(2, 2)"), std::string("\0\1\1\0", 4))));
  EXPECT_EQ(rows_of(truth), (nested{{0, 1}, {1, 0}}));
}

TEST_F(io_npy, H47_float16) {
  // 1, -2, the largest, the smallest subnormal, the largest subnormal, the smallest normal
  expect_read<std::uint16_t>(dir, "f2", {0x3c00, 0xc000, 0x7bff, 0x0001}, {{1, -2}, {65504, 0x1p-24}});
  expect_read<std::uint16_t>(dir, "f2", {0x03ff, 0x8400, 0x3555, 0x0000},
                             {{1023 * 0x1p-24, -0x1p-14}, {1365 * 0x1p-12, 0}});
  for (std::uint16_t const bad : std::vector<std::uint16_t>{0x7c00, 0xfc00, 0x7e00}) {
    EXPECT_HAS(fault(npy(dict(little ? "<f2" : ">f2", "(1, 2)"), bytes<std::uint16_t>({0x3c00, bad}))),
               "in row 0, column 1");
  }
}

TEST_F(io_npy, H47_types_refused_with_a_list_of_those_taken) {
  std::string const data(64, '\0');
  for (auto const* type :
       {"<c16", "|O", "|S3", "<U3", "<M8[ns]", "|V8", "<f16", "<f3", "", "f", "<i16", "?", "\xff"}) {
    std::string const message = fault(npy(dict(type, "(2, 2)"), data));
    EXPECT_HAS(message, "found the type '") << type;
    EXPECT_HAS(message, "taken are bool, int8 to int64, uint8 to uint64, float16, float32 and float64")
        << type;
  }
  EXPECT_HAS(fault(npy("{'descr': [('x', '<f8')], 'fortran_order': False, 'shape': (2,), }", data)),
             "structured");
  EXPECT_HAS(fault(npy(dict("<c16", "(2, 2)"), data)), "'<c16' (complex)");
}

TEST_F(io_npy, shapes) {
  table const column = load(write(dir / "n.npy", npy(dict(f8, "(6,)"), by_row)));
  EXPECT_TRUE(column.rows() == 6 && column.cols() == 1 && column.mapped);
  EXPECT_EQ(load_vector(dir / "n.npy"), (std::vector<double>{1, 2, 3, 4, 5, 6}));
  EXPECT_TRUE(load(write(dir / "n.npy", npy(dict(f8, "(6, 1)", true), by_row))).mapped);
  for (auto const* shape : {"()", "(1, 2, 3)", "(-6,)", "(-2, -3)"}) {
    EXPECT_HAS(fault(npy(dict(f8, shape), by_row)), "taken are (n, d), and (n,)") << shape;
  }
  for (auto const* shape : {"(0,)", "(0, 3)", "(3, 0)"}) {
    EXPECT_HAS(fault(npy(dict(f8, shape), by_row)), "at least one row and one column") << shape;
  }
  for (auto const* shape :
       {"(7,)", "(2, 4)", "(4611686018427387904, 4)", "(9223372036854775807, 9223372036854775807)"}) {
    EXPECT_HAS(fault(npy(dict(f8, shape), by_row)), "it is cut short") << shape;
  }
  for (auto const* shape : {"(99999999999999999999,)", "(2 3)", "(2.0, 3)", "6", "(2, 3", "(,)", "None"}) {
    EXPECT_HAS(fault(npy(dict(f8, shape), by_row)), "cannot understand its header") << shape;
  }
}

TEST_F(io_npy, every_cut_is_an_error) {
  std::string const whole = npy(dict(f8, "(2, 3)"), by_row);
  for (std::size_t size = 0; size < whole.size(); ++size) EXPECT_NE(fault(whole.substr(0, size)), "") << size;
  EXPECT_EQ(rows_of(load(write(dir / "a.npy", whole + "more"))), six) << "as np.load: np.save can append";
}

TEST_F(io_npy, garbage_headers) {
  for (auto const* text :
       {"", "{", "{}", "[]", "{'descr'}", "{'descr': '<f8'}", "{'shape': (2, 3), 'shape': (2, 3)}",
        "\xff\xff", "{'descr': '<f8', 'fortran_order': 1, 'shape': (2, 3)}"}) {
    EXPECT_HAS(fault(npy(text, by_row)), "cannot understand its header") << text;
  }
  EXPECT_HAS(fault(npy(dict(f8, "(2, 3)") + " x", by_row)), "cannot understand its header");
  EXPECT_HAS(fault(npy(dict(f8, "(2, 3)"), by_row, 4)), "version 4.0");
  EXPECT_HAS(fault("1,2\n3,4\n"), "no .npy header");
}

TEST_F(io_npy, whole_numbers_that_float64_cannot_hold) {
  std::string const i8 = little ? "<i8" : ">i8", u8 = little ? "<u8" : ">u8";
  constexpr std::int64_t two53 = std::int64_t{1} << 53, low = std::numeric_limits<std::int64_t>::min();
  auto const path =
      write(dir / "a.npy",
            npy(dict(i8, "(3, 2)"), bytes<std::int64_t>({two53, -two53, two53 + 2, low, 3 << 20, -1})));
  EXPECT_EQ(rows_of(load(path)), (nested{{0x1p53, -0x1p53}, {0x1p53 + 2, -0x1p63}, {3 << 20, -1}}));
  for (std::int64_t const bad : {two53 + 1, -two53 - 1, low + 1, ~low}) {
    EXPECT_HAS(fault(npy(dict(i8, "(2, 2)"), bytes<std::int64_t>({0, 0, bad, 0}))),
               "found " + std::to_string(bad) + " in row 1, column 0 (both count from 0)");
  }
  EXPECT_HAS(fault(npy(dict(u8, "(1, 2)"), bytes<std::uint64_t>({1u, ~std::uint64_t{0}}))),
             "18446744073709551615 in row 0, column 1");
}

TEST_F(io_npy, values_that_are_not_finite) {
  double const nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  EXPECT_HAS(fault(npy(dict(f8, "(2, 2)"), bytes<double>({1, 2, nan, 4}))),
             "found NaN in row 1, column 0 (both count from 0)");
  EXPECT_HAS(fault(npy(dict(f8, "(2, 2)", true), bytes<double>({1, 2, -inf, 4}))),
             "found an infinity in row 0, column 1");
  EXPECT_HAS(fault(npy(dict(f4, "(3,)"), bytes<float>({1, 2, static_cast<float>(inf)}))), "row 2, column 0");
  EXPECT_HAS(fault(npy(dict(little ? ">f8" : "<f8", "(2,)"), bytes<double>({1, nan}, true))),
             "row 1, column 0");
  double const largest = std::numeric_limits<double>::max(),
               least = std::numeric_limits<double>::denorm_min();
  EXPECT_EQ(rows_of(load(write(dir / "a.npy", npy(dict(f8, "(1, 2)"), bytes<double>({largest, -least}))))),
            (nested{{largest, -least}}));
}

TEST_F(io_npy, ranges_of_columns_stay_mapped) {
  double const nan = std::numeric_limits<double>::quiet_NaN();
  auto const path =
      write(dir / "a.npy", npy(dict(f8, "(2, 4)"), bytes<double>({1, 2, 3, nan, 4, 5, 6, nan})));
  auto const with = [&](std::vector<index> columns) {
    return load(path, {.header = header_line::detect, .delimiter = {}, .columns = std::move(columns)});
  };
  table const range = with({1, 2});
  EXPECT_TRUE(range.mapped);
  EXPECT_EQ(rows_of(range), (nested{{2, 3}, {5, 6}}));
  EXPECT_EQ(range.visit([](auto const& view) { return view.stride(); }), 4);
  table const other = with({2, 0, 2});
  EXPECT_FALSE(other.mapped);
  EXPECT_EQ(rows_of(other), (nested{{3, 1, 3}, {6, 4, 6}}));
  EXPECT_THROW(with({2, 3}), error);
  EXPECT_THROW(with({4}), usage_error);
  table const moved = [&] { return table(with({0})); }();
  std::filesystem::remove(path); // the pages live as long as a table does
  EXPECT_EQ(rows_of(moved), (nested{{1}, {4}}));
}

} // namespace
} // namespace kopse
