// SPDX-License-Identifier: Apache-2.0
// Captures that were changed, cut off or packed anew: the reader refuses each in a sentence or
// gives a launch that can be, and takes no more memory than its limit allows. "blank FILE", "grid
// FILE", "arguments FILE" and "add FILE ADDRESS BYTES" change a file for test_capture.py.
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <utility>

#include "tests/fuzz/mutate.h"
#include "trace/capture_file.h"

namespace {

using namespace gmt::trace;

constexpr std::uint64_t kLimit = 1 << 24;

Capture make_capture() {
  Capture capture;
  capture.kernel = "k";
  capture.ptx = ".version 8.0";
  capture.device = "device";
  capture.capability = 90;
  capture.number = 7;
  capture.grid = {1, 2, 3};
  capture.block = {32, 1, 1};
  capture.arguments = std::string(200, 'm');
  CapturedMap map;
  map.offset = 64;
  map.rank = 2;
  map.fill = 1;
  map.element_strides = {1, 2, 3, 4, 5};
  capture.maps.push_back(map);
  map.lies_at = 0x7f0000000040;
  capture.maps.push_back(map);
  CapturedBlock block;
  block.address = 0x7f0000000000;
  block.before = std::string(5000, 'a');
  block.has_after = true;
  block.after = std::string(5000, 'b');
  capture.blocks.push_back(block);
  block.address += 8192;
  block.variable = "v";
  block.after.clear();
  capture.blocks.push_back(block);
  capture.left_out.push_back({0x7f1000000000, 512});
  CapturedArray array;
  array.description = std::string(48, 'd');
  array.is_mipmapped = true;
  array.levels = {{"before", true, "behind"}, {"b", false, ""}};
  capture.textures.arrays.push_back(array);
  capture.textures.textures.push_back({7, true, 1, "resource", "description", "view"});
  capture.textures.left_out = 3;
  return capture;
}

bool same(const Capture& a, const Capture& b) {
  return a.kernel == b.kernel && a.ptx == b.ptx && a.grid == b.grid && a.block == b.block &&
         a.arguments == b.arguments && a.number == b.number && b.blocks.size() == 2 &&
         b.maps.size() == 2 && b.maps[1].lies_at == a.maps[1].lies_at && b.maps[0].offset == 64 &&
         b.maps[0].fill == 1 && b.maps[0].element_strides == a.maps[0].element_strides &&
         a.blocks[0].result() == b.blocks[0].result() &&
         a.blocks[1].result() == b.blocks[1].before && b.blocks[1].variable == "v" &&
         b.left_out.size() == 1 && b.left_out[0].bytes == 512 && b.textures.left_out == 3 &&
         b.textures.arrays.size() == 1 && b.textures.arrays[0].levels.size() == 2 &&
         b.textures.arrays[0].levels[0].after == "behind" && b.textures.textures.size() == 1 &&
         b.textures.textures[0].array == 1 && b.textures.textures[0].view == "view";
}

std::string packed(const std::string& plain, std::uint64_t said_bytes) {
  std::string frame(ZSTD_compressBound(plain.size()), '\0');
  frame.resize(ZSTD_compress(frame.data(), frame.size(), plain.data(), plain.size(), 1));
  return capture_head(said_bytes, frame.size()) + frame;
}

int failures = 0;
void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "not so: %s\n", what);
  ++failures;
}

void read_changed(const std::string& file, unsigned count) {
  std::string error;
  const std::size_t begin = kCaptureHead.size() + 16;
  std::uint64_t bytes = 0;
  std::memcpy(&bytes, file.data() + kCaptureHead.size(), sizeof bytes);
  const std::string plain = unpack_capture(std::string_view(file).substr(begin), bytes, &error);
  std::mt19937_64 random(1);
  for (unsigned i = 0; i < count; ++i) {
    std::string changed = gmt::test::mutate(i % 2 != 0 ? file : plain, random);
    if (i % 2 == 0) changed = packed(changed, changed.size());
    Capture read;
    const bool is_good = read_capture(changed, kLimit, &read, &error);
    expect(is_good == error.empty(), "what is refused has a reason");
  }
}

bool read_file(const char* path, Capture* capture) {
  std::ifstream in(path, std::ios::binary);
  const std::string file{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  std::string error;
  return read_capture(file, kLimit, capture, &error);
}

// One more block of memory.
int add_block(const char* path, const char* address, const char* bytes) {
  Capture capture;
  if (!read_file(path, &capture)) return 1;
  capture.left_out.push_back(
    {std::strtoull(address, nullptr, 0), std::strtoull(bytes, nullptr, 0)});
  std::ofstream(path, std::ios::binary) << write_capture(capture);
  return 0;
}

// The launch in the file, with zeros where its tensor maps are: what another driver's form of them
// is to a replay.
int blank_maps(const char* path) {
  Capture capture;
  if (!read_file(path, &capture)) return 1;
  for (const CapturedMap& map : capture.maps) {
    if (map.lies_at == 0) {
      capture.arguments.replace(map.offset, kMapBytes, kMapBytes, '\0');
      continue;
    }
    CapturedBlock& block = capture.blocks[block_around(capture, map.lies_at, kMapBytes)];
    for (std::string* bytes : {&block.before, &block.after}) {
      if (!bytes->empty()) bytes->replace(map.lies_at - block.address, kMapBytes, kMapBytes, '\0');
    }
  }
  std::ofstream(path, std::ios::binary) << write_capture(capture);
  return capture.maps.empty() ? 1 : 0;
}

// What no driver takes: too large a grid, or arguments that are none of the kernel's.
int spoil_launch(const std::string& what, const char* path) {
  Capture capture;
  if (!read_file(path, &capture)) return 1;
  if (what == "grid") capture.grid = {UINT32_MAX, UINT32_MAX, 1};
  else capture.arguments += "12345678";
  std::ofstream(path, std::ios::binary) << write_capture(capture);
  return 0;
}

void refuse_impossible_launches() {
  constexpr std::uint64_t kSomewhere = 0x7f1000000000;
  const std::pair<const char*, void (*)(Capture&)> all[] = {
    {"left out to the end of all addresses",
     [](Capture& c) { c.left_out[0] = {kSomewhere, UINT64_MAX}; }},
    {"left out, without bytes", [](Capture& c) { c.left_out[0] = {kSomewhere, 0}; }},
    {"left out at null", [](Capture& c) { c.left_out[0].address = 0; }},
    {"a block at null", [](Capture& c) { c.blocks[0].address = 0; }},
    {"shared memory of more than 32 bits",
     [](Capture& c) { c.shared_bytes = (std::uint64_t{1} << 32) + 64; }},
    {"a device of no kind", [](Capture& c) { c.capability = 4000000000; }},
    {"a kernel's name that speaks to the terminal", [](Capture& c) { c.kernel = "k\33[2J"; }},
    {"a device's name that does", [](Capture& c) { c.device = "\a"; }},
    {"a variable's name that does", [](Capture& c) { c.blocks[1].variable = "v\n"; }}};
  for (const auto& [what, change] : all) {
    Capture capture = make_capture(), read;
    change(capture);
    std::string error;
    expect(!read_capture(write_capture(capture), kLimit, &read, &error) && !error.empty(), what);
  }
}

// Each map is looked for among all blocks.
void read_many_maps() {
  constexpr std::size_t kMany = 130000, kRoom = std::size_t{1} << 26;
  Capture capture = make_capture(), read;
  CapturedBlock block = capture.blocks[0];
  block.before = std::string(kMapBytes, 'a');
  block.after.clear();
  CapturedMap map = capture.maps[0];
  capture.maps.clear();
  capture.blocks.clear();
  for (std::size_t i = 0; i < kMany; ++i, block.address += 2 * kMapBytes) {
    capture.blocks.push_back(block);
    map.lies_at = block.address;
    capture.maps.push_back(map);
  }
  std::string error;
  const std::clock_t begin = std::clock();
  expect(read_capture(write_capture(capture), kRoom, &read, &error), "many maps are read");
  expect(std::clock() - begin < 5 * CLOCKS_PER_SEC, "in the time that they take");
}

} // namespace

int main(int count, char** words) {
  if (count == 3 && std::string(words[1]) == "blank") return blank_maps(words[2]);
  if (count == 5 && std::string(words[1]) == "add") return add_block(words[2], words[3], words[4]);
  if (count == 3) return spoil_launch(words[1], words[2]);
  refuse_impossible_launches();
  read_many_maps();
  const Capture made = make_capture();
  const std::string file = write_capture(made);
  std::string error;
  Capture read;
  expect(read_capture(file, kLimit, &read, &error) && same(made, read), "a file reads as written");
  for (std::size_t i = 0; i < file.size(); ++i) {
    Capture cut;
    const bool is_read = read_capture(std::string_view(file).substr(0, i), kLimit, &cut, &error);
    expect(!is_read && !error.empty(), "each cut is refused");
  }
  Capture other;
  expect(!read_capture(file, 100, &other, &error), "more than the limit is refused");
  const std::string zeros(std::size_t{1} << 28, '\0');
  expect(!read_capture(packed(zeros, 1000), kLimit, &other, &error), "a bomb is refused");
  expect(!read_capture(packed(zeros, zeros.size()), kLimit, &other, &error),
         "and one that says so");
  read_changed(file, count > 1 ? static_cast<unsigned>(std::atoi(words[1])) : 1000);
  if (failures == 0) std::puts("all captures are read or refused");
  return failures == 0 ? 0 : 1;
}
