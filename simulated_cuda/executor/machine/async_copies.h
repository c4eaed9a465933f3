// SPDX-License-Identifier: Apache-2.0
// Copies that go on while the threads of a block do: cp.async, bulk copies and their kin. A copy is
// checked where its thread begins it, and reads and writes where it is waited for, as late as it
// may. Until then the tables of races say that its bytes in shared memory are in use, so that any
// access of them is a race. A copy belongs to a group of its thread, or to an mbarrier that counts
// its bytes.
// Invariant: nothing but AsyncCopies moves a copy's bytes.
#pragma once

#include "simulated_cuda/executor/machine/combines.h"
#include "simulated_cuda/executor/machine/memory.h"
#include "simulated_cuda/executor/machine/warp.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace gmt::executor {

struct OtherThread;

// One side of a copy.
struct CopyEnd {
  Block* block = nullptr;         // whose shared memory it is
  const Region* region = nullptr; // else this one's, of device memory
  std::uint64_t offset = 0;       // there
};

struct AsyncCopy {
  Warp* warp = nullptr; // the thread that began it, and where
  std::uint32_t lane = 0;
  const Instruction* in = nullptr;
  const Code* code = nullptr;
  CopyEnd to, from;
  // Of the destination; of the source, which is read first: the rest is zero
  std::uint32_t bytes = 0, loaded = 0;
  const Combine* combine = nullptr; // null: the bytes are moved
  std::uint32_t left_out = 0;       // bytes of each 16 that keep their value
  bool rounds_to_tf32 = false;      // floats of the source, as copies of tensors of that type do
  // What the table of races knew of stores to the source, if it is device memory
  static constexpr std::uint32_t kFewWords = 5;
  std::array<std::uint64_t, kFewWords> few_stores{};
  std::vector<std::uint64_t> stores; // of more words than a few
  // The source as it was read, before the copy ended; or values of registers. A bit of `unwritten`
  // for each byte
  bool is_read = false;
  std::vector<std::byte> value;
  std::vector<bool> unwritten;
  std::uint64_t object = 0; // the mbarrier that counts the bytes, in the same block as the queue
  std::uint32_t group = 0;  // of its thread
  std::uint64_t number = 0; // of all copies of the block
};

class AsyncCopies {
public:
  enum Kind : std::uint8_t { kSmall, kBulk }; // which have groups of their own
  static constexpr std::uint32_t kKinds = 2;

  explicit AsyncCopies(Block& block) : block_(block) {}

  void start(); // another block
  // Copies of a thread: into its open group. The ends have been checked.
  void begin(Kind kind, AsyncCopy copy);
  // The same, for the mbarrier `copy.object` of this block.
  void begin_for_object(AsyncCopy copy);
  void commit(Kind kind, std::uint32_t thread);
  void wait(Kind kind, std::uint32_t thread, std::uint32_t groups_left);
  void wait_read(std::uint32_t thread, std::uint32_t groups_left); // until sources were read
  void wait_all(Kind kind, std::uint32_t thread);                  // also those of the open group
  // The thread arrives at the mbarrier when its copies so far are there.
  void arrive_behind(Warp& w, std::uint32_t lane, std::uint64_t object);
  // A thread waits for the mbarrier: copies come for which it waits.
  void bring(std::uint64_t object);
  void finish_all(); // the block is over
  // The thread whose copy uses the byte of the block's shared memory; ~0: none.
  std::uint32_t thread_at(std::uint64_t offset) const;

  // fence.proxy.async: what threads did before may be used by bulk copies.
  void fence_proxy(const Warp& w);
  // Who wrote some of these bytes of the block's shared memory with no such fence behind it.
  std::optional<OtherThread> unfenced_store(std::uint64_t offset, std::uint32_t bytes) const;

  std::uint32_t fenced_warps = 0; // that have executed wgmma.fence, a bit each

private:
  struct Thread {
    std::vector<AsyncCopy> copies; // in their order
    std::uint32_t group = 0;       // the open one
  };
  struct Arrival {
    Warp* warp = nullptr;
    std::uint32_t lane = 0;
    std::uint64_t object = 0, number = 0; // behind copies up to this one
  };
  Thread& thread(Kind kind, std::uint32_t which);
  template <class IsDone>
  void finish_some(std::vector<AsyncCopy>& copies, IsDone is_done);
  void check_begin(AsyncCopy& copy);
  bool is_repeated(const AsyncCopy& copy) const;
  void check_proxy(const AsyncCopy& copy) const;
  void read(AsyncCopy& copy);
  void finish(AsyncCopy& copy);

  Block& block_;
  std::vector<Thread> threads_[kKinds];
  std::vector<AsyncCopy> counted_; // by mbarriers
  std::vector<Arrival> arrivals_;
  std::uint64_t count_ = 0;
  // Clocks: stores before this one have a fence behind them; by thread, of its own last fence
  std::uint32_t fenced_ = 0;
  std::vector<std::uint32_t> own_fences_;
};

// The copies of the block; made when the first begins.
AsyncCopies& copies_of(Block& block);

// cp.async of one lane: `bytes` at the address of shared memory, of which the source has `loaded`.
void begin_small_copy(Warp& w, const Instruction* in, std::uint32_t lane, std::uint64_t to,
                      std::uint64_t from, std::uint32_t bytes, std::uint32_t loaded);

// A bulk copy of one lane; `object` is the address of its mbarrier, unless it is of a group.
struct BulkCopy {
  std::uint64_t to = 0, from = 0, object = 0;
  std::uint32_t bytes = 0;
  std::uint32_t ranks = 0;     // of blocks of the cluster that get it, a bit each; 0: one
  std::uint32_t written = ~0u; // which bytes of each 16
};
void begin_bulk_copy(Warp& w, const Instruction* in, std::uint32_t lane, const BulkCopy& copy);
// A part of a tensor copy, which lies in a row on both sides.
struct BulkPiece {
  std::uint64_t shared = 0;
  std::uint64_t global = 0; // 0: outside of the tensor
  std::uint64_t object = 0;
  std::uint32_t bytes = 0, ranks = 0;
  std::span<const std::byte> fill; // an element of what is outside; empty: zeros
  const Combine* combine = nullptr;
  bool rounds_to_tf32 = false;
};
// False: it is refused.
bool begin_piece(Warp& w, const Instruction* in, std::uint32_t lane, const BulkPiece& piece);

// st.async, red.async: of `bytes` bytes that registers hold.
void begin_bulk_store(Warp& w, const Instruction* in, std::uint32_t lane, const BulkCopy& copy,
                      const std::byte* value);

} // namespace gmt::executor
