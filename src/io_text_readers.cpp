// SPDX-License-Identifier: BSD-3-Clause
// Readers of text: of a mapped file, whose rows are counted before a number is parsed, so that the matrix is
// allocated once; and of what comes by and by, in blocks of whole lines.

#include <algorithm>
#include <optional>
#include <utility>

#include "io_formats.hpp"
#include "io_stream.hpp"
#include "io_text.hpp"

namespace kopse::io {
namespace {

constexpr std::size_t block_bytes = block_size(std::size_t{1} << 23), longest_line = std::size_t{1} << 30;
constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF"; // UTF-8's

char usual_delimiter(format what) { return what == format::csv ? ',' : what == format::tsv ? '\t' : ' '; }

[[noreturn]] void fail_empty(std::string const& path) {
  throw error(path + ": found an empty file, expected rows of numbers");
}
[[noreturn]] void fail_header_only(std::string const& path) {
  throw error(path + ": found a header line and nothing below it, expected rows of numbers");
}

/// What both readers of text are: numbers in text are float64.
class text_reader : public reader {
public:
  bool float32() const override { return false; }
  index read(index, index, growing_rows<float>&) override { return 0; } // never asked for
  using reader::read;

protected:
  void begin(std::string const& path, std::string_view text, load_options const& options, char usual) {
    parser_.emplace(path, find_dialect(path, text, options, usual), options);
    notes = parser_->how().notes;
    names = parser_->names();
  }

  std::optional<row_parser> parser_;
};

class mapped_text : public text_reader {
public:
  mapped_text(std::shared_ptr<mapped_file const> file, load_options const& options, char usual)
      : file_(std::move(file)) {
    std::string_view text = file_->bytes();
    if (text.empty()) fail_empty(file_->path());
    if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
    begin(file_->path(), text, options, usual);
    rows_ = parser_->count(text);
    if (rows_ == 0) fail_header_only(file_->path());
  }

  std::optional<index> rows() const override { return rows_; }
  index cols() override { return parser_->cols(); }
  index read(index first, index last, growing_rows<double>& out) override {
    last = std::min(last, rows_);
    if (first < last) parser_->parse(first, last, out.extend(last - first));
    return last;
  }
  using text_reader::read;

private:
  std::shared_ptr<mapped_file const> file_;
  index rows_ = 0;
};

/// How much of a block is whole lines: up to the last \n; where there is none, to a \r that is one line end
/// for sure.
std::size_t whole_lines(std::string_view text) {
  if (auto const newline = text.rfind('\n'); newline != text.npos) return newline + 1;
  for (auto at = text.rfind('\r'); at != text.npos && at > 0; at = text.rfind('\r', at - 1)) {
    bool const followed = at + 1 < text.size() && text[at + 1] != '\r';
    if (followed && text[at - 1] != '\r') return at + 1;
  }
  return 0;
}

class streamed_text : public text_reader {
public:
  streamed_text(std::unique_ptr<stream> from, load_options options, char usual)
      : from_(std::move(from)), options_(std::move(options)), usual_(usual) {}

  index cols() override {
    if (!parser_) start();
    return parser_->cols();
  }

  index read(index first, index last, growing_rows<double>& out) override {
    cols();
    index at = 0;
    for (bool more = true; more && at < last;) {
      index const rows = parser_->count(std::string_view(block_).substr(0, whole_));
      index const from = std::clamp<index>(first - at, 0, rows), to = std::min(last - at, rows);
      if (from < to) parser_->parse(from, to, out.extend(to - from));
      at += std::min(last - at, rows);
      more = !ended_;
      if (more && at < last) next();
    }
    if (at == 0 && ended_) fail_header_only(from_->name());
    block_ = {};
    return at;
  }
  using text_reader::read;

private:
  /// Reads as much as it takes to know how the lines are to be read.
  void start() {
    for (next(); !ended_ && !enough_to_judge(std::string_view(block_).substr(0, whole_));) grow();
    if (block_.starts_with(byte_order_mark)) {
      block_.erase(0, byte_order_mark.size());
      whole_ -= std::min(whole_, byte_order_mark.size());
    }
    if (block_.empty()) fail_empty(from_->name());
    begin(from_->name(), std::string_view(block_).substr(0, whole_), options_, usual_);
  }
  /// The next block of whole lines, or the last of the file.
  void next() {
    block_.erase(0, whole_);
    whole_ = 0;
    do {
      grow();
    } while (whole_ == 0 && !ended_);
  }
  void grow() {
    std::size_t const there = block_.size(),
                      step = std::max(block_bytes - std::min(block_bytes, there), there);
    block_.resize(there + std::max(step, block_bytes / 2));
    block_.resize(there + from_->read(block_.data() + there, block_.size() - there));
    ended_ = from_->peek(1).empty();
    whole_ = ended_ ? block_.size() : whole_lines(block_);
    if (whole_ > 0 || ended_) return;
    // One line as yet. That of a file of other bytes may never end.
    if (block_.find('\0', there) != block_.npos || block_.size() > longest_line) {
      throw error(from_->name() + ": found a line of more than " + std::to_string(block_.size() >> 20)
                  + " MiB, expected lines of text that are at most 1 GiB long, without the byte \\x00");
    }
  }

  std::unique_ptr<stream> from_;
  load_options options_;
  char usual_;
  std::string block_;
  std::size_t whole_ = 0; // of it, the lines that are complete
  bool ended_ = false;    // nothing comes after the block
};

} // namespace

std::unique_ptr<reader> read_text(std::shared_ptr<mapped_file const> file, format what,
                                  load_options const& options) {
  return std::make_unique<mapped_text>(std::move(file), options, usual_delimiter(what));
}

std::unique_ptr<reader> read_text(std::unique_ptr<stream> from, format what, load_options const& options) {
  return std::make_unique<streamed_text>(std::move(from), options, usual_delimiter(what));
}

} // namespace kopse::io
