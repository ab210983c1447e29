// SPDX-License-Identifier: BSD-3-Clause
// What an iteration of several ranks is made of, rank by rank: its own work, waiting for the slowest, and the
// exchange; and how many bytes that sends. For docs/distributed.md, by bench/ranks/ranks.py:
//
//   mpirun -n 4 kopse_ranks ROWS.npy K ITERATIONS ALGORITHM THREADS SEED LATENCY [ROWS_A_RANK]
//
// LATENCY seconds are slept for each message that a rank waits for, in place of a slow network. Prints a JSON
// object an iteration: lists by rank. Starts are rows of the data, the same for any number of ranks.
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "kopse/io.hpp"
#include "kopse/kopse.hpp"
#include "kopse/mpi.hpp"

namespace {

using kopse::index;
using clock_type = std::chrono::steady_clock;

double since(clock_type::time_point start) {
  return std::chrono::duration<double>(clock_type::now() - start).count();
}

struct phases {
  double work, wait, exchange;
  std::uint64_t bytes;
};

class timed_ranks final : public kopse::mpi_reduction {
public:
  explicit timed_ranks(double latency) : latency_(latency) {}

  using mpi_reduction::merge;
  void merge(kopse::cluster_sums& changes) override {
    phases p{};
    p.work = since(before_);
    auto const arrived = clock_type::now();
    MPI_Barrier(MPI_COMM_WORLD);
    p.wait = since(arrived);
    auto const all = clock_type::now();
    std::uint64_t const sent = bytes_sent();
    mpi_reduction::merge(changes);
    if (latency_ > 0) // one message to agree, and as many as doublings
      std::this_thread::sleep_for(
          std::chrono::duration<double>(latency_ * (1 + std::ceil(std::log2(static_cast<double>(parts()))))));
    p.exchange = since(all);
    p.bytes = bytes_sent() - sent;
    found.push_back(p);
    before_ = clock_type::now();
  }
  std::vector<phases> found;

private:
  double latency_;
  clock_type::time_point before_ = clock_type::now();
};

void print_lists(std::vector<phases> const& mine, int rank, int ranks) {
  for (std::size_t i = 0; i < mine.size(); ++i) {
    std::vector<phases> of_each(static_cast<std::size_t>(ranks));
    MPI_Gather(&mine[i], sizeof(phases), MPI_BYTE, of_each.data(), sizeof(phases), MPI_BYTE, 0,
               MPI_COMM_WORLD);
    if (rank != 0) continue;
    auto const list = [&](char const* name, auto get, char const* end) {
      std::printf("\"%s\": [", name);
      for (std::size_t r = 0; r < of_each.size(); ++r)
        std::printf("%s%.9g", r == 0 ? "" : ", ", static_cast<double>(get(of_each[r])));
      std::printf("]%s", end);
    };
    std::printf("{\"iteration\": %zu, ", i + 1);
    list(
        "work", [](phases const& p) { return p.work; }, ", ");
    list(
        "wait", [](phases const& p) { return p.wait; }, ", ");
    list(
        "exchange", [](phases const& p) { return p.exchange; }, ", ");
    list(
        "bytes", [](phases const& p) { return p.bytes; }, "}\n");
  }
}

template <class Real> void run(kopse::matrix_view<Real> rows, int argc, char** argv) {
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  index const k = std::atoll(argv[2]);
  index n = rows.rows();
  if (argc > 8) n = std::min(n, index{std::atoll(argv[8])} * ranks);
  kopse::options o;
  o.max_iter = std::atoll(argv[3]);
  o.algorithm = argv[4];
  o.threads = std::atoi(argv[5]);
  o.seed = std::strtoull(argv[6], nullptr, 10);
  kopse::seeding_options starting;
  starting.init = "random", starting.seed = o.seed, starting.threads = 1;
  // Of the rows that all numbers of ranks have.
  index const shared = argc > 8 ? std::min<index>(n, std::atoll(argv[8])) : n;
  o.centroids = kopse::seed(kopse::point_set<Real>(rows.slice(0, shared)), k, starting).centroids;
  kopse::point_set<Real> const mine(rows.slice(n * rank / ranks, n * (rank + 1) / ranks));
  timed_ranks all(std::atof(argv[7]));
  kopse::fit(mine, k, o, all);
  print_lists(all.found, rank, ranks);
}

} // namespace

int main(int argc, char** argv) {
  if (argc < 8) return std::fprintf(stderr, "usage: see bench/ranks/ranks.cpp\n"), 2;
  MPI_Init(&argc, &argv);
  kopse::table const data = kopse::load(argv[1]);
  data.visit([&](auto const& rows) { run(rows, argc, argv); });
  MPI_Finalize();
}
