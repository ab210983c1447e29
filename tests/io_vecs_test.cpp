// SPDX-License-Identifier: BSD-3-Clause
// .fvecs, .bvecs and .ivecs: what they hold, what they promise and do not keep, and how they are written.

#include <limits>
#include <random>

#include "io_files.hpp"

namespace kopse {
namespace {

using namespace test;

/// Rows of T, each with its length before it.
template <class T> std::string vecs(std::vector<std::vector<T>> const& rows) {
  std::string all;
  for (auto const& row : rows)
    all += bytes_of<std::int32_t>({static_cast<std::int32_t>(row.size())}) + bytes_of(row);
  return all;
}

std::string dimension(std::int32_t d) { return bytes_of<std::int32_t>({d}); }

class io_vecs : public testing::Test {
protected:
  std::string fault(std::string const& content, std::string const& name = "a.fvecs") {
    auto const path = write(dir / name, content);
    std::string const message = load_error(path);
    EXPECT_TRUE(message.starts_with(path + ": ")) << message;
    return message.substr(std::min(message.size(), path.size() + 2));
  }
  directory dir;
  std::string const good = vecs<float>({{1, 2, 3}, {4, 5, 6}, {7, 8, 9}});
  nested const nine{{1, 2, 3}, {4, 5, 6}, {7, 8, 9}};
};

TEST_F(io_vecs, floats_stay_where_they_are) {
  table const values = load(write(dir / "a.fvecs", good));
  EXPECT_EQ(rows_of(values), nine);
  EXPECT_TRUE(values.mapped && values.is_float32());
  EXPECT_EQ(values.visit([](auto const& view) { return view.stride(); }), 4);
  load_options options;
  options.columns = {1, 2};
  EXPECT_TRUE(load(dir / "a.fvecs", options).mapped);
  EXPECT_EQ(rows_of(load(dir / "a.fvecs", options)), (nested{{2, 3}, {5, 6}, {8, 9}}));
  options.columns = {2, 0};
  EXPECT_FALSE(load(dir / "a.fvecs", options).mapped);
  EXPECT_EQ(rows_of(load(dir / "a.fvecs", options)), (nested{{3, 1}, {6, 4}, {9, 7}}));
  options.columns = {3};
  EXPECT_THROW(load(dir / "a.fvecs", options), usage_error);
}

TEST_F(io_vecs, bytes_and_whole_numbers) {
  table const bytes = load(write(dir / "a.bvecs", vecs<std::uint8_t>({{0, 255}, {7, 128}, {1, 2}})));
  EXPECT_EQ(rows_of(bytes), (nested{{0, 255}, {7, 128}, {1, 2}}));
  EXPECT_TRUE(bytes.is_float32());
  table const whole =
      load(write(dir / "a.IVECS", vecs<std::int32_t>({{-1, 2147483647}, {5, -2147483647 - 1}})));
  EXPECT_EQ(rows_of(whole), (nested{{-1, 2147483647.}, {5, -2147483648.}}));
  EXPECT_FALSE(whole.is_float32());
}

TEST_F(io_vecs, dimensions_that_cannot_be) {
  EXPECT_HAS(fault(""), "empty file");
  EXPECT_HAS(fault("abc"), "within the dimension of row 0");
  for (std::int32_t const d : {0, -1, std::numeric_limits<std::int32_t>::min()})
    EXPECT_HAS(fault(dimension(d) + good), "the dimension " + std::to_string(d) + " in row 0");
  EXPECT_HAS(fault(dimension(std::numeric_limits<std::int32_t>::max()) + good), "it ends within row 0");
  EXPECT_HAS(fault(dimension(2)), "it ends within row 0");
}

TEST_F(io_vecs, a_dimension_that_changes) {
  EXPECT_HAS(fault(vecs<float>({{1, 2}, {3, 4}, {5, 6, 7}})),
             "the dimension 3 in row 2 (counted from 0; byte 24), expected 2 as in row 0");
  EXPECT_HAS(fault(vecs<float>({{1, 2}, {3}, {5, 6, 7}})),
             "the dimension 1 in row 1"); // as long as three rows
  EXPECT_HAS(fault(vecs<std::uint8_t>({{1, 2}, {3}, {5, 6, 7}}), "a.bvecs"), "the dimension 1 in row 1");
  EXPECT_HAS(fault(good + dimension(-3)), "the dimension -3 in row 3");
  EXPECT_HAS(fault(good + "x"), "it ends within row 3 (counted from 0; byte 48)");
}

TEST_F(io_vecs, every_cut_but_those_between_rows_is_an_error) {
  for (std::size_t size = 0; size < good.size(); ++size)
    EXPECT_EQ(load_error(write(dir / "a.fvecs", good.substr(0, size))) == "", size > 0 && size % 16 == 0)
        << size;
}

TEST_F(io_vecs, at_random_spoilt_it_is_read_or_refused) {
  std::mt19937 draw(1);
  std::string const large = vecs<float>(std::vector<std::vector<float>>(100, std::vector<float>(7, 1.5f)));
  for (int i = 0; i < 200; ++i) {
    std::string content =
        spoilt(large, draw() % large.size()).substr(0, draw() % 4 ? large.npos : draw() % large.size());
    for (auto const* name : {"a.fvecs", "a.bvecs", "a.ivecs"}) load_error(write(dir / name, content));
  }
}

TEST_F(io_vecs, values_that_are_not_finite) {
  float const nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  EXPECT_HAS(fault(vecs<float>({{1, 2}, {3, nan}})), "found NaN in row 1, column 1 (both count from 0)");
  EXPECT_HAS(fault(vecs<float>({{-inf, 2}, {3, 4}})), "found an infinity in row 0, column 0");
  EXPECT_EQ(rows_of(load(write(dir / "a.fvecs", vecs<float>({{-inf, 2}, {3, 4}})), rows_only(1))),
            (nested{{3, 4}}));
}

TEST_F(io_vecs, rows_by_seeking) {
  write(dir / "a.fvecs", good);
  table const two = load(dir / "a.fvecs", rows_only(1));
  EXPECT_EQ(rows_of(two), (nested{{4, 5, 6}, {7, 8, 9}}));
  EXPECT_TRUE(two.mapped);
  EXPECT_EQ(rows_of(load(dir / "a.fvecs", rows_only(1, 2))), (nested{{4, 5, 6}}));
  EXPECT_THROW(load(dir / "a.fvecs", rows_only(3)), usage_error);
  EXPECT_THROW(load(dir / "a.fvecs", rows_only(0, 4)), usage_error);
}

TEST_F(io_vecs, written_and_read_back) {
  matrix<double> values(2, 3);
  for (index i = 0; i < 6; ++i) values.row(0)[i] = 0.1 * static_cast<double>(i);
  save(dir / "c.fvecs", values);
  EXPECT_EQ(read(dir / "c.fvecs"), vecs<float>({{0, 0.1f, 0.2f}, {0.3f, 0.4f, 0.5f}}));
  std::vector<label> const labels{3, 0, 70000};
  save(dir / "l.ivecs", std::span<label const>(labels));
  EXPECT_EQ(rows_of(load(dir / "l.ivecs")), (nested{{3}, {0}, {70000}}));
  EXPECT_EQ(load_vector(dir / "l.ivecs"), (std::vector<double>{3, 0, 70000}));
  values(1, 2) = 1e300;
  EXPECT_THROW(save(dir / "c.fvecs", values), error);
  EXPECT_EQ(load(dir / "c.fvecs").rows(), 2) << "the old file is there";
  for (auto const* name : {"c.ivecs", "c.bvecs"}) EXPECT_THROW(save(dir / name, values), usage_error);
  for (auto const* name : {"l.fvecs", "l.bvecs"}) {
    EXPECT_THROW(save(dir / name, std::span<label const>(labels)), usage_error);
    EXPECT_THROW(check_save(dir / name, content::labels), usage_error);
  }
  EXPECT_EQ(dir.files(), 2u);
}

} // namespace
} // namespace kopse
