// SPDX-License-Identifier: BSD-3-Clause
// The whole public interface.
#pragma once

#include "kopse/assignment_step.hpp"
#include "kopse/core.hpp"
#include "kopse/dual_tree.hpp"
#include "kopse/dual_tree_step.hpp"
#include "kopse/exact_sum.hpp"
#include "kopse/io.hpp"
#include "kopse/kmeans.hpp"
#include "kopse/matrix.hpp"
#include "kopse/metric.hpp"
#include "kopse/parallel.hpp"
#include "kopse/point_set.hpp"
#include "kopse/random.hpp"
#include "kopse/seeding.hpp"
#include "kopse/tree/binary_tree.hpp"
#include "kopse/tree/bound.hpp"
#include "kopse/tree/neighbours.hpp"
#include "kopse/tree/node_sums.hpp"
#include "kopse/tree/space_tree.hpp"
#include "kopse/tree_step.hpp"
