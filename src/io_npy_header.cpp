// SPDX-License-Identifier: BSD-3-Clause
// Reads the header of a .npy file: \x93NUMPY, two bytes of version, the length of what follows (2 bytes in
// version 1, 4 later; little-endian), and a Python literal such as
//   {'descr': '<f8', 'fortran_order': False, 'shape': (3, 2), }
// Nothing is assumed about order, spaces, kind of quotes or length. What is not understood is refused.

#include <bit>
#include <optional>
#include <vector>

#include "io_formats.hpp"
#include "io_npy.hpp"

namespace kopse::io {
namespace {

constexpr char taken_types[] =
    "taken are bool, int8 to int64, uint8 to uint64, float16, float32 and float64, "
    "of either byte order";

/// Walks over the text of a Python literal. Every take_ returns nothing, or false, where something else
/// stands.
class literal {
public:
  explicit literal(std::string_view text) : rest_(text) {}

  bool take(std::string_view token) {
    skip_space();
    if (!rest_.starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }
  bool next_is(char c) {
    skip_space();
    return rest_.starts_with(c);
  }
  bool at_end() {
    skip_space();
    return rest_.empty();
  }
  std::optional<std::string> take_string() {
    skip_space();
    char const quote = rest_.empty() ? '\0' : rest_.front();
    auto const close = quote == '\'' || quote == '"' ? rest_.find(quote, 1) : rest_.npos;
    if (close == rest_.npos) return {};
    std::string text(rest_.substr(1, close - 1));
    rest_.remove_prefix(close + 1);
    return text;
  }
  std::optional<bool> take_bool() {
    if (take("True")) return true;
    if (take("False")) return false;
    return {};
  }
  /// (3, 2) (3,) () and, as Python 2 wrote them, (3L, 2L)
  std::optional<std::vector<index>> take_shape() {
    std::vector<index> shape;
    if (!take("(")) return {};
    while (!take(")")) {
      skip_space();
      index extent = 0;
      auto const [after, failed] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), extent);
      if (failed != std::errc{}) return {}; // not a number, or beyond 64 bits
      rest_.remove_prefix(static_cast<std::size_t>(after - rest_.data()));
      take("L");
      shape.push_back(extent);
      if (!take(",") && !next_is(')')) return {};
    }
    return shape;
  }

private:
  void skip_space() {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\n')) rest_.remove_prefix(1);
  }
  std::string_view rest_;
};

struct entries {
  std::optional<std::string> descr;
  std::optional<bool> fortran_order;
  std::optional<std::vector<index>> shape;
};

class header_reader {
public:
  header_reader(std::string const& path, std::string_view file) : path_(path), file_(file) {}

  npy_header read() {
    entries const found = read_entries(header_text());
    result_.descr = *found.descr;
    result_.fortran_order = *found.fortran_order;
    set_type();
    set_shape(*found.shape);
    return result_;
  }

  /// Of the file, which is all there. Divides rather than multiplies: no product here can overflow.
  void check_size() const {
    std::size_t const held = (file_.size() - result_.offset) / result_.item_size;
    auto const rows = static_cast<std::size_t>(result_.rows), cols = static_cast<std::size_t>(result_.cols);
    if (rows <= held / cols) return;
    refuse("it is cut short: its header promises " + std::to_string(rows) + " x " + std::to_string(cols)
           + " numbers, it holds " + std::to_string(held));
  }

private:
  [[noreturn]] void refuse(std::string const& why) const { throw error(path_ + ": " + why); }
  [[noreturn]] void refuse_type(std::string const& type, std::string const& meaning) const {
    refuse("found the type '" + type + "' (" + meaning + "); " + taken_types);
  }

  std::size_t byte(std::size_t at) const { return static_cast<unsigned char>(file_[at]); }

  std::string_view header_text() {
    if (!file_.starts_with("\x93NUMPY"))
      refuse("found no .npy header, expected a file that begins with \\x93NUMPY");
    std::size_t const start = file_.size() < 8 || byte(6) == 1 ? 10 : 12;
    if (file_.size() < start) refuse("it ends within its header");
    if (byte(6) < 1 || byte(6) > 3 || byte(7) != 0) {
      refuse("found version " + std::to_string(byte(6)) + "." + std::to_string(byte(7))
             + " of the .npy format; taken are 1.0, 2.0 and 3.0");
    }
    std::size_t length = byte(8) | byte(9) << 8;
    if (start == 12) length |= byte(10) << 16 | byte(11) << 24;
    if (file_.size() - start < length) refuse("it ends within its header");
    result_.offset = start + length;
    return file_.substr(start, length);
  }

  entries read_entries(std::string_view text) const {
    literal at(text);
    entries found;
    bool good = at.take("{");
    while (good && !at.take("}")) {
      auto const key = at.take_string();
      good = key && at.take(":");
      if (!good) break;
      if (*key == "descr" && !found.descr) {
        if (at.next_is('[') || at.next_is('(')) refuse_type("[...]", "structured");
        found.descr = at.take_string();
        good = found.descr.has_value();
      } else if (*key == "fortran_order" && !found.fortran_order) {
        found.fortran_order = at.take_bool();
        good = found.fortran_order.has_value();
      } else if (*key == "shape" && !found.shape) {
        found.shape = at.take_shape();
        good = found.shape.has_value();
      } else {
        good = false;
      }
      good = good && (at.take(",") || at.next_is('}'));
    }
    if (!good || !at.at_end() || !found.descr || !found.fortran_order || !found.shape) {
      refuse("cannot understand its header " + printable(text, 120)
             + "; expected {'descr': '<f8', 'fortran_order': False, 'shape': (n, d)}");
    }
    return found;
  }

  void set_type() {
    std::string_view type = result_.descr;
    char const order =
        type.empty() || std::string_view("<>=|").find(type[0]) == std::string_view::npos ? '=' : type[0];
    if (!type.empty() && order == type[0]) type.remove_prefix(1);
    bool const little = std::endian::native == std::endian::little;
    for (std::string_view known : {"b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"}) {
      if (type != known) continue;
      result_.kind = type[0];
      result_.item_size = static_cast<std::size_t>(type[1] - '0');
      result_.swapped = result_.item_size > 1 && order == (little ? '>' : '<');
      return;
    }
    char const kind = type.empty() ? ' ' : type[0];
    char const* const name = kind == 'c'                  ? "complex"
                             : kind == 'O'                ? "object"
                             : kind == 'S' || kind == 'U' ? "string"
                             : kind == 'M' || kind == 'm' ? "date or time"
                             : kind == 'V'                ? "void"
                             : kind == 'f'                ? "long float"
                                                          : "unknown";
    refuse_type(printable(result_.descr), name);
  }

  void set_shape(std::vector<index> const& shape) {
    std::string text;
    bool negative = false, empty = false;
    for (index const extent : shape) {
      text += (text.empty() ? "" : ", ") + std::to_string(extent);
      negative = negative || extent < 0;
      empty = empty || extent == 0;
    }
    text = "found the shape (" + text + (shape.size() == 1 ? ",)" : ")");
    if (shape.empty() || shape.size() > 2 || negative) {
      refuse((text.size() > 200 ? "found a shape of " + std::to_string(shape.size()) + " dimensions" : text)
             + "; taken are (n, d), and (n,) as n rows of one column");
    }
    if (empty) refuse(text + ", which holds no numbers; expected at least one row and one column");
    result_.rows = shape[0];
    result_.cols = shape.size() == 2 ? shape[1] : 1;
    // One row or column lies the same in both orders.
    if (result_.rows == 1 || result_.cols == 1) result_.fortran_order = false;
  }

  std::string const& path_;
  std::string_view file_;
  npy_header result_;
};

} // namespace

npy_header read_npy_header(std::string const& path, std::string_view file) {
  header_reader reader(path, file);
  npy_header const header = reader.read();
  reader.check_size();
  return header;
}

npy_header read_npy_header(stream& from) {
  std::string start(12, '\0'); // enough to say how long the rest is; version 1 has two bytes of it here
  start.resize(from.read(start.data(), start.size()));
  auto const byte = [&](std::size_t at) {
    return static_cast<std::size_t>(static_cast<unsigned char>(start[at]));
  };
  if (start.size() == 12 && start.starts_with("\x93NUMPY")) {
    bool const first = byte(6) == 1;
    std::size_t const length = byte(8) | byte(9) << 8 | (first ? 0 : byte(10) << 16 | byte(11) << 24);
    for (std::size_t const whole = (first ? 10 : 12) + length; start.size() < whole;) {
      std::size_t const there = start.size(), step = std::min<std::size_t>(whole - there, 1 << 16);
      start.resize(there + step); // as they come: the length may be anything
      start.resize(there + from.read(start.data() + there, step));
      if (start.size() < there + step) break;
    }
  }
  npy_header header = header_reader(from.name(), start).read();
  header.offset = 0;
  if (header.rows > no_end / header.cols / 8) {
    throw error(from.name() + ": found the shape (" + std::to_string(header.rows) + ", "
                + std::to_string(header.cols) + "), more than any memory holds");
  }
  return header;
}

} // namespace kopse::io
