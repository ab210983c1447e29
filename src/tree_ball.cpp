// SPDX-License-Identifier: BSD-3-Clause
#include "kopse/tree/binary_tree.hpp"
#include "tree_of.hpp"

namespace kopse {

KOPSE_COMPILE_TREE(ball_tree, float);
KOPSE_COMPILE_TREE(ball_tree, double);

} // namespace kopse
