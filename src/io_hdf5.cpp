// SPDX-License-Identifier: BSD-3-Clause
// HDF5: the lock, errors, and what is in a file.

#if defined(KOPSE_WITH_HDF5)
#include "io_hdf5.hpp"

#include <algorithm>

#include "kopse/io.hpp"

namespace kopse::io {
namespace {

std::mutex& only_one() {
  static std::mutex guard;
  return guard;
}

struct dataset_list {
  std::vector<std::string> names;
  std::size_t most;
};

#if H5_VERSION_GE(1, 12, 0)
using object_info = H5O_info1_t;
#else
using object_info = H5O_info_t;
#endif

extern "C" herr_t add_dataset(hid_t, char const* name, object_info const* info, void* to) {
  auto& list = *static_cast<dataset_list*>(to);
  try {
    if (info->type == H5O_TYPE_DATASET) list.names.emplace_back(name);
  } catch (...) {
    return -1; // nothing is thrown through C
  }
  return list.names.size() >= list.most ? 1 : 0; // 1 ends the walk
}

extern "C" herr_t take_first(unsigned number, H5E_error2_t const* what, void* to) {
  if (number != 0 || what->desc == nullptr) return 0;
  try {
    *static_cast<std::string*>(to) = what->desc;
  } catch (...) {
    return -1;
  }
  return 0;
}

} // namespace

hdf5_lock::hdf5_lock() : lock_(only_one()) {
  H5open();
  H5Eget_auto2(H5E_DEFAULT, &print_, &data_);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

hdf5_lock::~hdf5_lock() { H5Eset_auto2(H5E_DEFAULT, print_, data_); }

std::string hdf5_reason() {
  std::string innermost;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, take_first, &innermost);
  return innermost.empty() ? "" : " (HDF5: " + printable(innermost, 160) + ")";
}

std::vector<std::string> hdf5_datasets(hid_t group, std::size_t most) {
  dataset_list list{{}, most};
#if H5_VERSION_GE(1, 12, 0)
  H5Ovisit1(group, H5_INDEX_NAME, H5_ITER_INC, add_dataset, &list);
#else
  H5Ovisit(group, H5_INDEX_NAME, H5_ITER_INC, add_dataset, &list);
#endif
  return list.names;
}

std::string shown_list(std::vector<std::string> const& names) {
  std::string all;
  for (std::size_t i = 0; i < std::min<std::size_t>(names.size(), 10); ++i)
    all += (i > 0 ? ", " : "") + printable(names[i], 60);
  return all + (names.size() > 10 ? ", ..." : "");
}

} // namespace kopse::io
#endif
