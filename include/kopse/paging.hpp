// SPDX-License-Identifier: BSD-3-Clause
// Rows in a file that is larger than the memory they may take: mapped, and their pages given back as soon as
// a pass has gone over them. They stay in the system's page cache as long as it has room, so the next pass
// costs little if they are there, and reads the disk if not.
#pragma once

#include <cstddef>
#include <memory>

namespace kopse {

/// Bytes that a thread goes over at a time, and those that it may hold then: the system maps some around
/// them.
inline constexpr std::size_t paged_at_a_time = std::size_t{1} << 20, pages_of_a_thread = std::size_t{1} << 22;

/// As long as one lives, by_pages() (matrix.hpp) gives back the pages of this memory, which must be mapped
/// from a file and never be written to: other memory would be lost.
class paged_range {
public:
  /// `owner` keeps it mapped.
  paged_range(std::shared_ptr<void const> owner, void const* first, std::size_t bytes);
  ~paged_range();
  paged_range(paged_range const&) = delete;
  paged_range& operator=(paged_range const&) = delete;

private:
  friend bool is_paged(void const*) noexcept;
  friend void give_back(void const*, void const*, bool) noexcept;
  static paged_range const* find(char const* place) noexcept;
  std::shared_ptr<void const> owner_;
  char const *first_, *last_;
  paged_range *before_ = nullptr, *next_ = nullptr; // all that live
};

/// Whether this place is in a paged_range.
bool is_paged(void const* place) noexcept;

/// Gives back the pages from `first` to `last`, both of one paged_range, and those around them; of other
/// memory nothing. Not `all`: those at the end are left to the same thread, which goes on from there.
void give_back(void const* first, void const* last, bool all) noexcept;

} // namespace kopse
