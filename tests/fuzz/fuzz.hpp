// SPDX-License-Identifier: BSD-3-Clause
// What the fuzz targets share. Each takes bytes that libFuzzer made up, and aborts with a sentence where
// kopse does not keep a promise; crashes, leaks and hangs are found by the sanitizers and by libFuzzer
// itself. FuzzedDataProvider takes numbers from the end of the bytes, so a file's own bytes stand first in
// them.
#pragma once

#include <fuzzer/FuzzedDataProvider.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <unistd.h>

#include "kopse/io.hpp"

namespace fuzz {

inline void require(bool kept, std::string const& promise) {
  if (kept) return;
  std::fprintf(stderr, "broken promise: %s\n", promise.c_str());
  std::abort();
}

/// A folder of this process, in memory where there is one, gone with it.
class folder {
public:
  explicit folder(std::string const& name) {
    std::filesystem::path const root =
        std::filesystem::exists("/dev/shm") ? "/dev/shm" : std::filesystem::temp_directory_path();
    path_ = root / ("kopse_fuzz_" + name + "_" + std::to_string(::getpid()));
    std::filesystem::create_directories(path_);
  }
  folder(folder const&) = delete;
  folder& operator=(folder const&) = delete;
  ~folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string operator/(std::string const& name) const { return (path_ / name).string(); }
  std::filesystem::path const& path() const { return path_; }

private:
  std::filesystem::path path_;
};

inline std::string write(std::string const& path, std::string const& bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return path;
}

/// What an error says is a line of text for people, whatever is in the file.
inline void require_sentence(std::string const& message) {
  require(!message.empty(), "an error says something");
  require(kopse::printable(message, std::size_t{1} << 20) == message,
          "an error is a line of text: " + message);
}

} // namespace fuzz
