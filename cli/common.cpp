// SPDX-License-Identifier: BSD-3-Clause
// What the commands share: printing, options with numbers, checks of outputs.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "cli.hpp"
#include "help.hpp"
#include "ranks.hpp"

namespace kopse::cli {
namespace fs = std::filesystem;

void add_help_and_version(CLI::App& app, std::string const& usage) {
  app.set_help_flag("-h,--help", "Print this help and exit");
  app.set_version_flag("--version", fmt::format("kopse {}", version()), "Print the version and exit");
  app.formatter(std::make_shared<help_formatter>(usage));
}

CLI::App* add_command(CLI::App& app, std::string const& name, std::string const& description,
                      std::string const& usage) {
  CLI::App* command = app.add_subcommand(name, description);
  add_help_and_version(*command, usage);
  return command;
}

void refuse_empty_values(CLI::App& app) {
  auto const check = [](std::string const& value) {
    return std::string(value.empty() ? "a value that is not empty is expected" : "");
  };
  for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; }))
    for (CLI::Option* option : command->get_options()) option->check(check);
}

void print(std::string_view text) {
  if (!speaks()) return;
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    throw error(fmt::format("cannot write to the standard output: {}", std::strerror(errno)));
}

void complain(std::string_view text) {
  if (!speaks()) return;
  std::string const line = fmt::format("kopse: {}\n", printable(text, text.npos)); // names may have line ends
  std::fwrite(line.data(), 1, line.size(), stderr); // where stderr is closed there is nobody left to tell
}

namespace {

std::int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// "--clusters" of "-k,-c,--clusters".
std::string long_name(std::string const& names) { return names.substr(names.rfind(',') + 1); }

template <class Int>
Int whole_number(std::string_view option, std::string_view text, Int least,
                 Int most = std::numeric_limits<Int>::max()) {
  Int value{};
  auto const [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem == std::errc{} && end == text.data() + text.size() && value >= least && value <= most)
    return value;
  bool const two_bounds = most < std::numeric_limits<Int>::max() || problem == std::errc::result_out_of_range;
  throw usage_error(fmt::format("{} '{}': a whole number {} is expected", option, printable(text),
                                two_bounds ? fmt::format("from {} to {}", least, most)
                                           : fmt::format("of at least {}", least)));
}

template <class Int>
void add_whole(CLI::App& app, std::string const& names, Int& target, Int least, std::string const& help,
               Int most = std::numeric_limits<Int>::max()) {
  auto const parse = [&target, least, most, name = long_name(names)](std::string const& text) {
    target = whole_number(name, text, least, most);
  };
  auto* option = app.add_option_function<std::string>(names, parse, help)->type_name("N");
  if (target >= least) option->default_str(fmt::format("{}", target));
}

} // namespace

stopwatch::stopwatch() : start_(now()) {}
double stopwatch::seconds() const { return 1e-9 * static_cast<double>(now() - start_); }

void add_number(CLI::App& app, std::string const& names, index& target, index least, std::string const& help,
                index most) {
  add_whole(app, names, target, least, help, most);
}
void add_number(CLI::App& app, std::string const& names, int& target, int least, std::string const& help) {
  add_whole(app, names, target, least, help);
}
void add_number(CLI::App& app, std::string const& names, std::uint64_t& target, std::uint64_t least,
                std::string const& help) {
  add_whole(app, names, target, least, help);
}

void add_real(CLI::App& app, std::string const& names, double& target, double least, bool above,
              std::string const& help) {
  auto const parse = [&target, least, above, name = long_name(names)](std::string const& text) {
    auto const [end, problem] = std::from_chars(text.data(), text.data() + text.size(), target);
    bool const whole = end == text.data() + text.size(), beyond = problem == std::errc::result_out_of_range;
    if (whole && beyond && std::abs(std::strtod(text.c_str(), nullptr)) < 1)
      throw usage_error(fmt::format("{} '{}': the number is too small for a double", name, printable(text)));
    if (problem != std::errc{} || !whole || std::isinf(target) || !(above ? target > least : target >= least))
      throw usage_error(fmt::format("{} '{}': a number {} {} is expected{}", name, printable(text),
                                    above ? "above" : "of at least", least,
                                    beyond || std::isinf(target) ? ", at most 1.8e308" : ""));
  };
  app.add_option_function<std::string>(names, parse, help)
      ->type_name("X")
      ->default_str(fmt::format("{}", target));
}

void add_draws(CLI::App& app, std::uint64_t& seed, index& candidates) {
  add_number(app, "--seed", seed, std::uint64_t{0}, "Seed of the random numbers, 0 to 2^64 - 1");
  add_number(app, "--candidates", candidates, index{0},
             "k-means++, k-means||: rows drawn a centroid, of which the best is taken; 0 = 2 + ln K",
             most_draws);
}

void check_start(seeding_options const& start, bool drawn) {
  seeding_options const usual;
  using names = std::vector<std::string_view>;
  auto const check = [&](std::string_view option, bool changed, names const& users) {
    if (changed && std::find(users.begin(), users.end(), start.init) == users.end())
      throw usage_error(fmt::format("{}: without effect on --init {}; it is for {}", option, start.init,
                                    fmt::join(users, " and ")));
  };
  check("--candidates", !drawn && start.candidates != usual.candidates, {"k-means++", "k-means||"});
  check("--rounds", start.rounds != usual.rounds, {"k-means||"});
  check("--oversampling", start.oversampling != usual.oversampling, {"k-means||"});
  check("--samples", start.samples != usual.samples, {"refined"});
  check("--sample-rows", start.sample_rows != usual.sample_rows, {"refined", "coreset"});
}

void add_threads(CLI::App& app, int& target) {
  add_number(
      app, "--threads", target, 1,
      "Most threads at work, by default as many as there are cores; the result is the same for any number");
}

std::size_t choose(std::string_view option, std::string_view word, std::span<std::string_view const> words) {
  for (std::size_t i = 0; i < words.size(); ++i)
    if (words[i] == word) return i;
  throw usage_error(
      fmt::format("unknown {} '{}': expected one of {}", option, printable(word), fmt::join(words, ", ")));
}

namespace {

/// A form of the path in which two names of one file are equal, whether or not it exists yet.
fs::path same_form(std::string const& path) {
  std::error_code ignored;
  fs::path at = fs::absolute(file_of(path), ignored);
  for (int links = 0; links < 40 && fs::is_symlink(at, ignored); ++links) // to a file that is not there, too
    at = at.parent_path() / fs::read_symlink(at, ignored);
  fs::path const result = fs::weakly_canonical(at, ignored);
  return result.empty() ? fs::path(path) : result;
}

void check_output(output_file const& output) {
  auto const& known = output.suffixes;
  if (!known.empty()
      && std::find(known.begin(), known.end(), fs::path(output.path).extension().string()) == known.end())
    throw usage_error(
        fmt::format("{} {}: the name must end in {}", output.option, output.path, fmt::join(known, " or ")));
  try {
    if (known.empty())
      check_save(output.path, output.what);
    else
      check_save_text(output.path);
  } catch (usage_error const& e) {
    throw usage_error(fmt::format("{} {}", output.option, e.what()));
  } catch (error const& e) {
    throw error(fmt::format("{}: {}", output.option, e.what()));
  }
}

} // namespace

void check_outputs(std::vector<output_file> const& outputs, data_file const& data,
                   std::vector<std::pair<std::string, std::string>> const& others) {
  std::vector<std::pair<fs::path, std::string>> taken;
  std::string standard_input; // what reads it
  auto const take = [&](std::string const& path, std::string const& name) {
    if (path.empty()) return;
    taken.emplace_back(same_form(path), name);
    if (path != "-") return;
    if (!standard_input.empty())
      throw usage_error(fmt::format("{} and {} cannot both be standard input", standard_input, name));
    standard_input = name;
  };
  for (std::string const& path : data.paths) take(path, "the data " + path);
  for (auto const& [option, path] : others) take(path, fmt::format("{} {}", option, path));
  for (output_file const& output : outputs) {
    if (output.path.empty()) continue;
    fs::path const path = same_form(output.path);
    for (auto const& [other, name] : taken)
      if (other == path)
        throw usage_error(fmt::format("{} {} would overwrite {}", output.option, output.path, name));
    taken.emplace_back(path, output.option + " " + output.path);
    check_output(output);
  }
}

} // namespace kopse::cli
