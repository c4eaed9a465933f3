// SPDX-License-Identifier: Apache-2.0
// A record that the drain had moved when the process died, but not given back, is in the ring and
// in the log: it is known by its sub-ring and its ticket. A link that does not lead to a ring of
// ours is left alone.

#include "analyzer/command/run/leftover_rings.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "analyzer/base/folder_files.h"
#include "analyzer/command/run/child_process.h"
#include "analyzer/trace_reader/ring_rest.h"
#include "analyzer/trace_reader/slot_file.h"

namespace gmt {

namespace {

namespace fs = std::filesystem;
using trace::Kind;
using trace::Slot;

constexpr std::string_view kRingFiles = "/dev/shm/gpumemtrace."; // <pid>.<when>.<number>

// A file mapped whole, privately: what is written there changes nothing.
class Mapped {
public:
  explicit Mapped(const fs::path& path) : fd_(open_in_folder(path).release()) {
    struct stat facts = {};
    if (fd_ < 0 || ::fstat(fd_, &facts) != 0 || !S_ISREG(facts.st_mode)) return;
    owned_ = facts.st_uid == ::geteuid();
    bytes_ = static_cast<std::size_t>(facts.st_size);
    void* map = bytes_ != 0 ? ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd_, 0)
                            : MAP_FAILED;
    if (map != MAP_FAILED) data_ = static_cast<char*>(map);
  }
  ~Mapped() {
    if (data_ != nullptr) ::munmap(data_, bytes_);
    if (fd_ >= 0) ::close(fd_);
  }
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;
  bool there() const { return fd_ >= 0; }
  bool owned() const { return owned_; }
  char* data() const { return data_; }
  std::size_t bytes() const { return data_ != nullptr ? bytes_ : 0; }

private:
  int fd_;
  bool owned_ = false;
  char* data_ = nullptr;
  std::size_t bytes_ = 0;
};

// The log that leftovers go to, and what of them it has already.
struct LogEnd {
  fs::path path;
  std::uint64_t bytes = 0;                               // 0: there is no log
  std::uint64_t order = 0;                               // of its last kDeviceDrained
  std::array<std::uint64_t, trace::kMaxSubRings> next{}; // ticket behind the last one, by sub-ring
};

// device-<n>.log, or the last of the files that it went on in.
fs::path last_log(const fs::path& trace, const std::string& stem) {
  fs::path last = trace / (stem + ".log");
  for (unsigned i = 1;; ++i) {
    const fs::path next = trace / (stem + "." + std::to_string(i) + ".log");
    std::error_code error;
    if (!fs::exists(next, error)) return last;
    last = next;
  }
}

LogEnd find_end(const fs::path& path, std::uint64_t ring_slots) {
  LogEnd end;
  end.path = path;
  const Mapped log(path);
  if (log.bytes() < trace::kLogHeaderBytes) return end;
  std::span slots(reinterpret_cast<const Slot*>(log.data() + trace::kLogHeaderBytes),
                  (log.bytes() - trace::kLogHeaderBytes) / trace::kSlotBytes);
  while (!slots.empty() && slots.back().head == 0) slots = slots.first(slots.size() - 1);
  end.bytes = trace::kLogHeaderBytes + slots.size_bytes();
  // The drain gives a ring back at least once for each of its slots.
  slots = slots.last(std::min<std::size_t>(slots.size(), 4 * ring_slots));
  LogStats ignored;
  SlotScan scan(ignored, ZeroHeads::kHoles);
  for (SlotRecord record; scan.next(slots, true, record);) {
    const Slot& slot = slots[record.slot];
    if (record.head.kind == Kind::kDeviceDrained) end.order = trace::order_of(slot.order);
    if (record.head.kind < Kind::kDeviceAlloc || record.head.kind > Kind::kDeviceGrid) continue;
    const std::uint64_t ticket = std::bit_cast<trace::DeviceSlot>(slot).ticket;
    std::uint64_t& next = end.next[trace::sub_ring_of(ticket)];
    next = std::max(next, trace::ticket_of(ticket) + record.head.slots);
  }
  return end;
}

// What the log does not have yet, with a kDeviceDrained behind it.
std::vector<Slot> leftovers(const Mapped& ring, const LogEnd& log) {
  RingRest rest = take_rest(ring.data(), log.next);
  if (rest.slots.empty() && rest.torn == 0 && rest.lost == 0) return {};
  Slot drained = drained_slot(trace::ring_header(ring.data()), rest);
  drained.order = log.order;
  drained.time = read_tsc();
  drained.via = trace::kNoApi;
  rest.slots.push_back(drained);
  return std::move(rest.slots);
}

bool append(const LogEnd& log, const std::vector<Slot>& slots, std::uint32_t pid) {
  std::vector<char> bytes;
  if (log.bytes == 0) {
    trace::LogHeader header = {};
    std::memcpy(header.magic, trace::kLogMagic, sizeof header.magic);
    header.major = trace::kFormatMajor;
    header.minor = trace::kFormatMinor;
    header.pid = header.tid = pid;
    header.tsc = read_tsc();
    header.monotonic_ns = read_monotonic_ns();
    bytes.resize(trace::kLogHeaderBytes);
    std::memcpy(bytes.data(), &header, sizeof header);
  }
  const char* begin = reinterpret_cast<const char*>(slots.data());
  bytes.insert(bytes.end(), begin, begin + slots.size() * sizeof(Slot));
  const int fd = open_to_append(log.path).release();
  if (fd < 0) return false;
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n =
      ::pwrite(fd, bytes.data() + done, bytes.size() - done, static_cast<off_t>(log.bytes + done));
    if (n <= 0) break;
    done += static_cast<std::size_t>(n);
  }
  const int error = errno;
  ::close(fd);
  errno = error;
  return done == bytes.size();
}

// Whether a process has the file mapped: its drain is at work. An exec'd program has the pid and
// not the ring.
bool is_in_use(const std::string& file) {
  const std::string pid =
    file.substr(kRingFiles.size(), file.find('.', kRingFiles.size()) - kRingFiles.size());
  errno = 0;
  std::ifstream maps("/proc/" + pid + "/maps");
  if (!maps) return errno == EACCES || errno == EPERM;
  for (std::string line; std::getline(maps, line);)
    if (line.ends_with(file)) return true;
  return false;
}

// 0 or an errno.
int collect(const fs::path& link, const std::string& file) {
  {
    const Mapped ring(file);
    if (!ring.there() || !ring.owned()) return 0; // of another machine or user
    if (trace::ring_is_sound(ring.data(), ring.bytes())) {
      const trace::RingHeader& header = trace::ring_header(ring.data());
      const std::uint64_t slots = std::uint64_t{header.sub_rings} * header.slots_per_sub_ring;
      const LogEnd log = find_end(last_log(link.parent_path(), link.stem().string()), slots);
      const std::vector<Slot> left = leftovers(ring, log);
      if (!left.empty() && !append(log, left, header.pid)) return errno != 0 ? errno : ENOSPC;
    }
  }
  if (::unlink(file.c_str()) != 0 && errno != ENOENT) return errno;
  return ::unlink(link.c_str()) != 0 && errno != ENOENT ? errno : 0;
}

} // namespace

std::string collect_rings(const fs::path& trace) {
  if (!is_own_folder(trace)) return {};
  std::error_code error;
  std::vector<fs::path> links;
  for (fs::directory_iterator it(trace, error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    if (it->path().extension() == ".ring" && it->is_symlink(ignored)) links.push_back(it->path());
  }
  for (const fs::path& link : links) {
    const std::string file = fs::read_symlink(link, error).string();
    if (error || !file.starts_with(kRingFiles) ||
        file.find('/', kRingFiles.size()) != std::string::npos)
      continue;
    if (is_in_use(file)) continue;
    if (const int problem = collect(link, file)) {
      return "cannot move what kernels recorded from '" + file + "' into '" + trace.string() +
             "': " + std::strerror(problem) +
             "; in-kernel allocations and frees may be missing from the report";
    }
  }
  return {};
}

} // namespace gmt
