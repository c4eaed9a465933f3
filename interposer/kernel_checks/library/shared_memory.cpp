// SPDX-License-Identifier: Apache-2.0
// Memory that other processes open. Its block is larger than the program asked for, by the poison.
// So a process that shares a block writes into the poison how many bytes the block has, and one
// that opens it reads that there: its size is what was asked for, and an access behind it is a
// mistake. Where there is no such note, the memory is unknown.
#include <array>
#include <cstdint>
#include <map>
#include <optional>

#include "interposer/kernel_checks/library/blocks.h"
#include "interposer/kernel_checks/library/captures.h"
#include "interposer/kernel_checks/library/driver.h"
#include "interposer/kernel_checks/library/lasting.h"
#include "interposer/kernel_checks/library/lock.h"
#include "interposer/kernel_checks/library/memory.h"
#include "interposer/kernel_checks/library/replacements.h"
#include "interposer/kernel_checks/library/written.h"

namespace gmt::interposer::kernel_checks {

namespace {

// The last bytes of what the driver gave.
struct Note {
  std::array<std::uint64_t, 2> mark{};
  std::uint64_t bytes = 0, room = 0; // asked for, and given by the driver
};
constexpr std::array<std::uint64_t, 2> kMark{0x676d742e73697a65, 0x9d3f6c1be58a4072};

constinit Lasting<std::map<CUdeviceptr, unsigned>> opened; // blocks with a note, how often; with
                                                           // the lock

void write_note(CUdeviceptr address) noexcept {
  const std::optional<Kept> kept = find_live_around(address);
  CUdeviceptr begin = 0;
  std::size_t room = 0;
  if (!kept || !kept->is_in_table || driver.address_range(&begin, &room, address) != 0) return;
  const std::size_t bytes = size_of(*kept);
  if (begin != kept->block.begin || room < with_poison(bytes)) return;
  const Table& own = table_at(kept->table);
  const Work work(own.context());
  const Note note{kMark, bytes, room};
  if (work.ready() &&
      driver.send(begin + room - sizeof note, &note, sizeof note, own.stream()) == 0)
    driver.wait_for_stream(own.stream());
}

// What stands behind a block that another process has; none: it is not known.
std::optional<Note> read_note(CUdeviceptr begin, std::size_t room) noexcept {
  if (room < with_poison(1) || any_capture() || !has_table()) return std::nullopt;
  Note note;
  const Work work(table().context());
  if (!work.ready() ||
      driver.fetch(&note, begin + room - sizeof note, sizeof note, table().stream()) != 0 ||
      driver.wait_for_stream(table().stream()) != 0)
    return std::nullopt;
  const bool is_note = note.mark == kMark && note.room == room && note.bytes != 0 &&
                       note.bytes < room && with_poison(note.bytes) <= room;
  return is_note ? std::optional(note) : std::nullopt;
}

template <Name kName, class Handle> struct Exports {
  static CUresult call(Handle* handle, CUdeviceptr block) noexcept {
    const int result = own<kName, Handle*, CUdeviceptr>(handle, block);
    mark_block_written(block); // by the other process
    if (result == CUDA_SUCCESS && !any_capture()) write_note(block);
    return static_cast<CUresult>(result);
  }
};
template <Name kName, class Handle> void put_exports() noexcept {
  replace(kName.text, reinterpret_cast<void*>(&Exports<kName, Handle>::call));
}

// Gives an address out first; the memory's size is asked for.
template <Name kName, class... Args> struct Opens {
  static CUresult call(CUdeviceptr* pointer, Args... args) noexcept {
    const int result = own<kName, CUdeviceptr*, Args...>(pointer, args...);
    CUdeviceptr begin = 0;
    std::size_t room = 0;
    if (result != CUDA_SUCCESS || driver.address_range(&begin, &room, *pointer) != 0)
      return static_cast<CUresult>(result);
    const std::optional<Kept> known = find_live(begin);
    if (!known || !known->is_foreign) {
      forget_range(begin, room);
      const std::optional<Note> note = read_note(begin, room);
      if (!note) return CUDA_SUCCESS;
      add_foreign_block(begin, note->bytes, room);
    }
    const Locked lock;
    ++(*opened)[begin];
    return CUDA_SUCCESS;
  }
};
template <Name kName, class... Args> void put_opens() noexcept {
  replace(kName.text, reinterpret_cast<void*>(&Opens<kName, Args...>::call));
}

CUresult close(CUdeviceptr address) noexcept {
  bool is_last = true;
  {
    const Locked lock;
    const auto found = (*opened).find(address);
    is_last = found == (*opened).end() || --found->second == 0;
    if (is_last && found != (*opened).end()) (*opened).erase(found);
  }
  if (is_last) forget_block(address);
  return static_cast<CUresult>(own<"cuIpcCloseMemHandle", CUdeviceptr>(address));
}

} // namespace

void forget_opened(CUdeviceptr begin) noexcept {
  const Locked lock;
  (*opened).erase(begin);
}

void abandon_opened() noexcept { opened.begin_anew(); }

void replace_shared_memory() noexcept {
  put_exports<"cuIpcGetMemHandle", CUipcMemHandle>();
  put_exports<"cuMemPoolExportPointer", CUmemPoolPtrExportData>();
  put_opens<"cuIpcOpenMemHandle_v2", CUipcMemHandle, unsigned>();
  put_opens<"cuMemPoolImportPointer", CUmemoryPool, CUmemPoolPtrExportData*>();
  put_opens<"cuExternalMemoryGetMappedBuffer", CUexternalMemory,
            const CUDA_EXTERNAL_MEMORY_BUFFER_DESC*>();
  replace("cuIpcCloseMemHandle", reinterpret_cast<void*>(&close));
}

} // namespace gmt::interposer::kernel_checks
