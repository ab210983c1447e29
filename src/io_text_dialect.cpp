// SPDX-License-Identifier: BSD-3-Clause
// How a text file is to be read, found out from its first lines: which delimiter, and whether the first line
// names the columns.
//
// The delimiter is the one under which the cells of the first lines are numbers; the suffix only breaks ties.
// At most one of comma, semicolon, tab and space can cut such lines into several numbers each, as none of
// them can be within a number. Where none makes all cells numbers, the one that makes most does, and the
// reader then reports the cell that is none.
//
// The first line is a header when its cells look like names and none of them like a number: a line that might
// be data is never dropped. 2019,2020 is data; "x,2020" is an error that says how to force a header.

#include <algorithm>
#include <array>
#include <tuple>

#include "io_formats.hpp"
#include "io_text.hpp"

namespace kopse::io {
namespace {

struct sample_line {
  std::string_view text;
  index number;
};

/// Up to 20 lines, and of very long ones at least two.
std::vector<sample_line> first_lines(std::string_view text, bool* enough = nullptr) {
  std::vector<sample_line> sample;
  std::size_t bytes = 0;
  bool more = true;
  for (data_lines lines(text); more && sample.size() < 20 && (sample.size() < 2 || bytes < 1u << 20);) {
    more = lines.next();
    if (!more) break;
    sample.push_back({lines.line(), lines.number()});
    bytes += lines.line().size();
  }
  if (enough) *enough = more;
  return sample;
}

/// The columns that matter; no others need hold numbers.
class column_filter {
public:
  explicit column_filter(std::vector<index> columns) : columns_(std::move(columns)) {
    std::sort(columns_.begin(), columns_.end());
  }
  bool has(index column) const {
    return columns_.empty() || std::binary_search(columns_.begin(), columns_.end(), column);
  }

private:
  std::vector<index> columns_;
};

/// What stands for "no value" in many tables, and so names no column.
bool is_missing_mark(std::string_view text) {
  std::string lower(text.substr(0, 8));
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  constexpr std::array<std::string_view, 8> marks{"na", "n/a", "null", "none", "nil", "?", "-", "--"};
  return std::find(marks.begin(), marks.end(), lower) != marks.end();
}

/// Neither a number nor the damaged beginning of one, like 1.5abc or 1,5.
bool is_name(cell const& field) {
  std::size_t at = 0;
  while (at < field.text.size() && std::string_view("+-. ").find(field.text[at]) != std::string_view::npos)
    ++at;
  bool const digit = at < field.text.size() && field.text[at] >= '0' && field.text[at] <= '9';
  double value = 0;
  return !field.broken && at < field.text.size() && !digit && !is_missing_mark(field.text)
         && read_number(field.text, value) == number_kind::none;
}

bool looks_like_header(std::string_view line, char delimiter, column_filter const& wanted) {
  cells fields(line, delimiter);
  cell field;
  bool any = false;
  for (index j = 0; fields.next(field); ++j) {
    if (!wanted.has(j) || (field.text.empty() && !field.broken)) continue;
    if (!is_name(field)) return false;
    any = true;
  }
  return any;
}

/// How well a delimiter explains the sample; more is better.
struct fitness {
  double share = 0;            // of the wanted cells that are numbers, be it with decimal commas
  bool decimal_commas = false; // preferred, as the reader refuses them: 1,5;a is not the cells 1 and 5;a
  index numbers = 0;           // how many the share is
  auto key() const { return std::tuple(share, decimal_commas, numbers); }
};

class detective {
public:
  detective(std::vector<sample_line> const& sample, load_options const& options)
      : sample_(sample), options_(options), wanted_(options.columns) {}

  bool header_with(char delimiter) const {
    if (options_.header != header_line::detect) return options_.header == header_line::yes;
    return looks_like_header(sample_.front().text, delimiter, wanted_);
  }

  fitness fitness_of(char delimiter) const {
    fitness result;
    index cells_seen = 0;
    double value = 0;
    for (std::size_t i = header_with(delimiter) ? 1 : 0; i < sample_.size(); ++i) {
      cells fields(sample_[i].text, delimiter);
      cell field;
      for (index j = 0; fields.next(field); ++j) {
        if (!wanted_.has(j)) continue;
        ++cells_seen;
        bool const splits = j > 0 || fields.more();
        bool const decimal = splits && has_decimal_comma(field.text);
        bool const number = read_number(field.text, value) != number_kind::none;
        result.numbers += !field.broken && (number || decimal);
        result.decimal_commas = result.decimal_commas || decimal;
      }
    }
    result.share = static_cast<double>(result.numbers) / static_cast<double>(std::max<index>(cells_seen, 1));
    return result;
  }

  /// Ties go to the suffix's usual delimiter, then to the one that is rarest within other text.
  char delimiter(char usual) const {
    if (options_.delimiter) return *options_.delimiter;
    char best = usual == ' ' ? '\t' : usual;
    fitness most = fitness_of(best);
    for (char const candidate : {'\t', ';', ',', ' '}) {
      fitness const now = fitness_of(candidate);
      if (now.key() > most.key()) best = candidate, most = now;
    }
    return best;
  }

private:
  std::vector<sample_line> const& sample_;
  load_options const& options_;
  column_filter wanted_;
};

std::string name_of(char delimiter) {
  switch (delimiter) {
  case '\t':
    return "tab";
  case ' ':
    return "spaces";
  case ',':
    return "comma";
  default:
    return "semicolon";
  }
}

void check_delimiter(std::optional<char> const& delimiter) {
  if (!delimiter) return;
  if (std::string_view("\t ,;:|!$%&*/<=>?@^~").find(*delimiter) != std::string_view::npos) return;
  throw usage_error("found the delimiter \"" + printable({&*delimiter, 1})
                    + "\", expected a comma, tab, semicolon, space, | or another sign that is in no number");
}

/// Binary files end here when they look like a header at first.
void check_printable(std::string const& path, sample_line const& line) {
  for (char const c : line.text) {
    auto const byte = static_cast<unsigned char>(c);
    if ((byte < ' ' && c != '\t') || byte == 0x7f) {
      fail_at(path, line.number, 1, "the byte " + printable({&c, 1}), "text");
    }
  }
}

std::vector<std::string> names_in(std::string_view line, char delimiter) {
  std::vector<std::string> names;
  cells fields(line, delimiter);
  for (cell field; fields.next(field);) {
    std::string name(field.text);
    for (auto quote = name.find("\"\""); quote != name.npos; quote = name.find("\"\"", quote + 1)) {
      name.erase(quote, 1);
    }
    names.push_back(printable(name, name.size()));
  }
  return names;
}

std::string joined(std::vector<std::string> const& names) {
  std::string all;
  for (std::size_t i = 0; i < names.size(); ++i) all += (i > 0 ? "," : "") + names[i];
  return printable(all, 200);
}

} // namespace

bool enough_to_judge(std::string_view text) {
  bool enough = false;
  first_lines(text, &enough);
  return enough;
}

dialect find_dialect(std::string const& path, std::string_view text, load_options const& options,
                     char usual) {
  check_delimiter(options.delimiter);
  auto const sample = first_lines(text);
  if (sample.empty())
    throw error(path + ": found no values (blank and comment lines at most), expected rows of numbers");
  detective const mind(sample, options);
  dialect how;
  how.delimiter = mind.delimiter(usual);
  how.header = mind.header_with(how.delimiter);
  if (how.header) {
    check_printable(path, sample.front());
    how.names = names_in(sample.front().text, how.delimiter);
    how.notes.push_back("header skipped: " + joined(how.names));
  }
  // A header that was found says how many columns there are; one that was forced may be any line.
  bool const forced = options.header == header_line::yes && sample.size() > 1;
  auto const& model = sample[forced ? 1 : 0];
  how.first_line = model.number;
  cells fields(model.text, how.delimiter);
  for (cell field; fields.next(field);) ++how.columns;
  if (std::ssize(how.names) != how.columns) how.names.clear();

  bool const as_usual = how.delimiter == usual || (usual == ' ' && how.delimiter == '\t');
  if (how.columns > 1 && !options.delimiter && !as_usual) {
    how.notes.push_back("delimiter found: " + name_of(how.delimiter));
  }
  return how;
}

} // namespace kopse::io
