// SPDX-License-Identifier: BSD-3-Clause
// Formats by suffix, in upper or lower case: NAME.FORMAT, or NAME.FORMAT.gz and NAME.FORMAT.zst.

#include "io_suffix.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "kopse/io.hpp"

namespace kopse::io {
namespace {

constexpr std::array<std::pair<std::string_view, format>, 9> suffixes{{{".npy", format::npy},
                                                                       {".csv", format::csv},
                                                                       {".tsv", format::tsv},
                                                                       {".txt", format::txt},
                                                                       {".fvecs", format::fvecs},
                                                                       {".bvecs", format::bvecs},
                                                                       {".ivecs", format::ivecs},
                                                                       {".h5", format::hdf5},
                                                                       {".hdf5", format::hdf5}}};
constexpr std::array<std::pair<std::string_view, packing>, 2> packed_suffixes{
    {{".gz", packing::gzip}, {".zst", packing::zstd}}};

/// What a table of names says of the last suffix of `name`, which is taken off it.
template <class Table>
auto take_suffix(std::string& name, Table const& table) -> std::optional<decltype(table[0].second)> {
  auto const dot = name.rfind('.');
  if (dot == name.npos) return {};
  for (auto const& [known, meaning] : table) {
    if (std::string_view(name).substr(dot) != known) continue;
    name.resize(dot);
    return meaning;
  }
  return {};
}

std::string lower(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return text;
}

std::string last_suffix(std::string const& name) {
  auto const dot = name.rfind('.');
  return dot == name.npos ? "" : name.substr(dot);
}

} // namespace

std::size_t dataset_colon(std::string const& path, std::string const& named) {
  std::string const text = lower(path), format = lower(named);
  if (format == "h5" || format == "hdf5") return path.find(':');
  if (!format.empty()) return path.npos;
  std::size_t first = path.npos;
  for (std::string_view const start : {".h5:", ".hdf5:"}) {
    auto const at = text.find(start);
    if (at != text.npos) first = std::min(first, at + start.size() - 1);
  }
  return first;
}

file_kind kind_of(std::string const& path, std::string const& named, std::string_view known) {
  file_kind kind;
  auto const colon = dataset_colon(path, named);
  kind.file = path.substr(0, colon);
  if (colon != path.npos) kind.dataset = path.substr(colon + 1);
  std::string const name =
      named.empty() ? kind.file.substr(kind.file.rfind('/') + 1) : "." + named; // npos + 1 is 0
  std::string rest = lower(name);
  kind.packed = take_suffix(rest, packed_suffixes).value_or(packing::none);
  auto const what = take_suffix(rest, suffixes);
  if (what && (*what != format::hdf5 || kind.packed == packing::none)) return kind.what = *what, kind;
  std::string const suffix = last_suffix(rest), outer = name.substr(rest.size());
  bool const of_arrow = suffix == ".parquet" || suffix == ".arrow" || suffix == ".feather";
  std::string const found = !named.empty()   ? "unknown format " + printable(named)
                            : suffix.empty() ? "no suffix" + (outer.empty() ? "" : " before " + outer)
                                             : "unknown suffix " + printable(suffix + outer);
  throw usage_error(path + ": " + found + "; known are " + std::string(known)
                    + ", each also with .gz or .zst behind it, and .h5 with :DATASET"
                    + (of_arrow ? "; Parquet and Arrow go through Python" : ""));
}

packing packing_of_name(std::string const& path) {
  std::string name = lower(path.substr(path.rfind('/') + 1));
  return take_suffix(name, packed_suffixes).value_or(packing::none);
}

bool is_text(format what) { return what == format::csv || what == format::tsv || what == format::txt; }

bool is_stream_name(std::string_view path) {
  return path == "-" || path == "/dev/stdin" || path.starts_with("/dev/fd/")
         || path.starts_with("/proc/self/fd/");
}

std::string shown_name(std::string const& path) { return path == "-" ? "standard input" : path; }

} // namespace kopse::io
