// SPDX-License-Identifier: BSD-3-Clause
// The program's command line: words at random, one a line, among files that are there. It ends with 0, 1 or
// 2; where it fails it says so in one line, and leaves no file behind.
#include <fcntl.h>

#include <map>
#include <sstream>

#include "fuzz.hpp"

int kopse_main(int argc, char** argv); // cli/main.cpp

namespace {

using listing = std::map<std::string, std::uintmax_t>;

listing files() {
  listing all;
  for (auto const& entry : std::filesystem::directory_iterator("."))
    all[entry.path().filename().string()] = entry.is_regular_file() ? entry.file_size() : 0;
  return all;
}

void begin_anew() {
  for (auto const& entry : std::filesystem::directory_iterator("."))
    std::filesystem::remove_all(entry.path());
  fuzz::write("four.csv", "0\n1\n10\n11\n");
  fuzz::write("names.csv", "x,y,z\n1,2,3\n4,5,7\n0,1,1\n7,7,7\n2,3,3\n8,8,9\n");
  fuzz::write("two.csv", "0\n10\n");
  fuzz::write("w.txt", "1\n2\n3\n4\n");
}

/// Standard output and error go to a file while it lives.
class redirected {
public:
  redirected(int stream, char const* path) : stream_(stream), kept_(::dup(stream)) {
    int const to = ::open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ::dup2(to, stream);
    ::close(to);
  }
  redirected(redirected const&) = delete;
  redirected& operator=(redirected const&) = delete;
  ~redirected() {
    std::fflush(nullptr);
    ::dup2(kept_, stream_);
    ::close(kept_);
  }

private:
  int stream_, kept_;
};

/// Words that may leave the folder, or ask for much work.
bool harmless(std::vector<std::string> const& words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i].find('/') != std::string::npos || words[i].find('\0') != std::string::npos) return false;
    if (words[i].find("restarts") != std::string::npos || words[i].find("references") != std::string::npos)
      return false;
  }
  return words.size() <= 24;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  static fuzz::folder const dir("options"), told("told");
  static bool const moved = [] {
    std::filesystem::current_path(dir.path());
    int const none = ::open("/dev/null", O_RDONLY);
    ::dup2(none, 0);
    ::close(none);
    begin_anew();
    return true;
  }();
  static_cast<void>(moved);
  std::istringstream lines(std::string(reinterpret_cast<char const*>(data), size));
  std::vector<std::string> words;
  for (std::string line; std::getline(lines, line);) words.push_back(line);
  if (!harmless(words)) return -1;
  words.insert(words.begin(), "kopse");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());

  static std::string const out = told / "out", err = told / "err";
  listing const before = files();
  int status = 0;
  {
    redirected const to_out(1, out.c_str()), to_err(2, err.c_str());
    status = kopse_main(static_cast<int>(argv.size()), argv.data());
  }
  fuzz::require(status >= 0 && status <= 2, "the exit code is 0, 1 or 2, not " + std::to_string(status));
  listing const after = files();
  if (status != 0) {
    std::ifstream file(err, std::ios::binary);
    std::string const text{std::istreambuf_iterator<char>(file), {}};
    std::size_t const last = text.find_last_of('\n', text.size() < 2 ? 0 : text.size() - 2);
    std::string const line = text.substr(last == std::string::npos ? 0 : last + 1);
    fuzz::require(line.starts_with("kopse: ") && line.ends_with('\n'),
                  "the last line tells of the failure: " + text);
    fuzz::require(after == before, "a failure leaves no file behind: " + text);
  }
  if (after != before) begin_anew();
  return 0;
}
