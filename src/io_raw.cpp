// SPDX-License-Identifier: BSD-3-Clause
// Raw numbers, row after row, of a type and shape that the user says.

#include <array>
#include <bit>
#include <charconv>
#include <utility>

#include "io_formats.hpp"
#include "io_numbers.hpp"
#include "io_stream.hpp"

namespace kopse {
namespace io {
namespace {

struct raw_type {
  std::string_view name;
  char kind;
  std::size_t size;
};
constexpr std::array<raw_type, 11> types{{{"float16", 'f', 2},
                                          {"float32", 'f', 4},
                                          {"float64", 'f', 8},
                                          {"int8", 'i', 1},
                                          {"int16", 'i', 2},
                                          {"int32", 'i', 4},
                                          {"int64", 'i', 8},
                                          {"uint8", 'u', 1},
                                          {"uint16", 'u', 2},
                                          {"uint32", 'u', 4},
                                          {"uint64", 'u', 8}}};

/// The layout without its rows.
number_layout layout_of(raw_layout const& raw) {
  std::string_view name = raw.type;
  bool const big = name.ends_with("be");
  if (big) name.remove_suffix(2);
  for (raw_type const& type : types) {
    if (type.name != name) continue;
    number_layout how;
    how.kind = type.kind;
    how.item_size = type.size;
    how.swapped = big != (std::endian::native == std::endian::big);
    how.cols = raw.cols;
    how.offset = raw.skip;
    how.exact = raw.rows.has_value();
    how.rows = raw.rows.value_or(no_end);
    if (raw.cols < 1 || how.rows < 1)
      throw usage_error("a raw file of " + std::to_string(how.rows < 1 ? how.rows : raw.cols)
                        + (how.rows < 1 ? " rows" : " columns") + ": at least 1 is expected");
    if (raw.cols > no_end / 16 || (raw.rows && *raw.rows > no_end / (16 * raw.cols)))
      throw usage_error("a raw file of " + std::to_string(raw.cols)
                        + " columns: its size cannot be told in 64 bits");
    return how;
  }
  throw usage_error(
      "unknown raw type '" + printable(raw.type)
      + "': expected float16, float32, float64, int8 to int64 or uint8 to uint64, with be behind it if "
        "the most significant byte comes first");
}

bool take_count(std::string_view& text, index& count) {
  auto const [end, problem] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (problem != std::errc{} || count < 0) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

} // namespace

std::unique_ptr<reader> read_raw(std::shared_ptr<mapped_file const> file, load_options const& options) {
  number_layout how = layout_of(*options.raw);
  std::string const& path = file->path();
  std::size_t const size = file->bytes().size();
  if (size < how.offset) {
    throw error(path + ": it has " + std::to_string(size) + " bytes, fewer than the "
                + std::to_string(how.offset) + " to be skipped");
  }
  std::size_t const held = size - how.offset, rows = held / how.row_bytes();
  std::string const each = "rows of " + std::to_string(how.cols) + " " + options.raw->type + " ("
                           + std::to_string(how.row_bytes()) + " bytes)";
  if (held == 0) throw error(path + ": found no numbers, expected " + each);
  bool const as_promised = how.rows == no_end || static_cast<std::size_t>(how.rows) == rows;
  if (held % how.row_bytes() != 0 || !as_promised) {
    throw error(path + ": found " + std::to_string(held) + " bytes of numbers, expected "
                + (how.rows == no_end ? "whole " : std::to_string(how.rows) + " ") + each);
  }
  how.rows = static_cast<index>(rows);
  return read_numbers(std::move(file), how, options);
}

std::unique_ptr<reader> read_raw(std::unique_ptr<stream> from, load_options const& options) {
  number_layout const how = layout_of(*options.raw);
  std::array<char, 4096> skipped;
  for (std::size_t left = how.offset; left > 0;) {
    std::size_t const step = std::min(left, skipped.size());
    if (from->read(skipped.data(), step) < step)
      throw error(from->name() + ": it has fewer bytes than the " + std::to_string(how.offset)
                  + " to be skipped");
    left -= step;
  }
  if (from->peek(1).empty()) throw error(from->name() + ": found no numbers, expected rows of numbers");
  return read_numbers(std::move(from), how, options);
}

} // namespace io

raw_layout parse_raw_layout(std::string_view text) {
  std::string_view rest = text;
  auto const colon = std::min(rest.find(':'), rest.size());
  raw_layout raw;
  raw.type = rest.substr(0, colon);
  rest.remove_prefix(colon);
  bool good = rest.starts_with(':');
  if (good) rest.remove_prefix(1);
  good = good && io::take_count(rest, raw.cols);
  if (good && rest.starts_with('x')) {
    rest.remove_prefix(1);
    raw.rows = raw.cols;
    good = io::take_count(rest, raw.cols);
  }
  if (good && rest.starts_with('@')) {
    rest.remove_prefix(1);
    index skip = 0;
    good = io::take_count(rest, skip);
    raw.skip = static_cast<std::size_t>(skip);
  }
  if (!good || !rest.empty()) {
    throw usage_error(
        "'" + printable(text)
        + "': expected TYPE:COLUMNS or TYPE:ROWSxCOLUMNS, then @BYTES if some are to be skipped, e.g. "
          "float32:128 or uint8:1000x128@16");
  }
  io::layout_of(raw);
  return raw;
}

} // namespace kopse
