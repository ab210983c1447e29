// SPDX-License-Identifier: BSD-3-Clause
// HDF5 in containers that are well-formed: any type, byte order, shape, chunks and filters, any numbers. What
// kopse reads is what the library converts; infinite values and whole numbers beyond float64 are refused.
#include <hdf5.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "fuzz.hpp"
#include "kopse/core.hpp"

namespace {

using kopse::index;

struct kind {
  hid_t in_file, native;
  bool floating;
};

std::vector<kind> const& kinds() {
  static std::vector<kind> const all{
      {H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, true}, {H5T_IEEE_F64BE, H5T_NATIVE_DOUBLE, true},
      {H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, true},  {H5T_IEEE_F32BE, H5T_NATIVE_FLOAT, true},
      {H5T_STD_I8LE, H5T_NATIVE_INT8, false},    {H5T_STD_I16BE, H5T_NATIVE_INT16, false},
      {H5T_STD_I32LE, H5T_NATIVE_INT32, false},  {H5T_STD_I64BE, H5T_NATIVE_INT64, false},
      {H5T_STD_U8LE, H5T_NATIVE_UINT8, false},   {H5T_STD_U16LE, H5T_NATIVE_UINT16, false},
      {H5T_STD_U32BE, H5T_NATIVE_UINT32, false}, {H5T_STD_U64LE, H5T_NATIVE_UINT64, false}};
  return all;
}

/// A file with the dataset "x"; its numbers are the bytes, again and again.
void make(std::string const& path, kind const& type, std::vector<hsize_t> const& shape,
          std::vector<hsize_t> const& chunk, unsigned filters, std::string const& bytes) {
  hid_t const file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  hid_t const space = H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr);
  hid_t const plist = H5Pcreate(H5P_DATASET_CREATE);
  if (!chunk.empty()) {
    H5Pset_chunk(plist, static_cast<int>(chunk.size()), chunk.data());
    if (filters & 1) H5Pset_shuffle(plist);
    if (filters & 2) H5Pset_deflate(plist, 1);
    if (filters & 4) H5Pset_fletcher32(plist);
  }
  hid_t const set = H5Dcreate2(file, "x", type.in_file, space, H5P_DEFAULT, plist, H5P_DEFAULT);
  std::size_t count = 1;
  for (hsize_t const each : shape) count *= each;
  std::vector<char> numbers(std::max<std::size_t>(1, count) * H5Tget_size(type.native));
  for (std::size_t i = 0; i < numbers.size() && !bytes.empty(); ++i) numbers[i] = bytes[i % bytes.size()];
  if (count > 0) H5Dwrite(set, type.native, H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers.data());
  H5Dclose(set);
  H5Pclose(plist);
  H5Sclose(space);
  H5Fclose(file);
}

/// As the library reads it.
std::vector<double> read(std::string const& path, std::size_t count) {
  std::vector<double> values(count);
  hid_t const file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  hid_t const set = H5Dopen2(file, "x", H5P_DEFAULT);
  H5Dread(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
  H5Dclose(set);
  H5Fclose(file);
  return values;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  static fuzz::folder const dir("hdf5");
  FuzzedDataProvider in(data, size);
  kind const& type = kinds()[in.ConsumeIntegralInRange<std::size_t>(0, kinds().size() - 1)];
  std::vector<hsize_t> shape(in.ConsumeIntegralInRange<std::size_t>(0, 3)), chunk;
  for (hsize_t& each : shape) each = in.ConsumeIntegralInRange<hsize_t>(0, 12);
  std::size_t count = 1;
  for (hsize_t const each : shape) count *= each;
  if (!shape.empty() && count > 0 && in.ConsumeBool())
    for (hsize_t const each : shape) chunk.push_back(in.ConsumeIntegralInRange<hsize_t>(1, each));
  unsigned const filters = in.ConsumeIntegralInRange(0U, 7U);
  kopse::index const rows = shape.empty() ? 0 : static_cast<kopse::index>(shape[0]);
  kopse::index const cols = shape.size() == 2 ? static_cast<kopse::index>(shape[1]) : 1;
  kopse::index const first = in.ConsumeIntegralInRange<kopse::index>(0, rows),
                     last = in.ConsumeIntegralInRange<kopse::index>(first, rows);
  std::string const path = dir / "a.h5";
  make(path, type, shape, chunk, filters, in.ConsumeRemainingBytesAsString());

  kopse::load_options how;
  how.rows = {first, last};
  std::vector<double> const want = read(path, count);
  auto const begin = want.begin() + std::min<kopse::index>(first * cols, std::ssize(want));
  auto const end = want.begin() + std::min<kopse::index>(last * cols, std::ssize(want));
  bool const finite = std::all_of(begin, end, [](double x) { return std::isfinite(x); });
  bool const exact = type.floating || std::all_of(begin, end, [](double x) { return std::abs(x) <= 0x1p53; });
  bool const matrix = (shape.size() == 1 || shape.size() == 2) && cols > 0 && last > first;
  try {
    kopse::table const t = kopse::load(path + ":x", how);
    fuzz::require(matrix && finite, "what is no matrix of finite numbers is refused");
    fuzz::require(t.rows() == last - first && t.cols() == cols, "rows and columns are those of the set");
    t.visit([&](auto const& v) {
      for (kopse::index i = 0; i < v.rows(); ++i)
        for (kopse::index j = 0; j < v.cols(); ++j)
          fuzz::require(std::bit_cast<std::uint64_t>(static_cast<double>(v(i, j)))
                            == std::bit_cast<std::uint64_t>(*(begin + i * cols + j)),
                        "values are those of the library");
    });
  } catch (kopse::error const& e) {
    fuzz::require_sentence(e.what());
    fuzz::require(!matrix || !finite || !exact, std::string("what can be read is read: ") + e.what());
  }
  return 0;
}
