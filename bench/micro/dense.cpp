// SPDX-License-Identifier: BSD-3-Clause
// dense_kernels.hpp: what its float32 may be off by, from plain loops in double.
#include <algorithm>
#include <limits>
#include <numeric>

#include "dense_kernels.hpp"
#include "micro.hpp"

namespace kopse::micro {
namespace {

constexpr index in_a_tile = 32; // rows
constexpr index block = dense::block;
constexpr float infinite = std::numeric_limits<float>::infinity();

// Rows of a tile, seen from an origin of 0, and a block of centroids, of numbers in (0, 1).
struct tile {
  index d, stride;
  std::vector<double> points, origin;
  std::vector<double const*> rows;
  std::vector<float> x, c, half, out, least;
  std::vector<std::int32_t> own, all;
  explicit tile(index dims)
      : d(dims), stride(dense::whole_blocks(dims)), points(numbers(in_a_tile * d, 1)), origin(at(d)),
        rows(rows_of(points, d)), x(at(in_a_tile * stride)), c(numbers<float>(d * block, 2)),
        half(numbers<float>(block, 3)), out(at(block)), least(at(in_a_tile), infinite),
        own(at(in_a_tile), -1), all(at(in_a_tile)) {
    std::iota(all.begin(), all.end(), 0);
    for (index i = 0; i < in_a_tile; ++i)
      for (index j = 0; j < d; ++j) x[at(i * stride + j)] = static_cast<float>(points[at(i * d + j)]);
  }
  dense::block_view view() const { return {c.data(), half.data(), 0}; }
  double dims() const { return static_cast<double>(d); }
  // Of a row and a centroid.
  double score(index row, index i) const {
    double sum = half[at(i)];
    for (index j = 0; j < d; ++j)
      sum -= static_cast<double>(x[at(row * stride + j)]) * static_cast<double>(c[at(j * block + i)]);
    return sum;
  }
  bool near(double found, double expected) const { // half the products' sum, at most 1 each
    return std::abs(found - expected) <= dims() * (dims() + 2) * 0x1p-24;
  }
};

job time_spread(index d) {
  auto const t = std::make_shared<tile>(d);
  std::vector<float> const expected = t->x;
  auto const run = [t] { dense::spread(t->rows.data(), in_a_tile, t->d, t->origin.data(), 1, t->x.data()); };
  std::fill(t->x.begin(), t->x.end(), -1.0f);
  run();
  check(t->x == expected, "rows in float32");
  double const count = t->dims() * static_cast<double>(in_a_tile);
  return job_of(run,
                {.run = {}, .items = count, .flops = 2 * count, .bytes = 12 * count, .bound = roof::copy});
}

job time_product(index d) {
  auto const t = std::make_shared<tile>(d);
  float const *const x = t->x.data(), *const c = x + t->stride; // of two rows
  double sum = 0;
  for (index j = 0; j < d; ++j) sum += static_cast<double>(x[j]) * static_cast<double>(c[j]);
  check(t->near(dense::product(x, c, t->stride), sum), "a product");
  return job_of([t, x, c] { benchmark::DoNotOptimize(dense::product(x, c, t->stride)); },
                {.run = {}, .items = 1, .flops = 2 * t->dims(), .bytes = 8 * t->dims(), .bound = roof::read});
}

job time_scores(index d) {
  auto const t = std::make_shared<tile>(d);
  auto const run = [t] { dense::scores(t->x.data(), t->d, t->view(), t->out.data()); };
  run();
  for (index i = 0; i < block; ++i) check(t->near(t->out[at(i)], t->score(0, i)), "a score");
  double const count = static_cast<double>(block);
  return job_of(run, {.run = {},
                      .items = count,
                      .flops = 2 * t->dims() * count,
                      .bytes = 4 * (t->dims() * (count + 1) + 2 * count),
                      .bound = roof::fma_float});
}

// The first centroid is the owner of every other row, and does not count there.
job time_least_scores(index d) {
  auto const t = std::make_shared<tile>(d);
  for (index i = 0; i < in_a_tile; i += 2) t->own[at(i)] = 0;
  auto const run = [t] {
    dense::lower_least({t->x.data(), t->own.data(), t->least.data(), t->d, 1}, t->all.data(), in_a_tile,
                       t->view());
  };
  run();
  for (index row = 0; row < in_a_tile; ++row) {
    double least = infinite;
    for (index i = row % 2 == 0 ? 1 : 0; i < block; ++i) least = std::min(least, t->score(row, i));
    check(t->near(t->least[at(row)], least), "the least score");
  }
  double const pairs = static_cast<double>(in_a_tile * block);
  return job_of(run, {.run = {}, .items = pairs, .flops = 2 * t->dims() * pairs, .bound = roof::fma_float});
}

// Bounds of t groups, one in sixteen of them below the limit.
struct bounds {
  index t;
  float limit = 1.0f / 16;
  std::vector<float> lower, meters, least;
  std::vector<std::int32_t> out;
  explicit bounds(index groups)
      : t(groups), lower(numbers<float>(groups, 4)), meters(at(groups), 0.0f),
        least(numbers<float>(groups, 5)), out(at(groups + block)) {}
  double count() const { return static_cast<double>(t); }
};

job time_not_above(index groups) {
  auto const b = std::make_shared<bounds>(groups);
  std::vector<std::int32_t> expected;
  for (index g = 0; g < groups; ++g)
    if (b->lower[at(g)] <= b->limit) expected.push_back(static_cast<std::int32_t>(g));
  auto const run = [b] {
    return dense::not_above(b->lower.data(), b->meters.data(), b->t, b->limit, b->out.data());
  };
  check(run() == std::ssize(expected), "how many groups");
  check(std::equal(expected.begin(), expected.end(), b->out.begin()), "which groups");
  return job_of([run] { benchmark::DoNotOptimize(run()); },
                {.run = {}, .items = b->count(), .bytes = 8 * b->count(), .bound = roof::read});
}

// None is.
job time_any(index groups) {
  auto const b = std::make_shared<bounds>(groups);
  float& last = b->lower.back();
  last = -1;
  auto const run = [b] { return dense::any_not_above(b->lower.data(), b->meters.data(), b->t, -0.5f); };
  check(run(), "a group");
  last = 1;
  check(!run(), "no group");
  return job_of([run] { benchmark::DoNotOptimize(run()); },
                {.run = {}, .items = b->count(), .bytes = 8 * b->count(), .bound = roof::read});
}

job time_closing(index groups) {
  auto const b = std::make_shared<bounds>(groups);
  b->least[0] = infinite;
  std::vector<float> const before = b->lower;
  auto const run = [b] {
    dense::close_bounds(b->least.data(), b->t, 0.5f, b->meters.data(), b->lower.data());
  };
  run();
  check(b->lower[0] == before[0], "a bound that stays");
  for (index g = 1; g < groups; ++g) {
    double const root = std::sqrt(2 * static_cast<double>(b->least[at(g)]) + 0.5), bound = b->lower[at(g)];
    check(bound <= root && bound >= root * (1 - 0x1p-20), "a bound");
  }
  return job_of(run, {.run = {},
                      .items = b->count(),
                      .flops = 5 * b->count(),
                      .bytes = 16 * b->count(),
                      .bound = roof::copy});
}

} // namespace

void add_dense() {
  struct by_size {
    char const *name, *what;
    job (*make)(index size);
  };
  for (by_size const b :
       {by_size{"spread", "d", time_spread}, by_size{"product", "d", time_product},
        by_size{"scores", "d", time_scores}, by_size{"lower_least", "d", time_least_scores}})
    for (index const d : {20, 100, 784}) add(named(b.name, b.what, d), [=] { return b.make(d); });
  for (by_size const b : {by_size{"not_above", "t", time_not_above}, by_size{"any_not_above", "t", time_any},
                          by_size{"close_bounds", "t", time_closing}})
    for (index const t : {16, 100, 1000}) add(named(b.name, b.what, t), [=] { return b.make(t); });
}

} // namespace kopse::micro
