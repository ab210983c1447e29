// SPDX-License-Identifier: BSD-3-Clause
// Several files as one, and ranges of rows: of any mixture of formats the same rows.

#include <random>

#include "io_files.hpp"

namespace kopse {
namespace {

using namespace test;

class io_sets : public testing::Test {
protected:
  std::string fault(std::vector<std::string> const& paths, load_options const& options = {}) {
    try {
      load(paths, options);
    } catch (error const& e) {
      return e.what();
    }
    return "";
  }
  directory dir;
};

TEST_F(io_sets, rows_of_the_first_then_of_the_next) {
  std::vector<std::string> const paths{write(dir / "a.csv", "x,y\n1,2\n3,4\n"),
                                       write(dir / "b.tsv", "x\ty\n5\t6\n"), write(dir / "c.txt", "7 8\n")};
  table const all = load(paths);
  EXPECT_EQ(rows_of(all), (nested{{1, 2}, {3, 4}, {5, 6}, {7, 8}}));
  EXPECT_EQ(all.names, (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(all.notes.at(1), dir / "b.tsv" + ": header skipped: x,y");
  EXPECT_EQ(rows_of(load(paths, rows_only(1, 3))), (nested{{3, 4}, {5, 6}}));
  load_options second;
  second.columns = {1};
  second.rows = {1, {}};
  EXPECT_EQ(rows_of(load(paths, second)), (nested{{4}, {6}, {8}}));
  EXPECT_EQ(fault({paths[0], paths[2]}), "");
}

TEST_F(io_sets, what_does_not_belong_together) {
  auto const a = write(dir / "a.csv", "x,y\n1,2\n"), wide = write(dir / "w.csv", "1,2,3\n"),
             other = write(dir / "o.csv", "y,x\n1,2\n"), plain = write(dir / "p.csv", "1,2\n");
  EXPECT_EQ(fault({a, wide}), wide + ": found 3 columns, expected 2 as in " + a);
  EXPECT_HAS(fault({a, plain, other}), other + ": found other names in its header line than in " + a);
  EXPECT_HAS(fault({a, dir / "none.csv"}), "cannot read " + dir / "none.csv");
  EXPECT_HAS(fault({a, write(dir / "bad.csv", "1,2\n3,x\n")}), dir / "bad.csv" + ":2:2: ");
  EXPECT_THROW(load(std::vector<std::string>{}), usage_error);
}

TEST_F(io_sets, ranges_that_are_not_there) {
  auto const path = write(dir / "a.csv", "1\n2\n3\n");
  for (auto const& [first, last] : std::vector<std::pair<index, std::optional<index>>>{
           {-1, {}}, {2, 2}, {2, 1}, {3, {}}, {0, 4}, {5, 9}}) {
    EXPECT_THROW(load(path, rows_only(first, last)), usage_error) << first;
    if (first < 0) continue;
    EXPECT_THROW(load(std::vector{path, path}, rows_only(first + 3, last ? *last + 3 : last)), usage_error);
  }
  EXPECT_EQ(load_error(path, rows_only(0, 4)),
            path + ": rows 0:4 were asked for, but there are 3 rows, numbered from 0");
}

/// Values that are exact in every format.
matrix<double> numbers(index rows) {
  matrix<double> values(rows, 3);
  for (index i = 0; i < 3 * rows; ++i) values.row(0)[i] = static_cast<double>(i % 509) / 4;
  return values;
}

TEST_F(io_sets, the_same_rows_whatever_the_format) {
  matrix<double> const values = numbers(5000);
  std::vector<std::string> names;
  for (std::string const name :
       {"a.npy", "a.csv", "a.fvecs", "a.csv.gz", "a.tsv.zst", "a.npy.gz", "a.fvecs.zst"}) {
    try {
      save(dir / name, values);
      names.push_back(dir / name);
    } catch (error const& e) {
      EXPECT_HAS(std::string(e.what()), "built without");
    }
  }
  nested const all = rows_of(table(matrix<double>(values)));
  std::mt19937 draw(6);
  for (std::string const& name : names) EXPECT_EQ(rows_of(load(name)), all) << name;
  for (int i = 0; i < 60; ++i) {
    std::vector<std::string> paths;
    nested joined;
    for (auto n = 1 + draw() % 3; n > 0; --n) {
      paths.push_back(names[draw() % names.size()]);
      joined.insert(joined.end(), all.begin(), all.end());
    }
    auto const first = static_cast<index>(draw() % joined.size());
    auto const last =
        first + 1 + static_cast<index>(draw() % (joined.size() - static_cast<std::size_t>(first)));
    nested const expected(joined.begin() + first, joined.begin() + last);
    ASSERT_EQ(rows_of(load(paths, rows_only(first, last))), expected) << first << ":" << last;
  }
}

TEST_F(io_sets, float32_if_all_are) {
  save(dir / "a.fvecs", numbers(4));
  save(dir / "a.npy", numbers(4));
  EXPECT_TRUE(load(std::vector{dir / "a.fvecs", dir / "a.fvecs"}).is_float32());
  EXPECT_FALSE(load(std::vector{dir / "a.fvecs", dir / "a.npy"}).is_float32());
  EXPECT_TRUE(load(dir / "a.npy", rows_only(1, 3)).mapped);
}

TEST_F(io_sets, vectors_by_places) {
  auto const column = write(dir / "c.csv", "1\n2\n3\n"), row = write(dir / "r.csv", "1,2,3\n");
  for (auto const& path : {column, row}) {
    EXPECT_EQ(load_vector(path, 0, {1, {}}), (std::vector<double>{2, 3}));
    EXPECT_EQ(load_vector(path, 0, {1, 2}), (std::vector<double>{2}));
    EXPECT_THROW(load_vector(path, 0, {1, 4}), usage_error);
    EXPECT_THROW(load_vector(path, 0, {3, {}}), usage_error);
  }
}

} // namespace
} // namespace kopse
