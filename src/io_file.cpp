// SPDX-License-Identifier: BSD-3-Clause
// Files written whole or not at all.
//
// Writing: bytes go to "<target>.<pid>-<number>.part" in the target's directory, and rename() puts it over
// the target after the last one, so that a reader sees the old file or the new one, never a part. Whatever
// fails on the way removes the temporary file. Its name stands in a static table for signal handlers. Of
// files that appear together the old ones take the temporary names until the last is in its place.
//
// care::of_disk: the file has no name while it is written, where the file system can do that (O_TMPFILE), so
// that nothing is left of it when the program is killed; its bytes and then its name are brought to the disk.

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io_formats.hpp"

namespace kopse {
namespace {

/// A temporary file, for signal handlers: of one that is `there` the name is whole.
struct unfinished_file {
  std::atomic<bool> taken, there;
  char name[PATH_MAX + 64];
};
constinit unfinished_file unfinished[32]{}; // more at once are written too, but a signal leaves them behind

/// Its number in the table, or -1.
int publish(std::string const& name) {
  for (unfinished_file& file : unfinished) {
    if (file.taken.exchange(true)) continue;
    file.name[name.copy(file.name, sizeof file.name - 1)] = '\0';
    file.there = true;
    return static_cast<int>(&file - unfinished);
  }
  return -1;
}

void withdraw(int number) {
  if (number < 0) return;
  unfinished[number].there = false;
  unfinished[number].taken = false;
}

std::string directory_of(std::string const& path) {
  auto const slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

[[noreturn]] void refuse(std::string const& path, std::string const& why) {
  throw error("cannot write " + path + ": " + why);
}

/// What the shell or the system has opened for the program.
bool is_given(std::string const& path) {
  for (char const* start : {"/dev/std", "/dev/fd/", "/proc/"})
    if (path.starts_with(start)) return true;
  return false;
}

/// A link's target is replaced, or made, not the link. What such a link of the system's leads to is not.
std::string follow_links(std::string const& path) {
  std::filesystem::path at = path;
  std::error_code problem;
  for (int links = 0; !is_given(at) && std::filesystem::is_symlink(at, problem); ++links) {
    if (links == 40) refuse(path, io::reason(ELOOP)); // as many as the system follows
    at = at.parent_path() / std::filesystem::read_symlink(at, problem);
  }
  return at;
}

/// Each file gets the other's name, in one step; not on every file system. A second name of the old file
/// would do too, but could not be removed again from another user's sticky directory.
bool exchange_names([[maybe_unused]] std::string const& a, [[maybe_unused]] std::string const& b) {
#if defined(RENAME_EXCHANGE)
  return ::renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE) == 0;
#else
  return false;
#endif
}

/// So that a new name is on the disk, too. Where that cannot be asked for, nothing can be done about it.
void sync_directory(std::string const& path) {
  int const descriptor = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  ::fsync(descriptor);
  ::close(descriptor);
}

/// Nothing to rename over: a device, a pipe, or what the shell gave as standard output.
bool is_stream(std::string const& target) {
  struct stat info {};
  return is_given(target) || (::stat(target.c_str(), &info) == 0 && !S_ISREG(info.st_mode));
}

/// Renaming over /dev/null would put an end to it. Standard output may be a file that others write to, too:
/// what it is open for goes on behind what is there.
int open_directly(std::string const& target) {
  int const open_already = target == "/dev/stdout"   ? STDOUT_FILENO
                           : target == "/dev/stderr" ? STDERR_FILENO
                                                     : -1;
  return open_already >= 0 ? ::fcntl(open_already, F_DUPFD_CLOEXEC, 0)
                           : ::open(target.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
}

} // namespace

void remove_unfinished_files() noexcept {
  for (unfinished_file const& file : unfinished)
    if (file.there) ::unlink(file.name);
}

namespace io {

std::string reason(int code) { return std::generic_category().message(code); }

void check_target(std::string const& path) {
  if (path.empty() || path.back() == '/') refuse(path, "a file name was expected");
  struct stat info {};
  bool const is_there = ::stat(path.c_str(), &info) == 0;
  if (!is_there && errno == ENAMETOOLONG) refuse(path, reason(errno));
  if (is_there) {
    if (S_ISDIR(info.st_mode)) refuse(path, "it is a directory");
    if (::access(path.c_str(), W_OK) != 0) refuse(path, reason(errno));
  }
  std::string const target = follow_links(path);
  if (is_stream(target)) return;
  std::string const directory = directory_of(target);
  if (::stat(directory.c_str(), &info) != 0) {
    refuse(path, errno == ENOENT ? "the directory " + directory + " does not exist"
                                 : directory + ": " + reason(errno));
  }
  if (!S_ISDIR(info.st_mode)) refuse(path, directory + " is not a directory");
  if (::access(directory.c_str(), W_OK | X_OK) != 0)
    refuse(path, "no file can be made in its directory: " + reason(errno));
}

output_file::output_file(std::string const& path, care how)
    : path_(path), care_(how), buffer_(std::size_t{1} << 18) {
  check_target(path);
  target_ = follow_links(path);
  if (is_stream(target_)) {
    descriptor_ = open_directly(std::exchange(target_, ""));
    if (descriptor_ < 0) fail(errno);
    return;
  }
  if (care_ == care::of_disk) open_nameless();
  if (descriptor_ < 0) take_name();
  struct stat old {};
  if (::stat(target_.c_str(), &old) == 0 && ::fchmod(descriptor_, old.st_mode & 07777) != 0) {
    // Some file systems know no modes: the new file then has the usual one.
  }
}

void output_file::open_nameless() {
#if defined(O_TMPFILE)
  if (::access("/proc/self/fd", X_OK) != 0) return; // by which it gets its name
  descriptor_ = ::open(directory_of(target_).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
#endif
}

/// A name beside the target: for a new file or, if there is one without a name, for that.
void output_file::take_name() {
  // A number as well as the process: a file left over, or another host's on the same disk, is stepped past.
  auto const slash = target_.rfind('/');
  std::string const name = target_.substr(slash + 1), folder = target_.substr(0, slash + 1); // npos + 1 is 0
  constexpr std::size_t added = 32;                                                          // at most
  std::string const stem =
      folder + (name.size() + added > NAME_MAX ? "kopse" : name) + "." + std::to_string(::getpid()) + "-";
  std::string const nameless = "/proc/self/fd/" + std::to_string(descriptor_);
  bool const is_new = descriptor_ < 0;
  held_signals const held; // one between open() and publish() would leave an empty file
  for (int number = 0, result = -1; result < 0; ++number) {
    temporary_ = stem + std::to_string(number) + ".part";
    if (temporary_.size() >= sizeof unfinished[0].name) fail(ENAMETOOLONG);
    result = is_new ? ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666)
                    : ::linkat(AT_FDCWD, nameless.c_str(), AT_FDCWD, temporary_.c_str(), AT_SYMLINK_FOLLOW);
    if (result < 0 && (errno != EEXIST || number == 1000)) {
      temporary_.clear(); // not ours
      fail(errno);
    }
    if (is_new) descriptor_ = result;
  }
  published_ = publish(temporary_);
}

output_file::~output_file() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (undo_ == undo::remove) ::unlink(target_.c_str());
  if (undo_ == undo::bring_back) ::rename(temporary_.c_str(), target_.c_str());
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  withdraw(published_);
}

void output_file::write(std::string_view bytes) {
  if (buffer_.size() - used_ < bytes.size()) flush();
  if (buffer_.size() < bytes.size()) return pack(bytes, false);
  bytes.copy(buffer_.data() + used_, bytes.size());
  used_ += bytes.size();
}

void output_file::flush() { pack({buffer_.data(), std::exchange(used_, 0)}, false); }

void output_file::pack(std::string_view bytes, bool end) {
  if (!packer_) return write_out(bytes.data(), bytes.size());
  packer_->put(bytes, end, [&](char const* data, std::size_t size) { write_out(data, size); });
}

void output_file::write_out(char const* data, std::size_t size) {
  while (size > 0) {
    ssize_t const written = ::write(descriptor_, data, size);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(errno);
    data += written;
    size -= static_cast<std::size_t>(written);
  }
}

void output_file::finish() {
  flush();
  pack({}, true);
  packer_.reset();
  buffer_ = {};
  if (care_ == care::of_disk) {
    if (::fsync(descriptor_) != 0 && errno != EINVAL) fail(errno); // a pipe knows no disk
    if (!target_.empty() && temporary_.empty()) take_name();
  }
  int const closed = ::close(std::exchange(descriptor_, -1)); // quotas and network disks speak up only here
  if (closed != 0 && errno != EINTR) fail(errno);
}

void output_file::put_in_place() {
  if (temporary_.empty()) return;
  if (care_ == care::of_disk) {
    if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail(errno);
    temporary_.clear();
    sync_directory(directory_of(target_));
    return;
  }
  struct stat old {};
  bool const is_new = ::lstat(target_.c_str(), &old) != 0;
  if (!is_new && S_ISREG(old.st_mode) && exchange_names(temporary_, target_)) { // a directory would go along
    undo_ = undo::bring_back;
    return;
  }
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail(errno);
  if (is_new) undo_ = undo::remove;
  set_aside_ = std::exchange(temporary_, "");
}

std::string output_file::set_aside() {
  bool const back = undo_ == undo::bring_back && exchange_names(temporary_, target_);
  bool const removed = undo_ == undo::remove && ::rename(target_.c_str(), set_aside_.c_str()) == 0;
  if (removed) temporary_ = set_aside_;
  if (back || removed) undo_ = undo::none;
  if (undo_ != undo::none || temporary_.empty()) return "";
  withdraw(std::exchange(published_, -1));
  return std::exchange(temporary_, "");
}

void output_file::fail(int code) const { refuse(path_, reason(code)); }

} // namespace io
} // namespace kopse
