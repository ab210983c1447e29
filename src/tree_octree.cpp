// SPDX-License-Identifier: BSD-3-Clause
#include "kopse/tree/octree.hpp"
#include "tree_of.hpp"

namespace kopse {

KOPSE_COMPILE_TREE(octree, float);
KOPSE_COMPILE_TREE(octree, double);

} // namespace kopse
