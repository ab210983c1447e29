// SPDX-License-Identifier: BSD-3-Clause
// Ranks that each have rows: compiled and linked, not run.
#include <kopse/kopse.hpp>
#include <kopse/mpi.hpp>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  {
    kopse::mpi_reduction ranks;
    double const row[] = {1, 2};
    kopse::fit(kopse::matrix_view<double>(row, 1, 2), 1, {}, ranks);
  }
  MPI_Finalize();
}
