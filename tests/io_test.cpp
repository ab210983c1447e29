// SPDX-License-Identifier: BSD-3-Clause
// Reading text, choosing files, and their errors. H43 to H45 are reports by users of other programs: a header
// read as zeros, a wrong delimiter that shifts a row, line ends that break the last column.

#include <charconv>
#include <cmath>
#include <limits>
#include <random>

#include <sys/stat.h>

#include "io_files.hpp"

namespace kopse {
namespace {

using namespace test;

class io : public testing::Test {
protected:
  /// The rows of a file of this content.
  nested rows(std::string const& text, load_options const& options = {}, std::string const& name = "a.csv") {
    table const values = load(write(dir / name, text), options);
    notes = values.notes;
    names = values.names;
    return rows_of(values);
  }
  /// The error for a file of this content, without the path before it.
  std::string fault(std::string const& text, load_options const& options = {},
                    std::string const& name = "a.csv") {
    std::string const message = load_error(write(dir / name, text), options);
    EXPECT_TRUE(message.starts_with(dir / name + ":")) << message;
    return message.substr(std::min(message.size(), (dir / name).size() + 1));
  }

  directory dir;
  std::vector<std::string> notes, names;
  using list = std::vector<std::string>;
  nested const four{{1, 2}, {3, 4}};
};

load_options const with_header{.header = header_line::yes, .delimiter = {}, .columns = {}};
load_options const no_header{.header = header_line::no, .delimiter = {}, .columns = {}};
load_options delimited(char c) { return {.header = header_line::detect, .delimiter = c, .columns = {}}; }
load_options columns(std::vector<index> c) {
  return {.header = header_line::detect, .delimiter = {}, .columns = std::move(c)};
}

TEST_F(io, H43_header_is_named_and_skipped) {
  EXPECT_EQ(rows("x,y\n1,2\n3,4\n"), four);
  EXPECT_EQ(notes, list{"header skipped: x,y"});
  EXPECT_EQ(names, (list{"x", "y"}));
  EXPECT_EQ(rows("1,2\n3,4\n"), four);
  EXPECT_TRUE(notes.empty());
  EXPECT_TRUE(names.empty());
}

TEST_F(io, H43_numeric_header_is_data_unless_forced) {
  EXPECT_EQ(rows("2019,2020\n1,2\n3,4\n"), (nested{{2019, 2020}, {1, 2}, {3, 4}}));
  EXPECT_EQ(rows("2019,2020\n1,2\n3,4\n", with_header), four);
  EXPECT_EQ(notes, list{"header skipped: 2019,2020"});
  EXPECT_EQ(rows("1,2\n3,4\n", no_header), four);
  EXPECT_HAS(fault("x,y\n1,2\n", no_header), "1:1: found \"x\", expected a number");
  EXPECT_EQ(rows("any line\n1,2\n3,4\n", with_header), four);
  EXPECT_TRUE(names.empty());
}

TEST_F(io, H43_line_that_may_be_data_is_never_dropped) {
  for (auto const* first :
       {"x,2020", "1.5abc,y", "NA,NA", "nan,nan", "0x10,0x20", ",", "-,-", "2020-01-01,a"}) {
    EXPECT_HAS(fault(std::string(first) + "\n1,2\n"), "1:") << first;
  }
  EXPECT_HAS(fault("x,2020\n1,2\n"), "force a header line");
  EXPECT_HAS(fault("x,y\na,b\n1,2\n"), "2:1: found \"a\"");
}

TEST_F(io, H43_names_may_be_quoted_empty_or_any_text) {
  EXPECT_EQ(rows("\"the \"\"x\"\", or so\", y \n1,2\n3,4\n"), four);
  EXPECT_EQ(names, (list{"the \"x\", or so", "y"}));
  EXPECT_EQ(rows(",y\n1,2\n3,4\n"), four);
  EXPECT_EQ(names, (list{"", "y"}));
  EXPECT_EQ(notes, list{"header skipped: ,y"});
  EXPECT_EQ(rows("Gr\xC3\xB6\xC3\x9F"
                 "e,Gr\xF6\xDF"
                 "e\n1,2\n3,4\n"),
            four);
  EXPECT_EQ(names, (list{"Gr\xC3\xB6\xC3\x9F"
                         "e",
                         "Gr\\xf6\\xdf"
                         "e"})); // always valid UTF-8
  EXPECT_HAS(fault("x,y\n1,2,3\n"), "2:3: found 3 values, expected 2 as in line 1");
}

TEST_F(io, H44_delimiter_is_found_whatever_the_suffix) {
  EXPECT_EQ(rows("1\t2\n3\t4\n"), four);
  EXPECT_EQ(notes, list{"delimiter found: tab"});
  EXPECT_EQ(rows("1;2\n3;4\n"), four);
  EXPECT_EQ(notes, list{"delimiter found: semicolon"});
  EXPECT_EQ(rows("  1   2\n3 4  \n"), four);
  EXPECT_EQ(notes, list{"delimiter found: spaces"});
  EXPECT_EQ(rows("a b;c d\n1; 2\n 3 ;4\n"), four);
  EXPECT_EQ(names, (list{"a b", "c d"}));
  EXPECT_EQ(rows("1,2\n3,4\n", {}, "a.tsv"), four);
  EXPECT_EQ(notes, list{"delimiter found: comma"});
  for (auto const* usual : {"1\t2\n3\t4\n", "1 2\n3 4\n"}) {
    EXPECT_EQ(rows(usual, {}, "a.txt"), four);
    EXPECT_TRUE(notes.empty());
  }
  EXPECT_EQ(rows("1\n2\n", {}, "a.txt"), (nested{{1}, {2}}));
  EXPECT_EQ(rows("my column\n1\n2\n"), (nested{{1}, {2}}));
  EXPECT_TRUE(notes.size() == 1 && names == list{"my column"});
}

TEST_F(io, H44_delimiter_forced) {
  EXPECT_EQ(rows("1|2\n3|4\n", delimited('|')), four);
  EXPECT_EQ(rows("1;2\n3;4\n", delimited(';')), four);
  EXPECT_TRUE(notes.empty());
  EXPECT_HAS(fault("1\t2\n", delimited(',')), "1:1: found \"1\\t2\", expected a number");
  EXPECT_HAS(fault("1;2\n3;4\n", delimited(',')), "1:1: found \"1;2\", expected a number");
  for (char const c : {'.', 'e', '5', '-', '"', '#', '\n', '\0'}) {
    EXPECT_THROW(load(dir / "a.csv", delimited(c)), usage_error) << c;
  }
}

TEST_F(io, H44_rows_are_never_shifted_or_padded) {
  EXPECT_HAS(fault("6,,2\n1,2,3\n"), "1:2: found an empty cell, expected a number");
  EXPECT_HAS(fault("1,2,3\n6, ,2\n"), "2:2: found an empty cell");
  EXPECT_HAS(fault("1,2,3\n6,\"\",2\n"), "2:2: found an empty cell");
  EXPECT_HAS(fault("1,2,\n3,4,\n"), "1:3: found an empty cell");
  EXPECT_HAS(fault("1\t\t2\n3\t4\t5\n"), "1:2: found an empty cell");
  EXPECT_HAS(fault("1\t2\n\t2\n", {}, "a.tsv"), "2:1: found an empty cell");
  EXPECT_HAS(fault("1\t2\n\t\n", {}, "a.tsv"), "2:1: found an empty cell");
  EXPECT_HAS(fault("1,2\n3\n5,6\n"), "2:2: found 1 value, expected 2 as in line 1");
  EXPECT_HAS(fault("# a\n1,2\n\n3,4,5\n"),
             "4:3: found 3 values, expected 2 as in line 2 (line 4, field 3; both count from 1)");
  EXPECT_HAS(fault("3\n1,2\n"), "2:2: found 2 values, expected 1");
  EXPECT_HAS(fault("1,2\n3;4\n"), "2:1: found \"3;4\"");
}

TEST_F(io, H44_comments_and_blank_lines_anywhere) {
  nested const expected = four;
  for (auto const* text : {"# a\n1,2\n3,4\n", "1,2\n\n3,4\n", "1,2\n3,4\n\n\n", "\n  \n1,2\n # b, c\n3,4\n#",
                           "#\n#x\n1,2\r\r\r3,4"}) {
    EXPECT_EQ(rows(text), expected) << text;
  }
  EXPECT_EQ(rows("# a\nx,y\n# b\n1,2\n3,4\n"), expected);
  EXPECT_HAS(fault("1,2\n3,4 # b\n"), "2:2: found \"4 # b\"");
}

TEST_F(io, H44_decimal_commas_are_refused) {
  for (auto const* text : {"1,5;2,5\n3,5;4,5\n", "a;b\n1,5;2,5\n", "1,5;2\n", "1;2\n1,5;2\n"}) {
    EXPECT_HAS(fault(text), "1,5\", expected a number with a decimal point, not a comma") << text;
  }
  EXPECT_HAS(fault("1,5 2,5\n"), "1:1: found \"1,5\"");
  EXPECT_HAS(fault("1,5\t2,5\n", {}, "a.tsv"), "1:1: found \"1,5\"");
  EXPECT_HAS(fault("1,5;2,5\n3,5;4,5\n", delimited(',')), "1:2: found \"5;2\"");
  EXPECT_HAS(fault("1,5;a\n3,5;b\n", columns({0})), "1:1: found \"1,5\"") << "not 1 and the text 5;a";
  EXPECT_EQ(rows("1 ,2\n3, 4\n"), four);
}

TEST_F(io, H45_line_ends_and_byte_order_mark) {
  for (auto const* end : {"\n", "\r\n", "\r", "\r\r\n"}) {
    for (auto const* start : {"", "\xEF\xBB\xBF", "\xEF\xBB\xBFx,y@", "# c@@"}) {
      for (auto const* last : {"", "@", "@@@"}) {
        std::string text, pattern = std::string(start) + "1,2@3,4" + last;
        for (char const c : pattern) text += c == '@' ? std::string(end) : std::string(1, c);
        EXPECT_EQ(rows(text), four) << pattern;
      }
    }
  }
}

TEST_F(io, H45_lines_are_counted_whatever_their_ends) {
  EXPECT_HAS(fault("1,2\r\r\n3,x\r\n"), "2:2:");
  EXPECT_HAS(fault("1,2\r\r\r3,x\r"), "4:2:");
  EXPECT_HAS(fault("1,2\n\n\r\n\r3,x"), "5:2:");
  EXPECT_HAS(fault("\xEF\xBB\xBF"
                   "1,x"),
             "1:2:");
}

TEST_F(io, cells_that_are_no_numbers) {
  struct {
    char const *cell, *expected;
  } const cases[] = {
      {"abc", "a number"},
      {"1.5abc", "a number"},
      {"0x10", "a number"},
      {"1 2", "a number"},
      {"--1", "a number"},
      {"+-1", "a number"},
      {"++1", "a number"},
      {"+", "a number"},
      {"1e", "a number"},
      {"nan", "a finite"},
      {"-inf", "a finite"},
      {"+Infinity", "a finite"},
      {"1e400", "a number within the range"},
      {"-1e400", "a number within the range"},
      {"1d5", "a number"},
      {"\"1", "quotes"},
      {"\"1\"2", "quotes"},
      {"'1'", "a number"},
      {"1_000", "a number"},
      {".", "a number"},
      {"\xE2\x88\x92"
       "1",
       "a number"},
  };
  for (auto const& c : cases) {
    std::string const message = fault("1,2,3\n4," + std::string(c.cell) + ",6\n");
    EXPECT_HAS(message, "2:2: found ") << c.cell;
    EXPECT_HAS(message,
               std::string("expected ") + (c.expected == std::string("quotes") ? "a value" : c.expected))
        << c.cell;
  }
}

TEST_F(io, numbers_as_they_are_written) {
  EXPECT_EQ(rows("+1,-2.\n.5,1E+2\n"), (nested{{1, -2}, {.5, 100}}));
  EXPECT_EQ(rows("\"1.5\",\"2\"\n 3 , \" +4 \" \n"), (nested{{1.5, 2}, {3, 4}}));
  EXPECT_EQ(rows("\"1.5\";\"2\"\n"), (nested{{1.5, 2}}));
  EXPECT_EQ(rows("5e-324,1e308\n"), (nested{{5e-324, 1e308}}));
  EXPECT_TRUE(std::signbit(rows("-0,1\n")[0][0]));
  EXPECT_EQ(rows("1-2\n5", with_header), (nested{{5}}));
  EXPECT_HAS(fault("1 2\n1-2\n"), "2:1: found \"1-2\"");
}

/// Tables of every dialect, drawn at random, with what makes reading them harder.
TEST_F(io, any_dialect_is_read_as_it_was_written) {
  std::mt19937_64 draw(1);
  auto const one_of = [&](auto const& choice) { return choice[draw() % std::size(choice)]; };
  std::string const delimiters = ",;\t ";
  char const* const ends[] = {"\n", "\r\n", "\r\r\n", "\r"};
  char const* const fillers[] = {"", "", "", "@", "# c;1,2 @", "  @"};
  char const* const titles[] = {"", "a b,c", "x"};
  for (int round = 0; round < 500; ++round) {
    char const delimiter = one_of(delimiters);
    std::string pattern = draw() % 4 ? "" : "\xEF\xBB\xBF";
    nested expected(1 + draw() % 30, std::vector<double>(2 + draw() % 4));
    bool const header = draw() % 2, spaces = draw() % 4 == 0;
    if (header) {
      for (std::size_t j = 0; j < expected[0].size(); ++j) {
        pattern += (j ? std::string(1, delimiter) : "") + '"' + (j ? one_of(titles) : "first") + '"';
      }
      pattern += '@';
    }
    for (auto& row : expected) {
      for (std::size_t j = 0; j < row.size(); ++j) {
        row[j] = std::ldexp(static_cast<double>(static_cast<std::int64_t>(draw())),
                            static_cast<int>(draw() % 200) - 100);
        char digits[32];
        std::string const number(digits, std::to_chars(digits, digits + 32, row[j]).ptr);
        std::string const quote = draw() % 8 ? "" : "\"", space = spaces && draw() % 2 ? "  " : "";
        pattern += (j ? std::string(1, delimiter) : "") + space + quote + number + quote + space;
      }
      pattern += std::string("@") + one_of(fillers);
    }
    std::string text, end = one_of(ends);
    for (char const c : pattern) text += c == '@' ? end : std::string(1, c);
    if (text.ends_with(end) && draw() % 2) text.resize(text.size() - end.size());
    ASSERT_EQ(rows(text, {}, one_of(std::vector{"a.csv", "a.tsv", "a.txt"})), expected) << text;
    ASSERT_EQ(names.size(), header ? expected[0].size() : 0u) << text;
  }
}

TEST_F(io, columns_chosen) {
  std::string const text = "id,x,y\ns1,1,2\n\"s,2\",3,4\n";
  EXPECT_EQ(rows(text, columns({1, 2})), four);
  EXPECT_EQ(names, (list{"x", "y"}));
  EXPECT_EQ(rows(text, columns({2, 1, 2})), (nested{{2, 1, 2}, {4, 3, 4}}));
  EXPECT_EQ(rows("s1,1,2\ns2,3,4\n", columns({1, 2})), four) << "no header: the chosen cells are numbers";
  EXPECT_HAS(fault(text, columns({0})), "2:1: found \"s1\"");
  EXPECT_HAS(fault("a,1\nb,2,3\n", columns({1})), "2:3: found 3 values");
  EXPECT_EQ(rows("1,,2\n3,,4\n", columns({0, 2})), four);
  for (index const wrong : {index{3}, index{-1}}) {
    EXPECT_THROW(load(dir / "a.csv", columns({wrong})), usage_error);
    EXPECT_HAS(fault(text, columns({1, wrong})),
               "there is no column " + std::to_string(wrong) + "; it has 3 columns, numbered from 0");
  }
}

TEST_F(io, files_without_rows) {
  EXPECT_HAS(fault(""), "found an empty file");
  EXPECT_HAS(fault("\n\r\n  \n# a\n"), "no values");
  EXPECT_HAS(fault("\xEF\xBB\xBF"), "no values");
  EXPECT_HAS(fault("x,y\n"), "found a header line and nothing below it");
  EXPECT_HAS(fault("1,2\n", with_header), "found a header line and nothing below it");
}

TEST_F(io, binary_files_named_as_text) {
  using namespace std::string_literals;
  EXPECT_HAS(fault("1,2\n3,\0\n"s), "2:2: found \"\\x00\"");
  EXPECT_HAS(fault("1,2\0\n"s), "1:2:");
  EXPECT_HAS(fault("1,2\n#\0\n"s), "2:1:");
  EXPECT_HAS(fault("\x93NUMPY\x01\x00v"s), "1:1: found the byte \\x01, expected text");
  EXPECT_HAS(fault("\xFF\xFE"
                   "1\0,\0"
                   "2\0\n\0"s),
             "1:1:"); // UTF-16
  EXPECT_HAS(fault("\x89PNG\r\n\x1a\n"s), "2:1: found \"\\x1a\"");
}

TEST_F(io, one_long_line_and_long_runs_of_ends) {
  std::string wide = "1", ends = "1,2";
  for (int j = 1; j < 20000; ++j) wide += ",1";
  EXPECT_EQ(rows(wide + "\n" + wide).at(1).size(), 20000u);
  EXPECT_EQ(rows(ends + std::string(3000000, '\r') + "3,4"), four); // linear, or this takes hours
  std::string many;
  for (int i = 0; i < 300000; ++i) many += "1\r";
  EXPECT_EQ(rows(many).size(), 300000u);
}

/// Lines that fill a few pieces of those in which files are read, line i + 1 being edited(i, "i,1.5").
template <class Edited> std::string long_file(index lines, Edited const& edited) {
  std::string text;
  for (index i = 0; i < lines; ++i)
    text += edited(i, std::to_string(i) + ',' + std::to_string(i) + ".25") + (i % 3 ? "\n" : "\r\n");
  return text;
}

TEST_F(io, long_files_are_the_same_on_any_number_of_threads) {
  constexpr index lines = 250000; // 4 MB
  std::string const text = long_file(lines, [](index i, std::string const& line) {
    return i == 0          ? "# what a long file\nx,y"
           : i % 1000 == 7 ? "# " + line
           : i % 100 == 3  ? line + "\n\n"
                           : line;
  });
  for (int const threads : {1, 2, 3, 8}) {
    load_options options;
    options.threads = threads;
    table const values = load(write(dir / "long.csv", text), options);
    EXPECT_EQ(values.names, (list{"x", "y"}));
    ASSERT_EQ(values.rows(), lines - 1 - lines / 1000);
    auto const& all = std::get<matrix_view<double>>(values.view());
    index row = 0;
    for (index i = 1; i < lines; ++i) {
      if (i % 1000 == 7) continue;
      ASSERT_EQ(all(row, 0), i);
      ASSERT_EQ(all(row++, 1), static_cast<double>(i) + 0.25);
    }
  }
}

TEST_F(io, of_many_faults_in_a_long_file_the_first_is_named) {
  constexpr index lines = 250000;
  for (index const first : {0, 10, 100000, 249990}) {
    std::string const text = long_file(
        lines, [&](index i, std::string const& line) { return i < first || i % 7 ? line : line + 'x'; });
    std::string const where = std::to_string((first + 6) / 7 * 7 + 1) + ":2:";
    for (int const threads : {1, 2, 8}) {
      load_options options = no_header;
      options.threads = threads;
      EXPECT_HAS(fault(text, options), where);
    }
  }
}

TEST_F(io, files_that_cannot_be_read) {
  EXPECT_HAS(load_error(dir / "none.csv"), "cannot read " + dir / "none.csv" + ": No such file or directory");
  std::filesystem::create_directory(dir / "d.csv");
  EXPECT_HAS(load_error(dir / "d.csv"), "it is a directory");
  ASSERT_EQ(::mkfifo((dir / "p.csv").c_str(), 0600), 0);
  EXPECT_HAS(load_error(dir / "p.csv"), "it is a pipe or device");
  for (auto const* name : {"a.dat", "a", "a.gz", "a.dat.zst", "a.", ".npz"}) {
    EXPECT_HAS(load_error(write(dir / name, "1,2\n")), "known are .csv, .tsv, .txt, .npy") << name;
    EXPECT_THROW(load(dir / name), usage_error);
  }
  EXPECT_EQ(rows("1,2\n3,4\n", {}, "A.CSV"), four);
  if (::geteuid() == 0) return; // root may read everything
  ::chmod(write(dir / "secret.csv", "1\n").c_str(), 0);
  EXPECT_HAS(load_error(dir / "secret.csv"), "Permission denied");
}

TEST_F(io, vectors_are_one_column_or_one_row) {
  using numbers = std::vector<double>;
  EXPECT_EQ(load_vector(write(dir / "w.csv", "weight\n1\n2.5\n")), (numbers{1, 2.5}));
  EXPECT_EQ(load_vector(write(dir / "w.csv", "1,2.5,3\n")), (numbers{1, 2.5, 3}));
  EXPECT_THROW(load_vector(write(dir / "w.csv", "1,2\n3,4\n")), error);
}

} // namespace
} // namespace kopse
