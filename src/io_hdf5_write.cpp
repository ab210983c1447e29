// SPDX-License-Identifier: BSD-3-Clause
// Writing HDF5: a file of one dataset, made in memory and then written like any other, so that a full disk is
// told in the same words, and what was there before stays. Memory: the numbers once more.

#include "io_formats.hpp"

#if defined(KOPSE_WITH_HDF5)
#include <algorithm>
#include <array>

#include "io_hdf5.hpp"
#endif

namespace kopse::io {

#if defined(KOPSE_WITH_HDF5)
namespace {

[[noreturn]] void fail(std::string const& path) {
  throw error("cannot write " + path + ": HDF5 makes no such file" + hdf5_reason());
}

/// `rows` × `cols` numbers at a distance of `stride`; rank 1: the rows alone.
struct numbers {
  void const* data;
  int rank;
  index rows, cols, stride;
  hid_t in_memory, in_file;
};

void fill(std::string const& path, hid_t file, std::string const& dataset, numbers const& what) {
  std::array<hsize_t, 2> const extent{static_cast<hsize_t>(what.rows), static_cast<hsize_t>(what.cols)},
      held{extent[0], static_cast<hsize_t>(what.stride)}, start{0, 0};
  hdf5_handle const space(H5Screate_simple(what.rank, extent.data(), nullptr), H5Sclose),
      memory(H5Screate_simple(what.rank, held.data(), nullptr), H5Sclose),
      links(H5Pcreate(H5P_LINK_CREATE), H5Pclose), how(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  H5Pset_create_intermediate_group(*links, 1);
  H5Pset_obj_track_times(*how, false); // the same numbers are the same bytes
  hdf5_handle const set(H5Dcreate2(file, dataset.c_str(), what.in_file, *space, *links, *how, H5P_DEFAULT),
                        H5Dclose);
  bool const good =
      set.good() && memory.good()
      && H5Sselect_hyperslab(*memory, H5S_SELECT_SET, start.data(), nullptr, extent.data(), nullptr) >= 0
      && H5Dwrite(*set, what.in_memory, *memory, *space, H5P_DEFAULT, what.data) >= 0;
  if (!good) fail(path);
}

void put(output_file& to, std::string const& dataset, std::size_t bytes, numbers const& what) {
  hdf5_handle const access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  H5Pset_fapl_core(*access, bytes + (1 << 16), false); // in memory, which grows once, and on no disk
  hdf5_handle const file(H5Fcreate("kopse", H5F_ACC_TRUNC, H5P_DEFAULT, *access), H5Fclose);
  if (!file.good()) fail(to.path());
  fill(to.path(), *file, dataset, what);
  void* image = nullptr; // where HDF5 keeps the address of its memory
  if (H5Fflush(*file, H5F_SCOPE_GLOBAL) < 0 || H5Fget_vfd_handle(*file, *access, &image) < 0) fail(to.path());
  ssize_t const size = H5Fget_file_image(*file, nullptr, 0);
  if (image == nullptr || size <= 0) fail(to.path());
  to.write({*static_cast<char const* const*>(image), static_cast<std::size_t>(size)});
}

} // namespace

void check_hdf5_target(file_kind const& kind) {
  if (kind.dataset.empty() || kind.dataset.ends_with('/'))
    throw usage_error(kind.file + ":" + printable(kind.dataset)
                      + ": the name of a dataset was expected behind the colon");
  hdf5_lock const lock;
  if (H5Fis_hdf5(kind.file.c_str()) <= 0) return;
  hdf5_handle const file(H5Fopen(kind.file.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
  if (!file.good()) return;
  auto others = hdf5_datasets(*file, 100);
  std::erase(others, kind.dataset.substr(kind.dataset.starts_with('/') ? 1 : 0));
  if (!others.empty())
    throw error("cannot write " + kind.file
                + ": a new file would replace it and its other datasets: " + shown_list(others));
}

void put_hdf5(output_file& file, std::string const& dataset, matrix_view<double> values) {
  hdf5_lock const lock;
  put(file, dataset, static_cast<std::size_t>(values.rows() * values.cols()) * sizeof(double),
      {values.row(0), 2, values.rows(), values.cols(), values.stride(), H5T_NATIVE_DOUBLE, H5T_IEEE_F64LE});
}

void put_hdf5(output_file& file, std::string const& dataset, std::span<label const> labels) {
  hdf5_lock const lock;
  put(file, dataset, labels.size_bytes(),
      {labels.data(), 1, std::ssize(labels), 1, 1, H5T_NATIVE_INT32, H5T_STD_I32LE});
}

#else

namespace {
[[noreturn]] void fail(std::string const& path) {
  throw error("cannot write " + path
              + ": this kopse was built without HDF5; it needs libhdf5, on Debian the package "
                "libhdf5-dev");
}
} // namespace

void check_hdf5_target(file_kind const& kind) { fail(kind.file); }
void put_hdf5(output_file& file, std::string const&, matrix_view<double>) { fail(file.path()); }
void put_hdf5(output_file& file, std::string const&, std::span<label const>) { fail(file.path()); }

#endif

} // namespace kopse::io
