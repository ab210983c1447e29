// SPDX-License-Identifier: BSD-3-Clause
// Files of numbers, by suffix: .npy, and .csv .tsv .txt (docs/file_formats.md).
//
// Reading returns the matrix that is in the file, or throws kopse::error naming file, line and column;
// nothing is ever shifted, padded or filled in. Writing is whole or not at all: a temporary file beside
// the target, renamed over it at the end.
//
// Memory: a matrix read from text is allocated once; of the file itself only the pages of the page cache are
// used. A .npy file of C order and native float32 or float64 is its own matrix, and costs no memory at all.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "kopse/matrix.hpp"

namespace kopse {

/// Whether the first line of a text file names the columns.
enum class header_line { detect, yes, no };

struct load_options {
  header_line header = header_line::detect; ///< text files only
  std::optional<char> delimiter;            ///< text files only; found out when not given
  std::vector<index> columns;               ///< keep these columns, from 0, in this order; empty = all
  int threads = 0;                          ///< text files only; 0 = as many as cores are available
};

/// What a file held: rows of float32 (from .npy float16 and float32) or float64 (all else).
class table {
public:
  using view_type = std::variant<matrix_view<double>, matrix_view<float>>;

  table() = default;
  template <class Real> explicit table(matrix<Real> values) {
    auto owner = std::make_shared<matrix<Real> const>(std::move(values));
    view_ = owner->view();
    owner_ = std::move(owner);
  }
  table(view_type view, std::shared_ptr<void const> owner) : view_(view), owner_(std::move(owner)) {}

  /// Calls f with the matrix_view<double> or matrix_view<float> that is inside.
  template <class F> decltype(auto) visit(F&& f) const { return std::visit(std::forward<F>(f), view_); }
  view_type const& view() const { return view_; }
  index rows() const {
    return visit([](auto const& v) { return v.rows(); });
  }
  index cols() const {
    return visit([](auto const& v) { return v.cols(); });
  }
  bool is_float32() const { return std::holds_alternative<matrix_view<float>>(view_); }

  std::vector<std::string> notes; ///< what was decided while reading, e.g. "header skipped: x,y"
  std::vector<std::string> names; ///< of the columns, from a header line; else empty
  bool mapped = false;            ///< the rows are the file's own pages: no copy was made

private:
  view_type view_;
  std::shared_ptr<void const> owner_;
};

/// Reads a whole file. Throws error: for text "file:line:column: found …, expected …", where column is the
/// number of the value in its line, both from 1; for .npy a sentence, with row and column from 0 as NumPy
/// counts. NaN and infinite values are refused, as are whole numbers that float64 cannot hold. Throws
/// usage_error for a suffix or column that is not there.
table load(std::string const& path, load_options const& options = {});

/// Reads one column as float64, e.g. sample weights, from a file with one column or one row.
std::vector<double> load_vector(std::string const& path, int threads = 0);

/// Writes rows; .npy as float64 (rows, cols); text in shortest round-trip digits, with commas (csv) or tabs.
void save(std::string const& path, matrix_view<double> values);

/// Writes labels; .npy as int32 of shape (n,); text one a line.
void save(std::string const& path, std::span<label const> labels);

/// Writes a file of text, of any suffix.
void save_text(std::string const& path, std::string_view text);

/// Several files that belong together: each is written beside its place when it is saved, and commit() puts
/// all of them there. Where one cannot be written, all that were there before stay as they are; where one
/// cannot be put in its place, too, if the file system can exchange two files.
class output_files {
public:
  output_files();
  ~output_files(); ///< without commit() nothing is left
  output_files(output_files const&) = delete;
  output_files& operator=(output_files const&) = delete;

  void save(std::string const& path, matrix_view<double> values);
  void save(std::string const& path, std::span<label const> labels);
  void save_text(std::string const& path, std::string_view text);
  void commit();

private:
  struct parts;
  std::unique_ptr<parts> parts_;
};

/// Throws what save() would throw before its first byte: suffix, directory, permission. Ask before a long
/// run.
void check_save(std::string const& path);
void check_save_text(std::string const& path); ///< the same, of any suffix

/// At most `most` bytes of text from a file or a user, fit to be shown: valid UTF-8, the rest as \t or \xNN.
std::string printable(std::string_view bytes, std::size_t most = 40);

/// For signal handlers that end the program: removes the temporary files now being written.
/// A full disk is an error as any other; a program under a file size limit should ignore SIGXFSZ.
void remove_unfinished_files() noexcept;

} // namespace kopse
