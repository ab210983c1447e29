// SPDX-License-Identifier: BSD-3-Clause
// What a file's name says: its format, how it is packed, and what of it is meant.
#pragma once

#include <string>
#include <string_view>

namespace kopse::io {

enum class format { npy, csv, tsv, txt, fvecs, bvecs, ivecs, hdf5 };
enum class packing { none, gzip, zstd };

struct file_kind {
  format what = format::txt;
  packing packed = packing::none;
  std::string file;    ///< the path, but for HDF5 without its dataset
  std::string dataset; ///< of HDF5; what stands behind "FILE.h5:"
};

/// By the suffix of `path`, or by `named` ("csv.gz") where that is not empty. Throws usage_error that lists
/// those that are known.
file_kind kind_of(std::string const& path, std::string const& named = "",
                  std::string_view known = ".csv, .tsv, .txt, .npy, .fvecs, .bvecs and .ivecs");

/// Where "FILE.h5:DATASET" has its colon; npos if it is no such path.
std::size_t dataset_colon(std::string const& path, std::string const& named = "");

/// By the last suffix alone.
packing packing_of_name(std::string const& path);

/// Numbers as text.
bool is_text(format what);

/// Standard input, or what the shell has opened for the program: to be read from its beginning to its end.
bool is_stream_name(std::string_view path);

/// The path, for messages.
std::string shown_name(std::string const& path);

} // namespace kopse::io
