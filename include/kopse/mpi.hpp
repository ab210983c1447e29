// SPDX-License-Identifier: BSD-3-Clause
// Partitions that are ranks of MPI: fit(points, k, options, ranks), each rank with its rows. Not in
// kopse.hpp: it needs mpi.h, and the CMake target kopse::mpi.
//
// An iteration is one message of 128 bytes to all, which says whether everybody can go on, and one all-reduce
// of the cluster sums that changed: by recursive doubling (R. Thakur, R. Rabenseifner, W. Gropp,
// "Optimization of collective communication operations in MPICH", 2005), log2 of the ranks messages, each of
// the rows that are not zero. Sums are integers, so the order in which ranks meet cannot be seen.
//
// A rank that throws tells the others (reduction::fail); one that is killed is for mpirun to notice, and one
// that has no memory for what it is sent ends the job by MPI_Abort.
#pragma once

#define OMPI_SKIP_MPICXX 1 // the C interface is enough
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include "kopse/reduction.hpp"

namespace kopse {

class mpi_reduction : public reduction {
public:
  /// All ranks of the communicator make one at the same time, after MPI_Init and destroyed before
  /// MPI_Finalize. One thread of each uses it.
  explicit mpi_reduction(MPI_Comm over = MPI_COMM_WORLD);
  ~mpi_reduction() override;
  mpi_reduction(mpi_reduction const&) = delete;
  mpi_reduction& operator=(mpi_reduction const&) = delete;

  index parts() const override { return size_; }
  index part() const override { return rank_; }
  std::string name(index part) const override; ///< "rank 1 of 4"
  /// That this rank has sent to others for merged cluster sums, so far.
  std::uint64_t bytes_sent() const { return bytes_sent_; }

  using reduction::merge;
  void merge(cluster_sums&) override;

protected:
  std::vector<words> exchange(words const& mine) override;
  std::vector<words> hand_to_first(words const& mine) override;

private:
  void send_and_add(cluster_sums& changes, int other, bool sends, bool receives);
  words trade(words const& mine, int other, bool sends, bool receives);
  template <class Work> auto or_abort(Work const& work) const;

  MPI_Comm comm_ = MPI_COMM_NULL; // a copy, so that nobody else's messages are in it
  int rank_ = 0, size_ = 1;
  std::uint64_t bytes_sent_ = 0;
};

} // namespace kopse
