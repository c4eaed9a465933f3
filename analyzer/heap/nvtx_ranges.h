// SPDX-License-Identifier: Apache-2.0
// The program's NVTX ranges as a reader of the trace follows them: which are open where, as one
// number a path ("epoch 2 / forward"), and in which a block was allocated.
//
// A path is the process's ranges (nvtxRangeStart) in the order of their starts, then the thread's
// own (push and pop). Programs without NVTX pay one test an event; paths are numbered only where
// asked.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analyzer/model/event.h"

namespace gmt {

struct Block;
struct Access;

class Ranges {
public:
  using Path = std::uint32_t;                                   // 0: no range is open
  using Texts = std::unordered_map<std::uint64_t, std::string>; // of kText records, by id

  explicit Ranges(const Texts& texts) : texts_(texts) {}

  void on_range(const Event& e); // a kRange record
  void follow(const Event& e) { thread_ = e.thread; }
  // Allocations and ends of blocks, by the event that is followed
  void on_access(const Access& access);

  bool any() const { return any_; }
  Path here() const; // open in the event that is followed
  Path path_of_allocation(const Block& block) const;
  std::string text(Path path) const; // "epoch 2 / forward"; empty for none
  // Whether a range of the path has this name; one of a domain is also "domain: name".
  bool contains(Path path, std::string_view glob) const;
  // The name of a kRange record's range or mark, with its domain if it has one.
  std::string name_of(const Event& e) const {
    const event::Range& range = e.range();
    return name_of({range.domain, range.text});
  }
  static bool matches(std::string_view glob, std::string_view name);

  // What the program calls the thread; empty if it has not said so.
  std::string_view thread_name(std::uint32_t number) const;

private:
  struct Open {
    std::uint64_t domain, text;
  };
  struct Started {
    std::uint64_t id;
    Open range;
  };
  struct Thread {
    std::vector<Open> open;
    std::uint64_t id = 0;      // of the operating system, 0 unknown
    Path path = 0;             // of all that is open; valid while `version` is the process's
    std::uint64_t version = 0; // 0: to be looked up
  };
  struct Node {
    Path parent;
    Open range;
  };
  struct Key {
    Path parent;
    std::uint64_t domain, text;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct HashKey {
    std::size_t operator()(const Key& k) const {
      return ((k.parent * 0x9e3779b97f4a7c15 ^ k.domain) * 0x9e3779b97f4a7c15 ^ k.text) *
             0x9e3779b97f4a7c15;
    }
  };

  Thread& thread(std::uint32_t number) const;
  Path inside(Path parent, const Open& range) const;
  std::string name_of(const Open& range) const;
  std::string_view text_of(std::uint64_t id) const;

  const Texts& texts_;
  bool any_ = false;
  std::uint32_t thread_ = 0;
  std::vector<Started> started_;
  std::uint64_t version_ = 1; // of started_
  mutable std::unordered_map<std::uint32_t, Thread> threads_;
  mutable std::vector<Node> nodes_; // by path - 1
  mutable std::unordered_map<Key, Path, HashKey> paths_;
  // Of live blocks allocated inside ranges, by Block::allocated_at
  std::unordered_map<std::uint64_t, Path> allocation_paths_;
  std::unordered_map<std::uint64_t, std::uint64_t> domains_;      // handle -> text
  std::unordered_map<std::uint64_t, std::uint64_t> thread_names_; // thread id -> text
};

} // namespace gmt
