// SPDX-License-Identifier: BSD-3-Clause
// Data files of a command: which, how they are to be read, and what was decided while reading them.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "cli.hpp"

namespace kopse::cli {
namespace {

matrix<double> in_double(table const& loaded) {
  return loaded.visit([](auto const& rows) {
    matrix<double> result(rows.rows(), rows.cols());
    for (index i = 0; i < rows.rows(); ++i) std::copy_n(rows.row(i), rows.cols(), result.row(i));
    return result;
  });
}

/// Whole numbers in decimal digits; false for anything else.
bool read_index(std::string_view text, index& value) {
  auto const [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  return problem == std::errc{} && end == text.data() + text.size() && value >= 0;
}

std::vector<index> parse_columns(std::string const& text) {
  constexpr index most = 1'000'000; // so that a slip does not fill the memory
  std::vector<index> columns;
  std::string const list = text.empty() ? "" : text + ",";
  for (std::size_t at = 0, comma; at < list.size(); at = comma + 1) {
    comma = list.find(',', at);
    std::string const item = list.substr(at, comma - at);
    auto const colon = item.find(':');
    index first = 0, last = 0;
    bool good = read_index(item.substr(0, colon), first);
    if (good && colon != item.npos)
      good = read_index(item.substr(colon + 1), last) && last > first && last - first <= most;
    if (!good)
      throw usage_error(fmt::format("--columns {}: '{}': a whole number of at least 0 is expected, or A:B, "
                                    "from column A up to the one before B",
                                    printable(text), printable(item)));
    if (colon == item.npos) last = first + 1;
    for (index j = first; j < last; ++j) columns.push_back(j);
  }
  return columns;
}

row_range parse_rows(std::string const& text) {
  row_range rows;
  if (text.empty()) return rows;
  auto const colon = text.find(':');
  bool good = colon != text.npos && text.size() > 1;
  if (good && colon > 0) good = read_index(std::string_view(text).substr(0, colon), rows.first);
  if (good && colon + 1 < text.size())
    good = read_index(std::string_view(text).substr(colon + 1), rows.last.emplace());
  if (!good || (rows.last && *rows.last <= rows.first))
    throw usage_error(
        fmt::format("--rows '{}': {} is expected, from row A, counted from 0, up to the row before B",
                    printable(text), good ? "a B above A" : "A:B, A: or :B"));
  return rows;
}

std::optional<char> parse_delimiter(std::string const& text) {
  static constexpr std::array<std::pair<std::string_view, char>, 4> words{
      {{"tab", '\t'}, {"comma", ','}, {"semicolon", ';'}, {"space", ' '}}};
  if (text.empty()) return {};
  for (auto const& [word, character] : words)
    if (text == word) return character;
  if (text.size() == 1) return text[0]; // load() says which of them will do
  throw usage_error(fmt::format("--delimiter '{}': a character, or tab, comma, semicolon, space is expected",
                                printable(text)));
}

/// "npy" where the data say themselves how they are to be read, as all formats but text do.
std::string format_that_is_no_text(data_file const& data) {
  for (std::string const& path : data.paths) {
    std::string name = data.format.empty() ? file_of(path) : "." + data.format;
    for (char const* packed : {".gz", ".zst"})
      if (name.ends_with(packed)) name.resize(name.size() - std::string_view(packed).size());
    for (char const* format : {"npy", "fvecs", "bvecs", "ivecs", "h5", "hdf5"})
      if (name.ends_with(std::string(".") + format)) return format;
  }
  return "";
}

} // namespace

std::string data_file::name() const {
  if (paths.empty()) return "";
  std::string first = paths.front() == "-" ? "standard input" : paths.front();
  if (paths.size() == 1) return first;
  return fmt::format("{} and {} more file{}", first, paths.size() - 1, paths.size() == 2 ? "" : "s");
}

load_options data_file::options() const {
  static constexpr std::array<std::string_view, 3> headers{"auto", "yes", "no"};
  static constexpr std::array<header_line, 3> meanings{header_line::detect, header_line::yes,
                                                       header_line::no};
  if (paths.empty()) throw usage_error("no data file was given: it comes after the command, or after -i");
  load_options result;
  result.header = meanings[choose("--header", header, headers)];
  result.delimiter = parse_delimiter(delimiter);
  result.columns = parse_columns(columns);
  result.rows = parse_rows(rows);
  result.format = format;
  std::string const of_text = !delimiter.empty() ? "--delimiter" : header != "auto" ? "--header" : "";
  if (!raw.empty()) {
    std::string const beside = of_text.empty() && !format.empty() ? "--format" : of_text;
    if (!beside.empty())
      throw usage_error(
          fmt::format("{}: without effect beside --raw, which says what the files hold", beside));
    try {
      result.raw = parse_raw_layout(raw);
    } catch (usage_error const& e) {
      std::string const text = e.what(); // most begin with the layout
      throw usage_error(text.starts_with('\'') ? "--raw " + text
                                               : fmt::format("--raw '{}': {}", printable(raw), text));
    }
  }
  if (std::string const known = format_that_is_no_text(*this); !of_text.empty() && !known.empty())
    throw usage_error(
        fmt::format("{}: without effect on a .{} file, which has types and a shape", of_text, known));
  return result;
}

void add_data_file(CLI::App& app, data_file& data) {
  app.option_defaults()->group("Data");
  app.add_option("-i,--input,DATA", data.paths,
                 "The data, a row a point: .csv .tsv .txt .npy .fvecs .bvecs .ivecs, also with .gz or .zst; "
                 ".h5:DATASET; - is "
                 "standard input; several files are read one after the other, as one")
      ->type_name("FILE");
  app.add_option("--columns", data.columns,
                 "Keep only these columns, counted from 0, in this order, e.g. 0,1,2 or 4,10:20")
      ->type_name("LIST");
  app.add_option("--rows", data.rows,
                 "Keep only rows A up to, not including, B, counted from 0: A:B, A: or :B; of --weights, too")
      ->type_name("RANGE");
  app.add_option("--format", data.format,
                 "What the files are, whatever their suffix: e.g. csv, fvecs or csv.gz")
      ->type_name("SUFFIX");
  app.add_option(
         "--raw", data.raw,
         "The files are numbers without a header: TYPE:COLUMNS or TYPE:ROWSxCOLUMNS, then @BYTES to skip; "
         "float16 to float64, int8 to uint64, with be behind it for big-endian")
      ->type_name("LAYOUT");
  app.add_option("--header", data.header, "Whether line 1 of a text file names the columns: auto, yes or no")
      ->type_name("WORD")
      ->capture_default_str();
  app.add_option("--delimiter", data.delimiter,
                 "What separates the columns of a text file: a character, or tab, comma, semicolon, space; "
                 "found out where not given")
      ->type_name("C");
  app.option_defaults()->group("Options");
}

// Whoever has files of another name learns here how they are read.
table load_by_suffix(std::vector<std::string> const& paths, load_options const& how) {
  try {
    return load(paths, how);
  } catch (usage_error const& e) {
    std::string const text = e.what();
    if (text.starts_with("found the delimiter")) throw usage_error("--delimiter: " + text);
    if (!how.format.empty() || how.raw || text.find("; known are ") == text.npos) throw;
    throw usage_error(text + "; --format or --raw says what a file of another name is");
  }
}

table load_part(data_file const& data, load_options const& how, std::vector<std::string>& notes) {
  table loaded = load_by_suffix(data.paths, how);
  for (std::string const& note : loaded.notes)
    notes.push_back(data.paths.size() == 1 ? fmt::format("note: {}: {}", data.name(), note)
                                           : "note: " + note);
  return loaded;
}

void note_rows(data_file const& data, index rows, std::vector<std::string>& notes) {
  if (data.paths.size() > 1)
    notes.push_back(fmt::format("note: {} files as one: {} rows", data.paths.size(), rows));
}

table load_data(data_file const& data, load_options const& how, std::vector<std::string>& notes) {
  table loaded = load_part(data, how, notes);
  note_rows(data, loaded.rows(), notes);
  return loaded;
}

std::vector<double> load_weights(std::string const& path, load_options const& how) {
  return path.empty() ? std::vector<double>{} : load_vector(path, how.threads, how.rows);
}

table of_unit_length(std::string const& path, table const& loaded, int threads, double memory, index offset) {
  try {
    return kopse::of_unit_length(loaded, threads, memory, offset);
  } catch (error const& e) {
    throw error(fmt::format("{}: {}", path, e.what()));
  }
}

matrix<double> load_centroids(std::string const& path, std::vector<std::string>& notes) {
  table const loaded = load(path);
  for (std::string const& note : loaded.notes) notes.push_back(fmt::format("note: {}: {}", path, note));
  return in_double(loaded);
}

} // namespace kopse::cli
