// SPDX-License-Identifier: BSD-3-Clause
#include "kopse/paging.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <shared_mutex>

namespace kopse {

namespace {
// Linux maps up to so many bytes around a page that is asked for, where they lie in its cache.
constexpr std::uintptr_t window = std::uintptr_t{1} << 21;
std::uintptr_t const page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));

std::shared_mutex guard;
paged_range* all_ranges = nullptr; // guarded
std::atomic<int> range_count = 0;  // so that those who have none do not wait

std::uintptr_t down(void const* place, std::uintptr_t unit) {
  return reinterpret_cast<std::uintptr_t>(place) / unit * unit;
}
std::uintptr_t up(void const* place, std::uintptr_t unit) {
  return (reinterpret_cast<std::uintptr_t>(place) + unit - 1) / unit * unit;
}
} // namespace

paged_range::paged_range(std::shared_ptr<void const> owner, void const* first, std::size_t bytes)
    : owner_(std::move(owner)), first_(static_cast<char const*>(first)), last_(first_ + bytes) {
  std::lock_guard const lock(guard);
  next_ = all_ranges;
  if (next_ != nullptr) next_->before_ = this;
  all_ranges = this;
  ++range_count;
}

paged_range::~paged_range() {
  std::lock_guard const lock(guard);
  (before_ != nullptr ? before_->next_ : all_ranges) = next_;
  if (next_ != nullptr) next_->before_ = before_;
  --range_count;
}

paged_range const* paged_range::find(char const* place) noexcept {
  paged_range const* range = all_ranges;
  while (range != nullptr && (place < range->first_ || place >= range->last_)) range = range->next_;
  return range;
}

bool is_paged(void const* place) noexcept {
  if (range_count.load(std::memory_order_relaxed) == 0) return false;
  std::shared_lock const lock(guard);
  return paged_range::find(static_cast<char const*>(place)) != nullptr;
}

void give_back(void const* first, void const* last, bool all) noexcept {
  if (range_count.load(std::memory_order_relaxed) == 0) return;
  std::shared_lock const lock(guard);
  paged_range const* const range = paged_range::find(static_cast<char const*>(first));
  if (range == nullptr) return;
  std::uintptr_t const begin = std::max(down(first, window), down(range->first_, page));
  bool const at_end = all || last >= range->last_;
  std::uintptr_t const end = std::min(at_end ? up(last, window) : down(last, window), up(range->last_, page));
  // Only advice: where it is not taken, more memory is held.
  if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

} // namespace kopse
