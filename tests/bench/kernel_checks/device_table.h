// SPDX-License-Identifier: Apache-2.0
// The table of valid bytes in the memory of a GPU, and blocks that stand in it.
#pragma once

#include <cuda.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <vector>

#include "rewriter/table.h"
#include "rewriter/written_table.h"

namespace {

using namespace gmt::rewriter;

constexpr std::uint64_t kTableAt = 0x500000000000;
int failures = 0;

void require(CUresult result, const char* what, int line) {
  if (result == CUDA_SUCCESS) return;
  const char* text = "?";
  cuGetErrorString(result, &text);
  std::printf("line %d: %s: %s\n", line, what, text);
  std::exit(1);
}
#define OK(call) require((call), #call, __LINE__)

// ---------------------------------------------------------------- the table

Options options;
std::uint32_t slots = 1;

// Maps device memory for the table. `options.table` stays 0 if the address is not given.
void map_table(int device) {
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  prop.location.id = device;
  std::size_t granularity = 0;
  OK(cuMemGetAllocationGranularity(&granularity, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  options.table = kTableAt;
  const std::size_t bytes = (table_bytes(options) + granularity - 1) / granularity * granularity;
  CUdeviceptr at = 0;
  OK(cuMemAddressReserve(&at, bytes, 0, kTableAt, 0));
  CUmemGenericAllocationHandle handle;
  OK(cuMemCreate(&handle, bytes, &prop, 0));
  OK(cuMemMap(at, bytes, 0, handle, 0));
  CUmemAccessDesc access{prop.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  OK(cuMemSetAccess(at, bytes, &access, 1));
  if (at != kTableAt) std::printf("the table lies at %llx, not where it was wanted\n", at);
  options.table = at;
  OK(cuMemsetD16(at, static_cast<unsigned short>(kNoBlock), bytes / 2));
  OK(cuMemsetD16(at, static_cast<unsigned short>(kUnmappedEntry),
                 options.lowest_address >> kGranuleBits));
  const Block everything{0, ~0ull};
  OK(cuMemcpyHtoD(slot_address(options, kNoBlock - kFirstBlock), &everything, sizeof everything));
}

void set_entry(std::uint64_t address, std::int32_t entry, std::uint64_t count = 1) {
  OK(cuMemsetD16(entry_address(options, address), static_cast<unsigned short>(entry), count));
}

// A block with one poisoned granule behind it.
CUdeviceptr allocate(std::size_t bytes) {
  CUdeviceptr address = 0;
  OK(cuMemAlloc(&address, bytes + 1536));
  address = (address + 511) / 512 * 512;
  if (!are_covered(options, address, address + bytes + 512))
    std::printf("%llx is outside the windows\n", address);
  const Block block{address, address + bytes};
  OK(cuMemcpyHtoD(slot_address(options, slots), &block, sizeof block));
  const std::uint64_t granules = (bytes + 511) / 512;
  set_entry(address, kFirstBlock + static_cast<std::int32_t>(slots), granules);
  for (std::uint64_t i = granules < 2 ? 0 : granules - 2; i < granules; ++i)
    set_entry(address + i * 512, entry_of(block, slots, address + i * 512));
  set_entry(address + granules * 512, kPoisonEntry);
  ++slots;
  return address;
}

// ---------------------------------------------------------------- what is written

CUdeviceptr pages = 0, first_page = 0;        // the table of pages; the page of unknown memory
std::map<std::uint64_t, CUdeviceptr> page_of; // by number

CUdeviceptr make_page() {
  CUdeviceptr page = 0;
  OK(cuMemAlloc(&page, kBytesOfPage + kBehindPage));
  OK(cuMemsetD8(page, kIsWritten, kBytesOfPage + kBehindPage));
  return page;
}

void map_pages() {
  OK(cuMemAlloc(&pages, page_count(options) * 8));
  first_page = make_page();
  const std::vector<CUdeviceptr> all(page_count(options), first_page);
  OK(cuMemcpyHtoD(pages, all.data(), all.size() * 8));
}

// The bounds of all blocks say that they are wholly written, as a host knows it, or may not be.
void know_blocks(bool are_whole) {
  for (std::uint32_t slot = 1; slot < slots; ++slot) {
    Block block;
    OK(cuMemcpyDtoH(&block, slot_address(options, slot), sizeof block));
    block.begin = block.begin / 512 * 512 + (are_whole ? kIsWhollyWritten : 0);
    OK(cuMemcpyHtoD(slot_address(options, slot), &block, sizeof block));
  }
}

void set_written(CUdeviceptr begin, std::size_t bytes, bool is_written) {
  const CUdeviceptr end = begin + bytes;
  while (begin < end) {
    const std::uint64_t number = page_index(options, begin);
    CUdeviceptr& page = page_of[number];
    if (page == 0) {
      page = make_page();
      OK(cuMemcpyHtoD(pages + number * 8, &page, 8));
    }
    const CUdeviceptr next =
      std::min<CUdeviceptr>(end, (begin >> kPageBits << kPageBits) + (1 << kPageBits));
    OK(cuMemsetD8(page + offset_in_page(begin), is_written ? kIsWritten : kIsUnwritten,
                  (next - begin + 3) / 4));
    begin = next;
  }
}

} // namespace
