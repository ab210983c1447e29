// SPDX-License-Identifier: BSD-3-Clause
// The processes that mpirun has started, of which this is one (docs/distributed.md). Alone without it.
#pragma once

#include "cli.hpp"
#include "kopse/reduction.hpp"

namespace kopse::cli {

/// What Open MPI, MPICH and their relatives say of it in the environment.
struct launch {
  int processes = 1, number = 0; ///< how many, and which of them this is
};
launch launched();

/// For the main() of a program with MPI, before anything else.
void join(reduction& all);
reduction& ranks();

/// Whether this one writes to the terminal and to files: the first.
bool speaks();
/// For commands that are of one process.
void refuse_ranks(std::string_view command);
void refuse_standard_input(std::string const& path);
/// Throws usage_error, for all, where one was started with other arguments than the first.
void refuse_other_arguments(int argc, char const* const* argv);

/// The rows of this rank, and what there is beside.
struct share {
  table rows;
  index all = 0, first = 0;    ///< rows of all ranks, and of those before
  std::vector<index> per_rank; ///< how many rows each has
};
/// As load_data() reads them, with the notes of all ranks. As many files as ranks: a file a rank. Otherwise
/// shares of the rows, which differ by one at most.
share load_share(data_file const& data, load_options const& how, std::vector<std::string>& notes);
/// Those of the rows of the share. Throws error where there is not one for each of all rows.
std::vector<double> weights_of_share(std::string const& path, load_options const& how, share const& of);

/// The labels of all rows, in their order; of the first rank alone.
std::vector<label> all_labels(std::vector<label> labels, share const& of);
/// What that takes beside the labels of this rank.
double bytes_of_all_labels(share const& of);

/// The largest of each rank's.
double largest_of_ranks(double mine);

/// The threads of a rank to which none were given: ranks that may use the same cores share them.
int threads_of_rank();

} // namespace kopse::cli
