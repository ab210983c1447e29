// SPDX-License-Identifier: BSD-3-Clause
// How each algorithm's file is called from assignment_step.cpp.
#pragma once

#include "kopse/assignment_step.hpp"
#include "kopse/tree/binary_tree.hpp"

namespace kopse {

template <class Real>
std::unique_ptr<assignment_step> make_lloyd(point_set<Real> points, sum_layout const& layout, index k,
                                            step_options const& options);

template <class Real>
std::unique_ptr<assignment_step> make_dualtree(std::shared_ptr<kd_tree<Real> const> tree,
                                               point_set<Real> points, sum_layout const& layout, index k,
                                               step_options const& options);

template <class Real>
std::unique_ptr<assignment_step> make_filter(std::shared_ptr<kd_tree<Real> const> tree,
                                             point_set<Real> points, sum_layout const& layout, index k,
                                             step_options const& options);

template <class Real>
std::unique_ptr<assignment_step> make_blacklist(std::shared_ptr<kd_tree<Real> const> tree,
                                                point_set<Real> points, sum_layout const& layout, index k,
                                                step_options const& options);

} // namespace kopse
