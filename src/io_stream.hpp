// SPDX-License-Identifier: BSD-3-Clause
// Bytes that come one after the other and only once: standard input, pipes, packed files.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "io_suffix.hpp"

namespace kopse::io {

class byte_source {
public:
  virtual ~byte_source() = default;
  /// At most `most` bytes; 0 only at the end.
  virtual std::size_t read(char* out, std::size_t most) = 0;
};

/// A source that one can look ahead in.
class stream {
public:
  stream(std::string name, std::unique_ptr<byte_source> from)
      : name_(std::move(name)), from_(std::move(from)) {}

  std::string const& name() const { return name_; } ///< for messages
  /// `count` bytes, fewer only at the end.
  std::size_t read(char* out, std::size_t count);
  /// Up to `count` bytes that come next; they stay. At most a few: they are kept apart.
  std::string_view peek(std::size_t count);

private:
  std::string name_, ahead_;
  std::unique_ptr<byte_source> from_;
};

/// Opens a file, or "-", to be read through and unpacked. Throws error: missing, a directory, no permission;
/// a packing that this build of the library does not know.
std::unique_ptr<stream> open_stream(std::string const& path, packing packed);

/// How what comes is packed, by its first bytes.
packing packing_of(stream& from);
/// What comes once it is unpacked.
std::unique_ptr<stream> unpack(std::unique_ptr<stream> from, packing packed);

} // namespace kopse::io
