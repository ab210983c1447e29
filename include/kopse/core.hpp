// SPDX-License-Identifier: BSD-3-Clause
// The words every other header uses: index and label types, version, errors.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#ifdef __FAST_MATH__
#error "kopse needs IEEE arithmetic: compile without -ffast-math (and without -Ofast)"
#endif

#define KOPSE_VERSION "0.1.0"

namespace kopse {

/// Counts and numbers rows, nodes' points and iterations; 64 bits, so n·k and n·d never overflow.
using index = std::int64_t;
/// The number of a cluster, 0 <= label < k.
using label = std::int32_t;

/// The version of the compiled library, to compare with KOPSE_VERSION of the headers.
char const* version() noexcept;

/// What kind of error it is, for callers that cannot catch by type; the numbers will stay.
enum class error_code {
  input = 1,       ///< data, weights or a file are not as they should be, or cannot be read or written
  usage = 2,       ///< usage_error
  memory = 3,      ///< memory_error
  interrupted = 4, ///< interrupted
  verification = 5 ///< verification_error
};

/// Anything that stops a run and that its user can mend: the message names the place and what was expected.
/// All that kopse throws itself is one; from below comes std::bad_alloc.
class error : public std::runtime_error {
public:
  explicit error(std::string const& message, error_code code = error_code::input)
      : std::runtime_error(message), code_(code) {}
  error_code code() const noexcept { return code_; }

private:
  error_code code_;
};

/// An argument that cannot be right: an unknown name, k < 1, k > n. (The command line exits with 2.)
class usage_error : public error {
public:
  explicit usage_error(std::string const& message) : error(message, error_code::usage) {}
};

/// What was asked for needs more memory than there is; found out before any was taken.
class memory_error : public error {
public:
  explicit memory_error(std::string const& message) : error(message, error_code::memory) {}
};

/// The caller raised options::stop; nothing was returned.
class interrupted : public error {
public:
  explicit interrupted(std::string const& message = "interrupted")
      : error(message, error_code::interrupted) {}
};

/// `verify` found a difference between an algorithm and brute force. A bug of the library: please report it.
class verification_error : public error {
public:
  explicit verification_error(std::string const& message) : error(message, error_code::verification) {}
};

} // namespace kopse
