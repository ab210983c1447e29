// SPDX-License-Identifier: BSD-3-Clause
// gzip by zlib: members one after the other, as `cat a.gz b.gz` makes them, and zeros behind the last, as
// tapes have them.

#include "io_packing.hpp"
#include "kopse/core.hpp"

#if defined(KOPSE_WITH_ZLIB)
#include <algorithm>
#include <limits>
#include <new>
#include <vector>

#include <zlib.h>
#endif

namespace kopse::io {

#if defined(KOPSE_WITH_ZLIB)
namespace {

constexpr std::size_t block_bytes = std::size_t{1} << 17;
constexpr char const* no_gzip_behind = "found bytes that are no gzip data behind those that are";
constexpr int gzip_window = 15 + 16; // the largest, and a gzip header: no other is taken

class gzip_source : public byte_source {
public:
  explicit gzip_source(std::unique_ptr<stream> from) : from_(std::move(from)), packed_(block_bytes) {
    if (inflateInit2(&z_, gzip_window) != Z_OK) throw std::bad_alloc();
  }
  gzip_source(gzip_source const&) = delete;
  gzip_source& operator=(gzip_source const&) = delete;
  ~gzip_source() override { inflateEnd(&z_); }

  std::size_t read(char* out, std::size_t most) override {
    most = std::min<std::size_t>(most, std::numeric_limits<uInt>::max());
    z_.next_out = reinterpret_cast<Bytef*>(out);
    z_.avail_out = static_cast<uInt>(most);
    while (z_.avail_out == most) { // whatever comes is enough
      if (!within_ && members_ > 0) skip_zeros();
      if (z_.avail_in == 0 && !refill()) {
        if (within_) {
          if (members_ > 0 && z_.total_in == 1 && first_ != 0x1f) fail(no_gzip_behind, 1);
          fail("it is cut short: it ends within its gzip data");
        }
        if (members_ == 0) fail("found an empty file, expected gzip data");
        break;
      }
      step();
    }
    return most - z_.avail_out;
  }

private:
  [[noreturn]] void fail(std::string const& why, std::size_t before = 0) const {
    throw error(from_->name() + ": " + why + ", at byte " + std::to_string(read_ - z_.avail_in - before));
  }
  bool refill() {
    std::size_t const got = from_->read(packed_.data(), packed_.size());
    read_ += got;
    z_.next_in = reinterpret_cast<Bytef*>(packed_.data());
    z_.avail_in = static_cast<uInt>(got);
    return got > 0;
  }
  void skip_zeros() {
    while ((z_.avail_in > 0 || refill()) && *z_.next_in == 0) ++z_.next_in, --z_.avail_in;
  }
  void step() {
    if (!within_) {
      inflateReset(&z_);
      first_ = *z_.next_in;
    }
    within_ = true;
    int const did = inflate(&z_, Z_NO_FLUSH);
    if (did == Z_MEM_ERROR) throw std::bad_alloc();
    if (did == Z_STREAM_END) {
      within_ = false;
      ++members_;
    } else if (did != Z_OK && did != Z_BUF_ERROR) {
      bool const begins = z_.total_out == 0 && z_.total_in <= 10;
      if (!begins) fail("its gzip data are corrupt");
      fail(members_ == 0 ? "found no gzip data, expected a file that begins with \\x1f\\x8b" : no_gzip_behind,
           z_.total_in);
    }
  }

  std::unique_ptr<stream> from_;
  std::vector<char> packed_;
  z_stream z_{};
  std::size_t read_ = 0, members_ = 0;
  bool within_ = false; // a member
  Bytef first_ = 0;     // byte of it
};

class gzip_packer : public packer {
public:
  gzip_packer() : packed_(block_bytes) {
    if (deflateInit2(&z_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, gzip_window, 8, Z_DEFAULT_STRATEGY) != Z_OK)
      throw std::bad_alloc();
  }
  gzip_packer(gzip_packer const&) = delete;
  gzip_packer& operator=(gzip_packer const&) = delete;
  ~gzip_packer() override { deflateEnd(&z_); }

private:
  bool step(std::string_view& bytes, bool end) override {
    std::size_t const size = std::min<std::size_t>(bytes.size(), std::numeric_limits<uInt>::max());
    z_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data())); // it is only read
    z_.avail_in = static_cast<uInt>(size);
    z_.next_out = reinterpret_cast<Bytef*>(packed_.data());
    z_.avail_out = static_cast<uInt>(packed_.size());
    int const did = deflate(&z_, end && size == bytes.size() ? Z_FINISH : Z_NO_FLUSH);
    bytes.remove_prefix(size - z_.avail_in);
    return end ? did != Z_STREAM_END : !bytes.empty() || z_.avail_out == 0;
  }
  std::string_view packed() const override { return {packed_.data(), packed_.size() - z_.avail_out}; }

  std::vector<char> packed_;
  z_stream z_{};
};

} // namespace

std::unique_ptr<byte_source> unpack_gzip(std::unique_ptr<stream> from) {
  return std::make_unique<gzip_source>(std::move(from));
}
std::unique_ptr<packer> pack_gzip(std::string const&) { return std::make_unique<gzip_packer>(); }

#else

namespace {
[[noreturn]] void fail(std::string const& name) {
  throw error(name + ": this kopse was built without gzip; it needs zlib, on Debian the package zlib1g-dev");
}
} // namespace

std::unique_ptr<byte_source> unpack_gzip(std::unique_ptr<stream> from) { fail(from->name()); }
std::unique_ptr<packer> pack_gzip(std::string const& path) { fail(path); }

#endif

} // namespace kopse::io
