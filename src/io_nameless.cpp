// SPDX-License-Identifier: BSD-3-Clause
// Written by write(), not by way of a mapping: a disk that is full then is an error, and no signal.
#include "io_nameless.hpp"

#include <cerrno>
#include <cstdlib>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io_formats.hpp"

namespace kopse::io {

mapped_file::mapped_file(std::string const& path) : path_(path) {
  int const descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) throw error("cannot read " + path + ": " + reason(errno));
  try {
    map(descriptor);
  } catch (...) {
    ::close(descriptor);
    throw;
  }
  ::close(descriptor);
}

mapped_file::mapped_file(std::string path, int descriptor) : path_(std::move(path)) { map(descriptor); }

void mapped_file::map(int descriptor) {
  struct stat info {};
  int failed = ::fstat(descriptor, &info) != 0 ? errno : 0;
  if (!failed && S_ISREG(info.st_mode) && info.st_size > 0) {
    size_ = static_cast<std::size_t>(info.st_size);
    void* const start = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (start == MAP_FAILED)
      failed = errno;
    else
      data_ = static_cast<char const*>(start);
  }
  if (failed) throw error("cannot read " + path_ + ": " + reason(failed));
  if (S_ISDIR(info.st_mode)) throw error("cannot read " + path_ + ": it is a directory; a file was expected");
  if (!S_ISREG(info.st_mode)) {
    throw error("cannot read " + path_ + ": " + not_regular);
  }
}

mapped_file::~mapped_file() {
  if (data_) ::munmap(const_cast<char*>(data_), size_);
}

nameless_file::nameless_file() {
  char const* const named = std::getenv("TMPDIR");
  directory_ = named != nullptr && *named != '\0' ? named : "/tmp";
#if defined(O_TMPFILE)
  descriptor_ = ::open(directory_.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (descriptor_ >= 0) return;
#endif
  std::string name = directory_ + "/kopse-XXXXXX";
  descriptor_ = ::mkostemp(name.data(), O_CLOEXEC);
  if (descriptor_ < 0) fail(errno);
  ::unlink(name.c_str());
}

nameless_file::~nameless_file() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void nameless_file::write(std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t const written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(errno);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

std::shared_ptr<mapped_file const> nameless_file::map() const {
  return std::make_shared<mapped_file const>("the temporary file in " + directory_, descriptor_);
}

void nameless_file::fail(int code) const {
  throw error("the rows do not fit in the memory they may take, and cannot be kept in " + directory_ + ": "
              + reason(code) + "; TMPDIR names another folder");
}

} // namespace kopse::io
