// SPDX-License-Identifier: BSD-3-Clause
// The file of a checkpoint: words of 64 bits, little end first. The first is a name with the format's number,
// the last a hash of all others. Then come what decides the result, the seconds, the best run so far, and the
// run under way. k·d numbers stand in it twice, three times with restarts; they are streamed, not copied.
#include <cmath>
#include <cstring>

#include "checkpoint.hpp"
#include "fingerprint.hpp"
#include "input_checks.hpp"
#include "io_formats.hpp"
#include "words.hpp"

namespace kopse {

namespace {

constexpr std::uint64_t first_word = 0x326b636573706f6b; // "kopseck2"

class word_writer {
public:
  explicit word_writer(io::output_file& file) : file_(file) { word(first_word); }

  void word(std::uint64_t value) {
    char bytes[8];
    for (int i = 0; i < 8; ++i) bytes[i] = static_cast<char>(value >> (8 * i) & 255);
    file_.write({bytes, sizeof bytes});
    hash_.add(value);
  }
  void number(index value) { word(static_cast<std::uint64_t>(value)); }
  void real(double value) { word(std::bit_cast<std::uint64_t>(value)); }
  void text(std::string const& value) {
    put_text(value, [this](std::uint64_t one) { word(one); });
  }
  template <class Range, class Put> void list(Range const& items, Put const& put) {
    number(static_cast<index>(items.size()));
    for (auto const& item : items) put(item);
  }
  void rows(matrix_view<double> values) {
    for (index i = 0; i < values.rows(); ++i)
      for (index j = 0; j < values.cols(); ++j) real(values(i, j));
  }
  void finish() { word(hash_.value()); }

private:
  io::output_file& file_;
  hasher hash_;
};

class word_reader {
public:
  word_reader(std::string const& path, std::string_view bytes) : path_(path), bytes_(bytes) {
    if (bytes_.size() < 8 || word_at(0) != first_word)
      throw error(path_ + ": this is no checkpoint of a fit, or one of another version of kopse");
    hasher hash;
    if (bytes_.size() % 8 != 0 || bytes_.size() < 16) damaged();
    for (std::size_t at = 0; at + 8 < bytes_.size(); at += 8) hash.add(word_at(at));
    if (word_at(bytes_.size() - 8) != hash.value()) damaged();
    bytes_.remove_suffix(8);
    bytes_.remove_prefix(8);
  }

  [[noreturn]] void damaged() const {
    throw error(path_
                + ": the checkpoint is damaged: its bytes are not what was written; without the file the fit "
                  "starts anew");
  }

  std::uint64_t word() {
    if (bytes_.empty()) damaged();
    std::uint64_t const value = word_at(0);
    bytes_.remove_prefix(8);
    return value;
  }
  index number(index least = 0, index most = std::numeric_limits<index>::max()) {
    auto const value = static_cast<index>(word());
    if (value < least || value > most) damaged();
    return value;
  }
  bool flag() { return number(0, 1) == 1; }
  double real() { return std::bit_cast<double>(word()); }
  std::string text() {
    auto const size = static_cast<std::size_t>(number(0, static_cast<index>(bytes_.size())));
    std::string value;
    for (std::size_t at = 0; at < size; at += 8) {
      std::uint64_t const packed = word();
      for (std::size_t i = 0; i < std::min<std::size_t>(8, size - at); ++i)
        value += static_cast<char>(packed >> 8 * i & 255);
    }
    return value;
  }
  /// So many items as a count says, each of at least so many words.
  template <class Item, class Get> std::vector<Item> list(index words, Get const& get) {
    index const count = number(0, static_cast<index>(bytes_.size() / 8) / words);
    std::vector<Item> items;
    items.reserve(static_cast<std::size_t>(count));
    for (index i = 0; i < count; ++i) items.push_back(get());
    return items;
  }
  matrix<double> rows(index k, index d) {
    if (static_cast<index>(bytes_.size() / 8) / d < k) damaged();
    matrix<double> values(k, d);
    for (index i = 0; i < k; ++i)
      for (index j = 0; j < d; ++j) {
        values(i, j) = real();
        if (!(std::abs(values(i, j)) <= largest_value)) damaged();
      }
    return values;
  }
  void expect_end() const {
    if (!bytes_.empty()) damaged();
  }

private:
  std::uint64_t word_at(std::size_t at) const {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < 8; ++i)
      value |= std::uint64_t{static_cast<unsigned char>(bytes_[at + i])} << 8 * i;
    return value;
  }

  std::string path_;
  std::string_view bytes_; // that are not read yet
};

void put_identity(word_writer& out, fit_identity const& of) {
  for (index const value : {of.rows, of.cols, of.clusters}) out.number(value);
  out.word(of.float32), out.word(of.weighted), out.word(of.row_hash), out.word(of.weight_hash);
  out.text(of.init);
  out.number(of.candidates), out.word(of.seed), out.word(of.start_hash);
  out.number(of.restarts), out.number(of.max_iter), out.real(of.tol);
  out.word(of.keep_empty), out.word(of.spherical);
}

fit_identity get_identity(word_reader& in) {
  fit_identity of;
  of.rows = in.number(), of.cols = in.number(), of.clusters = in.number();
  of.float32 = in.flag(), of.weighted = in.flag(), of.row_hash = in.word(), of.weight_hash = in.word();
  of.init = in.text();
  of.candidates = in.number(), of.seed = in.word(), of.start_hash = in.word();
  of.restarts = in.number(1), of.max_iter = in.number(1), of.tol = in.real();
  of.keep_empty = in.flag(), of.spherical = in.flag();
  return of;
}

void put_trace(word_writer& out, std::span<iteration_record const> trace) {
  out.list(trace, [&](iteration_record const& r) {
    out.real(r.seconds), out.number(r.work.distances), out.number(r.work.node_scores);
    for (index const count : r.work.prunes) out.number(count);
    out.number(r.labels_changed), out.real(r.largest_movement), out.real(r.inertia);
  });
}

std::vector<iteration_record> get_trace(word_reader& in) {
  constexpr auto words = static_cast<index>(6 + std::tuple_size_v<decltype(work_counters::prunes)>);
  return in.list<iteration_record>(words, [&] {
    iteration_record r;
    r.seconds = in.real(), r.work.distances = in.number(), r.work.node_scores = in.number();
    for (index& count : r.work.prunes) count = in.number();
    r.labels_changed = in.number(), r.largest_movement = in.real(), r.inertia = in.real();
    return r;
  });
}

void put_told(word_writer& out, std::vector<std::string> const& warnings,
              std::vector<algorithm_choice> const& choices) {
  out.list(warnings, [&](std::string const& text) { out.text(text); });
  out.list(choices, [&](algorithm_choice const& c) {
    out.number(c.iteration), out.text(c.algorithm), out.text(c.why);
  });
}

void get_told(word_reader& in, std::vector<std::string>& warnings, std::vector<algorithm_choice>& choices) {
  warnings = in.list<std::string>(1, [&] { return in.text(); });
  choices = in.list<algorithm_choice>(3, [&] {
    algorithm_choice c;
    c.iteration = in.number(), c.algorithm = in.text(), c.why = in.text();
    return c;
  });
}

// What a run may end with, none being -1.
constexpr auto last_reason = static_cast<index>(stop_reason::max_iter);

result get_best(word_reader& in, fit_identity const& of) {
  result best;
  best.best_restart = in.number(0, of.restarts - 1);
  best.inertia = in.real();
  best.iterations = in.number();
  best.reason = static_cast<stop_reason>(in.number(0, last_reason));
  best.empty_clusters = in.number(0, of.clusters);
  best.trace = get_trace(in);
  get_told(in, best.warnings, best.choices);
  best.centroids = in.rows(of.clusters, of.cols);
  return best;
}

void put_best(word_writer& out, result const& best) {
  out.number(best.best_restart), out.real(best.inertia), out.number(best.iterations);
  out.number(static_cast<index>(best.reason)), out.number(best.empty_clusters);
  put_trace(out, best.trace);
  put_told(out, best.warnings, best.choices);
  out.rows(best.centroids);
}

/// What differs between the fit of a file and this one: "k = 10 there, 20 here; …", or "".
class comparison {
public:
  template <class T> void add(std::string const& what, T const& there, T const& here) {
    if (there != here) say(what + " = " + shown(there) + " there, " + shown(here) + " here");
  }
  void say(std::string const& text) { text_ += (text_.empty() ? "" : "; ") + text; }
  std::string const& text() const { return text_; }

private:
  static std::string shown(std::string const& value) {
    return value.empty() ? "starting centroids" : printable(value);
  }
  static std::string shown(char const* value) { return value; }
  static std::string shown(double value) { return in_digits(value); }
  template <class Int> static std::string shown(Int value) { return std::to_string(value); }
  std::string text_;
};

std::string differences(fit_identity const& there, fit_identity const& here) {
  comparison d;
  d.add("rows", there.rows, here.rows);
  d.add("columns", there.cols, here.cols);
  auto const type = [](fit_identity const& f) { return std::string(f.float32 ? "float32" : "float64"); };
  d.add("type", type(there), type(here));
  auto const weights = [](fit_identity const& f) { return std::string(f.weighted ? "given" : "none"); };
  d.add("weights", weights(there), weights(here));
  if (d.text().empty() && there.row_hash != here.row_hash) d.say("the values of the data differ");
  if (d.text().empty() && there.weight_hash != here.weight_hash) d.say("the weights differ");
  d.add("k", there.clusters, here.clusters);
  d.add("init", there.init, here.init);
  d.add("candidates", there.candidates, here.candidates);
  d.add("seed", there.seed, here.seed);
  if (there.start_hash != here.start_hash && there.init == here.init) d.say("the starting centroids differ");
  d.add("restarts", there.restarts, here.restarts);
  d.add("tol", there.tol, here.tol);
  auto const empty = [](fit_identity const& f) { return std::string(f.keep_empty ? "keep" : "relocate"); };
  d.add("empty clusters", empty(there), empty(here));
  auto const yes = [](bool spherical) { return std::string(spherical ? "yes" : "no"); };
  d.add("spherical", yes(there.spherical), yes(here.spherical));
  // A single run may go further, or less far, than was asked for at first.
  if (here.restarts > 1) d.add("max_iter", there.max_iter, here.max_iter);
  return d.text();
}

} // namespace

void save_checkpoint(std::string const& path, fit_identity const& of, phase_seconds const& seconds,
                     result const* best, restart_state const& now, run_point const* point) {
  io::output_file file(path, io::care::of_disk);
  word_writer out(file);
  put_identity(out, of);
  out.real(seconds.tree), out.real(seconds.seed), out.real(seconds.iterate);
  out.word(best != nullptr);
  if (best != nullptr) put_best(out, *best);
  out.number(now.restart);
  out.word(point != nullptr);
  if (point != nullptr) {
    put_told(out, now.warnings, now.choices);
    out.number(point->iteration), out.word(point->relocated);
    out.number(point->ended ? static_cast<index>(*point->ended) : -1);
    put_trace(out, point->trace);
    if (point->iteration > 0) out.rows(point->assigned);
    out.rows(point->centroids);
  }
  out.finish();
  file.finish();
  file.put_in_place();
}

checkpoint read_checkpoint(std::string const& path, std::string_view bytes, fit_identity const& of) {
  word_reader in(path, bytes);
  fit_identity const there = get_identity(in);
  if (std::string const different = differences(there, of); !different.empty())
    throw error(path + ": the checkpoint is of another fit: " + different);
  checkpoint c;
  c.seconds.tree = in.real(), c.seconds.seed = in.real(), c.seconds.iterate = in.real();
  if (in.flag()) c.best = get_best(in, of);
  c.now.restart = in.number(0, of.restarts);
  c.started = in.flag();
  if (!c.best && (c.now.restart > 0 || !c.started)) in.damaged();
  if (c.now.restart == of.restarts && c.started) in.damaged();
  if (c.started) {
    get_told(in, c.now.warnings, c.now.choices);
    c.iteration = in.number(), c.relocated = in.flag();
    if (index const ended = in.number(-1, last_reason); ended >= 0) c.ended = static_cast<stop_reason>(ended);
    c.trace = get_trace(in);
    if (static_cast<index>(c.trace.size()) != c.iteration || (c.ended && c.iteration == 0)) in.damaged();
    if (c.iteration > 0) c.assigned = in.rows(of.clusters, of.cols);
    c.centroids = in.rows(of.clusters, of.cols);
  }
  in.expect_end();
  if (c.iteration > of.max_iter)
    throw error(path + ": max_iter = " + std::to_string(of.max_iter) + " here, but "
                + std::to_string(c.iteration) + " iterations are done there");
  if (c.iteration == of.max_iter && !c.ended) c.ended = stop_reason::max_iter; // of more, before
  return c;
}

} // namespace kopse
