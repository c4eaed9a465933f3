// SPDX-License-Identifier: Apache-2.0
// The file of one launch of a kernel (--capture): code, arguments, and the memory that they reach,
// before the launch and behind it. A line of text says what the file holds. Behind it are two
// words, how many bytes there are plain and packed, and one zstd frame with a checksum.
//
// Invariants: all numbers are little-endian. A reader takes at most four times the memory that it
// gives as limit, whatever the file says; each damage is one sentence. Needs libzstd.
#pragma once

#include <zstd.h>

#include "trace/capture_textures.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace gmt::trace {

inline constexpr std::string_view kCaptureHead =
  "gpumemtrace capture 2: one kernel launch with the program's data (arguments and memory)\n";

// Memory that the arguments reach, or a variable of the code.
struct CapturedBlock {
  std::uint64_t address = 0;
  std::string variable; // its name; empty: an allocation
  std::string before;
  bool has_after = false; // the launch ended, and this was read behind it
  std::string after;      // empty: as before
  const std::string& result() const { return after.empty() ? before : after; }
};

// What the limit left no room for, or what could not be read.
struct UncapturedBlock {
  std::uint64_t address = 0, bytes = 0;
};

// A tensor map among the arguments or in memory, as the call described it that made it: each driver
// has a form of its own for the map itself.
struct CapturedMap {
  std::uint64_t lies_at = 0; // its address, in a block; 0: it is among the arguments
  std::uint64_t offset = 0;  // in these
  bool is_im2col = false;
  std::uint64_t type = 0, rank = 0, address = 0;
  // By dimension, as cuTensorMapEncodeTiled takes them; `first` is the box or the lower corner of
  // its pixels, `second` the upper one.
  std::array<std::uint64_t, 5> extents{}, strides{}, first{}, second{}, element_strides{};
  std::uint64_t channels = 0, pixels = 0; // of cuTensorMapEncodeIm2col
  std::uint64_t interleave = 0, swizzle = 0, promotion = 0, fill = 0;
};
constexpr std::uint64_t kMapBytes = 128, kMapAlignment = 64;

// Its numbers, in the file's order.
template <class Map, class Visit> void each_number_of_map(Map& map, Visit visit) {
  for (auto* one : {&map.lies_at, &map.offset, &map.type, &map.rank, &map.address, &map.channels,
                    &map.pixels, &map.interleave, &map.swizzle, &map.promotion, &map.fill})
    visit(*one);
  for (auto* all : {&map.extents, &map.strides, &map.first, &map.second, &map.element_strides}) {
    for (auto& one : *all) visit(one);
  }
}

struct Capture {
  std::string kernel; // as it is linked
  std::string ptx;
  std::string device;           // its name
  std::uint32_t capability = 0; // such as 90
  std::uint32_t error = 0;      // of the launch, as CUDA numbers it
  std::uint64_t number = 0;     // of the launch among those of the kernel, from 1
  std::array<std::uint32_t, 3> grid{}, block{};
  std::array<std::uint32_t, 3> cluster{}; // 0: the launch says none
  std::uint64_t shared_bytes = 0;         // dynamic
  bool is_cooperative = false;
  std::string arguments; // by the kernel's layout
  std::vector<CapturedBlock> blocks;
  std::vector<UncapturedBlock> left_out;
  std::vector<CapturedMap> maps;
  CapturedTextures textures;
};

// What stands in front of the frame.
inline std::string capture_head(std::uint64_t plain_bytes, std::uint64_t packed_bytes) {
  std::string head(kCaptureHead);
  for (const std::uint64_t word : {plain_bytes, packed_bytes})
    head.append(reinterpret_cast<const char*>(&word), sizeof word);
  return head;
}

// Packs what it is given at once: memory has as many bytes as the program.
class CaptureWriter {
public:
  CaptureWriter() : stream_(ZSTD_createCCtx()) {
    if (stream_ != nullptr) ZSTD_CCtx_setParameter(stream_, ZSTD_c_checksumFlag, 1);
    failed_ = stream_ == nullptr;
  }
  ~CaptureWriter() { ZSTD_freeCCtx(stream_); }
  CaptureWriter(const CaptureWriter&) = delete;
  CaptureWriter& operator=(const CaptureWriter&) = delete;

  void word(std::uint64_t value) { add(&value, sizeof value, ZSTD_e_continue); }
  void text(std::string_view value) {
    word(value.size());
    add(value.data(), value.size(), ZSTD_e_continue);
  }
  // The file; empty if there is no memory for it.
  std::string finish() {
    add(nullptr, 0, ZSTD_e_end);
    return failed_ ? std::string() : capture_head(plain_bytes_, packed_.size()) + packed_;
  }

private:
  void add(const void* from, std::size_t bytes, ZSTD_EndDirective directive) {
    ZSTD_inBuffer in{from, bytes, 0};
    std::size_t left = 1;
    plain_bytes_ += bytes;
    while (!failed_ && (in.pos < in.size || (directive == ZSTD_e_end && left != 0))) {
      ZSTD_outBuffer out{piece_.data(), piece_.size(), 0};
      left = ZSTD_compressStream2(stream_, &out, &in, directive);
      failed_ = ZSTD_isError(left) != 0;
      packed_.append(piece_, 0, out.pos);
    }
  }

  ZSTD_CCtx* stream_;
  std::string piece_ = std::string(ZSTD_CStreamOutSize(), '\0'), packed_;
  std::uint64_t plain_bytes_ = 0;
  bool failed_ = false;
};

// The file; empty if there is no memory for it.
inline std::string write_capture(const Capture& capture) {
  CaptureWriter out;
  out.text(capture.kernel);
  out.text(capture.ptx);
  out.text(capture.device);
  for (const std::uint64_t value :
       {std::uint64_t{capture.capability}, std::uint64_t{capture.error}, capture.number})
    out.word(value);
  for (const auto* extent : {&capture.grid, &capture.block, &capture.cluster}) {
    for (const std::uint32_t value : *extent) out.word(value);
  }
  out.word(capture.shared_bytes);
  out.word(capture.is_cooperative ? 1 : 0);
  out.text(capture.arguments);
  out.word(capture.blocks.size());
  for (const CapturedBlock& block : capture.blocks) {
    out.word(block.address);
    out.text(block.variable);
    out.text(block.before);
    out.word(block.has_after ? 1 : 0);
    out.text(block.after);
  }
  out.word(capture.left_out.size());
  for (const UncapturedBlock& block : capture.left_out) {
    out.word(block.address);
    out.word(block.bytes);
  }
  out.word(capture.maps.size());
  for (const CapturedMap& map : capture.maps) {
    out.word(map.is_im2col ? 1 : 0);
    each_number_of_map(map, [&out](std::uint64_t value) { out.word(value); });
  }
  write_textures(capture.textures, out);
  return out.finish();
}

class CaptureReader {
public:
  explicit CaptureReader(std::string_view bytes) : left_(bytes) {}
  bool failed() const { return failed_; }
  bool at_end() const { return left_.empty(); }
  std::uint64_t word() {
    std::uint64_t value = 0;
    if (left_.size() < sizeof value) return fail();
    std::memcpy(&value, left_.data(), sizeof value);
    left_.remove_prefix(sizeof value);
    return value;
  }
  std::uint32_t small() { // of 32 bits
    const std::uint64_t value = word();
    if (value > UINT32_MAX) fail();
    return static_cast<std::uint32_t>(value);
  }
  std::string text() {
    const std::uint64_t size = word();
    if (size > left_.size()) return fail(), std::string();
    std::string value(left_.substr(0, size));
    left_.remove_prefix(size);
    return value;
  }
  // Of things that take so many bytes at least.
  std::uint64_t count(std::uint64_t least) {
    const std::uint64_t value = word();
    return value > left_.size() / least ? fail() : value;
  }

private:
  std::uint64_t fail() {
    failed_ = true;
    left_ = {};
    return 0;
  }
  std::string_view left_;
  bool failed_ = false;
};

inline std::string unpack_capture(std::string_view packed, std::uint64_t bytes,
                                  std::string* error) {
  std::string plain;
  ZSTD_DStream* stream = ZSTD_createDStream();
  ZSTD_inBuffer in{packed.data(), packed.size(), 0};
  std::vector<char> piece(ZSTD_DStreamOutSize());
  std::size_t left = 1;
  while (stream != nullptr && left != 0) {
    ZSTD_outBuffer out{piece.data(), piece.size(), 0};
    left = ZSTD_decompressStream(stream, &out, &in);
    const bool is_stuck = out.pos == 0 && in.pos == in.size && left != 0;
    if (ZSTD_isError(left) != 0 || is_stuck || plain.size() + out.pos > bytes) break;
    plain.append(piece.data(), out.pos);
  }
  ZSTD_freeDStream(stream);
  if (left != 0 || plain.size() != bytes || in.pos != in.size)
    *error = "its data is damaged: it does not unpack to what it says";
  return plain;
}

// The block in which so many bytes lie, by its number; that of blocks: none. They are in order.
inline std::size_t block_around(const Capture& capture, std::uint64_t address,
                                std::uint64_t bytes) {
  const std::size_t none = capture.blocks.size();
  const auto next = std::ranges::upper_bound(capture.blocks, address, {}, &CapturedBlock::address);
  if (next == capture.blocks.begin()) return none;
  const CapturedBlock& block = *std::prev(next);
  const std::uint64_t size = block.before.size();
  const bool is_inside = size >= bytes && address - block.address <= size - bytes;
  return is_inside ? static_cast<std::size_t>(std::prev(next) - capture.blocks.begin()) : none;
}

inline bool lies_in_capture(const CapturedMap& map, const Capture& capture) {
  if (map.lies_at != 0)
    return block_around(capture, map.lies_at, kMapBytes) != capture.blocks.size();
  const std::uint64_t bytes = capture.arguments.size();
  return bytes >= kMapBytes && map.offset <= bytes - kMapBytes;
}

inline bool is_possible_memory(std::uint64_t address, std::uint64_t bytes) {
  constexpr std::uint64_t kEnd = std::uint64_t{1} << 56;
  return address != 0 && bytes != 0 && bytes < kEnd && address < kEnd - bytes;
}

// Of a kernel, a variable or a device: it is printed.
inline bool is_name(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
}

// What a launch has to be; empty: it is.
inline std::string wrong_capture(const Capture& capture) {
  std::uint64_t end = 0;
  if (capture.kernel.empty() || capture.ptx.empty()) return "it names no kernel or has no code";
  for (const std::uint32_t threads : capture.block) {
    if (threads == 0 || threads > 1024) return "it has blocks of an impossible size";
  }
  for (const std::uint32_t blocks : capture.grid) {
    if (blocks == 0) return "its grid is empty";
  }
  constexpr std::uint64_t kMostShared = std::uint64_t{1} << 30;
  if (capture.shared_bytes > kMostShared) return "it has shared memory of an impossible size";
  if (capture.capability < 10 || capture.capability > 999) return "its device is of no known kind";
  if (!is_name(capture.kernel) || !is_name(capture.device)) return "a name in it is none";
  for (const CapturedBlock& block : capture.blocks) {
    if (!is_name(block.variable)) return "a name in it is none";
    if (!block.after.empty() && block.after.size() != block.before.size())
      return "a block of memory has another size behind the launch";
    if (block.address < end || !is_possible_memory(block.address, block.before.size()))
      return "its blocks of memory overlap or have impossible addresses";
    end = block.address + block.before.size();
  }
  for (const UncapturedBlock& block : capture.left_out) {
    if (!is_possible_memory(block.address, block.bytes))
      return "memory that was left out has an impossible address";
  }
  for (const CapturedMap& map : capture.maps) {
    if (map.rank < 1 || map.rank > map.extents.size() || !lies_in_capture(map, capture))
      return "a tensor map is none";
  }
  if (!are_whole(capture.textures)) return "a texture or its array is none";
  return {};
}

// False: `error` says in half a sentence what is wrong. A file of more plain bytes than `limit` is
// refused.
inline bool read_capture(std::string_view file, std::uint64_t limit, Capture* capture,
                         std::string* error) {
  error->clear();
  const auto fails = [error](const char* why) { return *error = why, false; };
  if (file.substr(0, kCaptureHead.size()) != kCaptureHead)
    return fails(file.substr(0, 20) == kCaptureHead.substr(0, 20)
                   ? "it is a capture of another version of gpumemtrace"
                   : "it is no capture of gpumemtrace");
  CaptureReader head(file.substr(kCaptureHead.size()));
  const std::uint64_t plain_bytes = head.word(), packed_bytes = head.word();
  const std::uint64_t begin = kCaptureHead.size() + 16;
  if (head.failed() || packed_bytes != file.size() - begin) return fails("it is cut off");
  if (plain_bytes > limit) return fails("it says that it holds more than can be read");
  const std::string plain = unpack_capture(file.substr(begin), plain_bytes, error);
  if (!error->empty()) return false;
  CaptureReader in(plain);
  capture->kernel = in.text();
  capture->ptx = in.text();
  capture->device = in.text();
  capture->capability = in.small();
  capture->error = in.small();
  capture->number = in.word();
  for (auto* extent : {&capture->grid, &capture->block, &capture->cluster}) {
    for (std::uint32_t& value : *extent) value = in.small();
  }
  capture->shared_bytes = in.word();
  capture->is_cooperative = in.word() != 0;
  capture->arguments = in.text();
  capture->blocks.resize(in.count(40));
  for (CapturedBlock& block : capture->blocks) {
    block.address = in.word();
    block.variable = in.text();
    block.before = in.text();
    block.has_after = in.word() != 0;
    block.after = in.text();
  }
  capture->left_out.resize(in.count(16));
  for (UncapturedBlock& block : capture->left_out) {
    block.address = in.word();
    block.bytes = in.word();
  }
  capture->maps.resize(in.count(sizeof(CapturedMap)));
  for (CapturedMap& map : capture->maps) {
    map.is_im2col = in.word() != 0;
    each_number_of_map(map, [&in](std::uint64_t& value) { value = in.word(); });
  }
  read_textures(in, &capture->textures);
  if (in.failed() || !in.at_end()) return fails("its data is damaged: a count is wrong");
  *error = wrong_capture(*capture);
  return error->empty();
}

} // namespace gmt::trace
