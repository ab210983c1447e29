// SPDX-License-Identifier: BSD-3-Clause
// Whether the tests run under sanitizers (KOPSE_SANITIZE, from tests/CMakeLists.txt).
#pragma once

namespace exactness {

/// Under the thread sanitizer the cases in which threads have no part are left out, or are few.
#ifdef KOPSE_THREAD_SANITIZED
inline constexpr bool thread_sanitized = true;
#else
inline constexpr bool thread_sanitized = false;
#endif
/// Under any sanitizer sizes are smaller.
#ifdef KOPSE_SANITIZED
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

} // namespace exactness
