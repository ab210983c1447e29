// SPDX-License-Identifier: BSD-3-Clause
// The header of a .npy file, versions 1.0, 2.0 and 3.0: magic, length, and a Python dict of three entries.
#pragma once

#include <string>
#include <string_view>

#include "kopse/core.hpp"

namespace kopse::io {

struct npy_header {
  std::string descr;          ///< as written: "<f8"
  char kind = 0;              ///< f, i, u, or b
  std::size_t item_size = 0;  ///< bytes a number
  bool swapped = false;       ///< of the byte order this machine has not
  bool fortran_order = false; ///< column after column
  index rows = 0, cols = 0;   ///< (n,) is n rows of one column
  std::size_t offset = 0;     ///< where the numbers begin
};

/// Throws error for anything that is no matrix of numbers, or that is longer than the file.
npy_header read_npy_header(std::string const& path, std::string_view file);

} // namespace kopse::io
