// SPDX-License-Identifier: BSD-3-Clause
// The program. Where mpirun has started several of it, kopse-mpi takes its place: the same with MPI, whose
// libraries take tens of milliseconds to load, which nobody else should wait for.
#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include <unistd.h>

#include "cli.hpp"

namespace {

/// A number that mpirun has left in the environment, or -1.
int number_of(char const* variable) {
  char const* const text = std::getenv(variable);
  int value = -1;
  if (text != nullptr) std::from_chars(text, text + std::string_view(text).size(), value);
  return value;
}

/// The first that is there of what Open MPI, MPICH and their relatives say.
int first_number(std::initializer_list<char const*> variables) {
  for (char const* variable : variables)
    if (int const value = number_of(variable); value >= 0) return value;
  return -1;
}

/// Returns only if it is not there.
void become_kopse_mpi(char** argv) {
  std::error_code problem;
  auto const here = std::filesystem::read_symlink("/proc/self/exe", problem);
  if (!problem) execv((here.parent_path() / "kopse-mpi").c_str(), argv);
}

} // namespace

int main(int argc, char** argv) {
  if (int const ranks = first_number({"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}); ranks > 1) {
    become_kopse_mpi(argv);
    if (first_number({"OMPI_COMM_WORLD_RANK", "PMI_RANK"}) <= 0)
      kopse::cli::complain(fmt::format(
          "mpirun has started {} processes, but this kopse was built without MPI, and each would do the "
          "same; "
          "it needs an MPI when it is built, on Debian the packages libopenmpi-dev and openmpi-bin, and "
          "kopse-mpi beside it when it is run",
          ranks));
    return 1;
  }
  return kopse::cli::run_program(argc, argv);
}
