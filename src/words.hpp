// SPDX-License-Identifier: BSD-3-Clause
// What partitions hand one another (kopse/reduction.hpp): numbers and texts as words of 64 bits.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kopse/core.hpp"

namespace kopse {

/// Hands the bytes of a text to put(word), eight at a time, after their number.
template <class Put> void put_text(std::string_view text, Put const& put) {
  put(std::uint64_t{text.size()});
  for (std::size_t at = 0; at < text.size(); at += 8) {
    std::uint64_t packed = 0;
    for (std::size_t i = at; i < std::min(at + 8, text.size()); ++i)
      packed |= std::uint64_t{static_cast<unsigned char>(text[i])} << 8 * (i - at);
    put(packed);
  }
}

class word_packer {
public:
  void word(std::uint64_t value) { words_.push_back(value); }
  void number(index value) { word(static_cast<std::uint64_t>(value)); }
  void real(double value) { word(std::bit_cast<std::uint64_t>(value)); }
  void add(std::span<std::uint64_t const> values) {
    words_.insert(words_.end(), values.begin(), values.end());
  }
  template <class Real> void reals(Real const* first, index count) {
    for (index i = 0; i < count; ++i) real(static_cast<double>(first[i]));
  }
  void text(std::string_view value) {
    put_text(value, [this](std::uint64_t one) { word(one); });
  }
  std::vector<std::uint64_t> const& words() const { return words_; }

private:
  std::vector<std::uint64_t> words_;
};

/// Reads them again. Throws error where there are fewer: then partitions did not make the same calls.
class word_unpacker {
public:
  explicit word_unpacker(std::span<std::uint64_t const> words) : words_(words) {}

  bool empty() const { return words_.empty(); }
  std::span<std::uint64_t const> take(std::size_t count) {
    if (count > words_.size()) throw error("the partitions of the data did not make the same calls");
    auto const taken = words_.first(count);
    words_ = words_.subspan(count);
    return taken;
  }
  std::uint64_t word() { return take(1)[0]; }
  index number() { return static_cast<index>(word()); }
  double real() { return std::bit_cast<double>(word()); }
  void reals(double* first, index count) {
    for (std::uint64_t const w : take(static_cast<std::size_t>(count))) *first++ = std::bit_cast<double>(w);
  }
  std::string text() {
    auto const size = static_cast<std::size_t>(word());
    auto const packed = take(size / 8 + (size % 8 != 0 ? 1 : 0));
    std::string value(size, '\0');
    for (std::size_t i = 0; i < size; ++i) value[i] = static_cast<char>(packed[i / 8] >> 8 * (i % 8) & 255);
    return value;
  }

private:
  std::span<std::uint64_t const> words_;
};

} // namespace kopse
