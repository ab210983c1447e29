// SPDX-License-Identifier: BSD-3-Clause
// The program under mpirun: every rank is one, and the first speaks for all.
#include <fmt/format.h>

#include <csignal>
#include <cstdlib>

#include "cli.hpp"
#include "kopse/mpi.hpp"
#include "ranks.hpp"

int main(int argc, char** argv) {
  // A rank that waits leaves its core to others, as there may be more ranks than cores: spinning, each of
  // thousands of small messages would take a time slice of whoever computes.
  setenv("OMPI_MCA_mpi_yield_when_idle", "1", 0);
  std::signal(SIGXFSZ,
              SIG_IGN); // MPI keeps files in $TMPDIR: past a limit on their size it fails, with a message
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  int code = 1;
  {
    kopse::mpi_reduction all(MPI_COMM_WORLD);
    kopse::cli::launch const by = kopse::cli::launched();
    if (by.processes > 1 && all.parts() == 1) { // each would do the same
      if (by.number == 0)
        kopse::cli::complain(fmt::format("{} processes were started, but by another MPI than the one that "
                                         "kopse was built with, which knows of one: use its own mpirun",
                                         by.processes));
    } else {
      kopse::cli::join(all);
      code = kopse::cli::run_program(argc, argv);
    }
  }
  MPI_Finalize(); // waits for all, so that mpirun ends nobody who still has something to say
  return code;
}
