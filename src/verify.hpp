// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>

#include "kopse/assignment_step.hpp"

namespace kopse {

/// A step that runs another and, after each assignment, brute force: throws verification_error at the first
/// row whose label, or cluster whose sums, differ. 8 bytes a point more, and n·k·d time an iteration,
/// shared by options.threads.
template <class Real>
std::unique_ptr<assignment_step> make_verifying(std::unique_ptr<assignment_step> step, point_set<Real> points,
                                                sum_layout const& layout, index k,
                                                step_options const& options);

} // namespace kopse
