// SPDX-License-Identifier: BSD-3-Clause
// Files that look like checkpoints: their hash is put right, so that what is in them is read. A fit goes on
// from them, or says why not.
#include <cstring>

#include "fingerprint.hpp"
#include "fuzz.hpp"
#include "kopse/kmeans.hpp"

namespace {

/// Half of all tries begin as a checkpoint of this fit does, so that they are not of another one.
std::string a_checkpoint(kopse::point_set<double> points, kopse::options o, std::string const& path) {
  kopse::fit(points, 3, o);
  std::ifstream file(path, std::ios::binary);
  std::string const bytes{std::istreambuf_iterator<char>(file), {}};
  std::filesystem::remove(path);
  return bytes;
}

std::string with_hash(std::string bytes) {
  bytes.resize(bytes.size() / 8 * 8);
  if (bytes.size() < 16) return bytes;
  std::memcpy(bytes.data(), "kopseck2", 8);
  kopse::hasher hash;
  std::uint64_t word = 0;
  for (std::size_t at = 0; at + 8 < bytes.size(); at += 8) {
    std::memcpy(&word, bytes.data() + at, 8);
    hash.add(word);
  }
  word = hash.value();
  std::memcpy(bytes.data() + bytes.size() - 8, &word, 8);
  return bytes;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  static fuzz::folder const dir("checkpoint");
  static double const x[] = {0, 1, 2, 10, 11, 12.5, 20, 23, 24, 30};
  kopse::point_set<double> const points(kopse::matrix_view<double>(x, 10, 1));
  kopse::options o;
  o.threads = 1, o.restarts = 2, o.max_iter = 4, o.algorithm = "lloyd";
  o.checkpoint.file = dir / "a.ckpt";
  static std::string const real = a_checkpoint(points, o, o.checkpoint.file);

  FuzzedDataProvider in(data, size);
  std::string bytes;
  if (in.ConsumeBool()) { // some words of a real one are other words
    bytes = real;
    for (int left = in.ConsumeIntegralInRange(1, 4); left > 0; --left) {
      std::size_t const at = 8 * in.ConsumeIntegralInRange<std::size_t>(1, real.size() / 8 - 2);
      auto const word = in.ConsumeBool() ? in.ConsumeIntegralInRange<std::uint64_t>(0, 40)
                                         : in.ConsumeIntegral<std::uint64_t>();
      std::memcpy(bytes.data() + at, &word, 8);
    }
    bytes.resize(bytes.size() - 8 * in.ConsumeIntegralInRange<std::size_t>(0, 6));
  } else {
    bytes = in.ConsumeRemainingBytesAsString();
  }
  fuzz::write(o.checkpoint.file, with_hash(bytes));
  o.checkpoint.resume = true;
  try {
    kopse::result const r = kopse::fit(points, 3, o);
    fuzz::require(r.labels.size() == 10 && r.centroids.rows() == 3, "a result is whole");
    for (kopse::label const l : r.labels) fuzz::require(l >= 0 && l < 3, "labels are of clusters");
  } catch (kopse::error const& e) {
    fuzz::require_sentence(e.what());
  }
  return 0;
}
