// SPDX-License-Identifier: Apache-2.0
// A log file that its thread has left behind, packed: trace/FORMAT.md, "Packed logs". What a
// program does again and again costs next to nothing in it, and nothing is lost.
//
// A file is packed in frames of kSlots slots, each by itself. In front of zstd the slots of a frame
// are rewritten word by word: all first words, all second ones, and so on. Of orders and times
// stand the differences.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/base/folder_files.h"
#include "trace/format.h"

namespace gmt {

// "t7-0.1.log" is packed as "t7-0.1.log.zst".
inline constexpr const char* kPackedEnd = ".zst";
// The end of the header's page of a packed log from which records were dropped.
inline constexpr char kFoldedMark[8] = {'F', 'O', 'L', 'D', 'E', 'D', '1', '\n'};

class PackedLog {
public:
  static constexpr std::size_t kSlots = 16384; // of a frame, but for the last one

  // Null if it cannot be opened; errno says why. Its first page is the log's header as it was. A
  // reader that has read a part of the log wants it `as_it_was`: one from which records were
  // dropped meanwhile is damaged for it.
  static std::unique_ptr<PackedLog> open(const std::filesystem::path& packed,
                                         bool as_it_was = false);

  ~PackedLog();
  PackedLog(const PackedLog&) = delete;
  PackedLog& operator=(const PackedLog&) = delete;

  int descriptor() const { return file_.number(); }
  // As read_at() of the file that was packed, behind its header. Reading is quick forwards only.
  std::size_t read(void* into, std::size_t bytes, std::uint64_t offset);
  bool is_damaged() const { return is_damaged_; } // what follows cannot be read
  // Of a trace's thousands few are read at a time: until it is read again this one has no memory,
  // and then it is read from its begin. It keeps its descriptor, if not too many do: without it, it
  // is damaged if another file has its name by then. For good: it does not.
  void rest(bool for_good);

private:
  PackedLog(std::filesystem::path path, Descriptor file);
  void open_again();
  void close();
  bool next_frame();
  void rewind();

  const std::filesystem::path path_;
  Descriptor file_;
  const std::pair<std::uint64_t, std::uint64_t> identity_; // device and inode
  bool is_counted_ = false;                                // among the descriptors at rest
  std::vector<trace::Slot> frame_;
  std::vector<char> packed_;
  std::uint64_t frame_at_ = trace::kLogHeaderBytes; // of the file that was packed
  std::uint64_t next_ = trace::kLogHeaderBytes;     // of the next frame, in this file
  bool is_damaged_ = false;
};

// Writes a packed log under another name, and renames it at the end. A file of that name which a
// writer left that was killed is written anew; that of one that lives stays.
class PackedWriter {
public:
  explicit PackedWriter(std::filesystem::path packed);
  ~PackedWriter(); // removes what is not finished
  PackedWriter(const PackedWriter&) = delete;
  PackedWriter& operator=(const PackedWriter&) = delete;

  // The log's header, then frames of kSlots slots, but for the last one. False, and problem(), if
  // that fails.
  bool begin(const void* header);
  bool add(std::span<const trace::Slot> slots);
  // The file is there, and on the disk when the system writes it.
  bool finish();
  const std::string& problem() const { return problem_; }
  std::uint64_t bytes() const { return written_; }

private:
  bool open_unfinished();
  bool fail(const char* what);
  bool write(const void* from, std::size_t bytes);

  const std::filesystem::path path_;
  std::filesystem::path unfinished_;
  Descriptor to_;
  std::vector<char> columns_, packed_;
  std::uint64_t written_ = 0;
  std::string problem_;
};

// Packs one log bit by bit, so that its caller can do other things meanwhile.
class LogPacker {
public:
  // Writes a file of another name first.
  explicit LogPacker(std::filesystem::path log);

  // A frame more. False if it was the last one: then the packed log is there and the log is gone,
  // or problem() says why not.
  bool step();
  const std::string& problem() const { return problem_.empty() ? to_.problem() : problem_; }
  std::uint64_t packed_bytes() const { return to_.bytes(); }
  std::uint64_t saved_bytes() const { return read_ > to_.bytes() ? read_ - to_.bytes() : 0; }
  std::uint64_t lowest_order() const { return std::min(lowest_order_, highest_order_); }
  std::uint64_t highest_order() const { return highest_order_; }

private:
  bool finish();

  const std::filesystem::path log_;
  Descriptor from_;
  PackedWriter to_;
  std::vector<trace::Slot> slots_;
  std::uint64_t read_ = 0; // bytes
  std::uint64_t lowest_order_ = UINT64_MAX, highest_order_ = 0;
  std::string problem_;
};

} // namespace gmt
