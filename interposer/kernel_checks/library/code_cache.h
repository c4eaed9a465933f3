// SPDX-License-Identifier: Apache-2.0
// What became of an image's text, kept in the user's cache for later processes: the checked code as
// the driver compiled it, with its table of sites, or why it cannot. Where it lies:
// $XDG_CACHE_HOME/gpumemtrace/code, or ~/.cache/gpumemtrace/code.
//
// Invariants: an entry is written beside its name and renamed, so a process that is killed leaves
// no part of one, and of several that write the same one it is whole. A claim lies beside it. An
// entry that is not as it was written counts as none. Whatever fails, there is just no entry. The
// folder must be the user's own: code comes from there.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "interposer/kernel_checks/library/code_claim.h"
#include "interposer/kernel_checks/library/heap_blocks.h"
#include "rewriter/rewriter.h"

namespace gmt::interposer::kernel_checks {

// 128 bits of all that decides what the code is. Not against an adversary.
class CodeKey {
public:
  void add(std::string_view bytes) noexcept; // and their size
  void add(std::uint64_t number) noexcept;
  std::string name() const; // of the entry's file
  std::array<std::uint64_t, 2> words() const noexcept { return {a_, b_}; }

private:
  std::uint64_t a_ = 0x243f6a8885a308d3, b_ = 0x13198a2e03707344; // digits of pi
};

struct CachedCode {
  rewriter::Rewritten code; // without its text
  HeapUse heap_use = HeapUse::kNone;
  std::string machine;   // as cuModuleLoadData takes it
  std::string why_plain; // then there is no code: the driver refuses it
};

// The limit of all entries together; the oldest in use are removed.
inline constexpr std::uint64_t kMostCached = std::uint64_t{1} << 30;

class CodeCache {
public:
  // Reads the environment; the folder need not be there.
  void begin() noexcept;
  void begin(std::string folder, std::uint64_t most_bytes) { // in tests
    folder_ = std::move(folder);
    most_bytes_ = most_bytes;
  }
  bool is_there() const noexcept { return !folder_.empty(); }

  std::optional<CachedCode> find(const CodeKey& key) const noexcept;
  void keep(const CodeKey& key, const CachedCode& code) const noexcept;
  void remove(const CodeKey& key) const noexcept;
  // To compile what was not found. Another process may have kept it meanwhile.
  CodeClaim claim(const CodeKey& key) const noexcept;

private:
  void trim() const;

  std::string folder_;
  std::uint64_t most_bytes_ = kMostCached;
};
CodeCache& code_cache() noexcept;

// The key with what this library, the driver and the devices decide. None if they cannot be
// known, or if devices differ in what code they take.
std::optional<CodeKey> key_of_machine() noexcept;

// What the driver makes of a text for the current context's device.
struct Compiled {
  bool was_tried = false; // else there is no context, or no memory
  std::string machine;    // empty: the text cannot be compiled
  std::string why_not;    // then, in the driver's words; empty if it says nothing
  bool is_final = false;  // then: it is the text's fault, and will be the next time
};
Compiled compile(const std::string& text) noexcept;

} // namespace gmt::interposer::kernel_checks
