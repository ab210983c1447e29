// SPDX-License-Identifier: BSD-3-Clause
// zstd by libzstd: frames one after the other, skippable ones among them. A frame that asks for a window of
// more than 128 MiB is refused, as the program zstd does unless told otherwise: it would take that before a
// byte is there.

#include "io_packing.hpp"
#include "kopse/core.hpp"

#if defined(KOPSE_WITH_ZSTD)
#include <new>
#include <vector>

#include <zstd.h>
#include <zstd_errors.h>
#endif

namespace kopse::io {

#if defined(KOPSE_WITH_ZSTD)
namespace {

class zstd_source : public byte_source {
public:
  explicit zstd_source(std::unique_ptr<stream> from)
      : from_(std::move(from)), packed_(ZSTD_DStreamInSize()), z_(ZSTD_createDStream()) {
    if (!z_) throw std::bad_alloc();
  }

  std::size_t read(char* out, std::size_t most) override {
    ZSTD_outBuffer to{out, most, 0};
    while (to.pos == 0) {
      if (in_.pos == in_.size && !full_ && !refill()) {
        if (left_ != 0) fail("it is cut short: it ends within its zstd data");
        if (read_ == 0) fail("found an empty file, expected zstd data");
        break;
      }
      step(to);
    }
    return to.pos;
  }

private:
  [[noreturn]] void fail(std::string const& why) const {
    throw error(from_->name() + ": " + why + ", at byte " + std::to_string(read_ - in_.size + in_.pos));
  }
  bool refill() {
    std::size_t const got = from_->read(packed_.data(), packed_.size());
    read_ += got;
    in_ = {packed_.data(), got, 0};
    return got > 0;
  }
  void step(ZSTD_outBuffer& to) {
    bool const first = frames_ == 0;
    left_ = ZSTD_decompressStream(z_.get(), &to, &in_);
    // There may be more of what has been read; not at the end of a frame, where a step would begin another.
    full_ = left_ != 0 && to.pos == to.size;
    if (left_ == 0) ++frames_;
    switch (ZSTD_isError(left_) ? ZSTD_getErrorCode(left_) : ZSTD_error_no_error) {
    case ZSTD_error_no_error:
      return;
    case ZSTD_error_memory_allocation:
      throw std::bad_alloc();
    case ZSTD_error_frameParameter_windowTooLarge:
      fail("its zstd data need a window of more than 128 MiB: pack it without --long or --ultra");
    case ZSTD_error_prefix_unknown:
      fail(first ? "found no zstd data, expected a file that begins with \\x28\\xb5\\x2f\\xfd"
                 : "found bytes that are no zstd data behind those that are");
    default:
      fail("its zstd data are corrupt");
    }
  }

  struct release {
    void operator()(ZSTD_DStream* z) const { ZSTD_freeDStream(z); }
  };
  std::unique_ptr<stream> from_;
  std::vector<char> packed_;
  std::unique_ptr<ZSTD_DStream, release> z_;
  ZSTD_inBuffer in_{nullptr, 0, 0};
  std::size_t read_ = 0, frames_ = 0, left_ = 0;
  bool full_ = false;
};

class zstd_packer : public packer {
public:
  zstd_packer() : packed_(ZSTD_CStreamOutSize()), z_(ZSTD_createCStream()) {
    if (!z_) throw std::bad_alloc();
    ZSTD_CCtx_setParameter(z_.get(), ZSTD_c_checksumFlag, 1);
  }

private:
  bool step(std::string_view& bytes, bool end) override {
    ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
    out_ = {packed_.data(), packed_.size(), 0};
    std::size_t const left = ZSTD_compressStream2(z_.get(), &out_, &in, end ? ZSTD_e_end : ZSTD_e_continue);
    if (ZSTD_isError(left)) throw std::bad_alloc(); // nothing else can fail
    bytes.remove_prefix(in.pos);
    return end ? left != 0 : !bytes.empty();
  }
  std::string_view packed() const override { return {packed_.data(), out_.pos}; }

  struct release {
    void operator()(ZSTD_CStream* z) const { ZSTD_freeCStream(z); }
  };
  std::vector<char> packed_;
  std::unique_ptr<ZSTD_CStream, release> z_;
  ZSTD_outBuffer out_{nullptr, 0, 0};
};

} // namespace

std::unique_ptr<byte_source> unpack_zstd(std::unique_ptr<stream> from) {
  return std::make_unique<zstd_source>(std::move(from));
}
std::unique_ptr<packer> pack_zstd(std::string const&) { return std::make_unique<zstd_packer>(); }

#else

namespace {
[[noreturn]] void fail(std::string const& name) {
  throw error(name
              + ": this kopse was built without zstd; it needs libzstd, on Debian the package libzstd-dev");
}
} // namespace

std::unique_ptr<byte_source> unpack_zstd(std::unique_ptr<stream> from) { fail(from->name()); }
std::unique_ptr<packer> pack_zstd(std::string const& path) { fail(path); }

#endif

} // namespace kopse::io
