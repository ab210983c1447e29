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

// Bounds of some rows and t groups, one in sixteen of them below the limit.
struct bounds {
  static constexpr index rows = 16;
  index t, stride;
  std::vector<float> lower, meters, least, upper;
  std::vector<std::int32_t> out, slots, asked, opened;
  std::vector<index> row;
  explicit bounds(index groups)
      : t(groups), stride(dense::whole_groups(groups)), lower(numbers<float>(rows * stride, 4)),
        meters(at(stride), 0.0f), least(numbers<float>(stride, 5)), upper(at(rows), 1.0f / 16), out(at(rows)),
        slots(at(groups * dense::most_rows)), asked(at(groups)), opened(at(rows)), row(at(rows)) {
    std::iota(row.begin(), row.end(), 0);
  }
  dense::bounds_view view() { return {lower.data(), meters.data(), meters.data(), t}; }
  double count() const { return static_cast<double>(rows * t); }
};

// None is left.
job time_sift(index groups) {
  auto const b = std::make_shared<bounds>(groups);
  std::fill(b->upper.begin(), b->upper.end(), -0.5f);
  auto const run = [b] { return dense::sift(b->view(), 0, bounds::rows, b->upper.data(), b->out.data()); };
  float& last = b->lower[at(2 * b->stride + groups - 1)];
  last = -1;
  check(run() == 1 && b->out[0] == 2, "the row that is left");
  last = 1;
  check(run() == 0, "no row");
  return job_of([run] { benchmark::DoNotOptimize(run()); },
                {.run = {}, .items = b->count(), .bytes = 8 * b->count(), .bound = roof::read});
}

job time_ask(index groups) {
  auto const b = std::make_shared<bounds>(groups);
  auto const run = [b] {
    std::fill(b->asked.begin(), b->asked.end(), 0);
    dense::ask(b->view(), bounds::rows, b->row.data(), b->upper.data(),
               {b->slots.data(), b->asked.data(), b->opened.data()});
  };
  run();
  for (index g = 0; g < groups; ++g) {
    std::int32_t const* slot = b->slots.data() + g * dense::most_rows;
    for (std::int32_t i = 0; i < bounds::rows; ++i)
      if (b->lower[at(i * b->stride + g)] <= dense::limit_of(b->upper[at(i)]))
        check(*slot++ == i, "a row that asks");
    check(slot - (b->slots.data() + g * dense::most_rows) == b->asked[at(g)], "how many ask");
  }
  return job_of(run, {.run = {}, .items = b->count(), .bytes = 8 * b->count(), .bound = roof::read});
}

job time_closing(index groups) {
  auto const b = std::make_shared<bounds>(groups);
  b->least[0] = infinite;
  std::vector<float> const before = b->lower;
  auto const run = [b] { dense::close_bounds(b->view(), 0, b->least.data(), 0.5f); };
  run();
  check(b->lower[0] == before[0], "a bound that stays");
  for (index g = 1; g < groups; ++g) {
    double const root = std::sqrt(2 * static_cast<double>(b->least[at(g)]) + 0.5), bound = b->lower[at(g)];
    check(bound <= root && bound >= root * (1 - 0x1p-20), "a bound");
  }
  double const count = static_cast<double>(groups);
  return job_of(run,
                {.run = {}, .items = count, .flops = 5 * count, .bytes = 16 * count, .bound = roof::copy});
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
  for (by_size const b : {by_size{"sift", "t", time_sift}, by_size{"ask", "t", time_ask},
                          by_size{"close_bounds", "t", time_closing}})
    for (index const t : {16, 100, 1000}) add(named(b.name, b.what, t), [=] { return b.make(t); });
}

} // namespace kopse::micro
