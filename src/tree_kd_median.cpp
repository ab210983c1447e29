// SPDX-License-Identifier: BSD-3-Clause
#include "kopse/tree/binary_tree.hpp"
#include "tree_of.hpp"

namespace kopse {

template std::shared_ptr<any_tree<float> const> build_any<kd_median_tree<float>>(matrix_view<float>, index,
                                                                                 int);
template std::shared_ptr<any_tree<double> const> build_any<kd_median_tree<double>>(matrix_view<double>, index,
                                                                                   int);

} // namespace kopse
