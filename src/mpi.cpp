// SPDX-License-Identifier: BSD-3-Clause
// Messages are cut into pieces, as MPI counts by int.
#include "kopse/mpi.hpp"

#include <algorithm>
#include <bit>
#include <cstdio>

namespace kopse {

namespace {
using words = reduction::words;

constexpr std::size_t head_words = 16;                      // the size, and the beginning of a message
constexpr std::size_t piece_words = std::size_t{1} << 23;   // of all ranks together
constexpr std::size_t message_words = std::size_t{1} << 27; // between two
constexpr int tag = 1;

// Which words of its message each rank adds to the piece that begins at `at`.
struct piece {
  piece(std::vector<std::size_t> const& sizes, std::size_t at, std::size_t length) {
    int end = 0;
    for (std::size_t const size : sizes) {
      counts.push_back(static_cast<int>(std::min(size - std::min(at, size), length)));
      begins.push_back(end);
      end += counts.back();
    }
    all.resize(static_cast<std::size_t>(end));
  }
  void append_to(std::vector<words>& of_each) const {
    for (std::size_t p = 0; p < of_each.size(); ++p)
      of_each[p].insert(of_each[p].end(), all.begin() + begins[p], all.begin() + begins[p] + counts[p]);
  }
  std::vector<int> counts, begins;
  words all;
};
} // namespace

mpi_reduction::mpi_reduction(MPI_Comm over) {
  MPI_Comm_dup(over, &comm_);
  MPI_Comm_rank(comm_, &rank_);
  MPI_Comm_size(comm_, &size_);
}
mpi_reduction::~mpi_reduction() { MPI_Comm_free(&comm_); }

std::string mpi_reduction::name(index part) const {
  return "rank " + std::to_string(part) + " of " + std::to_string(size_);
}

// Between two messages nobody can be told of an exception: the others would wait.
template <class Work> auto mpi_reduction::or_abort(Work const& work) const {
  try {
    return work();
  } catch (std::bad_alloc const&) {
    std::fprintf(stderr, "kopse: %s: not enough memory for what the others have sent\n", name(rank_).c_str());
    MPI_Abort(comm_, 1);
    throw;
  }
}

std::vector<words> mpi_reduction::exchange(words const& mine) {
  return or_abort([&] {
    words head(head_words);
    head[0] = mine.size();
    std::copy_n(mine.begin(), std::min(mine.size(), head_words - 1), head.begin() + 1);
    words heads(head_words * static_cast<std::size_t>(size_));
    MPI_Allgather(head.data(), head_words, MPI_UINT64_T, heads.data(), head_words, MPI_UINT64_T, comm_);
    std::vector<words> of_each;
    std::vector<std::size_t> sizes;
    for (auto at = heads.begin(); at != heads.end(); at += head_words) {
      sizes.push_back(at[0]);
      of_each.emplace_back(at + 1, at + 1 + static_cast<index>(std::min<std::size_t>(at[0], head_words - 1)));
    }
    std::size_t const most = *std::max_element(sizes.begin(), sizes.end());
    std::size_t const length = std::max<std::size_t>(piece_words / sizes.size(), 1);
    for (std::size_t at = head_words - 1; at < most; at += length) {
      piece p(sizes, at, length);
      MPI_Allgatherv(mine.data() + std::min(at, mine.size()), p.counts[static_cast<std::size_t>(rank_)],
                     MPI_UINT64_T, p.all.data(), p.counts.data(), p.begins.data(), MPI_UINT64_T, comm_);
      p.append_to(of_each);
    }
    return of_each;
  });
}

std::vector<words> mpi_reduction::hand_to_first(words const& mine) {
  return or_abort([&] {
    std::uint64_t const size = mine.size();
    words all_sizes(static_cast<std::size_t>(size_));
    MPI_Allgather(&size, 1, MPI_UINT64_T, all_sizes.data(), 1, MPI_UINT64_T, comm_);
    std::vector<std::size_t> const sizes(all_sizes.begin(), all_sizes.end());
    std::vector<words> of_each(rank_ == 0 ? sizes.size() : 0);
    std::size_t const most = *std::max_element(sizes.begin(), sizes.end());
    std::size_t const length = std::max<std::size_t>(piece_words / sizes.size(), 1);
    for (std::size_t at = 0; at < most; at += length) {
      piece p(rank_ == 0 ? sizes : std::vector<std::size_t>(), at, length);
      auto const begin = std::min(at, mine.size());
      MPI_Gatherv(mine.data() + begin, static_cast<int>(std::min(mine.size() - begin, length)), MPI_UINT64_T,
                  p.all.data(), p.counts.data(), p.begins.data(), MPI_UINT64_T, 0, comm_);
      p.append_to(of_each);
    }
    return of_each;
  });
}

// The first piece says how many words there are.
words mpi_reduction::trade(words const& mine, int other, bool sends, bool receives) {
  words out, in;
  std::vector<MPI_Request> sent;
  if (sends) {
    out.push_back(mine.size());
    out.insert(out.end(), mine.begin(), mine.end());
    bytes_sent_ += out.size() * sizeof(std::uint64_t);
    for (std::size_t at = 0; at < out.size(); at += message_words) {
      MPI_Isend(out.data() + at, static_cast<int>(std::min(message_words, out.size() - at)), MPI_UINT64_T,
                other, tag, comm_, &sent.emplace_back());
    }
  }
  for (bool more = receives; more;) {
    MPI_Message message;
    MPI_Status status;
    int count = 0;
    MPI_Mprobe(other, tag, comm_, &message, &status);
    MPI_Get_count(&status, MPI_UINT64_T, &count);
    std::size_t const before = in.size();
    in.resize(before + static_cast<std::size_t>(count));
    MPI_Mrecv(in.data() + before, count, MPI_UINT64_T, &message, &status);
    more = in.size() < in.front() + 1;
  }
  MPI_Waitall(static_cast<int>(sent.size()), sent.data(), MPI_STATUSES_IGNORE);
  if (!in.empty()) in.erase(in.begin());
  return in;
}

void mpi_reduction::send_and_add(cluster_sums& changes, int other, bool sends, bool receives) {
  words const theirs = trade(sends ? packed(changes) : words(), other, sends, receives);
  if (receives) add(changes, theirs);
}

// A power of two of the ranks double what they know; those past it give theirs to one of these before, and
// take the whole from it in the end.
void mpi_reduction::merge(cluster_sums& changes) {
  if (size_ == 1) return;
  agree();
  or_abort([&] {
    int const paired = static_cast<int>(std::bit_floor(static_cast<unsigned>(size_)));
    if (rank_ >= paired) {
      send_and_add(changes, rank_ - paired, true, false);
      changes = cluster_sums(changes.sums.layout(), changes.sums.rows());
      send_and_add(changes, rank_ - paired, false, true);
      return;
    }
    bool const serves = rank_ + paired < size_;
    if (serves) send_and_add(changes, rank_ + paired, false, true);
    for (int distance = 1; distance < paired; distance *= 2)
      send_and_add(changes, rank_ ^ distance, true, true);
    if (serves) send_and_add(changes, rank_ + paired, true, false);
  });
}

} // namespace kopse
