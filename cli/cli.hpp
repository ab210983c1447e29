// SPDX-License-Identifier: BSD-3-Clause
// The parts of the program: one function a command, and the few things all commands share.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kopse/io.hpp"
#include "kopse/seeding.hpp"

namespace CLI {
class App;
}

namespace kopse::cli {

/// All of the program: its exit code, once everything is told.
int run_program(int argc, char** argv);

void add_fit(CLI::App& app);
void add_predict(CLI::App& app);
void add_info(CLI::App& app);
void add_seed(CLI::App& app);
void add_choose_k(CLI::App& app);

/// A command with what each has: --help, --version.
CLI::App* add_command(CLI::App& app, std::string const& name, std::string const& description,
                      std::string const& usage);
void add_help_and_version(CLI::App& app, std::string const& usage);
/// Once all commands are there: '' means not given to them, and a user who gives it would not be told.
void refuse_empty_values(CLI::App& app);

/// Writes to stdout at once and throws error where that fails (a full disk, a closed pipe).
void print(std::string_view text);
/// One line on stderr, `kopse: …`.
void complain(std::string_view text);

/// Seconds since it was made.
class stopwatch {
public:
  stopwatch();
  double seconds() const;

private:
  std::int64_t start_;
};

/// Data files and how to read them: DATA, --columns, --rows, --format, --raw, --header, --delimiter.
struct data_file {
  std::vector<std::string> paths;
  std::string columns, rows, format, raw, header = "auto", delimiter;
  load_options options() const;
  std::string name() const; ///< of the first, and how many more there are
};
void add_data_file(CLI::App& app, data_file& data);

/// Reads them as one. Adds what was decided, to be told on stderr once the line of progress is gone.
table load_data(data_file const& data, load_options const& how, std::vector<std::string>& notes);
/// The same without a note of how many rows there are in all: for load_share().
table load_part(data_file const& data, load_options const& how, std::vector<std::string>& notes);
void note_rows(data_file const& data, index rows, std::vector<std::string>& notes);
/// Of the rows that `how` keeps; none where no file was given.
std::vector<double> load_weights(std::string const& path, load_options const& how);
/// Its rows divided by their lengths, in double; names and notes as before. `offset`: the number of the
/// first.
table of_unit_length(std::string const& path, table const& loaded, int threads,
                     double memory = std::numeric_limits<double>::infinity(), index offset = 0);
/// A file of centroids, in double whatever is in it.
matrix<double> load_centroids(std::string const& path, std::vector<std::string>& notes);

/// Options for whole numbers in decimal digits, of at least `least`. CLI11 alone would read 010 as 8 and wrap
/// -1 around.
void add_number(CLI::App& app, std::string const& names, index& target, index least, std::string const& help,
                index most = std::numeric_limits<index>::max());
void add_number(CLI::App& app, std::string const& names, int& target, int least, std::string const& help);
void add_number(CLI::App& app, std::string const& names, std::uint64_t& target, std::uint64_t least,
                std::string const& help);

/// A number of at least `least` (above it, if `above`), not infinite.
void add_real(CLI::App& app, std::string const& names, double& target, double least, bool above,
              std::string const& help);

/// --seed and --candidates.
void add_draws(CLI::App& app, std::uint64_t& seed, index& candidates);
/// Refuses what has no effect on `start.init`, unless it has the value that it has anyway. `drawn`: whether
/// k-means++ draws other centroids beside.
void check_start(seeding_options const& start, bool drawn = false);

/// --threads; 0, where it is not given, means all.
void add_threads(CLI::App& app, int& target);

/// One of a few words: throws usage_error that lists them.
std::size_t choose(std::string_view option, std::string_view word, std::span<std::string_view const> words);

/// An output the command line asks for: which option, which file, which suffixes it may have; where none are
/// named, those of rows or labels.
struct output_file {
  std::string option, path;
  std::vector<std::string_view> suffixes = {};
  content what = content::rows;
};
/// Finds before the work starts what would fail after it: unknown suffixes, folders that are missing or may
/// not be written to, two outputs in one file, an output over one of the inputs: the data and others (option,
/// path). Two inputs cannot be standard input.
void check_outputs(std::vector<output_file> const& outputs, data_file const& data,
                   std::vector<std::pair<std::string, std::string>> const& others = {});

} // namespace kopse::cli
