// SPDX-License-Identifier: BSD-3-Clause
// CLI11 lays out and words what it prints for programmers; here it is done for the users of this program.
#include "help.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kopse/io.hpp"

namespace kopse::cli {
namespace {

constexpr std::size_t names_width = 32, line_width = 80;

/// Names on the left, what they mean on the right, in as many lines as it takes.
std::string entry(std::string const& names, std::string const& meaning) {
  std::string out, line = "  " + names;
  if (line.size() + 2 > names_width) {
    out += line + "\n";
    line.clear();
  }
  line.resize(names_width, ' ');
  for (std::size_t at = 0; at < meaning.size();) {
    std::size_t const end = std::min(meaning.find(' ', at), meaning.size());
    if (line.size() + end - at > line_width && line.size() > names_width) {
      out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
      line.assign(names_width, ' ');
    }
    line += meaning.substr(at, end - at) + " ";
    at = end + 1;
  }
  return out + line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
}

} // namespace

help_formatter::help_formatter(std::string usage) : usage_(std::move(usage)) {}

std::string help_formatter::make_help(CLI::App const* app, std::string name, CLI::AppFormatMode mode) const {
  std::string text = CLI::Formatter::make_help(app, name, mode);
  for (std::size_t at; (at = text.find("\n\n\n")) != std::string::npos;) text.erase(at, 1);
  return text;
}

std::string help_formatter::make_usage(CLI::App const*, std::string) const {
  return fmt::format("\nUsage: {}\n", usage_);
}

std::string help_formatter::make_option(CLI::Option const* option, bool is_positional) const {
  if (is_positional) return entry(option->get_name(true), option->get_description());
  std::string names = option->get_name(false, true);
  for (std::size_t at = 0; (at = names.find(',', at)) != std::string::npos; at += 2)
    names.insert(at + 1, " ");
  if (option->get_type_size() != 0) names += " " + option->get_type_name();
  std::string meaning = option->get_description();
  if (!option->get_default_str().empty()) meaning += fmt::format(" [{}]", option->get_default_str());
  return entry(names, meaning);
}

std::string help_formatter::make_subcommand(CLI::App const* command) const {
  return entry(command->get_name(), command->get_description());
}

std::string usage_of(CLI::App const& command) {
  return dynamic_cast<help_formatter const&>(*command.get_formatter()).usage();
}

std::string sentence(CLI::App const& app, CLI::ParseError const& error) {
  auto const chosen = app.get_subcommands();
  std::string const command = chosen.empty() ? "kopse" : "kopse " + chosen.front()->get_name();
  std::string text = error.what();
  std::string const rest = text.substr(std::min(text.size(), text.find(": ") + 2));
  if (dynamic_cast<CLI::ExtrasError const*>(&error) != nullptr) {
    std::vector<std::string> names;
    for (CLI::App const* known : app.get_subcommands([](CLI::App const*) { return true; }))
      names.push_back(known->get_name());
    std::string first = app.remaining(true).front(); // what follows may be its value
    if (first.starts_with("--")) first.resize(std::min(first.size(), first.find('=')));
    text = chosen.empty() && !first.starts_with('-') ? fmt::format("unknown command '{}': expected one of {}",
                                                                   printable(first), fmt::join(names, ", "))
                                                     : fmt::format("{} was not expected", printable(first));
  } else if (dynamic_cast<CLI::ConversionError const*>(&error) != nullptr) {
    text = rest.substr(0, rest.find(" = ")) + " takes no value"; // all that are converted are flags
  } else if (dynamic_cast<CLI::ArgumentMismatch const*>(&error) != nullptr) {
    std::string const option = text.substr(0, text.find(':'));
    text = option
           + (rest.find("received") != std::string::npos ? " was given more than once" : " needs a value");
  }
  return fmt::format("{} (see {} --help)", text, command);
}

} // namespace kopse::cli
