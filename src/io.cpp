// SPDX-License-Identifier: BSD-3-Clause
// Which format a file has, by its suffix, and the little that all formats share.

#include <algorithm>
#include <array>
#include <new>
#include <utility>

#include "io_formats.hpp"

namespace kopse {
namespace {

enum class format { npy, csv, tsv, txt };

constexpr std::array<std::pair<std::string_view, format>, 4> suffixes{
    {{".npy", format::npy}, {".csv", format::csv}, {".tsv", format::tsv}, {".txt", format::txt}}};

format format_of(std::string const& path) {
  auto const name = path.substr(path.rfind('/') + 1); // npos + 1 is 0
  auto const dot = name.rfind('.');
  std::string suffix = dot == std::string::npos ? "" : name.substr(dot);
  for (char& c : suffix) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  for (auto const& [known, which] : suffixes) {
    if (suffix == known) return which;
  }
  throw usage_error(path + ": " + (suffix.empty() ? "no suffix" : "unknown suffix " + printable(suffix))
                    + "; known are .npy, .csv, .tsv and .txt");
}

/// The length of the UTF-8 sequence at the start of `bytes` if it is valid and shows something, else 0.
std::size_t shown_length(std::string_view bytes) {
  auto const byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  unsigned const first = byte(0);
  if (first < 0x80) return first >= 0x20 && first != 0x7f ? 1 : 0;
  std::size_t const length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || bytes.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  unsigned const second = byte(1); // too long a form, a surrogate, beyond U+10FFFF, a control character
  if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) || (first == 0xf0 && second < 0x90)
      || (first == 0xf4 && second > 0x8f) || (first == 0xc2 && second < 0xa0)) {
    return 0;
  }
  return length;
}

} // namespace

std::string printable(std::string_view bytes, std::size_t most) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (std::size_t at = 0; at < bytes.size();) {
    if (at >= most) return text + "...";
    std::size_t const length = shown_length(bytes.substr(at));
    auto const byte = static_cast<unsigned char>(bytes[at]);
    if (length > 0)
      text += bytes.substr(at, length);
    else if (byte == '\t')
      text += "\\t";
    else
      text += {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
    at += std::max<std::size_t>(length, 1);
  }
  return text;
}

std::vector<index> io::chosen_columns(std::string const& path, std::vector<index> const& columns,
                                      index count) {
  for (index const column : columns) {
    if (column >= 0 && column < count) continue;
    throw usage_error(path + ": there is no column " + std::to_string(column) + "; it has "
                      + std::to_string(count)
                      + (count == 1 ? " column, number 0" : " columns, numbered from 0"));
  }
  if (!columns.empty()) return columns;
  std::vector<index> all(static_cast<std::size_t>(count));
  for (index j = 0; j < count; ++j) all[static_cast<std::size_t>(j)] = j;
  return all;
}

table load(std::string const& path, load_options const& options) {
  auto file = std::make_shared<io::mapped_file const>(path);
  try {
    switch (format_of(path)) {
    case format::npy:
      return io::load_npy(std::move(file), options);
    case format::csv:
      return io::load_text(*file, options, ',');
    case format::tsv:
      return io::load_text(*file, options, '\t');
    case format::txt:
      break;
    }
    return io::load_text(*file, options, ' ');
  } catch (std::bad_alloc const&) {
    throw error("cannot read " + path + ": its numbers do not fit in memory");
  }
}

std::vector<double> load_vector(std::string const& path, int threads) {
  load_options options;
  options.threads = threads;
  table const values = load(path, options);
  if (values.rows() != 1 && values.cols() != 1) {
    throw error(path + ": found " + std::to_string(values.rows()) + " rows of "
                + std::to_string(values.cols()) + " columns, expected one column or one row");
  }
  return values.visit([](auto const& view) {
    std::vector<double> all;
    all.reserve(static_cast<std::size_t>(view.rows() * view.cols()));
    for (index i = 0; i < view.rows(); ++i) all.insert(all.end(), view.row(i), view.row(i) + view.cols());
    return all;
  });
}

struct output_files::parts {
  std::vector<std::unique_ptr<io::output_file>> files;

  template <class Put> void write(std::string const& path, Put const& put) {
    put(*files.emplace_back(std::make_unique<io::output_file>(path)));
    files.back()->finish();
  }
};

output_files::output_files() : parts_(std::make_unique<parts>()) {}
output_files::~output_files() = default;

void output_files::save(std::string const& path, matrix_view<double> values) {
  format const which = format_of(path);
  parts_->write(path, [&](io::output_file& file) {
    if (which == format::npy) return io::put_npy(file, values);
    for (index i = 0; i < values.rows(); ++i) {
      for (index j = 0; j < values.cols(); ++j) {
        if (j > 0) file.put(which == format::csv ? ',' : '\t');
        file.put_number(values(i, j));
      }
      file.put('\n');
    }
  });
}

void output_files::save(std::string const& path, std::span<label const> labels) {
  format const which = format_of(path);
  parts_->write(path, [&](io::output_file& file) {
    if (which == format::npy) return io::put_npy(file, labels);
    for (label const each : labels) {
      file.put_number(each);
      file.put('\n');
    }
  });
}

void output_files::save_text(std::string const& path, std::string_view text) {
  parts_->write(path, [&](io::output_file& file) { file.write(text); });
}

void output_files::commit() {
  io::held_signals const held; // one between two of them would leave new beside old
  auto const files = std::exchange(parts_->files, {});
  for (auto const& file : files) file->put_in_place();
  for (auto const& file : files) file->keep();
}

void save(std::string const& path, matrix_view<double> values) {
  output_files one;
  one.save(path, values);
  one.commit();
}

void save(std::string const& path, std::span<label const> labels) {
  output_files one;
  one.save(path, labels);
  one.commit();
}

void save_text(std::string const& path, std::string_view text) {
  output_files one;
  one.save_text(path, text);
  one.commit();
}

void check_save(std::string const& path) {
  format_of(path);
  check_save_text(path);
}

void check_save_text(std::string const& path) { io::check_target(path); }

} // namespace kopse
