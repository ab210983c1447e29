// SPDX-License-Identifier: BSD-3-Clause
// `filter`: the filtering algorithm.
//
// T. Kanungo, D. M. Mount, N. S. Netanyahu, C. D. Piatko, R. Silverman, A. Y. Wu, "An efficient k-means
// clustering algorithm: analysis and implementation", IEEE TPAMI 24 (2002). The candidate that is nearest to
// a node as a whole (the one with the least largest distance) is chosen; whatever lies beyond its bisector
// for the whole node is dropped. Remembers nothing but owners from one iteration to the next, so every
// iteration costs about the same. Memory: that of tree_step, and 8·d + 4 bytes a candidate along one path of
// the tree. Use it for d up to about 8 when n is large and k not in the many thousands, or when centroids
// move far in every iteration.
#include "candidates.hpp"
#include "steps.hpp"

namespace kopse {

namespace {
struct least_largest {
  static std::size_t choose(std::vector<double> const&, std::vector<double> const& hi2) {
    return static_cast<std::size_t>(std::min_element(hi2.begin(), hi2.end()) - hi2.begin());
  }
};
} // namespace

template <class Real>
std::unique_ptr<assignment_step> make_filter(std::shared_ptr<kd_tree<Real> const> tree,
                                             point_set<Real> points, sum_layout const& layout, index k,
                                             step_options const& options) {
  return std::make_unique<candidate_step<kd_tree<Real>, least_largest>>(std::move(tree), points, layout, k,
                                                                        options);
}
template std::unique_ptr<assignment_step> make_filter(std::shared_ptr<kd_tree<float> const>, point_set<float>,
                                                      sum_layout const&, index, step_options const&);
template std::unique_ptr<assignment_step> make_filter(std::shared_ptr<kd_tree<double> const>,
                                                      point_set<double>, sum_layout const&, index,
                                                      step_options const&);

} // namespace kopse
