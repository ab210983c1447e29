// SPDX-License-Identifier: BSD-3-Clause
// What reading and writing HDF5 share: handles that close themselves, the lock, and errors as sentences.
//
// The library as Debian builds it takes one thread at a time: all calls of a process stand behind one lock
// here. It prints its errors unless told not to; a host program's wish is kept for its own calls.
#pragma once

#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <hdf5.h>

namespace kopse::io {

/// The only one to call HDF5, and silently, while it lives.
class hdf5_lock {
public:
  hdf5_lock();
  ~hdf5_lock();
  hdf5_lock(hdf5_lock const&) = delete;
  hdf5_lock& operator=(hdf5_lock const&) = delete;

private:
  std::unique_lock<std::mutex> lock_;
  H5E_auto2_t print_ = nullptr;
  void* data_ = nullptr;
};

/// Whatever HDF5 has opened, closed in the end. To be used and destroyed behind the lock.
class hdf5_handle {
public:
  using closer = herr_t (*)(hid_t);
  hdf5_handle() = default;
  hdf5_handle(hid_t id, closer close) : id_(id), close_(close) {}
  hdf5_handle(hdf5_handle&& other) noexcept { *this = std::move(other); }
  hdf5_handle& operator=(hdf5_handle&& other) noexcept {
    std::swap(id_, other.id_);
    std::swap(close_, other.close_);
    return *this;
  }
  ~hdf5_handle() {
    if (good()) close_(id_);
  }
  bool good() const { return id_ >= 0 && close_ != nullptr; }
  hid_t operator*() const { return id_; }

private:
  hid_t id_ = -1;
  closer close_ = nullptr;
};

/// What HDF5 says of its last error, in brackets, or "".
std::string hdf5_reason();

/// The names of all datasets of a file or group, up to `most`.
std::vector<std::string> hdf5_datasets(hid_t group, std::size_t most);

/// Names between commas, shortened.
std::string shown_list(std::vector<std::string> const& names);

} // namespace kopse::io
