// SPDX-License-Identifier: Apache-2.0
// Puts checks of memory into the PTX of kernels, so that a GPU says of each mistaken access
// which instruction, block and thread made it, and goes on. docs/kernel-checks.md describes the
// table of valid bytes, the checks and the records. A pure function: text in, text and a table of
// sites out. What it does not understand stays as it is, with a reason.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/names/checked_form.h"
#include "rewriter/memory_instructions.h"

namespace gmt::rewriter {

// When an access is checked by base and bounds of the block of its pointer parameter.
enum class Bounds : std::uint8_t {
  kNever,
  kInLoops, // if one of the parameter's accesses is in a loop: the look-up at the start pays then
  kAlways,
};

// Names of variables that a rewritten module defines. The host reads and sets them.
inline constexpr std::string_view kCounts = "__gmt_counts";     // u64[sites][3], see CountKind
inline constexpr std::string_view kRecords = "__gmt_records";   // Record[capacity]
inline constexpr std::string_view kUsed = "__gmt_used";         // u32: records that were wanted
inline constexpr std::string_view kFlagged = "__gmt_flagged";   // u32: Placed::flag was set
inline constexpr std::string_view kTable = "__gmt_table";       // Placed
inline constexpr std::string_view kChecked = ptx::kCheckedForm; // before the name of a function
// The last parameter of a checked kernel, of 8 bytes: a number that records of the launch have.
inline constexpr std::string_view kLaunch = "__gmt_launch";

// Shared memory whose size the launch says, declared by a rewritten module: it ends where the
// shared memory of the block does.
inline constexpr std::string_view kDynamic = "__gmt_dynamic";

inline constexpr std::string_view kSharedState = "__gmt_shared_state"; // see shared_state.h

inline constexpr std::string_view kReport = "__gmt_report"; // what counts and records a mistake
// Exact checks of several accesses from one register, and what these know of each access.
inline constexpr std::string_view kCheckGlobal = "__gmt_check_global";
inline constexpr std::string_view kCheckArray = "__gmt_check_array";
inline constexpr std::string_view kAccesses = "__gmt_accesses";

enum CountKind : std::uint32_t {
  kOutOfBoundsCount,
  kMisalignedCount,
  kUnwrittenCount, // bytes are used that nothing wrote
  kCountKinds
};
inline constexpr std::uint64_t kRecordsOfSite = 64; // of each kind

enum class RecordSpace : std::uint16_t {
  kGlobal,
  kShared,
  kLocal,
  kVariable, // of global memory
};

// As the device writes it. Until `is_whole` is 1 other words may be missing.
struct Record {
  std::uint32_t site = 0;
  // Of the table, for the address. In shared and local memory and of variables: the size of the
  // array, or where the shared memory of the block ends
  std::int32_t entry = 0;
  std::uint64_t address = 0; // in its space
  std::uint32_t block[3] = {};
  std::uint16_t kind = 0; // a CountKind
  RecordSpace space = RecordSpace::kGlobal;
  std::uint32_t thread[3] = {};
  std::uint32_t is_whole = 0;
  std::uint64_t launch = 0; // what the launch gave for kLaunch; 0: the code does not know it
  // Where the block begins that the pointer's bounds are of, 0: by the table. In shared and local
  // memory and of variables where the array begins
  std::uint64_t meant = 0;
};
static_assert(sizeof(Record) == 64);

// Copies of the first records of all modules, in memory of the host: when a fault has ended a
// context, nothing can be fetched from it any more. In a copy `is_whole` is Placed::module, plus
// the record's place in kRecords, plus 1.
inline constexpr std::uint32_t kHostRecords = 4095;
inline constexpr unsigned kModuleBits = 16; // the lowest ones of `is_whole` are not the module's
struct HostRecords {
  std::uint32_t used = 0; // that were wanted
  std::uint32_t unused[15] = {};
  Record records[kHostRecords];
};

// What the host writes into kTable before the first launch, where the options leave it open.
// `shift`: by how much an address of the upper window is more than one that would follow on the
// lower window.
// `flag`: the address of a u32 that the device sets to 1 behind a mistake, unless kFlagged says
// that it did; 0: none. In memory of the host it says without a copy that there is something to
// fetch. The host clears first the flag, then kFlagged, and then fetches: what comes later sets
// both again.
// `heap`: the address of a HeapTable (rewriter/heap_table.h); 0: nothing is known of the heap of
// kernels.
// `written`: the address of the pages of rewriter/written_table.h, where Options::checks_written.
// `host_records`: the address of a HostRecords; 0: there is none.
// `module`: which module's records they are, as a multiple of 2^kModuleBits; not 0.
struct Placed {
  std::uint64_t table = 0, shift = 0, flag = 0, heap = 0, written = 0, host_records = 0;
  std::uint32_t module = 0, unused = 0;
};

struct Options {
  // Where the table lies on the device. It stands for 2^window_bits addresses: half of them from 0
  // on, half from `window` on. It has an entry of 2 bytes for 512 bytes of addresses, then
  // kBlockSlots blocks of 16 bytes. The entries of what is below lowest_address are kUnmappedEntry.
  // 0: Placed says where.
  std::uint64_t table = 0;
  std::uint64_t window = 0x7f0000000000; // a multiple of 2^32, no less than half; 0: as Placed says
  unsigned window_bits = 41;             // 33 to 41
  std::uint64_t lowest_address = 65536;  // below is no memory, as little as from
  std::uint64_t address_end = std::uint64_t{1} << 57; // on
  Bounds bounds = Bounds::kInLoops;
  // Functions whose address is taken have one form. Checked, it needs the table in plain kernels,
  // too: all devices must have it.
  bool checks_by_pointer = true;
  // Stores say what is written, and loads whose value certainly decides something ask for it: in
  // global memory, and in shared memory where all that writes it is seen.
  bool checks_written = false;
  // A body with more accesses calls functions for its exact checks. Code for each access would take
  // an assembler most of its time.
  std::uint32_t most_inline = 96;
  // A kernel whose code has more accesses gets no checked form, for this reason: an assembler would
  // take very long for it. 0: it may have any number.
  std::uint32_t most_accesses = 0;
  std::string why_too_many;
  // A body with more accesses leaves none of them out, so it needs no copies: what would fault
  // does. With checks_written it has copies all the same.
  std::uint32_t most_copied = 96;
  // A text of more accesses is large: bodies of more than most_copied_in_large have no copies.
  std::uint32_t large_text = 1000, most_copied_in_large = 16;
  std::uint32_t records = 16384;                          // room of kRecords; below 2^kModuleBits
  std::function<bool(std::string_view kernel)> is_chosen; // null: all
  // The checked form of a kernel may use so many registers, which it then stores in the exact
  // checks; 0: as many as it needs. More than the plain form has may leave fewer warps resident.
  std::function<std::uint32_t(std::string_view kernel)> most_registers; // null: 0
};

// Entries of the table. A positive one says how many bytes of the 512 are valid, from the first.
// From kFirstBlock on all are, and all of the next 512, too; then it names the block.
inline constexpr unsigned kGranuleBits = 9;
// A byte is valid if the HeapTable says so, or nothing. Records have one of the other two instead.
inline constexpr std::int32_t kHeapEntry = -3;
inline constexpr std::int32_t kBesideHeapBlock = -4;
inline constexpr std::int32_t kFreedHeapBlock = -5;
inline constexpr std::int32_t kFreedEntry = -2;   // mapped memory without a valid byte
inline constexpr std::int32_t kPoisonEntry = -1;  // the same, behind a block
inline constexpr std::int32_t kUnmappedEntry = 0; // an access would fault, and is left out
inline constexpr std::int32_t kFirstBlock = 1024;
inline constexpr std::int32_t kNoBlock = 32767; // memory of which nothing is known
inline constexpr std::uint32_t kBlockSlots = 32768 - 1024;
struct Block { // of the slot (entry - kFirstBlock)
  std::uint64_t begin = 0, end = 0;
};
// This bit of Block::end says that an access inside of these bounds is right, and that the table is
// to be asked of others: pointers into one block may lead to the next one.
inline constexpr std::uint64_t kTableDecides = std::uint64_t{1} << 63;
// With Options::checks_written this bit of Block::begin says that all of the block is written.
inline constexpr std::uint64_t kIsWhollyWritten = 1;

struct SourceLine {
  std::string file;
  std::uint32_t line = 0;
  std::string function; // empty: the function that has the code
};

struct Site {
  std::string function;       // that has the code, by its own name
  std::uint32_t ptx_line = 0; // of the text that was given, from 1
  std::string instruction;
  std::vector<SourceLine> lines; // innermost first
  AccessKind kind = AccessKind::kLoad;
  std::uint32_t bytes = 0;
  bool is_generic = false;
  bool is_assert = false;          // a call of __assertfail, and no access
  std::string location, condition; // of an assert, as Assertion has them
  std::string array; // or another variable, of the text, that the address comes from; empty: not
                     // known
};

// Why a kernel has no checked form, or what of a function is not checked.
struct Unchecked {
  std::string function;
  std::string reason;
};

// Where a checked kernel takes kLaunch: behind so many parameters, and so many bytes.
struct LaunchParameter {
  bool is_there = false; // else there is no room for it
  std::uint32_t index = 0, offset = 0;
};

struct Rewritten {
  std::string text;                               // the given one if no kernel has a checked form
  std::vector<std::string> kernels;               // that have one, named kChecked + their name
  std::vector<LaunchParameter> launch_parameters; // of these
  std::vector<Site> sites;
  std::vector<Unchecked> unchecked;
  // With Options::checks_written: a checked kernel may write memory of the device unseen.
  bool writes_unseen = false;
};

// Throws ptx::ParseError if the text is no PTX.
Rewritten rewrite(std::string_view text, const Options& options);

} // namespace gmt::rewriter
