// SPDX-License-Identifier: BSD-3-Clause
// The built-in trees' instances of include/kopse/dual_tree_step.hpp, where the algorithm is.
#include "kopse/dual_tree_step.hpp"

#include "steps.hpp"

namespace kopse {

template <class Real>
std::unique_ptr<assignment_step> make_dualtree(std::shared_ptr<kd_tree<Real> const> tree,
                                               point_set<Real> points, sum_layout const& layout, index k,
                                               step_options const& options) {
  return std::make_unique<dual_tree_step<kd_tree<Real>>>(std::move(tree), points, layout, k, options.stop,
                                                         options.bisector);
}
template std::unique_ptr<assignment_step> make_dualtree(std::shared_ptr<kd_tree<float> const>,
                                                        point_set<float>, sum_layout const&, index,
                                                        step_options const&);
template std::unique_ptr<assignment_step> make_dualtree(std::shared_ptr<kd_tree<double> const>,
                                                        point_set<double>, sum_layout const&, index,
                                                        step_options const&);

} // namespace kopse
