// SPDX-License-Identifier: Apache-2.0
// Damages core dumps of GPUs and the file that the command makes of them, and reads both: nothing
// may lie outside the bytes, and no damage may cost much time.
//
// usage: core_dump_fuzz_driver ROUNDS DUMP...

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

#include "analyzer/core_dump/core_dump.h"
#include "analyzer/trace_reader/core_dump_file.h"

namespace {

using Random = std::mt19937_64;

std::string read_whole(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A third of the hits go to the headers of sections, a third to the tables at the beginning.
std::string damaged(const std::string& whole, Random& random) {
  constexpr std::size_t kTables = 20'000;
  static constexpr unsigned char kValues[] = {0, 1, 0x7f, 0x80, 0xff};
  std::string data = whole;
  std::uint64_t headers = 0;
  std::memcpy(&headers, whole.data() + 40, sizeof headers); // e_shoff
  const std::uint64_t where = random() % 3;
  const std::uint64_t hits = 1 + random() % 200;
  for (std::uint64_t i = 0; i < hits; ++i) {
    std::size_t at = random() % data.size();
    if (where == 0 && headers < data.size()) at = headers + random() % (data.size() - headers);
    if (where == 1) at = random() % std::min(data.size(), kTables);
    data[at] = static_cast<char>(kValues[random() % std::size(kValues)]);
  }
  if (random() % 7 == 0) data.resize(random() % data.size());
  return data;
}

std::string odd_lines(Random& random) {
  static constexpr const char* kWords[] = {
    "dump", "fault", "lanes",   "only", "place", "extents",    "grid",        "1",
    "-",    "warp",  "stopped", "\t",   "\n",    "4000000000", "ffffffffffff"};
  std::string text;
  for (int i = 0; i < 200; ++i) {
    text += kWords[random() % std::size(kWords)];
    text += random() % 3 != 0 ? '\t' : '\n';
  }
  return text;
}

} // namespace

int main(int count, char** words) {
  if (count < 3) return 2;
  Random random(1);
  const int rounds = std::atoi(words[1]);
  const auto begin = std::chrono::steady_clock::now();
  std::size_t faults = 0;
  std::uint64_t damaged_lines = 0;
  for (int i = 0; i < rounds; ++i) {
    const std::string whole = read_whole(words[2 + i % (count - 2)]);
    if (whole.size() < 64) return 2;
    faults += gmt::read_core_dump(damaged(whole, random)).faults.size();
    faults += gmt::parse_core_dumps(odd_lines(random), damaged_lines).size();
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  std::printf("%d rounds, %zu faults, %.1f s\n", rounds, faults, took.count());
  return took.count() < 0.1 * rounds + 5 ? 0 : 1;
}
