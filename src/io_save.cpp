// SPDX-License-Identifier: BSD-3-Clause
// Writing: the format that a file's suffix says, and files that appear together.

#include <utility>

#include "io_formats.hpp"
#include "io_packing.hpp"

namespace kopse {
namespace {

using io::file_kind;
using io::format;
using io::packing;

/// Throws usage_error for what is read but not written.
file_kind target_kind(std::string const& path, content what) {
  file_kind kind = io::kind_of(path, {},
                               what == content::rows ? ".csv, .tsv, .txt, .npy and .fvecs"
                                                     : ".csv, .tsv, .txt, .npy and .ivecs");
  if (kind.what == format::hdf5) {
    if (kind.file == path) kind.dataset = what == content::rows ? "data" : "labels";
    io::check_hdf5_target(kind);
  }
  bool const vecs = kind.what == format::fvecs || kind.what == format::bvecs || kind.what == format::ivecs;
  if (vecs && kind.what != (what == content::rows ? format::fvecs : format::ivecs)) {
    throw usage_error(path + ": " + (what == content::rows ? "rows of numbers" : "labels")
                      + " are written to " + (what == content::rows ? ".fvecs" : ".ivecs")
                      + ", not to this kind of file");
  }
  return kind;
}

} // namespace

struct output_files::parts {
  std::vector<std::unique_ptr<io::output_file>> files;

  template <class Put> void write(std::string const& path, packing packed, Put const& put) {
    auto packer = io::make_packer(path, packed);
    files.push_back(std::make_unique<io::output_file>(path));
    files.back()->pack_by(std::move(packer));
    put(*files.back());
    files.back()->finish();
  }
};

output_files::output_files() : parts_(std::make_unique<parts>()) {}
output_files::~output_files() = default;

void output_files::save(std::string const& path, matrix_view<double> values) {
  file_kind const kind = target_kind(path, content::rows);
  parts_->write(kind.file, kind.packed, [&](io::output_file& file) {
    if (kind.what == format::npy) return io::put_npy(file, values);
    if (kind.what == format::fvecs) return io::put_fvecs(file, values);
    if (kind.what == format::hdf5) return io::put_hdf5(file, kind.dataset, values);
    for (index i = 0; i < values.rows(); ++i) {
      for (index j = 0; j < values.cols(); ++j) {
        if (j > 0) file.put(kind.what == format::csv ? ',' : '\t');
        file.put_number(values(i, j));
      }
      file.put('\n');
    }
  });
}

void output_files::save(std::string const& path, std::span<label const> labels) {
  file_kind const kind = target_kind(path, content::labels);
  parts_->write(kind.file, kind.packed, [&](io::output_file& file) {
    if (kind.what == format::npy) return io::put_npy(file, labels);
    if (kind.what == format::ivecs) return io::put_ivecs(file, labels);
    if (kind.what == format::hdf5) return io::put_hdf5(file, kind.dataset, labels);
    for (label const each : labels) {
      file.put_number(each);
      file.put('\n');
    }
  });
}

void output_files::save_text(std::string const& path, std::string_view text) {
  parts_->write(path, packing::none, [&](io::output_file& file) { file.write(text); });
}

void output_files::commit() {
  io::held_signals const held; // one between two of them would leave new beside old
  auto const files = std::exchange(parts_->files, {});
  try {
    for (auto const& file : files) file->put_in_place();
  } catch (error const& e) { // they are whole, and may be hours of work
    std::string names;
    for (auto const& file : files)
      if (std::string const name = file->set_aside(); !name.empty())
        names += (names.empty() ? "" : ", ") + name;
    throw error(e.what() + (names.empty() ? "" : "; what was to be written is in " + names));
  }
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

void check_save(std::string const& path, content what) {
  file_kind const kind = target_kind(path, what);
  check_save_text(kind.file);
  io::make_packer(path, kind.packed);
}

void check_save_text(std::string const& path) { io::check_target(path); }

} // namespace kopse
