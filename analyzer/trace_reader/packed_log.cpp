// SPDX-License-Identifier: Apache-2.0

#include "analyzer/trace_reader/packed_log.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <span>
#include <utility>

#include "analyzer/base/text_format.h"

namespace gmt {
namespace fs = std::filesystem;
namespace {

constexpr int kLevel = 3;
constexpr std::size_t kWords = trace::kSlotBytes / sizeof(std::uint64_t);
constexpr std::size_t kHead = 0, kOrder = 1, kTime = 2; // words of a slot

struct FrameHeader {
  std::uint32_t slots, bytes; // bytes: of the frame of zstd behind it
};
constexpr FrameHeader kEnd{0, 0};
// What a log may unpack to: so many bytes, and so many times its size. Times alone make each record
// take a byte; a file of others may have frames of nothing.
constexpr std::uint64_t kFewBytes = std::uint64_t{64} << 20, kMostTimes = 256;

bool is_more(std::uint64_t head) { return trace::unpack(head).kind == trace::Kind::kMore; }

// Of order and time of a slot, which its neighbours nearly share. The bits above an order stay.
class Differences {
public:
  void take(std::uint64_t* words) {
    if (is_more(words[kHead])) return;
    const std::uint64_t order = words[kOrder], time = words[kTime];
    words[kOrder] = (order & ~trace::kOrderMask) | ((order - order_) & trace::kOrderMask);
    words[kTime] = time - time_;
    order_ = order;
    time_ = time;
  }
  void give_back(std::uint64_t* words) {
    if (is_more(words[kHead])) return;
    order_ = (words[kOrder] & ~trace::kOrderMask) | ((words[kOrder] + order_) & trace::kOrderMask);
    time_ += words[kTime];
    words[kOrder] = order_;
    words[kTime] = time_;
  }

private:
  std::uint64_t order_ = 0, time_ = 0;
};

void to_columns(std::span<const trace::Slot> slots, std::vector<char>& columns) {
  columns.resize(slots.size_bytes());
  Differences differences;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    std::uint64_t words[kWords];
    std::memcpy(words, &slots[i], sizeof words);
    differences.take(words);
    for (std::size_t w = 0; w < kWords; ++w)
      std::memcpy(columns.data() + (w * slots.size() + i) * sizeof *words, &words[w],
                  sizeof *words);
  }
}

void from_columns(const std::vector<char>& columns, std::span<trace::Slot> slots) {
  Differences differences;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    std::uint64_t words[kWords];
    for (std::size_t w = 0; w < kWords; ++w)
      std::memcpy(&words[w], columns.data() + (w * slots.size() + i) * sizeof *words,
                  sizeof *words);
    differences.give_back(words);
    std::memcpy(static_cast<void*>(&slots[i]), words, sizeof words);
  }
}

constexpr int kMostAtRest = 256; // well under the usual 1,024 descriptors
std::atomic<int> descriptors_at_rest{0};

std::pair<std::uint64_t, std::uint64_t> identity_of(const Descriptor& file) {
  struct stat status{};
  if (::fstat(file.number(), &status) != 0) return {};
  return {status.st_dev, status.st_ino};
}

} // namespace

PackedLog::PackedLog(fs::path path, Descriptor file)
    : path_(std::move(path)), file_(std::move(file)), identity_(identity_of(file_)) {}

std::unique_ptr<PackedLog> PackedLog::open(const fs::path& packed, bool as_it_was) {
  Descriptor file = open_in_folder(packed);
  if (!file) return nullptr;
  std::unique_ptr<PackedLog> log(new PackedLog(packed, std::move(file)));
  char mark[sizeof kFoldedMark] = {};
  if (as_it_was)
    read_at(log->descriptor(), mark, sizeof mark, trace::kLogHeaderBytes - sizeof mark);
  log->is_damaged_ = std::memcmp(mark, kFoldedMark, sizeof mark) == 0;
  return log;
}

void PackedLog::rewind() {
  frame_.clear();
  frame_at_ = next_ = trace::kLogHeaderBytes;
}

PackedLog::~PackedLog() { close(); }

void PackedLog::rest(bool for_good) {
  rewind();
  frame_ = {};
  packed_ = {};
  if (for_good || (!is_counted_ && descriptors_at_rest >= kMostAtRest)) return close();
  if (file_ && !is_counted_) ++descriptors_at_rest;
  is_counted_ = static_cast<bool>(file_);
}

void PackedLog::close() {
  file_ = Descriptor();
  if (is_counted_) --descriptors_at_rest;
  is_counted_ = false;
}

// A log that was folded meanwhile has other records at these offsets.
void PackedLog::open_again() {
  file_ = open_in_folder(path_);
  if (!file_ || identity_of(file_) != identity_) is_damaged_ = true;
}

// Sizes are bounded before they are believed.
bool PackedLog::next_frame() {
  FrameHeader header{};
  const std::size_t got = read_at(file_.number(), &header, sizeof header, next_);
  is_damaged_ = true;
  if (got == sizeof header && header.slots == kEnd.slots && header.bytes == kEnd.bytes) {
    is_damaged_ = false;
    return false;
  }
  if (got != sizeof header || header.slots == 0 || header.slots > kSlots ||
      header.bytes > ZSTD_compressBound(kSlots * trace::kSlotBytes))
    return false;
  const std::uint64_t unpacked = frame_at_ + (frame_.size() + header.slots) * trace::kSlotBytes;
  if (unpacked > kFewBytes + kMostTimes * next_) return false;
  packed_.resize(header.bytes);
  if (read_at(file_.number(), packed_.data(), header.bytes, next_ + sizeof header) != header.bytes)
    return false;
  std::vector<char> columns(header.slots * trace::kSlotBytes);
  const std::size_t bytes =
    ZSTD_decompress(columns.data(), columns.size(), packed_.data(), packed_.size());
  if (ZSTD_isError(bytes) != 0 || bytes != columns.size()) return false;
  frame_at_ += frame_.size() * trace::kSlotBytes;
  frame_.resize(header.slots);
  from_columns(columns, frame_);
  next_ += sizeof header + header.bytes;
  is_damaged_ = false;
  return true;
}

std::size_t PackedLog::read(void* into, std::size_t bytes, std::uint64_t offset) {
  if (!file_) open_again();
  if (offset < frame_at_) rewind();
  std::size_t done = 0;
  while (done < bytes && !is_damaged_) {
    const std::uint64_t at = offset + done - frame_at_; // in the frame
    const std::uint64_t frame_bytes = frame_.size() * trace::kSlotBytes;
    if (at >= frame_bytes) {
      if (!next_frame()) break;
      continue;
    }
    const std::size_t part = std::min<std::size_t>(bytes - done, frame_bytes - at);
    std::memcpy(static_cast<char*>(into) + done, reinterpret_cast<const char*>(frame_.data()) + at,
                part);
    done += part;
  }
  return done;
}

PackedWriter::PackedWriter(fs::path packed)
    : path_(std::move(packed)), unfinished_(path_.string() + ".new") {
  if (open_unfinished()) return;
  fail("cannot open it");
  unfinished_.clear(); // another's
}

// Its writer holds its lock, which ends with the writer. A file that was renamed between
// open() and flock() is another's that is finished.
bool PackedWriter::open_unfinished() {
  constexpr int kFlags = O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  to_ = Descriptor(::open(unfinished_.c_str(), kFlags | O_CREAT | O_EXCL, 0600));
  const bool is_new = static_cast<bool>(to_);
  if (!is_new && errno == EEXIST) to_ = Descriptor(::open(unfinished_.c_str(), kFlags));
  if (!to_) return false;
  const bool is_locked = ::flock(to_.number(), LOCK_EX | LOCK_NB) == 0;
  // Some file systems have no locks.
  if (!is_locked && (!is_new || errno == EWOULDBLOCK)) return false;
  struct stat opened{}, named{};
  const bool is_there = ::fstat(to_.number(), &opened) == 0 &&
                        ::lstat(unfinished_.c_str(), &named) == 0 &&
                        opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
  errno = EEXIST;
  if (!is_there || !S_ISREG(opened.st_mode) || opened.st_nlink != 1) return false;
  return ::ftruncate(to_.number(), 0) == 0;
}

PackedWriter::~PackedWriter() {
  if (!unfinished_.empty()) ::unlink(unfinished_.c_str());
}

bool PackedWriter::fail(const char* what) {
  problem_ = cat({what, ": ", std::strerror(errno)});
  return false;
}

bool PackedWriter::write(const void* from, std::size_t bytes) {
  const auto* at = static_cast<const char*>(from);
  while (bytes != 0) {
    const ssize_t n = ::write(to_.number(), at, bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return fail("cannot write what is packed");
    at += n;
    bytes -= static_cast<std::size_t>(n);
    written_ += static_cast<std::uint64_t>(n);
  }
  return true;
}

bool PackedWriter::begin(const void* header) {
  return problem_.empty() && write(header, trace::kLogHeaderBytes);
}

bool PackedWriter::add(std::span<const trace::Slot> slots) {
  if (!problem_.empty() || slots.empty()) return problem_.empty();
  to_columns(slots, columns_);
  packed_.resize(ZSTD_compressBound(columns_.size()));
  const std::size_t size =
    ZSTD_compress(packed_.data(), packed_.size(), columns_.data(), columns_.size(), kLevel);
  if (ZSTD_isError(size) != 0) {
    problem_ = ZSTD_getErrorName(size);
    return false;
  }
  const FrameHeader header{static_cast<std::uint32_t>(slots.size()),
                           static_cast<std::uint32_t>(size)};
  return write(&header, sizeof header) && write(packed_.data(), size);
}

bool PackedWriter::finish() {
  if (!problem_.empty() || !write(&kEnd, sizeof kEnd)) return false;
  // A file server may refuse what was written when a descriptor is closed. The lock stays.
  const int other = ::dup(to_.number());
  if (other < 0 || ::close(other) != 0) return fail("cannot write what is packed");
  if (::rename(unfinished_.c_str(), path_.c_str()) != 0) return fail("cannot rename it");
  unfinished_.clear();
  to_ = Descriptor();
  return true;
}

LogPacker::LogPacker(fs::path log)
    : log_(std::move(log)), from_(open_in_folder(log_)), to_(log_.string() + kPackedEnd) {
  std::vector<char> header(trace::kLogHeaderBytes);
  if (!from_) problem_ = cat({"cannot open it: ", std::strerror(errno)});
  else if (read_at(from_.number(), header.data(), header.size(), 0) != header.size())
    problem_ = "it is shorter than its header";
  else if (to_.begin(header.data())) read_ = header.size();
}

bool LogPacker::step() {
  if (!problem().empty()) return false;
  slots_.resize(PackedLog::kSlots);
  const std::size_t bytes =
    read_at(from_.number(), slots_.data(), slots_.size() * trace::kSlotBytes, read_);
  read_ += bytes;
  slots_.resize(bytes / trace::kSlotBytes);
  for (const trace::Slot& slot : slots_) {
    const std::uint64_t order = slot.order & trace::kOrderMask;
    if (slot.head == 0 || is_more(slot.head) || order == 0) continue;
    highest_order_ = std::max(highest_order_, order);
    lowest_order_ = std::min(lowest_order_, order);
  }
  if (!to_.add(slots_)) return false;
  if (bytes == PackedLog::kSlots * trace::kSlotBytes) return true;
  finish();
  return false;
}

// The packed log is there before the log goes: a reader finds one of them at any moment. Nothing
// goes that a failing disk did not give whole, or that a file server has yet to refuse. It is not
// waited for until the disk has it: with many small files that would take longer than to pack them.
bool LogPacker::finish() {
  if (read_ != bytes_of(from_)) problem_ = "it could not be read to its end";
  if (!problem_.empty() || !to_.finish()) return false;
  if (::unlink(log_.c_str()) == 0) return true;
  problem_ = cat({"cannot remove what was packed: ", std::strerror(errno)});
  return false;
}

} // namespace gmt
