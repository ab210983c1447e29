// SPDX-License-Identifier: BSD-3-Clause
// Files of numbers, by suffix: .npy, .csv .tsv .txt, .fvecs .bvecs .ivecs, each also packed as .gz or .zst;
// FILE.h5:DATASET; raw numbers; standard input (docs/file_formats.md).
//
// Reading returns the matrix that is in the file, or throws kopse::error naming file, line and column;
// nothing is ever shifted, padded or filled in. Writing is whole or not at all: a temporary file beside
// the target, renamed over it at the end.
//
// Memory: a matrix that is read is allocated once, or grows as its rows come; beside it there is one block at
// a time, and of a mapped file the pages of the page cache. Native float32 or float64 row by row (.npy,
// .fvecs, raw) is its own matrix, and costs no memory at all. load_options::memory is for more than there is.
#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "kopse/matrix.hpp"
#include "kopse/paging.hpp"

namespace kopse {

/// Whether the first line of a text file names the columns.
enum class header_line { detect, yes, no };

/// Numbers without any header: what a file cannot say of itself.
struct raw_layout {
  std::string type = "float32"; ///< float16 to float64, int8 to uint64; ending in "be": big-endian
  index cols = 0;               ///< at least 1
  std::optional<index> rows;    ///< as many as there are when not given; otherwise exactly these
  std::size_t skip = 0;         ///< bytes before the first number
};

/// The layout that `text` means, TYPE:COLUMNS or TYPE:ROWSxCOLUMNS, then @BYTES to skip. Throws usage_error.
raw_layout parse_raw_layout(std::string_view text);

/// Rows [first, last), counted from 0.
struct row_range {
  index first = 0;
  std::optional<index> last; ///< to the end when not given
};

struct load_options {
  header_line header = header_line::detect; ///< text files only
  std::optional<char> delimiter;            ///< text files only; found out when not given
  std::vector<index> columns;               ///< keep these columns, from 0, in this order; empty = all
  int threads = 0;                          ///< text files only; 0 = as many as cores are available
  row_range rows = {};                      ///< of all files together; others are not looked at
  std::string format = {};                  ///< a suffix to go by in place of the file's own, e.g. "csv.gz"
  std::optional<raw_layout> raw = {};       ///< the file has no format, but this layout, whatever its suffix
  /// Bytes that the rows may take in memory. More stay on the disk (docs/larger_than_memory.md): mapped rows
  /// are used page by page, and others go to a file without a name in $TMPDIR, to be mapped in their turn.
  double memory = std::numeric_limits<double>::infinity();
  bool in_float64 = false; ///< rows of float32, too
};

/// What files held: rows of float32, where it holds all their numbers (those of float16, float32, and whole
/// numbers of 8 and 16 bits), or float64.
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
  /// Rows [first, last) of it, in the same place.
  table slice(index first, index last) const {
    table part = *this;
    part.view_ = visit([&](auto const& v) { return view_type(v.slice(first, last)); });
    return part;
  }

  std::vector<std::string> notes; ///< what was decided while reading, e.g. "header skipped: x,y"
  std::vector<std::string> names; ///< of the columns, from a header line; else empty
  bool mapped = false;            ///< the rows are the file's own pages: no copy was made
  bool on_disk = false;           ///< they are in a file without a name: there were too many for the memory
  /// While it is there, pages of rows that are mapped are given back after use; reset it to keep them.
  std::shared_ptr<paged_range const> paged;

private:
  view_type view_;
  std::shared_ptr<void const> owner_;
};

/// Reads a file; "-" is standard input. Throws error: for text "file:line:column: found …, expected …", where
/// column is the number of the value in its line, both from 1; for other files a sentence, with row and
/// column from 0 as NumPy counts. NaN and infinite values are refused, as are whole numbers that float64
/// cannot hold. Throws usage_error for a suffix, column or row that is not there.
table load(std::string const& path, load_options const& options = {});

/// Several files as one: the rows of the first, then those of the next. All must have as many columns, and
/// those with a header line the same names.
table load(std::span<std::string const> paths, load_options const& options = {});

/// How many rows load() would return, where that is known without parsing them; the lines of plain text are
/// counted. Not of what is packed, nor of text that a limit of memory lets in by blocks.
std::optional<index> count_rows(std::span<std::string const> paths, load_options const& options = {});

/// Of so many rows those of one of `parts`, counted from 0: shares that differ by one row at most.
row_range share_of(index rows, index part, index parts);

/// Its rows in double, divided by their lengths as normalise_rows() does; `memory` is that of load_options,
/// and `offset` the number of the first row, for errors.
table of_unit_length(table const& rows, int threads = 0,
                     double memory = std::numeric_limits<double>::infinity(), index offset = 0);

/// Reads one column as float64, e.g. sample weights, from a file with one column or one row. `rows` are
/// places in it either way.
std::vector<double> load_vector(std::string const& path, int threads = 0, row_range rows = {});

/// Writes rows; .npy as float64 (rows, cols); text in shortest round-trip digits, with commas (csv) or tabs;
/// .fvecs rounded to float32; .h5 as float64, the dataset "data" unless FILE.h5:NAME names another.
void save(std::string const& path, matrix_view<double> values);

/// Writes labels; .npy as int32 of shape (n,); text one a line; .ivecs a record each; .h5 as int32,
/// the dataset "labels" unless another is named.
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
  /// Puts all in their places. If one cannot be put there, none is: the error says where they are.
  void commit();

private:
  struct parts;
  std::unique_ptr<parts> parts_;
};

enum class content { rows, labels };

/// Throws what save() would throw before its first byte: suffix, directory, permission. Ask before a long
/// run.
void check_save(std::string const& path, content what = content::rows);
void check_save_text(std::string const& path); ///< the same, of any suffix

/// The file of a path: FILE.h5 of FILE.h5:DATASET, any other as it is.
std::string file_of(std::string const& path);

/// At most `most` bytes of text from a file or a user, fit to be shown: valid UTF-8, the rest as \t or \xNN.
std::string printable(std::string_view bytes, std::size_t most = 40);

/// For signal handlers that end the program: removes the temporary files now being written.
/// A full disk is an error as any other; a program under a file size limit should ignore SIGXFSZ.
void remove_unfinished_files() noexcept;

} // namespace kopse
