// SPDX-License-Identifier: BSD-3-Clause
// The look of --help: groups, lines that fit a terminal, defaults in brackets; and CLI11's errors as
// sentences.
#pragma once

#include <CLI/CLI.hpp>

#include <string>

namespace kopse::cli {

class help_formatter : public CLI::Formatter {
public:
  explicit help_formatter(std::string usage);

  std::string make_help(CLI::App const* app, std::string name, CLI::AppFormatMode mode) const override;
  std::string make_usage(CLI::App const* app, std::string name) const override;
  std::string make_option(CLI::Option const* option, bool is_positional) const override;
  std::string make_subcommand(CLI::App const* command) const override;
  std::string const& usage() const { return usage_; }

private:
  std::string usage_;
};

/// How a command is called, in a line.
std::string usage_of(CLI::App const& command);

/// What is wrong with the command line, in one sentence, and where to read how it should be.
std::string sentence(CLI::App const& app, CLI::ParseError const& error);

} // namespace kopse::cli
