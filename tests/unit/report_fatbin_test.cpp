// SPDX-License-Identifier: Apache-2.0
// Which device code calls malloc: fat binaries made by hand as nvcc lays them out, plain, compressed and
// damaged.

#include <gtest/gtest.h>
#include <zstd.h>

#include <cstring>
#include <string>

#include "analyzer/fatbin.h"
#include "trace/device_ring.h"

namespace gmt {
namespace {

constexpr unsigned kPtx = 1, kCubin = 2;
const std::string kMallocPtx =
  ".version 9.0\n.extern .func (.param .b64 func_retval0) malloc\n(\n.param .b64 p\n)\n;\n";

template <class Integer> void put(std::string& into, std::size_t at, Integer value) {
  std::memcpy(into.data() + at, &value, sizeof value);
}

std::string entry(unsigned kind, const std::string& code, bool packed = false) {
  std::string body = code;
  if (packed) {
    body.resize(ZSTD_compressBound(code.size()));
    body.resize(ZSTD_compress(body.data(), body.size(), code.data(), code.size(), 1));
  }
  std::string head(64, '\0');
  put(head, 0, static_cast<std::uint16_t>(kind));
  put(head, 4, std::uint32_t{64});
  put(head, 16, static_cast<std::uint32_t>(packed ? body.size() : 0));
  put(head, 40, std::uint64_t{packed ? 0x8011u : 0x11u});
  body.resize((body.size() + 7) / 8 * 8);
  put(head, 8, std::uint64_t{body.size()});
  put(head, 56, std::uint64_t{packed ? code.size() : 0});
  return head + body;
}

std::string container(const std::string& entries) {
  std::string head(16, '\0');
  put(head, 0, std::uint32_t{0xba55ed50});
  put(head, 4, std::uint16_t{1});
  put(head, 6, std::uint16_t{16});
  put(head, 8, std::uint64_t{entries.size()});
  return head + entries;
}

DeviceMalloc look(const std::string& section) {
  return device_malloc_in(std::span<const char>(section), Deadline::max());
}

TEST(Fatbin, FindsMallocInCubinsAndPtx) {
  const std::string cubin = std::string("\177ELF\0.text\0malloc\0free\0", 23);
  EXPECT_EQ(look(container(entry(kCubin, cubin))), DeviceMalloc::kCalled);
  EXPECT_EQ(look(container(entry(kPtx, kMallocPtx))), DeviceMalloc::kCalled);
  EXPECT_EQ(look(container(entry(kPtx, kMallocPtx, true))), DeviceMalloc::kCalled);
  EXPECT_EQ(look(container(entry(kCubin, "ELF")) + container(entry(kCubin, "ELF") + entry(kCubin, cubin))),
            DeviceMalloc::kCalled);
}

TEST(Fatbin, OtherNamesAreNotMalloc) {
  EXPECT_EQ(look(container(entry(kCubin, std::string("\0my_malloc\0free_list\0", 21)))), DeviceMalloc::kNone);
  EXPECT_EQ(look(container(entry(kPtx, ".visible .entry my_malloc\n(\n)\n"))), DeviceMalloc::kNone);
  EXPECT_EQ(look(""), DeviceMalloc::kNone);
}

TEST(Fatbin, InstrumentedCodeSaysSo) {
  EXPECT_EQ(look(container(entry(kPtx, kMallocPtx) + entry(kPtx, kMallocPtx + trace::kControlSymbol))),
            DeviceMalloc::kLogged);
}

TEST(Fatbin, DamageAndDeadlinesEndTheSearch) {
  std::string whole = container(entry(kPtx, kMallocPtx, true));
  for (std::size_t cut = 0; cut + 1 < whole.size(); ++cut)
    EXPECT_NO_FATAL_FAILURE(look(whole.substr(0, cut)));
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string bad = whole;
    bad[at] = static_cast<char>(0xff);
    EXPECT_NO_FATAL_FAILURE(look(bad));
  }
  EXPECT_EQ(device_malloc_in(std::span<const char>(whole), Deadline::min()), DeviceMalloc::kNone);
}

} // namespace
} // namespace gmt
