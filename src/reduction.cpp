// SPDX-License-Identifier: BSD-3-Clause
// What partitions agree upon, as words. The first word of each message says whether its sender can go on.
//
// Of cluster sums the rows that are not zero travel, so an iteration in which few rows change their cluster
// is a short message.
#include "kopse/reduction.hpp"

#include <algorithm>

#include "words.hpp"

namespace kopse {

namespace {

using words = reduction::words;

[[noreturn]] void throw_as(error_code code, std::string const& what) {
  switch (code) {
  case error_code::usage:
    throw usage_error(what);
  case error_code::memory:
    throw memory_error(what);
  case error_code::interrupted:
    throw interrupted(what);
  case error_code::verification:
    throw verification_error(what);
  case error_code::input:
    break;
  }
  throw error(what);
}

void put(word_packer& out, bit_range const& range) { out.number(range.lowest), out.number(range.highest); }
bit_range get_range(word_unpacker& in) {
  bit_range range;
  range.lowest = static_cast<int>(in.number()), range.highest = static_cast<int>(in.number());
  return range;
}

words to_words(data_summary const& s) {
  word_packer out;
  out.number(s.rows);
  put(out, s.weights);
  for (bit_range const& column : s.columns) put(out, column);
  for (exact_variance const& v : s.variance) out.add(v.words());
  return out.words();
}

void add_words(data_summary& s, word_unpacker in) {
  data_summary other;
  other.rows = in.number();
  other.weights = get_range(in);
  for (std::size_t j = 0; j < s.columns.size(); ++j) other.columns.push_back(get_range(in));
  for (std::size_t j = 0; j < s.variance.size(); ++j)
    other.variance.emplace_back(in.take(exact_variance::word_count));
  s += other;
}

words to_words(far_rows const& rows) {
  word_packer out;
  for (far_row const& r : rows) {
    out.number(r.row), out.real(r.d2), out.number(r.owner), out.real(r.weight);
    out.number(static_cast<index>(r.x.size()));
    out.reals(r.x.data(), static_cast<index>(r.x.size()));
  }
  return out.words();
}

void add_words(far_rows& rows, word_unpacker in) {
  while (!in.empty()) {
    far_row r{};
    r.row = in.number(), r.d2 = in.real(), r.owner = static_cast<label>(in.number()), r.weight = in.real();
    r.x.resize(static_cast<std::size_t>(in.number()));
    in.reals(r.x.data(), static_cast<index>(r.x.size()));
    rows.push_back(std::move(r));
  }
}

words to_words(exact_sum const& sum) { return {sum.words().begin(), sum.words().end()}; }
void add_words(exact_sum& sum, word_unpacker in) { sum.add(in.take(sum.words().size())); }

std::size_t row_words(exact_sums const& sums) {
  return static_cast<std::size_t>(sums.layout().columns() * sums.layout().words);
}

words of_one_who_can_go_on(words const& mine, bool over) {
  if (over) throw error("a partition of the data has failed before");
  words message{0};
  message.insert(message.end(), mine.begin(), mine.end());
  return message;
}

data_summary none_of(data_summary const& s) {
  data_summary none;
  none.columns.resize(s.columns.size());
  none.variance.resize(s.variance.size());
  return none;
}
far_rows none_of(far_rows const&) { return {}; }
exact_sum none_of(exact_sum const&) { return {}; }

template <class T> void merge_by(reduction& all, T& mine) {
  if (all.parts() == 1) return;
  T const none = none_of(mine);
  words const whole = all.folded(to_words(mine), [&](std::vector<words> const& of_each) {
    T sum = none;
    for (words const& one : of_each) add_words(sum, word_unpacker(one));
    return to_words(sum);
  });
  mine = none;
  add_words(mine, word_unpacker(whole));
}

} // namespace

words reduction::packed(cluster_sums const& changes) {
  word_packer out;
  out.number(changes.labels_changed);
  out.number(changes.work.distances), out.number(changes.work.node_scores);
  for (index const count : changes.work.prunes) out.number(count);
  std::size_t const size = row_words(changes.sums);
  for (index j = 0; j < changes.sums.rows(); ++j) {
    if (changes.sums.is_zero(j)) continue;
    out.number(j);
    out.add(changes.sums.words().subspan(static_cast<std::size_t>(j) * size, size));
  }
  return out.words();
}

void reduction::add(cluster_sums& changes, words const& packed) {
  word_unpacker in(packed);
  changes.labels_changed += in.number();
  changes.work.distances += in.number(), changes.work.node_scores += in.number();
  for (index& count : changes.work.prunes) count += in.number();
  std::size_t const size = row_words(changes.sums);
  while (!in.empty()) {
    index const row = in.number();
    changes.sums.add(row, in.take(size));
  }
}

std::string reduction::name(index part) const {
  return "partition " + std::to_string(part) + " of " + std::to_string(parts()) + " (counted from 0)";
}

void reduction::merge(data_summary& x) { merge_by(*this, x); }
void reduction::merge(cluster_sums& x) {
  if (parts() == 1) return;
  auto const none = [&layout = x.sums.layout(), k = x.sums.rows()] { return cluster_sums(layout, k); };
  words const whole = folded(packed(x), [&](std::vector<words> const& of_each) {
    cluster_sums sum = none();
    for (words const& one : of_each) add(sum, one);
    return packed(sum);
  });
  cluster_sums sum = none();
  add(sum, whole);
  x = std::move(sum);
}
void reduction::merge(exact_sum& x) { merge_by(*this, x); }
void reduction::merge(far_rows& x) {
  merge_by(*this, x);
  std::sort(x.begin(), x.end(), farther);
}

bool reduction::any(bool here) {
  if (parts() == 1) return here;
  std::vector<words> const of_each = all({here ? std::uint64_t{1} : 0});
  return std::any_of(of_each.begin(), of_each.end(),
                     [](words const& w) { return word_unpacker(w).word() != 0; });
}

std::vector<words> reduction::all(words const& mine) {
  if (parts() == 1) return {mine};
  return checked(exchange(of_one_who_can_go_on(mine, over_)));
}

words reduction::folded(words const& mine, folding const& fold) {
  if (parts() == 1) return fold({mine});
  return fold_messages(of_one_who_can_go_on(mine, over_),
                       [&](std::vector<words> messages) { return fold(checked(std::move(messages))); });
}

std::vector<words> reduction::all_to_first(words const& mine) {
  if (parts() == 1) return {mine};
  agree();
  return hand_to_first(mine);
}

std::vector<words> reduction::hand_to_first(words const& mine) {
  std::vector<words> of_each = exchange(mine);
  if (part() != 0) of_each.clear();
  return of_each;
}

void reduction::fail(std::string const& what, error_code code) {
  if (parts() == 1 || over_) return;
  word_packer message;
  message.number(static_cast<index>(code));
  message.text(what);
  checked(exchange(message.words()));
}

// Of several failures the first that is no interruption: one partition is stopped where another has an error.
std::vector<words> reduction::checked(std::vector<words> messages) {
  struct failure {
    index part;
    error_code code;
    std::string what;
  };
  std::vector<failure> failures;
  for (std::size_t p = 0; p < messages.size(); ++p) {
    word_unpacker in(messages[p]);
    std::uint64_t const code = in.word();
    if (code != 0) failures.push_back({static_cast<index>(p), static_cast<error_code>(code), in.text()});
  }
  if (failures.empty()) {
    for (words& message : messages) message.erase(message.begin());
    return messages;
  }
  over_ = true;
  auto first = std::find_if(failures.begin(), failures.end(),
                            [](failure const& f) { return f.code != error_code::interrupted; });
  if (first == failures.end()) throw interrupted();
  bool const all_alike = std::ssize(failures) == parts()
                         && std::all_of(failures.begin(), failures.end(),
                                        [&](failure const& f) { return f.what == first->what; });
  throw_as(first->code, all_alike ? first->what : name(first->part) + ": " + first->what);
}

} // namespace kopse
