// SPDX-License-Identifier: BSD-3-Clause
// A plane through points of many dimensions in which most of their variance can be seen.
#pragma once

#include <vector>

#include "kopse/matrix.hpp"

namespace kopse::cli {

struct place {
  double x, y;
};

/// A point x lies at (x - mean)·first, (x - mean)·second.
struct plane {
  std::vector<double> mean, first, second;
  double share_first = 1, share_second = 0; ///< of the variance

  place operator()(double const* x) const;
};

/// The two principal axes of the rows, to the few digits that a picture needs. O(rows · d) a round, at most
/// 100 rounds; no d × d matrix is formed. Equal rows give equal planes: the start is fixed, and so is the
/// sign of each axis.
plane principal_plane(matrix<double> const& rows);

} // namespace kopse::cli
