// SPDX-License-Identifier: BSD-3-Clause
// HDF5, with files written through its C interface as others write them: chunked, packed, of other types and
// byte orders; what is no matrix of numbers; files that were cut or spoilt.

#include "io_files.hpp"

#if defined(KOPSE_WITH_HDF5)
#include <hdf5.h>

#include <cmath>
#include <random>
#include <thread>

namespace kopse {
namespace {

using namespace test;

struct how {
  std::vector<hsize_t> chunk = {};
  int deflate = 0;
  bool shuffle = false, checksum = false;
};

class io_hdf5 : public testing::Test {
protected:
  io_hdf5() { file = H5Fcreate((dir / "a.h5").c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT); }
  ~io_hdf5() override { close(); }
  void close() {
    if (file >= 0) H5Fclose(file);
    file = -1;
  }

  hid_t create(std::string const& name, hid_t type, std::vector<hsize_t> const& shape,
               how const& options = {}) {
    hid_t const space = H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr);
    hid_t const plist = H5Pcreate(H5P_DATASET_CREATE);
    if (!options.chunk.empty())
      H5Pset_chunk(plist, static_cast<int>(options.chunk.size()), options.chunk.data());
    if (options.shuffle) H5Pset_shuffle(plist);
    if (options.deflate > 0) H5Pset_deflate(plist, static_cast<unsigned>(options.deflate));
    if (options.checksum) H5Pset_fletcher32(plist);
    hid_t const set = H5Dcreate2(file, name.c_str(), type, space, H5P_DEFAULT, plist, H5P_DEFAULT);
    H5Pclose(plist);
    H5Sclose(space);
    EXPECT_GE(set, 0);
    return set;
  }
  template <class T>
  void put(std::string const& name, hid_t in_file, hid_t in_memory, std::vector<hsize_t> const& shape,
           std::vector<T> const& numbers, how const& options = {}) {
    hid_t const set = create(name, in_file, shape, options);
    EXPECT_GE(H5Dwrite(set, in_memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers.data()), 0);
    H5Dclose(set);
  }
  void put(std::string const& name, std::vector<double> const& numbers, index cols, how const& options = {}) {
    put(name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE,
        {static_cast<hsize_t>(std::ssize(numbers) / cols), static_cast<hsize_t>(cols)}, numbers, options);
  }
  std::string path(std::string const& name) {
    H5Fflush(file, H5F_SCOPE_GLOBAL);
    return dir / "a.h5" + ":" + name;
  }
  table of(std::string const& name, load_options const& options = {}) { return load(path(name), options); }
  std::string fault(std::string const& name, load_options const& options = {}) {
    std::string const message = load_error(path(name), options);
    EXPECT_TRUE(message.starts_with(dir / "a.h5")) << message;
    return message;
  }

  directory dir;
  hid_t file = -1;
  nested const six{{1, 2, 3}, {4, 5, 6}};
};

TEST_F(io_hdf5, types_and_orders) {
  std::vector<double> const numbers{1, 2, 3, 4, 5, 6};
  for (auto const& [name, type, floats] :
       std::vector<std::tuple<char const*, hid_t, bool>>{{"f8", H5T_IEEE_F64LE, false},
                                                         {"f8b", H5T_IEEE_F64BE, false},
                                                         {"f4", H5T_IEEE_F32LE, true},
                                                         {"f4b", H5T_IEEE_F32BE, true},
                                                         {"i1", H5T_STD_I8LE, true},
                                                         {"i2b", H5T_STD_I16BE, true},
                                                         {"i4", H5T_STD_I32LE, false},
                                                         {"i8b", H5T_STD_I64BE, false},
                                                         {"u1", H5T_STD_U8LE, true},
                                                         {"u2", H5T_STD_U16LE, true},
                                                         {"u4b", H5T_STD_U32BE, false},
                                                         {"u8", H5T_STD_U64LE, false}}) {
    put(name, type, H5T_NATIVE_DOUBLE, {2, 3}, numbers);
    table const values = of(name);
    EXPECT_EQ(rows_of(values), six) << name;
    EXPECT_EQ(values.is_float32(), floats) << name;
    load_options options;
    options.columns = {2, 0};
    EXPECT_EQ(rows_of(of(name, options)), (nested{{3, 1}, {6, 4}})) << name;
    options.columns = {1};
    options.rows = {1, {}};
    EXPECT_EQ(rows_of(of(name, options)), (nested{{5}})) << name;
  }
}

TEST_F(io_hdf5, one_dimension_truth_and_half) {
  put<double>("n", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, {3}, {1, 2, 3});
  EXPECT_EQ(rows_of(of("n")), (nested{{1}, {2}, {3}}));
  EXPECT_EQ(load_vector(path("n")), (std::vector<double>{1, 2, 3}));
  hid_t const truth = H5Tenum_create(H5T_NATIVE_INT8);
  std::int8_t value = 0;
  H5Tenum_insert(truth, "FALSE", &value);
  value = 1;
  H5Tenum_insert(truth, "TRUE", &value);
  put<std::int8_t>("b", truth, truth, {2, 2}, {0, 1, 1, 0});
  H5Tclose(truth);
  EXPECT_EQ(rows_of(of("b")), (nested{{0, 1}, {1, 0}}));
  hid_t const half = H5Tcopy(H5T_IEEE_F32LE);
  H5Tset_fields(half, 15, 10, 5, 0, 10);
  H5Tset_size(half, 2);
  H5Tset_ebias(half, 15);
  put<float>("h", half, H5T_NATIVE_FLOAT, {2}, {1.5f, -65504});
  H5Tclose(half);
  EXPECT_EQ(rows_of(of("h")), (nested{{1.5}, {-65504}}));
}

TEST_F(io_hdf5, chunked_and_packed_in_any_way) {
  std::mt19937_64 draw(1);
  constexpr index rows = 3000, cols = 7;
  std::vector<double> numbers(rows * cols);
  for (double& x : numbers) x = static_cast<double>(draw() >> 11) * 0x1p-40;
  int made = 0;
  for (std::vector<hsize_t> const& chunk :
       {std::vector<hsize_t>{1, 7}, {100, 3}, {3000, 7}, {64, 1}, {7, 5}}) {
    for (how const& options : {how{chunk}, how{chunk, 4}, how{chunk, 1, true}, how{chunk, 9, true, true}}) {
      std::string const name = "set" + std::to_string(made++);
      put(name, numbers, cols, options);
      table const all = of(name);
      ASSERT_EQ(rows_of(all), rows_of(table(matrix<double>(matrix_view<double>(numbers.data(), rows, cols)))))
          << name;
      auto const first = static_cast<index>(draw() % rows),
                 last = first + 1 + static_cast<index>(draw() % 100);
      if (last > rows) continue;
      ASSERT_EQ(rows_of(of(name, rows_only(first, last))),
                rows_of(table(matrix<double>(matrix_view<double>(
                    &numbers[static_cast<std::size_t>(first * cols)], last - first, cols)))));
    }
  }
}

TEST_F(io_hdf5, more_than_a_block) {
  std::vector<double> numbers(3000000);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<double>(i);
  put("f", numbers, 2, {{1000, 2}, 1});
  put("i", H5T_STD_I32LE, H5T_NATIVE_DOUBLE, {1500000, 2}, numbers, {{1000, 2}, 1});
  for (auto const* name : {"f", "i"}) {
    table const all = of(name);
    ASSERT_EQ(all.rows(), 1500000);
    for (index i = 0; i < all.rows(); ++i)
      ASSERT_EQ(all.visit([&](auto const& v) { return static_cast<double>(v(i, 1)); }),
                static_cast<double>(2 * i + 1));
  }
}

TEST_F(io_hdf5, which_dataset) {
  EXPECT_HAS(fault("none"), "there is no such dataset");
  EXPECT_HAS(load_error(dir / "a.h5"), "it holds no dataset");
  put("x", {1, 2, 3, 4, 5, 6}, 3);
  EXPECT_EQ(rows_of(load(dir / "a.h5")), six);
  hid_t const group = H5Gcreate2(file, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  H5Gclose(group);
  put("g/y.csv", {7}, 1);
  EXPECT_EQ(rows_of(of("/g/y.csv")), (nested{{7}}));
  H5Fflush(file, H5F_SCOPE_GLOBAL);
  EXPECT_HAS(load_error(dir / "a.h5"), "it holds several datasets; say which, e.g. ");
  EXPECT_HAS(load_error(dir / "a.h5"), ":g/y.csv, of g/y.csv, x");
  EXPECT_HAS(fault("g"), "there is no such dataset; there are g/y.csv, x");
  EXPECT_THROW(of("z"), usage_error);
  std::filesystem::copy_file(dir / "a.h5", dir / "a.mat");
  load_options options;
  options.format = "h5";
  EXPECT_EQ(rows_of(load(dir / "a.mat:x", options)), six);
}

TEST_F(io_hdf5, what_is_no_matrix_of_numbers) {
  hid_t const text = H5Tcopy(H5T_C_S1);
  H5Tset_size(text, 4);
  H5Dclose(create("text", text, {2}));
  H5Tclose(text);
  hid_t const pair = H5Tcreate(H5T_COMPOUND, 16);
  H5Tinsert(pair, "re", 0, H5T_NATIVE_DOUBLE);
  H5Tinsert(pair, "im", 8, H5T_NATIVE_DOUBLE);
  H5Dclose(create("complex", pair, {2}));
  H5Tclose(pair);
  H5Dclose(create("long", H5T_NATIVE_LDOUBLE, {2}));
  H5Dclose(create("three", H5T_NATIVE_DOUBLE, {2, 2, 2}));
  H5Dclose(create("norows", H5T_NATIVE_DOUBLE, {0, 3}));
  H5Dclose(create("nocols", H5T_NATIVE_DOUBLE, {3, 0}));
  hid_t const space = H5Screate(H5S_SCALAR);
  H5Dclose(H5Dcreate2(file, "one", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  H5Sclose(space);
  EXPECT_HAS(fault("text"), "found strings; taken are whole and floating-point numbers of at most 64 bits");
  EXPECT_HAS(fault("complex"), "found compound values");
  EXPECT_HAS(fault("long"), "found numbers of 128 bits");
  EXPECT_HAS(fault("three"), "found 3 dimensions");
  EXPECT_HAS(fault("norows"), "found the shape (0, 3), which holds no numbers");
  EXPECT_HAS(fault("nocols"), "found the shape (3, 0), which holds no numbers");
  EXPECT_HAS(fault("one"), "found a single value");
}

TEST_F(io_hdf5, rows_that_nobody_wrote_are_not_filled_in) {
  H5Dclose(create("nothing", H5T_NATIVE_DOUBLE, {1000000000000, 8}, {{1000, 8}}));
  EXPECT_HAS(fault("nothing"), "some of its rows were never written");
  H5Dclose(create("late", H5T_NATIVE_DOUBLE, {10, 8}));
  EXPECT_HAS(fault("late"), "some of its rows were never written");
  hid_t const set = create("half", H5T_NATIVE_DOUBLE, {20, 2}, {{5, 2}, 3});
  hsize_t const start[2] = {0, 0}, count[2] = {15, 2};
  std::vector<double> const ones(30, 1);
  hid_t const in_file = H5Dget_space(set), in_memory = H5Screate_simple(2, count, nullptr);
  H5Sselect_hyperslab(in_file, H5S_SELECT_SET, start, nullptr, count, nullptr);
  H5Dwrite(set, H5T_NATIVE_DOUBLE, in_memory, in_file, H5P_DEFAULT, ones.data());
  H5Sclose(in_file);
  H5Sclose(in_memory);
  H5Dclose(set);
  EXPECT_HAS(fault("half"), "some of its rows were never written");
}

TEST_F(io_hdf5, values_that_are_refused) {
  put("nan", {1, 2, std::nan(""), 4}, 2);
  EXPECT_HAS(fault("nan"), "a.h5:nan: found NaN in row 1, column 0 (both count from 0)");
  load_options second;
  second.columns = {1};
  EXPECT_EQ(rows_of(of("nan", second)), (nested{{2}, {4}}));
  std::int64_t const odd = (std::int64_t{1} << 53) + 1;
  put<std::int64_t>("i", H5T_STD_I64BE, H5T_NATIVE_INT64, {2, 2}, {1, 2, 3, odd});
  EXPECT_HAS(fault("i"), "found 9007199254740993 in row 1, column 1");
  second.columns = {1};
  EXPECT_HAS(fault("i", second), "found 9007199254740993 in row 1, column 1");
  put<std::uint64_t>("u", H5T_STD_U64LE, H5T_NATIVE_UINT64, {1}, {~std::uint64_t{0}});
  EXPECT_HAS(fault("u"), "found 18446744073709551615 in row 0, column 0");
  EXPECT_THROW(of("i", rows_only(2)), usage_error);
  EXPECT_THROW(of("i", rows_only(0, 3)), usage_error);
}

TEST_F(io_hdf5, files_that_are_none_or_cut) {
  std::mt19937 draw(2);
  std::vector<double> numbers(4000);
  for (double& x : numbers) x = static_cast<double>(draw());
  put("x", numbers, 4, {{100, 4}, 5, true, true});
  close();
  std::string const whole = read(dir / "a.h5");
  EXPECT_HAS(load_error(write(dir / "b.h5", "1,2\n")), "found no HDF5 file");
  EXPECT_HAS(load_error(write(dir / "b.h5", "")), "found an empty file");
  EXPECT_HAS(load_error(dir / "none.h5:x"), "cannot read " + dir / "none.h5" + ": No such file or directory");
  std::filesystem::create_directory(dir / "d.h5");
  EXPECT_HAS(load_error(dir / "d.h5"), "it is a directory");
  for (int i = 0; i < 60; ++i)
    EXPECT_NE(load_error(write(dir / "b.h5", whole.substr(0, draw() % whole.size()))), "");
  // Within the packed numbers, which have a checksum: the second half of the file.
  int found = 0;
  for (int i = 0; i < 60; ++i)
    found +=
        load_error(write(dir / "b.h5", spoilt(whole, whole.size() / 2 + draw() % (whole.size() / 2)))) != "";
  EXPECT_GT(found, 55);
}

TEST_F(io_hdf5, written_and_read_back) {
  matrix<double> values(2, 3);
  for (index i = 0; i < 6; ++i) values.row(0)[i] = static_cast<double>(i) / 3;
  save(dir / "c.h5", values);
  save(dir / "again.hdf5:data", values);
  EXPECT_EQ(read(dir / "c.h5"), read(dir / "again.hdf5")) << "the same numbers are the same bytes";
  EXPECT_EQ(rows_of(load(dir / "c.h5:data")), rows_of(table(matrix<double>(values))));
  save(dir / "part.h5", values.view().columns(1, 3));
  EXPECT_EQ(rows_of(load(dir / "part.h5")), rows_of(table(matrix<double>(values.view().columns(1, 3)))));
  std::vector<label> const labels{3, 0, 70000};
  save(dir / "l.h5:run/1", std::span<label const>(labels));
  EXPECT_EQ(load_vector(dir / "l.h5:/run/1"), (std::vector<double>{3, 0, 70000}));
  for (auto const* wrong : {"c.h5:", "c.h5:a/", "c.h5.gz"})
    EXPECT_THROW(save(dir / wrong, values), usage_error);
}

TEST_F(io_hdf5, other_datasets_are_not_lost) {
  put("x", {1}, 1);
  put("y", {1}, 1);
  close();
  std::string const before = read(dir / "a.h5");
  EXPECT_THROW(check_save(dir / "a.h5:x"), error);
  EXPECT_THROW(save(dir / "a.h5:x", matrix<double>(1, 1)), error);
  EXPECT_EQ(read(dir / "a.h5"), before);
  save(dir / "b.h5:x", matrix<double>(1, 1));
  save(dir / "b.h5:x", matrix<double>(2, 1));
  EXPECT_EQ(load(dir / "b.h5").rows(), 2);
}

TEST_F(io_hdf5, threads_take_turns) {
  std::vector<double> const numbers(30000, 1);
  put("x", numbers, 3, {{100, 3}, 1});
  close();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int n = 0; n < 5; ++n) EXPECT_EQ(load(dir / "a.h5:x").rows(), 10000);
    });
  for (std::thread& each : threads) each.join();
}

} // namespace
} // namespace kopse

#else
TEST(io_hdf5, built_without) {
  kopse::test::directory const dir;
  EXPECT_HAS(kopse::test::load_error(kopse::test::write(dir / "a.h5", "")), "libhdf5-dev");
}
#endif
