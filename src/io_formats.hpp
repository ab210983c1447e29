// SPDX-License-Identifier: BSD-3-Clause
// What the readers and writers of io.hpp share: a file as memory, a file written whole or not at all,
// and the formats themselves.
#pragma once

#include <charconv>
#include <csignal>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io_nameless.hpp"
#include "io_packing.hpp"
#include "io_reader.hpp"
#include "io_suffix.hpp"

namespace kopse::io {

/// Signals to this thread wait while it lives; where it is the only one, those to the program.
class held_signals {
public:
  held_signals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~held_signals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  held_signals(held_signals const&) = delete;
  held_signals& operator=(held_signals const&) = delete;

private:
  sigset_t before_;
};

/// How a file is written: so that it can be put back while others that belong to it are written, or so that
/// it survives a power cut, and a program that is killed leaves no part of it behind.
enum class care { of_group, of_disk };

/// Writes `path` whole or not at all: into a temporary file beside it, which put_in_place() renames over it.
/// A target that is no regular file (/dev/stdout, a pipe) is written directly.
class output_file {
public:
  /// Throws error: no directory, a directory, no permission.
  explicit output_file(std::string const& path, care how = care::of_group);
  output_file(output_file const&) = delete;
  output_file& operator=(output_file const&) = delete;
  ~output_file(); ///< all is as it was before, unless keep() was called

  std::string const& path() const { return path_; }                     ///< as the user wrote it
  void pack_by(std::unique_ptr<packer> by) { packer_ = std::move(by); } ///< before the first byte
  void write(std::string_view bytes);
  void put(char c) { write({&c, 1}); }
  /// The shortest digits that read back as the same number.
  template <class Number> void put_number(Number value) {
    constexpr std::size_t longest = 32; // "-1.2345678901234567e-308" is 24
    if (buffer_.size() - used_ < longest) flush();
    char* const first = buffer_.data() + used_;
    used_ += static_cast<std::size_t>(std::to_chars(first, first + longest, value).ptr - first);
  }
  void finish(); ///< the last bytes are written; what can fail has failed
  void put_in_place();
  /// Puts back what was there before, if it can, and leaves the new file beside it: its name, or "".
  std::string set_aside();
  void keep() { undo_ = undo::none; } ///< nothing can fail any more: the old file is not wanted back

private:
  void flush();
  void pack(std::string_view bytes, bool end);
  void write_out(char const* data, std::size_t size);
  void open_nameless();
  void take_name();
  [[noreturn]] void fail(int code) const;

  std::string path_; // as the user wrote it, for messages
  care care_;
  std::unique_ptr<packer> packer_;
  std::string target_;    // the same with links followed: the link stays, its file is replaced
  std::string temporary_; // "" when the target is written directly; once that is in place, the old file
  std::string set_aside_; // what that name was, of a file put where none was
  std::vector<char> buffer_;
  std::size_t used_ = 0;
  int descriptor_ = -1;
  int published_ = -1; // where its name stands for signal handlers
  enum class undo { none, remove, bring_back } undo_ = undo::none; // what the target needs
};

/// Throws what output_file would throw before its first byte.
void check_target(std::string const& path);

/// What is said of a pipe that has a name, and of devices.
inline constexpr char const* not_regular =
    "it is a pipe or device; a regular file was expected (or -, for what comes by standard input)";

/// The system's words for an errno.
std::string reason(int code);

std::unique_ptr<reader> read_npy(std::shared_ptr<mapped_file const> file, load_options const& options);
std::unique_ptr<reader> read_npy(std::unique_ptr<stream> from, load_options const& options);
std::unique_ptr<reader> read_raw(std::shared_ptr<mapped_file const> file, load_options const& options);
std::unique_ptr<reader> read_raw(std::unique_ptr<stream> from, load_options const& options);
std::unique_ptr<reader> read_text(std::shared_ptr<mapped_file const> file, format what,
                                  load_options const& options);
std::unique_ptr<reader> read_text(std::unique_ptr<stream> from, format what, load_options const& options);
std::unique_ptr<reader> read_vecs(std::shared_ptr<mapped_file const> file, format what,
                                  load_options const& options);
std::unique_ptr<reader> read_vecs(std::unique_ptr<stream> from, format what, load_options const& options);

/// kind.file and, where it is not empty, kind.dataset.
std::unique_ptr<reader> read_hdf5(file_kind const& kind, load_options const& options);

template <class T> std::string_view bytes_of(T const* first, index count) {
  return {reinterpret_cast<char const*>(first), static_cast<std::size_t>(count) * sizeof(T)};
}
void put_npy(output_file& file, matrix_view<double> values);
void put_npy(output_file& file, std::span<label const> labels);
void put_fvecs(output_file& file, matrix_view<double> values); ///< rounded to float32
void put_ivecs(output_file& file, std::span<label const> labels);
void put_hdf5(output_file& file, std::string const& dataset, matrix_view<double> values);
void put_hdf5(output_file& file, std::string const& dataset, std::span<label const> labels);
/// Throws usage_error for what is no name of a dataset, error for a file that holds others.
void check_hdf5_target(file_kind const& kind);

/// `columns` when it is not empty, else all of 0 … count − 1. Throws usage_error for one that is not there.
std::vector<index> chosen_columns(std::string const& path, std::vector<index> const& columns, index count);

} // namespace kopse::io
