// SPDX-License-Identifier: BSD-3-Clause
#include "kopse/tree/cover_tree.hpp"
#include "tree_of.hpp"

namespace kopse {

KOPSE_COMPILE_TREE(cover_tree, float);
KOPSE_COMPILE_TREE(cover_tree, double);

} // namespace kopse
