// SPDX-License-Identifier: BSD-3-Clause
// Files and standard input read through once, and what packs them told by its first bytes.

#include "io_stream.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io_formats.hpp"
#include "io_packing.hpp"

namespace kopse::io {
namespace {

/// A descriptor that is open only between the first byte and the last: of many files one at a time is.
class file_source : public byte_source {
public:
  explicit file_source(std::string const& path) : path_(path) {
    open(); // what can be said of it is said now
    if (path_ != "-" && !is_stream_name(path_)) close();
  }
  file_source(file_source const&) = delete;
  file_source& operator=(file_source const&) = delete;
  ~file_source() override { close(); }

  std::size_t read(char* out, std::size_t most) override {
    if (ended_) return 0;
    if (descriptor_ < 0) open();
    for (;;) {
      ssize_t const got = ::read(descriptor_, out, std::min(most, std::size_t{1} << 30));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) refuse(reason(errno));
      ended_ = got == 0;
      if (ended_) close();
      return static_cast<std::size_t>(got);
    }
  }

private:
  [[noreturn]] void refuse(std::string const& why) const {
    throw error("cannot read " + shown_name(path_) + ": " + why);
  }
  void open() {
    bool const is_pipe = is_stream_name(path_);
    descriptor_ = path_ == "-" ? STDIN_FILENO
                               : ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | (is_pipe ? 0 : O_NONBLOCK));
    struct stat info {};
    if (descriptor_ < 0 || ::fstat(descriptor_, &info) != 0) refuse(reason(errno));
    if (S_ISDIR(info.st_mode)) refuse("it is a directory; a file was expected");
    if (!is_pipe && !S_ISREG(info.st_mode)) refuse(not_regular);
  }
  void close() {
    if (descriptor_ > STDIN_FILENO) ::close(descriptor_);
    descriptor_ = -1;
  }

  std::string path_;
  int descriptor_ = -1;
  bool ended_ = false;
};

} // namespace

std::size_t stream::read(char* out, std::size_t count) {
  std::size_t got = std::min(count, ahead_.size());
  ahead_.copy(out, got);
  ahead_.erase(0, got);
  while (got < count) {
    std::size_t const more = from_->read(out + got, count - got);
    if (more == 0) break;
    got += more;
  }
  return got;
}

std::string_view stream::peek(std::size_t count) {
  while (ahead_.size() < count) {
    std::size_t const there = ahead_.size();
    ahead_.resize(count);
    std::size_t const more = from_->read(ahead_.data() + there, count - there);
    ahead_.resize(there + more);
    if (more == 0) break;
  }
  return std::string_view(ahead_).substr(0, count);
}

packing packing_of(stream& from) {
  if (from.peek(2) == "\x1f\x8b") return packing::gzip;
  if (from.peek(4) == "\x28\xb5\x2f\xfd") return packing::zstd;
  return packing::none;
}

std::unique_ptr<stream> unpack(std::unique_ptr<stream> from, packing packed) {
  if (packed == packing::none) return from;
  std::string const name = from->name();
  auto source = packed == packing::gzip ? unpack_gzip(std::move(from)) : unpack_zstd(std::move(from));
  return std::make_unique<stream>(name, std::move(source));
}

std::unique_ptr<packer> make_packer(std::string const& path, packing packed) {
  if (packed == packing::none) return nullptr;
  return packed == packing::gzip ? pack_gzip(path) : pack_zstd(path);
}

std::unique_ptr<stream> open_stream(std::string const& path, packing packed) {
  return unpack(std::make_unique<stream>(shown_name(path), std::make_unique<file_source>(path)), packed);
}

} // namespace kopse::io
