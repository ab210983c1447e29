// SPDX-License-Identifier: BSD-3-Clause
// The manual page and the completion of words in bash, from the options that --help is made of.
#pragma once

#include <CLI/CLI.hpp>

#include <string>

namespace kopse::cli {

/// kopse(1), in the macros of man(7).
std::string man_page(CLI::App& app);

/// A script that bash sources: commands, options, their words, and files.
std::string bash_completion(CLI::App& app);

} // namespace kopse::cli
