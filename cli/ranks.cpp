// SPDX-License-Identifier: BSD-3-Clause
#include "ranks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <span>
#include <utility>

#include <sched.h>
#include <unistd.h>

#include "kopse/parallel.hpp"

namespace kopse::cli {
namespace {

using words = reduction::words;

reduction alone;
reduction* together = &alone;

/// The first of these variables that is a number, or `otherwise`.
int from_environment(std::initializer_list<char const*> variables, int otherwise) {
  for (char const* variable : variables) {
    std::string_view const text = std::getenv(variable) != nullptr ? std::getenv(variable) : "";
    int value = 0;
    if (std::from_chars(text.data(), text.data() + text.size(), value).ec == std::errc{}) return value;
  }
  return otherwise;
}

/// The same for the same text.
std::uint64_t hash_of(std::string_view text, std::uint64_t hash = 0x6b6f707365) {
  for (char const c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x9e3779b97f4a7c15;
  return hash;
}

template <class Texts> std::uint64_t hash_of_all(Texts const& texts) {
  std::uint64_t hash = 0;
  for (std::string_view const text : texts) hash = hash_of(text, hash_of("\n", hash));
  return hash;
}

/// The first rank that says something else than rank 0, or none.
std::optional<std::size_t> differing(std::vector<words> const& said) {
  auto const one = std::find_if(said.begin(), said.end(), [&](words const& w) { return w != said[0]; });
  if (one == said.end()) return {};
  return static_cast<std::size_t>(one - said.begin());
}

/// As texts of words, a letter each: there is not much of it.
words to_words(std::vector<std::string> const& texts) {
  words packed;
  for (std::string const& text : texts) {
    for (char const c : text) packed.push_back(static_cast<unsigned char>(c));
    packed.push_back(0);
  }
  return packed;
}
void add_new_texts(words const& packed, std::vector<std::string>& texts) {
  std::string text;
  for (std::uint64_t const word : packed) {
    if (word != 0) {
      text += static_cast<char>(word);
    } else if (std::string const whole = std::exchange(text, "");
               std::find(texts.begin(), texts.end(), whole) == texts.end()) {
      texts.push_back(whole);
    }
  }
}

/// Throws error, for all, where files that should be the same have other numbers of rows for others.
void expect_that_of_all(data_file const& data, index rows) {
  std::vector<words> const found = ranks().all({static_cast<std::uint64_t>(rows)});
  if (auto const p = differing(found))
    throw error(fmt::format("{}: {} finds {} rows, expected {} as {} does: all must read the same files",
                            data.name(), ranks().name(static_cast<index>(*p)), found[*p][0], found[0][0],
                            ranks().name(0)));
}

/// What is read at once is only kept where it stays on the disk.
table cut(table const& whole, row_range rows) {
  if (whole.paged) return whole.slice(rows.first, *rows.last);
  table part = whole.visit([&]<class Real>(matrix_view<Real> const& view) {
    return table(matrix<Real>(view.slice(rows.first, *rows.last)));
  });
  part.names = whole.names;
  return part;
}

/// The files must go together as those that load() reads as one: as many columns, the same names, and
/// float32 only if all are.
table file_of_rank(data_file const& data, load_options const& how, std::vector<std::string>& notes) {
  data_file mine = data;
  mine.paths = {data.paths[static_cast<std::size_t>(ranks().part())]};
  table loaded = load_part(mine, how, notes);
  std::uint64_t const names = loaded.names.empty() ? 0 : hash_of_all(loaded.names) | 1;
  bool floats = true;
  std::size_t named = data.paths.size(), at = 0;
  std::vector<words> const files =
      ranks().all({static_cast<std::uint64_t>(loaded.cols()), loaded.is_float32(), names});
  for (words const& file : files) {
    if (file[0] != files[0][0])
      throw error(fmt::format("{}: {}: found {} columns, expected {} as in {}",
                              ranks().name(static_cast<index>(at)), data.paths[at], file[0], files[0][0],
                              data.paths[0]));
    if (named < at && file[2] != 0 && file[2] != files[named][2])
      throw error(
          fmt::format("{}: {}: found other names in its header line than in {}, expected the same in the "
                      "same order",
                      ranks().name(static_cast<index>(at)), data.paths[at], data.paths[named]));
    if (file[2] != 0) named = std::min(named, at);
    floats = floats && file[1] != 0;
    ++at;
  }
  if (floats || !loaded.is_float32()) return loaded;
  loaded = table();
  load_options in_float64 = how;
  in_float64.in_float64 = true;
  std::vector<std::string> known;
  return load_part(mine, in_float64, known);
}

/// Of rows that are there without reading them; perhaps none.
table part_of_known(data_file const& data, load_options how, index rows, std::vector<std::string>& notes) {
  expect_that_of_all(data, rows);
  row_range const mine = share_of(rows, ranks().part(), ranks().parts());
  index const first = how.rows.first;
  bool const none = mine.first == *mine.last;
  how.rows = none ? row_range{first, first + 1} : row_range{first + mine.first, first + *mine.last};
  table loaded = load_part(data, how, notes);
  return none ? cut(loaded, {0, 0}) : loaded;
}

table load_rows(data_file const& data, load_options const& how, std::vector<std::string>& notes) {
  if (ranks().parts() == 1) return load_part(data, how, notes);
  bool const all_rows = how.rows.first == 0 && !how.rows.last;
  if (std::ssize(data.paths) == ranks().parts() && all_rows) return file_of_rank(data, how, notes);
  if (auto const rows = count_rows(data.paths, how)) return part_of_known(data, how, *rows, notes);
  table const whole = load_part(data, how, notes);
  expect_that_of_all(data, whole.rows());
  return cut(whole, share_of(whole.rows(), ranks().part(), ranks().parts()));
}

} // namespace

void refuse_standard_input(std::string const& path) {
  if (ranks().parts() > 1 && path == "-")
    throw usage_error("standard input is for one process: name files that each rank can read");
}

// PMIx names no size; Slurm's srun, which starts by it, does, in variables that scripts without ranks have
// too.
launch launched() {
  int const rank_of_pmix = from_environment({"PMIX_RANK"}, -1);
  int const of_step = rank_of_pmix < 0 ? 1 : from_environment({"SLURM_STEP_NUM_TASKS"}, 1);
  return {std::max(from_environment({"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}, of_step), 1),
          from_environment({"OMPI_COMM_WORLD_RANK", "PMI_RANK"}, std::max(rank_of_pmix, 0))};
}

void join(reduction& all) { together = &all; }
reduction& ranks() { return *together; }
bool speaks() { return ranks().part() == 0; }

void refuse_ranks(std::string_view command) {
  if (ranks().parts() > 1)
    throw usage_error(fmt::format("{} is for one process: start it without mpirun", command));
}

void refuse_other_arguments(int argc, char const* const* argv) {
  std::span const all(argv, static_cast<std::size_t>(argc));
  if (auto const p = differing(ranks().all({hash_of_all(all.subspan(std::min<std::size_t>(1, all.size())))})))
    throw usage_error(fmt::format("{} was started with other arguments than {}, expected the same for all",
                                  ranks().name(static_cast<index>(*p)), ranks().name(0)));
}

share load_share(data_file const& data, load_options const& how, std::vector<std::string>& notes) {
  std::vector<std::string> mine;
  share result{load_rows(data, how, mine), 0, 0, {}};
  words message = to_words(mine);
  message.insert(message.begin(), static_cast<std::uint64_t>(result.rows.rows()));
  for (words& of_one : ranks().all(message)) {
    if (std::ssize(result.per_rank) == ranks().part()) result.first = result.all;
    result.per_rank.push_back(static_cast<index>(of_one[0]));
    result.all += result.per_rank.back();
    of_one.erase(of_one.begin());
    add_new_texts(of_one, notes);
  }
  note_rows(data, result.all, notes);
  return result;
}

std::vector<double> weights_of_share(std::string const& path, load_options const& how, share const& of) {
  std::vector<double> weights = load_weights(path, how);
  if (path.empty() || ranks().parts() == 1) return weights;
  if (std::ssize(weights) != of.all)
    throw error(fmt::format("there are {} weights for {} rows; expected one a row", weights.size(), of.all));
  auto const first = weights.begin() + of.first;
  return {first, first + of.rows.rows()};
}

namespace {
constexpr index labels_on_the_way = index{1} << 18; // of all ranks together
}

double bytes_of_all_labels(share const& of) {
  if (ranks().parts() == 1 || !speaks()) return 0;
  return static_cast<double>(sizeof(label)) * static_cast<double>(of.all)
         + 3.0 * sizeof(std::uint64_t) * labels_on_the_way;
}

std::vector<label> all_labels(std::vector<label> labels, share const& of) {
  if (ranks().parts() == 1) return labels;
  index const block = std::max<index>(labels_on_the_way / ranks().parts(), 1);
  index const most = *std::max_element(of.per_rank.begin(), of.per_rank.end());
  std::vector<label> all(static_cast<std::size_t>(speaks() ? of.all : 0));
  for (index at = 0; at < most; at += block) {
    words mine;
    for (index i = at; i < std::min(at + block, of.rows.rows()); ++i)
      mine.push_back(static_cast<std::uint64_t>(labels[static_cast<std::size_t>(i)]));
    index first = at;
    std::size_t rank = 0;
    for (words const& part : ranks().all_to_first(mine)) {
      for (std::size_t i = 0; i < part.size(); ++i)
        all[static_cast<std::size_t>(first) + i] = static_cast<label>(part[i]);
      first += of.per_rank[rank++];
    }
  }
  return all;
}

double largest_of_ranks(double mine) {
  double largest = mine;
  for (words const& one : ranks().all({std::bit_cast<std::uint64_t>(mine)}))
    largest = std::max(largest, std::bit_cast<double>(one[0]));
  return largest;
}

int threads_of_rank() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  sched_getaffinity(0, sizeof cores, &cores);
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  std::uint64_t const here = hash_of({reinterpret_cast<char const*>(&cores), sizeof cores}, hash_of(host));
  std::vector<words> const all = ranks().all({here});
  auto const sharing =
      std::count_if(all.begin(), all.end(), [&](words const& one) { return one[0] == here; });
  return std::max(1, available_threads() / static_cast<int>(sharing));
}

} // namespace kopse::cli
