// SPDX-License-Identifier: BSD-3-Clause
// What the tests of files share: a directory that goes away, files made of bytes, and matrices as nested
// lists.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include <unistd.h>

#include "kopse/io.hpp"

namespace kopse::test {

using nested = std::vector<std::vector<double>>;

class directory {
public:
  directory() : path_(testing::TempDir() + "kopse_io_" + std::to_string(::getpid())) {
    std::filesystem::create_directories(path_);
  }
  ~directory() { std::filesystem::remove_all(path_); }
  std::string operator/(std::string const& name) const { return path_ + "/" + name; }
  std::string const& path() const { return path_; }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(path_), {}));
  }

private:
  std::string path_;
};

inline std::string write(std::string const& path, std::string const& bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return path;
}

inline std::string read(std::string const& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline nested rows_of(table const& values) {
  return values.visit([](auto const& view) {
    nested rows;
    for (index i = 0; i < view.rows(); ++i) rows.emplace_back(view.row(i), view.row(i) + view.cols());
    return rows;
  });
}

/// Numbers as the bytes that this machine has for them.
template <class T> std::string bytes_of(std::vector<T> const& numbers) {
  return {reinterpret_cast<char const*>(numbers.data()), numbers.size() * sizeof(T)};
}

/// Options that are the usual ones but for the rows.
inline load_options rows_only(index first, std::optional<index> last = {}) {
  load_options options;
  options.rows = {first, last};
  return options;
}

/// The bytes, with this one turned into its opposite.
inline std::string spoilt(std::string bytes, std::size_t at) {
  bytes[at] = static_cast<char>(~bytes[at]);
  return bytes;
}

/// The message of the error that loading throws, or "" if it throws none.
inline std::string load_error(std::string const& path, load_options const& options = {}) {
  try {
    load(path, options);
  } catch (error const& e) {
    return e.what();
  }
  return "";
}

} // namespace kopse::test

#define EXPECT_HAS(text, part) EXPECT_PRED_FORMAT2(testing::IsSubstring, part, text)
