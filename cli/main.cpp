// SPDX-License-Identifier: BSD-3-Clause
// The program. Where mpirun has started several of it, kopse-mpi takes its place: the same with MPI, whose
// libraries take tens of milliseconds to load, which nobody else should wait for.
#include <fmt/format.h>

#include <filesystem>

#include <unistd.h>

#include "ranks.hpp"

namespace {

/// Returns only if it is not there.
void become_kopse_mpi(char** argv) {
  std::error_code problem;
  auto const here = std::filesystem::read_symlink("/proc/self/exe", problem);
  if (!problem) execv((here.parent_path() / "kopse-mpi").c_str(), argv);
}

} // namespace

int main(int argc, char** argv) {
  kopse::cli::launch const by = kopse::cli::launched();
  if (by.processes == 1) return kopse::cli::run_program(argc, argv);
  become_kopse_mpi(argv);
  if (by.number == 0)
    kopse::cli::complain(fmt::format(
        "mpirun has started {} processes, but this kopse was built without MPI, and each would do the same; "
        "it "
        "needs an MPI when it is built, on Debian the packages libopenmpi-dev and openmpi-bin, and kopse-mpi "
        "beside it when it is run",
        by.processes));
  return 1;
}
