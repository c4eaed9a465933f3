// SPDX-License-Identifier: Apache-2.0
// Damaged sections of fat binaries. The same mutations for the same number. Fails if hardly any
// entry could be unpacked, or none was refused: then that part was not tried.
//   fatbin_fuzz_driver N      fatbin_fuzz_driver --write-seeds FOLDER

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/fatbin/fatbin.h"
#include "tests/fuzz/fuzz_fatbin.h"
#include "tests/fuzz/mutate.h"
#include "tests/unit/ptx/support/fatbin_writer.h"

namespace gmt::test {
namespace {

std::string some_code() {
  std::string code = ".version 9.0\n.target sm_90\n";
  for (unsigned i = 0; i < 40; ++i)
    code += "\tadd.s32 %r" + std::to_string(i * 7919 % 1000) + ", 1;\n";
  return code;
}

// Plain and packed entries; several containers with a gap between; what nvlink leaves to the
// driver.
std::vector<std::string> seeds() {
  const std::string code = some_code();
  const std::string plain = entry(kCubin, code.substr(0, 100)), zstd = entry(kPtx, code, true);
  const std::string lz4 =
    stored_entry(kPtx, packed_by_lz4(code), ptx::kFatbinLz4 | 0x11, code.size());
  const std::string parts = container(zstd) + std::string(24, '\0') + container(plain + lz4);
  return {container(plain), container(zstd), container(lz4), parts, container("") + parts};
}

int drive(unsigned long long mutations) {
  FatbinWalk all;
  const auto run = [&all](const std::string& input) {
    const FatbinWalk walk =
      walk_section(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
    all.entries += walk.entries;
    all.unpacked += walk.unpacked;
    all.damaged += walk.damaged;
  };
  const std::vector<std::string> whole = seeds();
  for (const std::string& seed : whole) run(seed);
  std::mt19937_64 random(1);
  std::string input;
  for (unsigned long long i = 0; i < mutations; ++i) {
    const bool anew = i % 3 == 0 || input.size() > 1u << 16;
    input = mutate(anew ? whole[random() % whole.size()] : input, random);
    run(input);
  }
  std::printf("%llu mutations: %zu entries, %zu unpacked, %zu damaged\n", mutations, all.entries,
              all.unpacked, all.damaged);
  return all.unpacked > mutations / 100 && all.damaged > mutations / 100 ? 0 : 1;
}

void write_seeds(const std::string& folder) {
  const std::vector<std::string> whole = seeds();
  for (std::size_t i = 0; i < whole.size(); ++i)
    std::ofstream(folder + "/section" + std::to_string(i), std::ios::binary) << whole[i];
}

} // namespace
} // namespace gmt::test

int main(int argc, char** argv) {
  if (argc == 3 && std::string_view(argv[1]) == "--write-seeds") {
    gmt::test::write_seeds(argv[2]);
    return 0;
  }
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s N | --write-seeds FOLDER\n", argv[0]);
    return 2;
  }
  return gmt::test::drive(std::strtoull(argv[1], nullptr, 10));
}
