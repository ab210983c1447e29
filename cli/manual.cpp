// SPDX-License-Identifier: BSD-3-Clause
#include "manual.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

#include "help.hpp"
#include "kopse/core.hpp"
#include "kopse/seeding.hpp"

namespace kopse::cli {
namespace {

/// Text in which roff finds nothing of its own.
std::string plain(std::string const& text) {
  std::string out;
  for (char const c : text) {
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else if (c == '\'' && (out.empty() || out.back() == '\n'))
      out += "\\(aq";
    else if (c == '.' && (out.empty() || out.back() == '\n'))
      out += "\\&.";
    else
      out += c;
  }
  return out;
}

std::vector<CLI::App*> commands_of(CLI::App& app) {
  return app.get_subcommands([](CLI::App*) { return true; });
}

std::vector<CLI::Option*> options_of(CLI::App& app, std::string const& group) {
  return app.get_options([&](CLI::Option const* o) { return o->get_group() == group && o->nonpositional(); });
}

std::string entry(CLI::Option const& option) {
  std::string names;
  for (std::string const& name : option.get_snames()) names += fmt::format("\\fB\\-{}\\fR, ", name);
  for (std::string const& name : option.get_lnames())
    names += fmt::format("\\fB{}\\fR, ", plain("--" + name));
  names.resize(names.size() - 2);
  if (option.get_type_size() != 0) names += fmt::format(" \\fI{}\\fR", option.get_type_name());
  std::string meaning = option.get_description();
  if (!option.get_default_str().empty()) meaning += fmt::format(" [{}]", option.get_default_str());
  return fmt::format(".TP\n{}\n{}\n", names, plain(meaning));
}

/// What follows the options in --help: paragraphs, and examples as they are.
std::string closing(std::string const& footer) {
  if (footer.empty()) return "";
  return fmt::format(".PP\n.nf\n{}\n.fi\n", plain(footer));
}

std::string section(CLI::App& command) {
  std::string text = fmt::format(".SS {}\n{}.\n.PP\n.B {}\n", plain("kopse " + command.get_name()),
                                 plain(command.get_description()), plain(usage_of(command)));
  for (std::string const& group : command.get_groups()) {
    std::vector<CLI::Option*> const options = options_of(command, group);
    if (group.empty() || options.empty()) continue;
    text += fmt::format(".PP\n{}:\n", plain(group));
    for (CLI::Option const* option : options) text += entry(*option);
  }
  return text + closing(command.get_footer());
}

/// The words that an option takes, where they are few.
using word_list = std::vector<std::string_view>;
std::map<std::string, word_list> const& words() {
  auto const list = [](std::span<std::string_view const> all) { return word_list(all.begin(), all.end()); };
  static std::map<std::string, word_list> const all{
      {"algorithm", list(algorithms())}, {"tree", list(trees())},      {"init", list(inits())},
      {"empty", {"relocate", "keep"}},   {"bisector", {"on", "off"}},  {"header", {"auto", "yes", "no"}},
      {"warm", {"on", "off"}},           {"silhouette", {"on", "off"}}};
  return all;
}

std::string all_names(CLI::Option const& option, std::string_view between) {
  std::vector<std::string> names;
  for (std::string const& name : option.get_snames()) names.push_back("-" + name);
  for (std::string const& name : option.get_lnames()) names.push_back("--" + name);
  return fmt::format("{}", fmt::join(names, between));
}

/// The names of all that take a value of this kind in some command.
std::string names_where(CLI::App& app, auto const& wanted) {
  std::map<std::string, int> names;
  for (CLI::App* command : commands_of(app))
    for (CLI::Option const* option : command->get_options())
      if (option->nonpositional() && option->get_items_expected_max() > 0 && wanted(*option))
        ++names[all_names(*option, "|")];
  std::vector<std::string> list;
  for (auto const& [name, count] : names) list.push_back(name);
  return fmt::format("{}", fmt::join(list, "|"));
}

} // namespace

std::string man_page(CLI::App& app) {
  std::string text =
      fmt::format(".TH KOPSE 1 \"\" \"kopse {}\" \"User Commands\"\n.SH NAME\nkopse \\- {}\n.SH SYNOPSIS\n",
                  version(), "exact k\\-means for many points and many clusters");
  for (CLI::App const* command : commands_of(app))
    text += fmt::format(".B {}\n.br\n", plain(usage_of(*command)));
  text += ".SH DESCRIPTION\nEvery algorithm gives the labels and centroids of Lloyd\\(aqs iterations, the "
          "same bits whatever "
          "the algorithm, the tree and the number of threads.\n.SH COMMANDS\n";
  for (CLI::App* command : commands_of(app)) text += section(*command);
  return text
         + ".SH EXIT STATUS\n0 done, 1 failed, 2 wrong command line, 130 interrupted, 143 ended by SIGTERM. "
           "What failed is told in "
           "one line on the "
           "standard error.\n";
}

std::string bash_completion(CLI::App& app) {
  std::vector<std::string> names;
  std::string options, cases;
  for (CLI::App* command : commands_of(app)) {
    names.push_back(command->get_name());
    std::vector<std::string> of_command;
    for (CLI::Option const* option : command->get_options())
      if (option->nonpositional()) of_command.push_back(all_names(*option, " "));
    options += fmt::format("    {}) words='{}' ;;\n", command->get_name(), fmt::join(of_command, " "));
  }
  for (auto const& [name, choices] : words())
    cases += fmt::format(
        "    {}) words='{}' ;;\n",
        names_where(app, [&wanted = name](CLI::Option const& o) { return o.check_lname(wanted); }),
        fmt::join(choices, " "));
  auto const file = [](CLI::Option const& o) { return o.get_type_name() == "FILE"; };
  auto const other = [&](CLI::Option const& o) {
    for (auto const& [name, choices] : words())
      if (o.check_lname(name)) return false;
    return !file(o);
  };
  return fmt::format(R"(# bash completion of kopse {}
_kopse() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} words=''
  COMPREPLY=()
  # --option=word is three words here.
  if [[ $word == '=' ]]; then
    word=''
  elif [[ $before == '=' ]]; then
    before=${{COMP_WORDS[COMP_CWORD - 2]}}
  fi
  if ((COMP_CWORD == 1)); then
    mapfile -t COMPREPLY < <(compgen -W '{} --help --version' -- "$word")
    return
  fi
  case $before in
{}    {}) mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    {}) return ;;
  esac
  if [[ -z $words && $word == -* ]]; then
    case ${{COMP_WORDS[1]}} in
{}    esac
  fi
  if [[ -n $words ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
  else
    mapfile -t COMPREPLY < <(compgen -f -- "$word")
  fi
}}
complete -o filenames -F _kopse kopse
)",
                     version(), fmt::join(names, " "), cases, names_where(app, file), names_where(app, other),
                     options);
}

} // namespace kopse::cli
