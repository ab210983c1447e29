// SPDX-License-Identifier: BSD-3-Clause
// gzip and zstd. Without zlib or libzstd each function throws an error that says what is missing.
#pragma once

#include <memory>
#include <string_view>

#include "io_stream.hpp"

namespace kopse::io {

/// What is packed in `from`: any number of gzip members, or zstd frames, one after the other. Throws error,
/// naming the byte, for what is corrupt, cut short or followed by something else.
std::unique_ptr<byte_source> unpack_gzip(std::unique_ptr<stream> from);
std::unique_ptr<byte_source> unpack_zstd(std::unique_ptr<stream> from);

/// Packs bytes for a file.
class packer {
public:
  virtual ~packer() = default;
  /// Packs `bytes`, and at the end what is left; hands on what comes of it by write(data, size).
  template <class Write> void put(std::string_view bytes, bool end, Write const& write) {
    for (bool more = true; more;) {
      more = step(bytes, end);
      if (!packed().empty()) write(packed().data(), packed().size());
    }
  }

private:
  /// Packs some of `bytes`, which it takes off their front; false: that was all.
  virtual bool step(std::string_view& bytes, bool end) = 0;
  virtual std::string_view packed() const = 0; ///< by the last step
};

/// None for packing::none.
std::unique_ptr<packer> make_packer(std::string const& path, packing packed);
std::unique_ptr<packer> pack_gzip(std::string const& path);
std::unique_ptr<packer> pack_zstd(std::string const& path);

} // namespace kopse::io
