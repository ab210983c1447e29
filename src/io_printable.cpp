// SPDX-License-Identifier: BSD-3-Clause
// Text of any origin made fit to be shown.

#include <algorithm>

#include "kopse/io.hpp"

namespace kopse {
namespace {

/// The length of the UTF-8 sequence at the start of `bytes` if it is valid and shows something, else 0.
std::size_t shown_length(std::string_view bytes) {
  auto const byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  unsigned const first = byte(0);
  if (first < 0x80) return first >= 0x20 && first != 0x7f ? 1 : 0;
  std::size_t const length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || bytes.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  unsigned const second = byte(1); // too long a form, a surrogate, beyond U+10FFFF, a control character
  if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) || (first == 0xf0 && second < 0x90)
      || (first == 0xf4 && second > 0x8f) || (first == 0xc2 && second < 0xa0)) {
    return 0;
  }
  return length;
}

} // namespace

std::string printable(std::string_view bytes, std::size_t most) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (std::size_t at = 0; at < bytes.size();) {
    if (at >= most) return text + "...";
    std::size_t const length = shown_length(bytes.substr(at));
    auto const byte = static_cast<unsigned char>(bytes[at]);
    if (length > 0)
      text += bytes.substr(at, length);
    else if (byte == '\t')
      text += "\\t";
    else
      text += {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
    at += std::max<std::size_t>(length, 1);
  }
  return text;
}

} // namespace kopse
