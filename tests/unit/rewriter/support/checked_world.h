// SPDX-License-Identifier: Apache-2.0
// Device memory with some blocks and the table of their bytes, in which a kernel runs as it is or
// with checks. Both runs see the same addresses and the same bytes at first.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rewriter/rewriter.h"
#include "rewriter/table.h"
#include "rewriter/written_table.h"
#include "simulated_cuda/executor/executor.h"

namespace gmt::rewriter::test {

// The window ends where the executor's shared memory begins in the generic space, and all memory is
// in it: no address is unknown.
inline constexpr std::uint64_t kWindow = 0xfff800000000, kTableBase = 0x600000000000;
inline constexpr std::uint64_t kPagesBase = 0x610000000000;
inline constexpr std::uint64_t kEndOfGeneric = 0x0001030000000000;
inline constexpr unsigned kWindowBits = 36;
inline constexpr std::uint64_t kLow = 0x302000000; // where pools of GPUs have memory
inline constexpr std::uint64_t kMemoryBytes = std::uint64_t{256} << 20;

inline Options world_options(Bounds bounds) {
  Options options;
  options.table = kTableBase;
  options.window = kWindow;
  options.window_bits = kWindowBits;
  options.lowest_address = kWindow;
  options.address_end = kEndOfGeneric;
  options.bounds = bounds;
  options.records = 1024;
  // Exact checks by calls that leave nothing out, by code of their own, or, of large bodies, by
  // calls that leave out.
  options.most_inline = bounds == Bounds::kNever ? 0 : bounds == Bounds::kAlways ? 1000 : 24;
  options.most_copied = bounds == Bounds::kNever ? 0 : 1000;
  options.large_text = ~0u;
  return options;
}

struct Listener : executor::Observer {
  void report(const executor::Report& report) override { reports.push_back(report); }
  void print(const std::string& text) override { printed += text; }
  std::vector<executor::Report> reports;
  std::string printed;
};

// Bytes that no other process has, zero at first.
class Pages {
public:
  explicit Pages(std::uint64_t bytes)
      : bytes_(bytes), begin_(mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {}
  ~Pages() { munmap(begin_, bytes_); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  std::byte* begin() const { return static_cast<std::byte*>(begin_); }
  std::uint64_t bytes() const { return bytes_; }

private:
  std::uint64_t bytes_;
  void* begin_;
};

class World {
public:
  explicit World(Bounds bounds) : options(world_options(bounds)) {
    memory.add_region(kWindow, kMemoryBytes, pages_.begin());
    memory.add_region(kTableBase, table_bytes(options), table_.begin());
    memory.allocate(kTableBase, table_bytes(options));
    memory.mark_initialized(kTableBase, table_bytes(options));
    memory.add_region(kPagesBase, kPagesBytes, written_.begin());
    memory.allocate(kPagesBase, kPagesBytes);
    memory.mark_initialized(kPagesBase, kPagesBytes);
    std::memset(written_.begin() + (kFirstPage - kPagesBase), kIsWritten, kPageStride);
    for (std::uint64_t i = 0; i < page_count(options); ++i) set_page(i, kFirstPage);
  }

  // Nothing has written the bytes of a block, or something has, for the executor and for the code.
  void set_written(std::uint64_t begin, std::uint64_t bytes, bool is_written) {
    if (is_written) memory.mark_initialized(begin, bytes);
    else memory.mark_uninitialized(begin, bytes);
    for (std::uint64_t address = begin / 4 * 4; address < begin + bytes; address += 4)
      *state_of(address) = static_cast<std::byte>(is_written ? kIsWritten : kIsUnwritten);
  }
  bool is_written(std::uint64_t address) { return *state_of(address) == std::byte{kIsWritten}; }

  // As it was made: no blocks, all bytes zero.
  void reset() {
    for (const Block& block : blocks) {
      if (options.checks_written) set_written(block.begin, block.end - block.begin, true);
      memory.forget(block.begin, block.end - block.begin);
      std::memset(at(block.begin), 0, block.end - block.begin);
      for (std::uint64_t address = block.begin; address < block.end; address += 512)
        set_entry(address, kUnmappedEntry);
    }
    blocks.clear();
    variables.clear();
    next_ = kFirst;
    slots_ = 1;
  }

  std::byte* at(std::uint64_t address) { return pages_.begin() + (address - kWindow); }

  // A block that the table knows, `far` from the one before, with some bytes in it.
  std::uint64_t block(std::uint64_t bytes, std::uint64_t far = std::uint64_t{1} << 20) {
    const std::uint64_t begin = next_;
    next_ += (bytes + far + 1023) / 512 * 512;
    memory.allocate(begin, bytes);
    memory.mark_initialized(begin, bytes);
    const Block block{begin, begin + bytes};
    std::memcpy(table_.begin() + (slot_address(options, slots_) - kTableBase), &block, 16);
    for (std::uint64_t address = begin; address < block.end; address += 512)
      set_entry(address, entry_of(block, slots_, address));
    ++slots_;
    blocks.push_back(block);
    return begin;
  }
  // The same at low addresses; one alone.
  std::uint64_t low_block(std::uint64_t bytes) {
    memory.add_region(kLow, low_.bytes(), low_.begin());
    memory.allocate(kLow, bytes);
    memory.mark_initialized(kLow, bytes);
    const Block block{kLow, kLow + bytes};
    std::memcpy(table_.begin() + (slot_address(options, slots_) - kTableBase), &block, 16);
    for (std::uint64_t address = kLow; address < block.end; address += 512)
      set_entry(address, entry_of(block, slots_, address));
    ++slots_;
    return kLow;
  }
  void set_entry(std::uint64_t address, std::int16_t entry) {
    if (!are_covered(placed(), address, address)) return;
    std::memcpy(table_.begin() + (entry_address(placed(), address) - kTableBase), &entry, 2);
  }

  std::int16_t entry(std::uint64_t address) const {
    std::int16_t entry = 0;
    if (address < kWindow || address - kWindow >= kMemoryBytes) return kUnmappedEntry;
    if (!are_covered(placed(), address, address)) return kNoBlock;
    std::memcpy(&entry, table_.begin() + (entry_address(placed(), address) - kTableBase), 2);
    return entry;
  }

  // Gives the variables of a module addresses: those of the rewriter behind all others, so that
  // both forms have the same.
  void add_variables(executor::Module& module) {
    for (const bool ours : {false, true}) {
      for (std::size_t i = 0; i < module.variables().size(); ++i) {
        const executor::Variable& variable = module.variables()[i];
        if (variable.name.starts_with("__gmt_") != ours) continue;
        variables[variable.name] = block(variable.size, 1024);
        module.set_address(i, variables[variable.name]);
      }
    }
    for (std::size_t i = 0; i < module.variables().size(); ++i) {
      const std::vector<std::byte> bytes = module.initial_bytes(i);
      std::memcpy(at(variables[module.variables()[i].name]), bytes.data(), bytes.size());
    }
    Placed constant = placed_of(placed());
    constant.flag = flag;
    constant.host_records = host_records;
    constant.module = kModule << kModuleBits;
    constant.heap = heap;
    constant.written = kPagesBase;
    if (const auto found = variables.find(std::string(kTable)); found != variables.end())
      std::memcpy(at(found->second), &constant, sizeof constant);
  }

  // The options with what the host says.
  Options placed() const {
    Options all = options;
    if (all.window == 0) all.window = kWindow;
    return all;
  }

  // What the counters of a module say. The record with this number.
  std::uint64_t count(std::size_t site, CountKind kind) {
    std::uint64_t value = 0;
    const std::size_t index = site * kCountKinds + kind;
    std::memcpy(&value, at(variables[std::string(kCounts)]) + index * 8, 8);
    return value;
  }
  Record record(std::size_t index) {
    Record value;
    std::memcpy(&value, at(variables[std::string(kRecords)]) + index * sizeof value, sizeof value);
    return value;
  }
  std::uint32_t used() { return word(variables[std::string(kUsed)]); }
  std::uint32_t word(std::uint64_t address) {
    std::uint32_t value = 0;
    std::memcpy(&value, at(address), 4);
    return value;
  }

  Options options;
  executor::Memory memory;
  std::vector<Block> blocks;
  std::map<std::string, std::uint64_t> variables;
  std::uint64_t flag = 0, heap = 0, host_records = 0; // of Placed
  static constexpr std::uint32_t kModule = 3;

private:
  // The table of pages, a page for all that is unknown, and those of the memory.
  static constexpr std::uint64_t kPageStride = kBytesOfPage + kBehindPage;
  static constexpr std::uint64_t kTableOfPages = std::uint64_t{1} << (kWindowBits - kPageBits + 3);
  static constexpr std::uint64_t kFirstPage = kPagesBase + kTableOfPages;
  static constexpr std::uint64_t kPagesBytes =
    kTableOfPages + ((kMemoryBytes >> kPageBits) + 1) * kPageStride;
  void set_page(std::uint64_t index, std::uint64_t page) {
    std::memcpy(written_.begin() + index * 8, &page, 8);
  }
  // Pages are made when they are first asked for.
  std::byte* state_of(std::uint64_t address) {
    const std::uint64_t number = (address - kWindow) >> kPageBits;
    std::byte* page = written_.begin() + kTableOfPages + (number + 1) * kPageStride;
    if (!has_page_[number]) {
      std::memset(page, kIsWritten, kPageStride);
      set_page(page_index(placed(), address), kFirstPage + (number + 1) * kPageStride);
      has_page_[number] = true;
    }
    return page + offset_in_page(address);
  }
  bool has_page_[kMemoryBytes >> kPageBits] = {};

  Pages pages_{kMemoryBytes};
  Pages low_{std::uint64_t{1} << 20};
  Pages table_{table_bytes(options)};
  Pages written_{kPagesBytes};
  static constexpr std::uint64_t kFirst = kWindow + (std::uint64_t{1} << 20);
  std::uint64_t next_ = kFirst;
  std::uint32_t slots_ = 1; // 0 is no block's
};

} // namespace gmt::rewriter::test
