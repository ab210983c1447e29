// SPDX-License-Identifier: BSD-3-Clause
// The program under mpirun: every rank is one, and the first speaks for all.
#include "cli.hpp"
#include "kopse/mpi.hpp"
#include "ranks.hpp"

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  int code = 1;
  {
    kopse::mpi_reduction all(MPI_COMM_WORLD);
    kopse::cli::join(all);
    code = kopse::cli::run_program(argc, argv);
  }
  MPI_Finalize(); // waits for all, so that mpirun ends nobody who still has something to say
  return code;
}
