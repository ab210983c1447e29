// SPDX-License-Identifier: BSD-3-Clause
// The header of a .npy file, versions 1.0, 2.0 and 3.0: magic, length, and a Python dict of three entries.
#pragma once

#include <string>
#include <string_view>

#include "io_numbers.hpp"
#include "io_stream.hpp"

namespace kopse::io {

struct npy_header : number_layout {
  std::string descr; ///< as written: "<f8"
};

/// Throws error for anything that is no matrix of numbers, or that is longer than the file.
npy_header read_npy_header(std::string const& path, std::string_view file);

/// The same from what comes; the numbers come next. How many there are is not known.
npy_header read_npy_header(stream& from);

} // namespace kopse::io
