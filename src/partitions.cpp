// SPDX-License-Identifier: BSD-3-Clause
#include "partitions.hpp"

#include <algorithm>

#include "fingerprint.hpp"
#include "input_checks.hpp"
#include "kopse/seeding.hpp"
#include "words.hpp"

namespace kopse {

namespace {

using words = reduction::words;

// Of all options that decide what partitions ask of one another.
std::uint64_t hash_of_options(index k, options const& o) {
  hasher hash;
  bool const limited = o.time_limit < std::numeric_limits<double>::infinity();
  for (index const value : {k, o.candidates, o.restarts, o.max_iter, static_cast<index>(o.empty),
                            index{o.spherical}, index{o.centroids.has_value()}, index{limited},
                            index{!o.checkpoint.file.empty()}, index{o.checkpoint.resume}})
    hash.add(static_cast<std::uint64_t>(value));
  hash.add(o.seed);
  hash.add(o.tol);
  for (char const c : resolve_init(o.init)) hash.add(std::uint64_t{static_cast<unsigned char>(c)});
  if (o.centroids) hash.add(hash_of(o.centroids->view(), 1));
  return hash.value();
}

struct card {
  index rows, cols;
  bool float32, weighted;
  std::uint64_t options;
};

card read_card(words const& from) {
  word_unpacker in(from);
  return {in.number(), in.number(), in.word() != 0, in.word() != 0, in.word()};
}

std::string differing(card const& one, card const& first) {
  auto const type = [](card const& c) { return std::string(c.float32 ? "float32" : "float64"); };
  if (one.cols != first.cols)
    return "has rows of " + std::to_string(one.cols) + " columns, expected " + std::to_string(first.cols);
  if (one.float32 != first.float32) return "has rows of " + type(one) + ", expected " + type(first);
  if (one.options != first.options) return "has other options";
  if (one.rows > 0 && first.rows > 0 && one.weighted != first.weighted)
    return one.weighted ? "has weights, expected none" : "has no weights, expected one a row";
  return "";
}

} // namespace

template <class Real>
whole_data join(point_set<Real> const& points, index k, options const& o, reduction& all) {
  if (all.parts() == 1) return {points.size(), points.offset, !points.weights.empty()};
  word_packer mine;
  mine.number(points.size()), mine.number(points.dims()), mine.word(sizeof(Real) == sizeof(float));
  mine.word(!points.weights.empty()), mine.word(hash_of_options(k, o));
  std::vector<words> const of_each = all.all(mine.words());
  std::vector<card> cards;
  cards.reserve(of_each.size());
  for (words const& one : of_each) cards.push_back(read_card(one));
  auto const with_rows = std::find_if(cards.begin(), cards.end(), [](card const& c) { return c.rows > 0; });
  card const& first = with_rows == cards.end() ? cards.front() : *with_rows;
  whole_data whole;
  for (std::size_t p = 0; p < cards.size(); ++p) {
    if (std::string const how = differing(cards[p], first); !how.empty())
      throw error(all.name(static_cast<index>(p)) + " " + how + " as in "
                  + all.name(static_cast<index>(&first - cards.data())));
    if (static_cast<index>(p) < all.part()) whole.first += cards[p].rows;
    whole.rows += cards[p].rows;
  }
  whole.weighted = first.weighted;
  return whole;
}
template whole_data join(point_set<float> const&, index, options const&, reduction&);
template whole_data join(point_set<double> const&, index, options const&, reduction&);

template <class Real>
matrix<double> rows_of_all(point_set<Real> const& points, std::span<index const> rows, reduction& all) {
  index const d = points.dims();
  matrix<double> found(std::ssize(rows), d);
  word_packer mine;
  for (index j = 0; j < std::ssize(rows); ++j) {
    index const row = rows[static_cast<std::size_t>(j)] - points.offset;
    if (row < 0 || row >= points.size()) continue;
    mine.number(j);
    mine.reals(points.rows.row(row), d);
    give_back(points.rows, row);
  }
  for (words const& one : all.all(mine.words())) {
    for (word_unpacker in(one); !in.empty();) {
      index const j = in.number();
      in.reals(found.row(j), d);
    }
  }
  return found;
}
template matrix<double> rows_of_all(point_set<float> const&, std::span<index const>, reduction&);
template matrix<double> rows_of_all(point_set<double> const&, std::span<index const>, reduction&);

double largest_of(double mine, reduction& all) {
  double largest = mine;
  for (words const& one : all.all({std::bit_cast<std::uint64_t>(mine)}))
    largest = std::max(largest, word_unpacker(one).real());
  return largest;
}

std::vector<double> scaled_by_all(std::span<double const> weights, int& exponent, reduction& all) {
  double const largest = largest_of(largest_of(weights), all);
  if (largest == 0) refuse_weights_of_zero();
  return scaled(weights, largest, exponent);
}

std::uint64_t sum_of(std::uint64_t mine, reduction& all) {
  std::uint64_t sum = 0;
  for (words const& one : all.all({mine})) sum += word_unpacker(one).word();
  return sum;
}

std::optional<std::string> that_of_first(std::optional<std::string> const& mine, reduction& all) {
  if (all.parts() == 1) return mine;
  word_packer out;
  if (mine && all.part() == 0) out.text(*mine);
  words const first = all.all(out.words()).front();
  return first.empty() ? std::nullopt : std::optional(word_unpacker(first).text());
}

} // namespace kopse
