// SPDX-License-Identifier: BSD-3-Clause
// Every reader but HDF5's: any bytes as a file of any suffix, read with any options. What can be read holds
// no value that is not finite; its parts are read as parts; threads change nothing; packed it is the same;
// and what is written is read back.
#include <zlib.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <optional>

#include "fuzz.hpp"
#include "kopse/core.hpp"

namespace {

using kopse::index;
using kopse::load_options;
using kopse::table;

constexpr std::array<char const*, 13> suffixes{"npy",     "csv",      "tsv",    "txt",     "fvecs",
                                               "bvecs",   "ivecs",    "csv.gz", "csv.zst", "npy.gz",
                                               "txt.zst", "fvecs.gz", "bin"};

struct outcome {
  std::optional<table> read;
  std::string error;
};

outcome try_load(std::string const& path, load_options const& how) {
  try {
    return {kopse::load(path, how), ""};
  } catch (kopse::error const& e) {
    fuzz::require_sentence(e.what());
    return {{}, e.what()};
  }
}

bool same_bits(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

/// Whether `part` is rows first … of `whole`, of these columns.
bool is_part(table const& part, table const& whole, index first, std::vector<index> const& columns) {
  if (part.is_float32() != whole.is_float32()) return false;
  return part.visit([&](auto const& p) {
    return whole.visit([&](auto const& w) {
      for (index i = 0; i < p.rows(); ++i)
        for (index j = 0; j < p.cols(); ++j) {
          index const from = columns.empty() ? j : columns[static_cast<std::size_t>(j)];
          if (!same_bits(static_cast<double>(p(i, j)), static_cast<double>(w(first + i, from)))) return false;
        }
      return true;
    });
  });
}

bool same(table const& a, table const& b) {
  return a.rows() == b.rows() && a.cols() == b.cols() && is_part(a, b, 0, {});
}

load_options any_options(FuzzedDataProvider& in, std::string const& suffix) {
  load_options how;
  how.header =
      in.PickValueInArray({kopse::header_line::detect, kopse::header_line::yes, kopse::header_line::no});
  if (in.ConsumeIntegralInRange(0, 3) == 0) how.delimiter = in.ConsumeIntegral<char>();
  how.threads = 1;
  if (suffix == "bin") {
    kopse::raw_layout layout;
    layout.type = in.PickValueInArray({"float16", "float32",   "float64",   "int8",      "int16",
                                       "int32",   "int64",     "uint8",     "uint16",    "uint32",
                                       "uint64",  "float16be", "float32be", "float64be", "int16be",
                                       "int32be", "int64be",   "uint16be",  "uint32be",  "uint64be"});
    layout.cols = in.ConsumeIntegralInRange<index>(1, 9);
    if (in.ConsumeBool()) layout.rows = in.ConsumeIntegralInRange<index>(0, 40);
    layout.skip = in.ConsumeIntegralInRange<std::size_t>(0, 20);
    how.raw = layout;
  }
  return how;
}

void check_values(table const& t) {
  fuzz::require(t.rows() > 0 && t.cols() > 0, "what is read has rows and columns");
  t.visit([](auto const& v) {
    for (index i = 0; i < v.rows(); ++i)
      fuzz::require(std::all_of(v.row(i), v.row(i) + v.cols(), [](auto x) { return std::isfinite(x); }),
                    "values are finite");
  });
}

void check_parts(FuzzedDataProvider& in, std::string const& path, bool text, load_options how,
                 table const& whole) {
  index const first = in.ConsumeIntegralInRange<index>(0, whole.rows() - 1);
  index const last = in.ConsumeIntegralInRange<index>(first + 1, whole.rows());
  std::vector<index> columns;
  // Which columns are wanted has a part in guessing what separates them, and whether line 1 names them.
  bool const guessed = text && (!how.delimiter || how.header == kopse::header_line::detect);
  for (int left = guessed ? 0 : in.ConsumeIntegralInRange(0, 3); left > 0; --left) {
    index const column = in.ConsumeIntegralInRange<index>(0, whole.cols() - 1);
    if (std::find(columns.begin(), columns.end(), column) == columns.end()) columns.push_back(column);
  }
  how.columns = columns;
  how.rows = {first, last};
  outcome const part = try_load(path, how);
  fuzz::require(part.read.has_value(), "a part of what can be read can be read: " + part.error);
  index const cols = columns.empty() ? whole.cols() : std::ssize(columns);
  fuzz::require(part.read->rows() == last - first && part.read->cols() == cols, "a part has its size");
  fuzz::require(is_part(*part.read, whole, first, columns), "a part has the values of the whole");
}

void gzip(std::string const& path, std::string const& bytes) {
  gzFile const file = gzopen(path.c_str(), "wb1");
  if (!bytes.empty()) gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
  gzclose(file);
}

void check_packed(std::string const& path, std::string const& bytes, bool text, load_options const& how,
                  outcome const& plain) {
  std::string const packed = path + ".gz";
  gzip(packed, bytes);
  outcome const other = try_load(packed, how);
  if (other.read)
    fuzz::require(plain.read && same(*other.read, *plain.read), "packed it is what it is unpacked");
  if (text) fuzz::require(!plain.read || other.read, "packed text can be read: " + other.error);
  std::filesystem::remove(packed);
}

void check_threads(std::string const& path, load_options how, outcome const& whole) {
  how.threads = 3;
  outcome const again = try_load(path, how);
  fuzz::require(again.error == whole.error && again.read.has_value() == whole.read.has_value(),
                "threads change no error: " + again.error + " / " + whole.error);
  if (whole.read) fuzz::require(same(*again.read, *whole.read), "threads change no value");
}

void check_writing(fuzz::folder const& dir, table const& whole) {
  kopse::matrix<double> values(whole.rows(), whole.cols());
  whole.visit([&](auto const& v) {
    for (kopse::index i = 0; i < v.rows(); ++i) std::copy_n(v.row(i), v.cols(), values.row(i));
  });
  for (char const* out : {"b.npy", "b.csv", "b.tsv.gz"}) {
    kopse::save(dir / out, values.view());
    kopse::load_options plain;
    plain.header = kopse::header_line::no;
    outcome const back = try_load(dir / out, plain);
    fuzz::require(back.read && same(*back.read, table(values)),
                  std::string("what is written is read back: ") + out);
  }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  static fuzz::folder const dir("read");
  FuzzedDataProvider in(data, size);
  std::string const suffix = in.PickValueInArray(suffixes);
  load_options how = any_options(in, suffix);
  std::uint64_t const choices = in.ConsumeIntegral<std::uint64_t>();
  std::string const bytes = in.ConsumeRemainingBytesAsString();
  std::string const path = fuzz::write(dir / ("a." + suffix), bytes);

  outcome const whole = try_load(path, how);
  bool const text = suffix.find("sv") != std::string::npos || suffix.starts_with("txt");
  if (suffix.find('.') == std::string::npos) check_packed(path, bytes, text, how, whole);
  if (choices % 4 == 0) check_threads(path, how, whole);
  if (!whole.read) return 0;
  check_values(*whole.read);
  FuzzedDataProvider more(reinterpret_cast<std::uint8_t const*>(&choices), sizeof choices);
  check_parts(more, path, text, how, *whole.read);

  if (choices % 4 == 1) check_writing(dir, *whole.read);
  return 0;
}
