// SPDX-License-Identifier: BSD-3-Clause
// Reading: which reader a file gets, and several files as one matrix.

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <new>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "io_formats.hpp"
#include "io_reader.hpp"
#include "io_stream.hpp"
#include "kopse/parallel.hpp"

namespace kopse {
namespace {

using namespace io;

std::unique_ptr<reader> stream_reader(std::unique_ptr<stream> from, format what,
                                      load_options const& options) {
  if (what == format::npy) return read_npy(std::move(from), options);
  if (is_text(what)) return read_text(std::move(from), what, options);
  return read_vecs(std::move(from), what, options);
}

[[noreturn]] void refuse_hdf5_stream(std::string const& path) {
  throw error("cannot read " + shown_name(path)
              + ": HDF5 cannot be read once from beginning to end; name the file");
}

/// What comes without a name says itself what it is: packed or not, .npy or text.
std::unique_ptr<reader> nameless_reader(std::string const& path, load_options const& options) {
  auto from = open_stream(path, packing::none);
  packing const packed = packing_of(*from);
  from = unpack(std::move(from), packed);
  if (from->peek(4) == "\x89HDF") refuse_hdf5_stream(path);
  bool const npy = from->peek(6) == "\x93NUMPY";
  return stream_reader(std::move(from), npy ? format::npy : format::txt, options);
}

/// A file that is not there is told before its suffix is looked at.
void check_there(std::string const& path) {
  std::error_code problem;
  auto const status = std::filesystem::status(path, problem);
  if (!std::filesystem::exists(status))
    throw error("cannot read " + path + ": " + reason(problem ? problem.value() : ENOENT));
  if (std::filesystem::is_directory(status))
    throw error("cannot read " + path + ": it is a directory; a file was expected");
}

std::unique_ptr<reader> open_reader(std::string const& path, load_options const& options) {
  bool const is_stream = is_stream_name(path);
  if (!is_stream) check_there(options.raw ? path : path.substr(0, dataset_colon(path, options.format)));
  if (options.raw) {
    packing const packed = packing_of_name(path);
    if (is_stream || packed != packing::none) return read_raw(open_stream(path, packed), options);
    return read_raw(std::make_shared<mapped_file const>(path), options);
  }
  if (is_stream && options.format.empty()) return nameless_reader(path, options);
  file_kind const kind = kind_of(path, options.format);
  if (kind.what == format::hdf5 && is_stream) refuse_hdf5_stream(path);
  if (kind.what == format::hdf5) return read_hdf5(kind, options);
  if (is_stream || kind.packed != packing::none)
    return stream_reader(open_stream(path, kind.packed), kind.what, options);
  // Text is read through where its pages are not to stay.
  if (is_text(kind.what) && options.memory < std::numeric_limits<double>::infinity())
    return read_text(open_stream(path, packing::none), kind.what, options);
  auto file = std::make_shared<mapped_file const>(path);
  if (kind.what == format::npy) return read_npy(std::move(file), options);
  if (is_text(kind.what)) return read_text(std::move(file), kind.what, options);
  return read_vecs(std::move(file), kind.what, options);
}

std::string counted(index count, char const* what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

/// Files that are open, to be read as one.
class file_list {
public:
  file_list(std::span<std::string const> paths, load_options const& options)
      : paths_(paths), options_(options), first_(options.rows.first),
        last_(options.rows.last.value_or(no_end)) {
    if (paths.empty()) throw usage_error("no file to be read was given");
    if (first_ < 0 || last_ <= first_)
      throw usage_error(range() + ": the first must be at least 0, and the last above it");
    for (std::string const& path : paths) {
      naming(path, [&] { files_.push_back(open_reader(path, options_)); });
    }
  }

  /// In the range.
  std::optional<index> rows() const {
    std::optional<index> const known = known_rows();
    if (!known) return {};
    check_range(*known);
    return std::min(last_, *known) - first_;
  }

  table read() {
    std::optional<index> const known = known_rows();
    if (known) check_range(*known);
    bool const all_floats =
        std::all_of(files_.begin(), files_.end(), [](auto const& f) { return f->float32(); });
    bool const floats = all_floats && !options_.in_float64;
    table result = paths_.size() == 1 && known && floats == all_floats ? in_place(*known) : table();
    if (result.rows() == 0) result = floats ? read_all<float>(known) : read_all<double>(known);
    result.names = std::move(names_);
    result.notes = std::move(notes_);
    return result;
  }

private:
  std::string range() const {
    return "rows " + std::to_string(first_) + ":" + (last_ == no_end ? "" : std::to_string(last_));
  }
  std::string all_names() const {
    return shown_name(paths_.front())
           + (paths_.size() > 1 ? " and " + counted(std::ssize(paths_) - 1, "more file") : "");
  }

  /// Does what may run out of memory for this file.
  template <class Do> static void naming(std::string const& path, Do const& what) {
    try {
      what();
    } catch (std::bad_alloc const&) {
      throw error("cannot read " + shown_name(path) + ": its numbers do not fit in memory");
    } catch (std::length_error const&) {
      throw error("cannot read " + shown_name(path) + ": its numbers do not fit in memory");
    }
  }

  std::optional<index> known_rows() const {
    index all = 0;
    for (auto const& file : files_) {
      auto const rows = file->rows();
      if (!rows || *rows > no_end - all) return {};
      all += *rows;
    }
    return all;
  }
  void check_range(index rows) const {
    if (first_ < rows && (last_ <= rows || last_ == no_end)) return;
    throw usage_error(all_names() + ": " + range() + " were asked for, but there are " + counted(rows, "row")
                      + ", numbered from 0");
  }

  table in_place(index rows) {
    table result;
    naming(paths_.front(), [&] {
      take_columns(0);
      if (auto there = files_.front()->in_place(first_, std::min(last_, rows))) result = std::move(*there);
    });
    return result;
  }

  /// Its columns, which must be those of the files before it.
  index take_columns(std::size_t i) {
    reader& file = *files_[i];
    index const cols = file.cols();
    if (cols_ != 0 && cols != cols_) {
      throw error(shown_name(paths_[i]) + ": found " + counted(cols, "column") + ", expected "
                  + std::to_string(cols_) + " as in " + shown_name(paths_[named_by_]));
    }
    if (!names_.empty() && !file.names.empty() && names_ != file.names) {
      throw error(shown_name(paths_[i]) + ": found other names in its header line than in "
                  + shown_name(paths_[named_by_]) + ", expected the same in the same order");
    }
    if (cols_ == 0 || names_.empty()) named_by_ = i;
    if (names_.empty()) names_ = file.names;
    for (std::string const& note : file.notes)
      notes_.push_back(paths_.size() > 1 ? shown_name(paths_[i]) + ": " + note : note);
    file.notes.clear();
    return cols_ = cols;
  }

  template <class Real> table read_all(std::optional<index> known) {
    std::optional<growing_rows<Real>> out;
    index at = 0; // the number of this file's first row
    for (std::size_t i = 0; i < files_.size() && at < last_; ++i) {
      index const first = std::max<index>(first_ - at, 0), last = last_ == no_end ? no_end : last_ - at;
      auto const rows = files_[i]->rows();
      if (rows && *rows <= first) {
        at += *rows;
      } else {
        naming(paths_[i], [&] {
          index const cols = take_columns(i);
          if (!out) out.emplace(cols, options_.memory);
          if (known) out->reserve(std::min(last_, *known) - first_);
          at += files_[i]->read(first, last, *out);
        });
      }
      files_[i].reset(); // its block goes
    }
    if (at < last_) check_range(at);
    return std::move(*out).finish();
  }

  std::span<std::string const> paths_;
  load_options const& options_;
  index first_, last_, cols_ = 0;
  std::size_t named_by_ = 0; // the file that others are compared with
  std::vector<std::unique_ptr<reader>> files_;
  std::vector<std::string> names_, notes_;
};

} // namespace

std::string file_of(std::string const& path) { return path.substr(0, dataset_colon(path)); }

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

table load(std::span<std::string const> paths, load_options const& options) {
  worker_scope const workers;
  return file_list(paths, options).read();
}

table load(std::string const& path, load_options const& options) { return load({&path, 1}, options); }

std::optional<index> count_rows(std::span<std::string const> paths, load_options const& options) {
  return file_list(paths, options).rows();
}

row_range share_of(index rows, index part, index parts) {
  index const each = rows / parts, more = rows % parts; // as many have one row more
  auto const begin = [&](index p) { return p * each + std::min(p, more); };
  return {begin(part), begin(part + 1)};
}

std::vector<double> load_vector(std::string const& path, int threads, row_range rows) {
  load_options options;
  options.threads = threads;
  table const values = load(path, options);
  if (values.rows() != 1 && values.cols() != 1) {
    throw error(shown_name(path) + ": found " + std::to_string(values.rows()) + " rows of "
                + std::to_string(values.cols()) + " columns, expected one column or one row");
  }
  index const count = values.rows() * values.cols(), last = rows.last.value_or(count);
  if (rows.first < 0 || rows.first >= last || last > count) {
    throw usage_error(shown_name(path) + ": rows " + std::to_string(rows.first) + ":"
                      + (rows.last ? std::to_string(last) : "") + " were asked for, but there are "
                      + counted(count, "value") + ", numbered from 0");
  }
  return values.visit([&](auto const& view) {
    std::vector<double> chosen;
    chosen.reserve(static_cast<std::size_t>(last - rows.first));
    for (index i = rows.first; i < last; ++i) chosen.push_back(values.cols() == 1 ? view(i, 0) : view(0, i));
    return chosen;
  });
}

} // namespace kopse
