// SPDX-License-Identifier: BSD-3-Clause
// How each algorithm's file is called from assignment_step.cpp, but for those over trees (any_tree.hpp).
#pragma once

#include "kopse/assignment_step.hpp"

namespace kopse {

template <class Real>
std::unique_ptr<assignment_step> make_lloyd(point_set<Real> points, sum_layout const& layout, index k,
                                            step_options const& options);
template <class Real>
std::unique_ptr<assignment_step> make_hamerly(point_set<Real> points, sum_layout const& layout, index k,
                                              step_options const& options);
template <class Real>
std::unique_ptr<assignment_step> make_elkan(point_set<Real> points, sum_layout const& layout, index k,
                                            step_options const& options);
template <class Real>
std::unique_ptr<assignment_step> make_yinyang(point_set<Real> points, sum_layout const& layout, index k,
                                              step_options const& options);
template <class Real>
std::unique_ptr<assignment_step> make_exponion(point_set<Real> points, sum_layout const& layout, index k,
                                               step_options const& options);
template <class Real>
std::unique_ptr<assignment_step> make_dense(point_set<Real> points, sum_layout const& layout, index k,
                                            step_options const& options);

/// The sorted rows of `line`, which all its steps share.
template <class Real> class sorted_line;
/// Sorts the points, which have one column.
template <class Real>
std::shared_ptr<sorted_line<Real> const> sort_line(point_set<Real> points, sum_layout const& layout,
                                                   step_options const& options);
template <class Real>
std::unique_ptr<assignment_step> make_line(std::shared_ptr<sorted_line<Real> const> line, index k,
                                           step_options const& options);

} // namespace kopse
