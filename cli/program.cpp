// SPDX-License-Identifier: BSD-3-Clause
// kopse fit | predict | seed | choose-k | info: dispatch, exit codes, signals.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <string_view>
#include <unistd.h>

#include "cli.hpp"
#include "help.hpp"
#include "kopse/core.hpp"
#include "long_runs.hpp"
#include "manual.hpp"
#include "progress.hpp"
#include "ranks.hpp"

namespace kopse {
namespace {

/// Ends at once, in any phase, but for a fit that leaves a checkpoint first: outputs appear by renaming, so
/// only temporary files are to be cleared away.
/// Everything called here may be called in a signal handler.
extern "C" void end_by_signal(int signal) {
  if (cli::take_signal(signal)) return;
  remove_unfinished_files();
  cli::end_progress_line();
  _exit(128 + signal);
}

/// The path of the file that is mapped at an address, as the system's list of mappings has it; empty where it
/// has none. A line is "first-last rwxp offset device inode    path", with numbers to the base 16. Lives
/// until the next call.
std::string_view mapped_file(void const* address) noexcept {
  static char text[8192]; // a path is at most half of it
  int const maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  std::size_t size = 0;
  for (ssize_t more = 0; maps >= 0 && (more = read(maps, text + size, sizeof text - size)) > 0;) {
    size += static_cast<std::size_t>(more);
    char *line = text, *const all = text + size;
    for (char* end = line; (end = std::find(line, all, '\n')) != all; line = end + 1) {
      std::uintptr_t first = 0, last = 0;
      auto const dash = std::from_chars(line, end, first, 16);
      if (dash.ptr != end) std::from_chars(dash.ptr + 1, end, last, 16);
      auto const at = reinterpret_cast<std::uintptr_t>(address);
      if (at < first || at >= last) continue;
      close(maps);
      char const* const path = std::find(line, end, '/');
      return {path, static_cast<std::size_t>(end - path)};
    }
    size = static_cast<std::size_t>(all - line);
    std::memmove(text, line, size);
  }
  if (maps >= 0) close(maps);
  return {};
}

void tell(std::string_view text) noexcept {
  [[maybe_unused]] ssize_t const told = write(STDERR_FILENO, text.data(), text.size());
}

/// A page of a mapped file that cannot be had: the file was cut short, or its disk fails.
extern "C" void end_by_lost_page(int, siginfo_t* info, void*) {
  remove_unfinished_files();
  cli::end_progress_line();
  std::string_view const path = mapped_file(info->si_addr);
  tell("kopse: ");
  tell(path.empty() ? "a file" : path);
  tell(" cannot be read to its end any more: it was cut short while it was in use, or its disk fails\n");
  _exit(1);
}

void handle_signals() {
  struct sigaction action = {};
  sigemptyset(&action.sa_mask);
  sigaddset(&action.sa_mask, SIGINT);
  sigaddset(&action.sa_mask, SIGTERM);
  action.sa_handler = end_by_signal;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  action.sa_sigaction = end_by_lost_page;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGBUS, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN); // writing then fails with EPIPE, which print() reports
  std::signal(SIGXFSZ, SIG_IGN); // and with EFBIG past the limit on file sizes (ulimit -f)
}

int run(int argc, char** argv) {
  cli::refuse_other_arguments(argc, argv);
  CLI::App app{"Exact k-means for many points and many clusters.", "kopse"};
  cli::add_help_and_version(app, "kopse COMMAND [OPTIONS]");
  app.footer("kopse COMMAND --help explains a command.\n\n"
             "Exit codes: 0 done, 1 failed, 2 wrong command line, 130 interrupted, 143 ended by SIGTERM.");
  app.require_subcommand(0, 1); // another command's name may be that of a file
  cli::add_fit(app);
  cli::add_predict(app);
  cli::add_seed(app);
  cli::add_choose_k(app);
  cli::add_info(app);
  cli::refuse_empty_values(app);
  if (argc <= 1) {
    cli::print(app.help());
    return 0;
  }
  // For those who package the program, as CMakeLists.txt does: --help does not tell of them.
  std::string_view const only = argc == 2 ? argv[1] : "";
  if (only == "--man-page" || only == "--bash-completion") {
    cli::print(only == "--man-page" ? cli::man_page(app) : cli::bash_completion(app));
    return 0;
  }
  try {
    app.parse(argc, argv);
    return 0;
  } catch (CLI::CallForHelp const&) {
    cli::print(app.help());
  } catch (CLI::CallForVersion const& version_text) {
    cli::print(fmt::format("{}\n", version_text.what()));
  } catch (CLI::ParseError const& error) {
    throw usage_error(cli::sentence(app, error));
  }
  return 0;
}

} // namespace

int cli::run_program(int argc, char** argv) {
  handle_signals();
  try {
    return ranks().together([&] {
      int const code = run(argc, argv);
      ranks().any(false); // all have done what they had to, or none says so
      return code;
    });
  } catch (ended_by_signal const& end) {
    return 128 + end.signal;
  } catch (usage_error const& error) {
    complain(error.what());
    return 2;
  } catch (std::bad_alloc const&) {
    complain("not enough memory");
  } catch (std::exception const& error) {
    complain(error.what());
  }
  return 1;
}

} // namespace kopse
