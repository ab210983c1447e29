// SPDX-License-Identifier: BSD-3-Clause
// kopse fit | predict | seed | choose-k | info: dispatch, exit codes, signals.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <csignal>
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

/// A page of a mapped file that cannot be had: the file was cut short, or its disk fails.
extern "C" void end_by_lost_page(int) {
  static constexpr std::string_view text = "kopse: a file cannot be read to its end any more: it was cut "
                                           "short while it was in use, or its disk fails\n";
  remove_unfinished_files();
  cli::end_progress_line();
  [[maybe_unused]] ssize_t const told = write(STDERR_FILENO, text.data(), text.size());
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
  action.sa_handler = end_by_lost_page;
  sigaction(SIGBUS, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN); // writing then fails with EPIPE, which print() reports
  std::signal(SIGXFSZ, SIG_IGN); // and with EFBIG past the limit on file sizes (ulimit -f)
}

int run(int argc, char** argv) {
  CLI::App app{"Exact k-means for many points and many clusters.", "kopse"};
  cli::add_help_and_version(app, "kopse COMMAND [OPTIONS]");
  app.footer("kopse COMMAND --help explains a command.\n\n"
             "Exit codes: 0 done, 1 failed, 2 wrong command line, 130 interrupted.");
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
    cli::complain(cli::sentence(app, error));
    return 2;
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
