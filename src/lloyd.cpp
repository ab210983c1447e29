// SPDX-License-Identifier: BSD-3-Clause
// Lloyd's algorithm, the plain one: every distance, every iteration.
//
// S. P. Lloyd, "Least squares quantization in PCM", IEEE Trans. Inf. Theory 28 (1982).
// Time n·k·d an iteration; memory 4 bytes a point (its label) and 12·k·d. Points go in tiles that are kept in
// the cache, a few vectors at a time, against centroids one after the other, in float32 where that settles it
// (screen.hpp). Use it for small k, in many dimensions, or as the judge of the others; not where n·k is
// large.
#include <optional>

#include "flat_step.hpp"
#include "nearest.hpp"
#include "steps.hpp"

namespace kopse {

namespace {

template <class Real> class lloyd_step final : public flat_step<Real> {
public:
  lloyd_step(point_set<Real> points, sum_layout layout, index k, step_options const& options)
      : flat_step<Real>(points, std::move(layout), k, options) {}

private:
  void prepare() override { nearest_.emplace(this->seen_.view()); }
  void assign_block(index first, index last, work_counters& work) override {
    rooms_.lend([&](brute_force::scratch& room) {
      nearest_->find_nearest(this->points_.rows.slice(first, last), room, &this->owner(first));
    });
    work.distances += (last - first) * this->k_;
  }

  std::optional<brute_force> nearest_; // of this assignment
  per_thread<brute_force::scratch> rooms_{[] { return brute_force::scratch(); }};
};

} // namespace

template <class Real>
std::unique_ptr<assignment_step> make_lloyd(point_set<Real> points, sum_layout const& layout, index k,
                                            step_options const& options) {
  return std::make_unique<lloyd_step<Real>>(points, layout, k, options);
}
template std::unique_ptr<assignment_step> make_lloyd(point_set<float>, sum_layout const&, index,
                                                     step_options const&);
template std::unique_ptr<assignment_step> make_lloyd(point_set<double>, sum_layout const&, index,
                                                     step_options const&);

} // namespace kopse
