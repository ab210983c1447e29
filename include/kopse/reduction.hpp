// SPDX-License-Identifier: BSD-3-Clause
// How partitions of the data agree. Each has a thread, a process or a machine of its own, and calls the same
// functions in the same order with the same options; what they call here waits for the others.
//
// All of it stands on exchange(): whoever can hand words to everybody can cluster data that are spread. What
// travels are integers, or numbers that one partition has and the others take, so that no result depends on
// how many partitions there are. A partition that cannot go on says so in place of what the others exchange;
// then all of them throw, and nobody waits for ever.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <new>
#include <string>
#include <vector>

#include "kopse/assignment_step.hpp"
#include "kopse/point_set.hpp"

namespace kopse {

class reduction {
public:
  using words = std::vector<std::uint64_t>;

  virtual ~reduction() = default;

  /// How many there are, and which of them this one is: from 0, in the order of their rows.
  virtual index parts() const { return 1; }
  virtual index part() const { return 0; }
  /// For messages.
  virtual std::string name(index part) const;

  /// What each of them hands in, in their order. Throws what one of them has told by fail().
  std::vector<words> all(words const& mine);
  /// The same for the first of them; the others get nothing.
  std::vector<words> all_to_first(words const& mine);
  /// What `fold` makes of what all hand in, in their order. One of them calls it, or each for itself.
  using folding = std::function<words(std::vector<words> const&)>;
  words folded(words const& mine, folding const& fold);
  /// Whether it is so on any of them.
  bool any(bool here);

  /// Each replaces its argument by the merged one of all. One partition: nothing to do.
  virtual void merge(data_summary&);
  virtual void merge(cluster_sums&);
  virtual void merge(far_rows&);
  virtual void merge(exact_sum&);

  /// This one cannot go on: all throw an error of that code, the message naming who it was unless all say the
  /// same. Returns where there is nobody to tell, or all know of a failure already.
  void fail(std::string const& what, error_code code);

  /// Does this partition's work; where it throws, the others are told.
  template <class Work> auto together(Work const& work) {
    try {
      return work();
    } catch (error const& e) {
      fail(e.what(), e.code());
      throw;
    } catch (std::bad_alloc const&) {
      fail("not enough memory", error_code::memory);
      throw;
    } catch (std::exception const& e) {
      fail(e.what(), error_code::input);
      throw;
    }
  }

protected:
  /// What all() does, and no more.
  virtual std::vector<words> exchange(words const& mine) { return {mine}; }
  /// What all_to_first() does, once all have agreed to.
  virtual std::vector<words> hand_to_first(words const& mine);
  /// What folded() does: for those who meet in one place, where all messages are, and are handed one back.
  /// `fold` throws what a message tells of.
  using reading = std::function<words(std::vector<words>)>;
  virtual words fold_messages(words const& message, reading const& fold) { return fold(exchange(message)); }
  /// For merges that do without all(): throws if one of them has failed; sums as words, those of rows that
  /// are not zero.
  void agree() { all({}); }
  static words packed(cluster_sums const& changes);
  static void add(cluster_sums& changes, words const& packed);
  /// Messages without their first words. Throws, where one of them tells of a failure.
  std::vector<words> checked(std::vector<words> messages);

private:
  bool over_ = false; // all know that one has failed
};

} // namespace kopse
