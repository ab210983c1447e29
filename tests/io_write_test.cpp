// SPDX-License-Identifier: BSD-3-Clause
// Writing: what is written reads back bit for bit, and a file is whole or not there.

#include <bit>
#include <cmath>
#include <csignal>
#include <limits>
#include <random>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "io_files.hpp"

namespace {
int signal_after = 0; // a signal after each call below
void strike() {
  if (signal_after != 0) std::raise(signal_after);
}
} // namespace

// In place of the system's own, for this executable.
extern "C" int renameat2(int from, char const* a, int to, char const* b, unsigned flags) noexcept {
  auto const result = static_cast<int>(::syscall(SYS_renameat2, from, a, to, b, flags));
  strike();
  return result;
}
extern "C" int open(char const* path, int flags, ...) {
  int const result = ::openat(AT_FDCWD, path, flags, 0666);
  strike();
  return result;
}

namespace kopse {
namespace {

using namespace test;

class io_write : public testing::Test {
protected:
  std::string fault(std::string const& path) {
    try {
      save(path, values);
    } catch (error const& e) {
      return e.what();
    }
    return "";
  }
  directory dir;
  matrix<double> const values = [] {
    matrix<double> m(2, 3);
    for (index j = 0; j < 3; ++j) m(0, j) = double(j) + .5, m(1, j) = -double(j);
    return m;
  }();
};

/// Files may grow to this and no further, as on a full disk.
class size_limit {
public:
  explicit size_limit(rlim_t most) : old_handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &old_);
    rlimit const now{most, old_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &now);
  }
  ~size_limit() {
    ::setrlimit(RLIMIT_FSIZE, &old_);
    std::signal(SIGXFSZ, old_handler_);
  }

private:
  rlimit old_{};
  void (*old_handler_)(int);
};

/// Numbers that are hard to write, and random bits, none of them NaN or infinite.
matrix<double> hard_numbers() {
  std::vector<double> all{
      0.0,    -0.0, 5e-324, -5e-324,           2.2250738585072014e-308, 1e308,   -1.7976931348623157e308, 0.1,
      1. / 3, 1e22, 1e23,   9007199254740993., 123456789012345680.,     2.5e-310};
  std::mt19937_64 draw(7);
  while (all.size() < 30000) {
    double const number = std::bit_cast<double>(draw());
    if (std::isfinite(number)) all.push_back(number);
  }
  matrix<double> values(10000, 3);
  std::copy(all.begin(), all.end(), values.row(0));
  return values;
}

TEST_F(io_write, doubles_come_back_bit_for_bit) {
  auto const hard = hard_numbers();
  for (auto const* name : {"a.npy", "a.csv", "a.tsv", "a.txt"}) {
    save(dir / name, hard);
    table const back = load(dir / name);
    ASSERT_TRUE(back.rows() == 10000 && back.cols() == 3 && !back.is_float32() && back.notes.empty());
    auto const view = std::get<matrix_view<double>>(back.view());
    for (index i = 0; i < hard.rows(); ++i) {
      for (index j = 0; j < 3; ++j) {
        ASSERT_EQ(std::bit_cast<std::uint64_t>(view(i, j)), std::bit_cast<std::uint64_t>(hard(i, j)))
            << name << i;
      }
    }
  }
  EXPECT_EQ(dir.files(), 4u);
}

TEST_F(io_write, text_is_short) {
  save(dir / "a.csv", values);
  EXPECT_EQ(read(dir / "a.csv"), "0.5,1.5,2.5\n-0,-1,-2\n");
  save(dir / "a.tsv", values.view().columns(1, 3));
  EXPECT_EQ(read(dir / "a.tsv"), "1.5\t2.5\n-1\t-2\n");
  std::vector<label> const labels{0, 2147483647, 7};
  save(dir / "l.txt", labels);
  EXPECT_EQ(read(dir / "l.txt"), "0\n2147483647\n7\n");
  save_text(dir / "report.json", "{}\n");
  EXPECT_EQ(read(dir / "report.json"), "{}\n");
}

TEST_F(io_write, H47_npy_is_as_numpy_wants_it) {
  std::string const order = std::endian::native == std::endian::little ? "<" : ">";
  auto const head = [](std::string const& file) { return file.substr(10, file.find('\n') - 10); };
  std::vector<label> const labels{0, 1, 70000};
  save(dir / "labels.npy", labels);
  std::string const file = read(dir / "labels.npy");
  EXPECT_EQ(file.substr(0, 8), std::string("\x93NUMPY\x01\x00", 8));
  EXPECT_TRUE(
      head(file).starts_with("{'descr': '" + order + "i4', 'fortran_order': False, 'shape': (3,), }"));
  EXPECT_EQ(file.find('\n') + 1, 128u) << "a multiple of 64";
  EXPECT_EQ(file.size(), 128u + 12);
  EXPECT_EQ(load_vector(dir / "labels.npy"), (std::vector<double>{0, 1, 70000}));

  save(dir / "m.npy", values.view().columns(1, 3)); // rows with gaps between them
  EXPECT_TRUE(head(read(dir / "m.npy"))
                  .starts_with("{'descr': '" + order + "f8', 'fortran_order': False, 'shape': (2, 2), }"));
  table const back = load(dir / "m.npy");
  EXPECT_EQ(rows_of(back), (nested{{1.5, 2.5}, {-1, -2}}));
  EXPECT_TRUE(back.mapped);
}

TEST_F(io_write, full_disk_leaves_the_old_file) {
  matrix<double> const large(100000, 3);
  std::vector<label> const labels(300000);
  for (auto const* name : {"a.npy", "a.csv"}) {
    write(dir / name, "old");
    std::string message;
    try {
      size_limit const limit(100000);
      save(dir / name, large);
    } catch (error const& e) {
      message = e.what();
    }
    EXPECT_HAS(message, "cannot write " + dir / name + ": File too large");
    {
      size_limit const limit(100000);
      EXPECT_THROW(save(dir / name, labels), error);
      EXPECT_THROW(save_text(dir / name, std::string(200000, 'x')), error);
    }
    EXPECT_EQ(read(dir / name), "old");
  }
  EXPECT_EQ(dir.files(), 2u) << "no temporary file is left";
  size_limit const limit(0);
  EXPECT_THROW(save(dir / "b.csv", values), error); // the last, buffered bytes are checked too
  EXPECT_FALSE(std::filesystem::exists(dir / "b.csv"));
}

TEST_F(io_write, devices_are_written_not_replaced) {
  save_text("/dev/null", "x");
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
  if (!std::filesystem::exists("/dev/full")) return;
  EXPECT_THROW(save_text("/dev/full", "x"), error);
  std::filesystem::create_symlink("/dev/full", dir / "full.npy");
  EXPECT_HAS(fault(dir / "full.npy"), "No space left on device");
  EXPECT_TRUE(std::filesystem::is_symlink(dir / "full.npy"));
}

TEST_F(io_write, targets_that_cannot_be) {
  EXPECT_HAS(fault(dir / "no/a.csv"),
             "cannot write " + dir / "no/a.csv" + ": the directory " + dir / "no" + " does not exist");
  std::filesystem::create_directory(dir / "d.csv");
  EXPECT_HAS(fault(dir / "d.csv"), "it is a directory");
  EXPECT_HAS(fault(write(dir / "file.txt", "") + "/a.csv"), "is not a directory");
  EXPECT_HAS(fault(dir / (std::string(252, 'n') + ".csv")), "File name too long");
  EXPECT_HAS(fault(dir / "a.dat"), "known are .csv, .tsv, .txt, .npy");
  EXPECT_THROW(save_text(dir.path() + "/", ""), error);
  EXPECT_THROW(save_text("", ""), error);
  for (auto const* name : {"no/a.csv", "d.csv", "a.dat"}) EXPECT_THROW(check_save(dir / name), error) << name;
  check_save(dir / "a.csv");
  EXPECT_EQ(dir.files(), 2u);
}

TEST_F(io_write, links_and_modes_stay) {
  save_text(dir / "real.csv", "old");
  ::chmod((dir / "real.csv").c_str(), 0640);
  std::filesystem::create_symlink("real.csv", dir / "link.csv");
  save(dir / "link.csv", values);
  EXPECT_TRUE(std::filesystem::is_symlink(dir / "link.csv"));
  EXPECT_EQ(rows_of(load(dir / "real.csv")), (nested{{.5, 1.5, 2.5}, {0, -1, -2}}));
  struct stat info {};
  ::stat((dir / "real.csv").c_str(), &info);
  EXPECT_EQ(info.st_mode & 0777, 0640u);
}

TEST_F(io_write, files_that_belong_together_appear_together) {
  for (auto const* name : {"a.csv", "b.npy", "c.json"}) write(dir / name, "old");
  auto const save_all = [&](std::size_t text_size) {
    output_files together;
    together.save(dir / "a.csv", values);
    together.save(dir / "b.npy", std::vector<label>{0, 1});
    EXPECT_EQ(read(dir / "a.csv"), "old");
    together.save_text(dir / "c.json", std::string(text_size, 'x'));
    EXPECT_EQ(dir.files(), 6u);
    together.commit();
  };
  {
    size_limit const limit(1000);
    EXPECT_THROW(save_all(5000), error);
  }
  for (auto const* name : {"a.csv", "b.npy", "c.json"}) EXPECT_EQ(read(dir / name), "old") << name;
  EXPECT_EQ(dir.files(), 3u) << "no temporary file is left";
  save_all(5);
  EXPECT_EQ(read(dir / "a.csv"), "0.5,1.5,2.5\n-0,-1,-2\n");
  EXPECT_EQ(load_vector(dir / "b.npy"), (std::vector<double>{0, 1}));
  EXPECT_EQ(read(dir / "c.json"), "xxxxx");
  EXPECT_EQ(dir.files(), 3u);
}

TEST_F(io_write, unfinished_files_can_be_removed_by_a_signal_handler) {
  // The handler runs at the moment the size limit is reached.
  static std::size_t before, after;
  static directory const* here;
  here = &dir;
  static auto const look = [](int) {
    before = here->files();
    remove_unfinished_files();
    after = here->files();
  };
  auto const old_handler = std::signal(SIGXFSZ, SIG_DFL);
  {
    output_files together;
    together.save_text(dir / "a.csv", "x");
    size_limit const limit(1000);
    std::signal(SIGXFSZ, look);
    EXPECT_THROW(together.save_text(dir / "b.csv", std::string(5000, 'x')), error);
  }
  std::signal(SIGXFSZ, old_handler);
  EXPECT_EQ(before, 2u);
  EXPECT_EQ(after, 0u);
  EXPECT_EQ(dir.files(), 0u);
}

// Where the last of several cannot be put in its place, those before it are taken back.
TEST_F(io_write, a_late_failure_brings_the_old_files_back) {
  write(dir / "a.csv", "old");
  ::chmod((dir / "a.csv").c_str(), 0640);
  {
    output_files together;
    together.save(dir / "a.csv", values);
    together.save_text(dir / "new.csv", "x");
    together.save_text(dir / "b.csv", "x");
    together.save_text(dir / "c.csv", "x");
    std::filesystem::create_directories(dir / "b.csv"); // a file cannot be renamed over it
    std::string message;
    try {
      together.commit();
    } catch (error const& e) {
      message = e.what();
    }
    EXPECT_EQ(read(dir / "a.csv"), "old");
    struct stat info {};
    ::stat((dir / "a.csv").c_str(), &info);
    EXPECT_EQ(info.st_mode & 0777, 0640u);
    EXPECT_FALSE(std::filesystem::exists(dir / "new.csv"));
    // The new ones are whole, and stay.
    auto const aside = [&](std::string const& name) {
      return dir / name + "." + std::to_string(::getpid()) + "-0.part";
    };
    EXPECT_HAS(message, "cannot write " + dir / "b.csv" + ": ");
    EXPECT_HAS(message, "; what was to be written is in " + aside("a.csv") + ", " + aside("new.csv") + ", "
                            + aside("b.csv") + ", " + aside("c.csv"));
    EXPECT_EQ(read(aside("a.csv")), "0.5,1.5,2.5\n-0,-1,-2\n");
    EXPECT_EQ(read(aside("new.csv")) + read(aside("b.csv")) + read(aside("c.csv")), "xxx");
    remove_unfinished_files(); // nor does a signal take them
  }
  EXPECT_EQ(dir.files(), 6u) << "a.csv, the directory, and four set aside";
}

// The temporary name of a long one is its own.
TEST_F(io_write, names_as_long_as_a_file_may_have) {
  for (std::size_t const length : {220, 235, 255}) {
    std::string const path = dir / (std::string(length - 4, 'n') + ".csv");
    check_save(path);
    save(path, values);
    EXPECT_EQ(read(path), "0.5,1.5,2.5\n-0,-1,-2\n");
  }
  EXPECT_EQ(dir.files(), 3u);
  EXPECT_THROW(check_save(dir / (std::string(252, 'n') + ".csv")), error) << "before the work";
}

// What the shell has opened for the program, by a link as well: written behind what is there.
TEST_F(io_write, standard_output_goes_on) {
  std::filesystem::create_symlink("/dev/stdout", dir / "out.csv");
  std::string const log = dir / "log";
  std::fflush(stdout);
  int const before = ::dup(STDOUT_FILENO), file = ::open(log.c_str(), O_WRONLY | O_CREAT, 0600);
  ASSERT_GE(::dup2(file, STDOUT_FILENO), 0);
  EXPECT_EQ(::write(STDOUT_FILENO, "before\n", 7), 7);
  std::string const problem = fault(dir / "out.csv");
  EXPECT_EQ(::write(STDOUT_FILENO, "after\n", 6), 6);
  ASSERT_GE(::dup2(before, STDOUT_FILENO), 0);
  ::close(before), ::close(file);
  EXPECT_EQ(problem, "");
  EXPECT_EQ(read(log), "before\n0.5,1.5,2.5\n-0,-1,-2\nafter\n");
  EXPECT_TRUE(std::filesystem::is_symlink(dir / "out.csv"));
}

// As the program's handler would find it at once after each rename.
TEST_F(io_write, no_signal_between_two_files_that_belong_together) {
  static std::string found;
  static directory const* here;
  found.clear(), here = &dir;
  auto const old_handler = std::signal(
      SIGUSR1, [](int) { found += read(*here / "a.csv") + read(*here / "b.csv") + read(*here / "c.csv"); });
  for (auto const* name : {"a.csv", "b.csv", "c.csv"}) write(dir / name, "old");
  output_files together;
  for (auto const* name : {"a.csv", "b.csv", "c.csv"}) together.save_text(dir / name, "new");
  signal_after = SIGUSR1;
  together.commit();
  signal_after = 0;
  std::signal(SIGUSR1, old_handler);
  EXPECT_EQ(found, "newnewnew");
  EXPECT_EQ(dir.files(), 3u);
}

TEST_F(io_write, no_signal_finds_a_file_without_a_name) {
  static std::size_t left;
  static directory const* here;
  left = 7, here = &dir;
  auto const old_handler = std::signal(SIGUSR1, [](int) {
    remove_unfinished_files();
    left = here->files();
  });
  signal_after = SIGUSR1;
  {
    output_files one;
    one.save_text(dir / "a.csv", "x");
    signal_after = 0;
  }
  std::signal(SIGUSR1, old_handler);
  EXPECT_EQ(left, 0u);
}

// A link to what is not there yet.
TEST_F(io_write, the_target_of_a_link_is_made) {
  std::filesystem::create_directory(dir / "d");
  std::filesystem::create_symlink("real.csv", dir / "d/second.csv");
  std::filesystem::create_symlink("d/second.csv", dir / "first.csv");
  save(dir / "first.csv", values);
  EXPECT_TRUE(std::filesystem::is_symlink(dir / "first.csv"));
  EXPECT_TRUE(std::filesystem::is_symlink(dir / "d/second.csv"));
  EXPECT_TRUE(std::filesystem::is_regular_file(std::filesystem::symlink_status(dir / "d/real.csv")));
  EXPECT_EQ(load(dir / "first.csv").rows(), 2);

  std::filesystem::create_symlink("gone/real.csv", dir / "nowhere.csv");
  EXPECT_HAS(fault(dir / "nowhere.csv"),
             "cannot write " + dir / "nowhere.csv" + ": the directory " + dir / "gone" + " does not exist");
  std::filesystem::create_symlink("loop.csv", dir / "loop.csv");
  EXPECT_HAS(fault(dir / "loop.csv"), "Too many levels of symbolic links");
  EXPECT_THROW(check_save_text(dir / "loop.csv"), error);
  EXPECT_TRUE(std::filesystem::is_symlink(dir / "loop.csv"));
}

} // namespace
} // namespace kopse
