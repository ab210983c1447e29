// SPDX-License-Identifier: BSD-3-Clause
// A file as memory, and a file without a name for rows that are too many for the memory.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace kopse::io {

/// A whole file as read-only memory; its pages come from the disk when they are read.
class mapped_file {
public:
  explicit mapped_file(std::string const& path); ///< throws error: missing, a directory, no permission
  mapped_file(std::string path, int descriptor); ///< of a file that is open, and stays so
  mapped_file(mapped_file const&) = delete;
  mapped_file& operator=(mapped_file const&) = delete;
  ~mapped_file();

  std::string const& path() const { return path_; }
  std::string_view bytes() const { return {data_, size_}; }

private:
  void map(int descriptor);

  std::string path_;
  char const* data_ = nullptr;
  std::size_t size_ = 0;
};

/// What is held in memory of rows on their way to a file, in bytes.
inline constexpr std::size_t block_on_the_way = std::size_t{1} << 22;

/// Goes away with the last that uses it, however the program ends. Throws error where it cannot be written.
class nameless_file {
public:
  nameless_file(); ///< in $TMPDIR, or where the system has its temporary files
  ~nameless_file();
  nameless_file(nameless_file const&) = delete;
  nameless_file& operator=(nameless_file const&) = delete;

  void write(std::string_view bytes);
  std::shared_ptr<mapped_file const> map() const; ///< once all is written

private:
  [[noreturn]] void fail(int code) const;

  std::string directory_;
  int descriptor_ = -1;
};

} // namespace kopse::io
