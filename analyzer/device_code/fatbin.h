// SPDX-License-Identifier: Apache-2.0
// The device code in an executable or library: containers of entries, each a cubin (ELF) or PTX for
// one architecture, plain or compressed. Used to find kernels' code and what kernels call. Trusts
// nothing and gives up in time: what cannot be read is passed over.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "analyzer/symbols/elf_image.h"
#include "ptx/fatbin/unpack.h"

namespace gmt {

using Deadline = std::chrono::steady_clock::time_point;

struct FatbinEntry {
  enum class Kind : std::uint8_t { kPtx, kCubin, kOther };
  using Packing = ptx::FatbinPacking;

  Kind kind = Kind::kOther;
  Packing packing = Packing::kPlain;
  unsigned architecture = 0;   // 90 for sm_90 and sm_90a
  std::size_t container = 0;   // of one compiled file: number in its file
  std::span<const char> bytes; // as stored
  std::uint64_t plain_bytes = 0;
};

using CodeSections = std::vector<std::span<const char>>;

// The sections of a file whose code the driver loads: `.nv_fatbin`, and `__nv_relfatbin` where it
// is the driver that links. Belongs to the image's bytes.
CodeSections device_code_of(const ElfImage& image);

// Those, and `__nv_relfatbin` also where nvlink has linked: it keeps the PTX of each source, which
// what it linked has not.
CodeSections device_texts_of(const ElfImage& image);

// Calls `visit` for one entry after the other until it returns false.
void visit_entries(const CodeSections& sections, Deadline deadline,
                   const std::function<bool(const FatbinEntry&)>& visit);

// The entry's code: what is stored, or unpacked into `buffer`. Empty if it is damaged or larger
// than 256 MiB.
std::span<const char> unpack(const FatbinEntry& entry, std::vector<char>& buffer);

bool is_fatbin(std::span<const char> bytes); // begins as a container does

} // namespace gmt
