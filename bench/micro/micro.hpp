// SPDX-License-Identifier: BSD-3-Clause
// What the micro-benchmarks share: a kernel on its inputs, checked before it is timed, for every set of
// instructions that this processor has; and by how far it is from what the processor can do at most.
//
// Counted as arithmetic: additions, subtractions, multiplications, and a fused multiply-add as two; not
// minima, comparisons, roots and conversions. Counted as bytes: what a call reads and what it writes, once
// each. Rates are by processor time: others may use this machine, too.
#pragma once

#include <benchmark/benchmark.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "kopse/core.hpp"
#include "kopse/random.hpp"

namespace kopse::micro {

/// What a kernel is measured by: arithmetic, fused, or what goes through the first-level cache.
enum class roof { none, fma_float, fma_double, read, copy };

/// A kernel on inputs whose outputs have been checked.
struct job {
  std::function<void(index times)> run;
  double items;                ///< of one call: distances, numbers, rows
  double flops = 0, bytes = 0; ///< likewise
  roof bound = roof::none;
};

/// A job of f(), called from a loop of its own: what is between two calls is not timed.
template <class F> job job_of(F f, job what) {
  what.run = [f](index times) {
    for (index t = 0; t < times; ++t) {
      f();
      benchmark::ClobberMemory();
    }
  };
  return what;
}

/// Makes inputs, and throws wrong_output where a plain loop gives another output than the kernel.
using maker = std::function<job()>;
struct wrong_output : std::logic_error {
  using std::logic_error::logic_error;
};
inline void check(bool right, char const* what) {
  if (!right) throw wrong_output(what);
}

/// Registers a benchmark: NAME/TARGET for each set of instructions, or NAME alone, with the best.
enum class targets { each, best };
void add(std::string const& name, maker make, targets which = targets::each);

// What there is, file by file.
void add_peaks();
void add_kernels();
void add_screen();
void add_dense();
void add_parts();

inline std::size_t at(index i) { return static_cast<std::size_t>(i); }

/// `count` numbers of (0, 1).
template <class Real = double> std::vector<Real> numbers(index count, std::uint64_t seed) {
  random_stream const random(seed, 0);
  std::vector<Real> x(at(count));
  for (index i = 0; i < count; ++i)
    x[at(i)] = static_cast<Real>(
        std::ldexp(static_cast<double>(random.bits(static_cast<std::uint64_t>(i)) >> 40), -24));
  return x;
}

/// Pointers to n rows of d numbers.
template <class Real> std::vector<Real const*> rows_of(std::vector<Real> const& x, index d) {
  std::vector<Real const*> rows;
  for (std::size_t i = 0; i < x.size(); i += at(d)) rows.push_back(x.data() + i);
  return rows;
}

inline std::string named(char const* kernel, char const* what, index size) {
  return std::string(kernel) + "/" + what + ":" + std::to_string(size);
}
inline std::string named(char const* kernel, index m, index d) {
  return named(kernel, "m", m) + "/d:" + std::to_string(d);
}

} // namespace kopse::micro
