// SPDX-License-Identifier: Apache-2.0
// A session starts with the trace's folder with info and apis; then come its parts, then the first
// log.
#include "interposer/log/process.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "interposer/base/folder_name.h"
#include "interposer/base/fork_guard.h"
#include "interposer/base/own_stack.h"
#include "interposer/base/proc_ranges.h"
#include "interposer/base/signal_guard.h"
#include "interposer/base/slow_lock.h"
#include "interposer/base/text_file.h"
#include "interposer/log/idle.h"
#include "interposer/log/thread_log.h"
#include "interposer/log/thread_session.h"
#include "trace/api_id.h"

namespace gmt::interposer {

namespace {

// Another user may have put a link, or a pipe without a reader, in the file's place.
constexpr int kNoOtherFile = O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;

// Stands in for the fork page until there is one
constinit std::atomic<std::uint32_t> never_started{0};
constinit std::atomic<int> refused_pid{0}; // this process tried and cannot record
constinit ThreadLog* free_logs = nullptr;
constinit ThreadLog* first_log = nullptr; // counts what threads without a log lose
constinit bool notified_of_no_log = false;
constinit std::uint32_t log_count = 0;
constinit std::uint32_t thread_count = 0; // threads that have made a call in this session
constinit pthread_key_t thread_end_key = 0;
constinit bool thread_end_key_made = false;

// A log that could not be made is not tried at every call: threads without one try ever more seldom
// together, and at once when another thread's log is free.
constexpr std::uint32_t kFirstRest = 255, kLongestRest = 1 << 20;
constinit std::atomic<std::uint32_t> calls_to_rest{0};
constinit std::uint32_t next_rest = kFirstRest; // under the slow lock

bool rests_without_log() noexcept {
  const std::uint32_t rest = calls_to_rest.load(std::memory_order_relaxed);
  if (rest == 0) return false;
  calls_to_rest.store(rest - 1, std::memory_order_relaxed); // roughly
  if (first_log != nullptr)
    first_log->count_loss(trace::LossCause::kNoLog, ThreadLog::Worth::kRelease);
  return true;
}

// A thread has ended: its log serves the next one. Later destructors of it may lease again.
void on_thread_end(void* log) noexcept {
  const SignalGuard signals;
  if (!Process::is_on()) return;
  auto* ended = static_cast<ThreadLog*>(log);
  if (ended->epoch != Process::epoch())
    return; // of the parent: this thread has made no call since the fork
  forget_thread_log();
  const SlowLock lock;
  ended->next_free = free_logs;
  free_logs = ended;
  calls_to_rest.store(0);
}

// Under the slow lock. Every call counts; the command hears of it once.
void count_unlogged() noexcept {
  if (first_log != nullptr)
    first_log->count_loss(trace::LossCause::kNoLog, ThreadLog::Worth::kRelease);
  calls_to_rest.store(next_rest);
  if (next_rest < kLongestRest) next_rest *= 2;
  if (notified_of_no_log) return;
  notified_of_no_log = true;
  char reason[128];
  std::snprintf(reason, sizeof reason, "no log for a thread: %s", strerrordesc_np(errno));
  Process::notify_command("nolog", reason);
}

// The command puts its notes into the report. Without one it is said here.
void report_bad_value(const char* variable, const char* value) noexcept {
  static char line[4096]; // under the slow lock
  const bool has_command =
    initial_environment("GPUMEMTRACE_NOTES", line, sizeof line) && line[0] != '\0';
  std::snprintf(line, sizeof line, "%s=%s", variable, value);
  if (has_command) Process::notify_command("badvalue", line);
  else dprintf(STDERR_FILENO, "gpumemtrace: %s is no value, the default is in force\n", line);
}

} // namespace

bool is_recorded_process() noexcept { return Process::is_on() && process_id() == Process::pid(); }

constinit std::atomic<std::atomic<std::uint32_t>*> Process::fork_page_{&never_started};
constinit std::atomic<std::uint32_t> Process::epoch_{0};
constinit Process::Order Process::order_{};
constinit std::atomic<std::uint64_t> Process::budget_used_{0};
constinit std::atomic<std::uint64_t> Process::budget_credited_{0};
constinit Options Process::options_{};
constinit char Process::directory_[4096] = {};
constinit int Process::pid_ = 0, Process::forked_from_ = 0;

std::uint64_t monotonic_ns() noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(now.tv_nsec);
}

ThreadLog* Process::enter_thread(std::uint32_t& epoch, std::uint32_t& number) noexcept {
  if (waits_for_request()) return nullptr;
  if (refused_pid.load(std::memory_order_relaxed) != 0 && refused_pid.load() == process_id())
    return nullptr;
  if (is_on() && rests_without_log()) return nullptr;
  ThreadLog* log = nullptr; // a thread's first call may find some hundred bytes of stack
  with_room([&](bool) noexcept { log = lease_log(epoch, number); });
  return log;
}

ThreadLog* Process::lease_log(std::uint32_t& epoch, std::uint32_t& number) noexcept {
  const SignalGuard signals;
  const InsideLocks guard;
  const SlowLock lock;
  bool started = is_on();
  if (!started && begins_idle()) return nullptr;
  if (!started) started = start();
  if (!started) {
    refused_pid.store(process_id());
    return nullptr;
  }
  ThreadLog* log = free_logs;
  if (log != nullptr) {
    free_logs = log->next_free;
    log->stacks().forget_known(); // another stack, perhaps at the same addresses
  } else if ((log = ThreadLog::create(log_count)) != nullptr) {
    ++log_count;
    next_rest = kFirstRest;
  } else {
    count_unlogged();
    return nullptr;
  }
  if (first_log == nullptr) first_log = log;
  if (thread_end_key_made) pthread_setspecific(thread_end_key, log);
  if (number == 0 || epoch != epoch_.load()) number = ++thread_count;
  epoch = log->epoch = epoch_.load();
  log->begin_thread(number);
  return log;
}

bool Process::start() noexcept {
  forked_from_ = epoch_.load() != 0 && pid_ != process_id() ? pid_ : 0;
  pid_ = process_id();
  options_ = read_options(report_bad_value);
  free_logs = nullptr; // the parent's, after fork
  first_log = nullptr;
  notified_of_no_log = false;
  calls_to_rest.store(0);
  next_rest = kFirstRest;
  log_count = 0;
  thread_count = 0;
  order_.last.store(0);
  budget_used_.store(0);
  budget_credited_.store(0);
  for (unsigned i = 0; i < session_parts.count; ++i) {
    if (session_parts.first[i].forget != nullptr) session_parts.first[i].forget();
  }
  if (!make_directory()) return false;
  if (!write_info() || !write_names() || !map_fork_page()) {
    static char reason[4200]; // under the slow lock
    std::snprintf(reason, sizeof reason, "%s: %s", directory_, strerrordesc_np(errno));
    notify_command("nodir", reason);
    return false;
  }
  if (!thread_end_key_made)
    thread_end_key_made = pthread_key_create(&thread_end_key, on_thread_end) == 0;
  epoch_.fetch_add(1);
  for (unsigned i = 0; i < session_parts.count; ++i) {
    if (session_parts.first[i].begin != nullptr) session_parts.first[i].begin();
  }
  fork_page_.load()->store(epoch_.load(), std::memory_order_release);
  return true;
}

// A page that the kernel empties in a child: the cheapest way to notice a fork or clone.
bool Process::map_fork_page() noexcept {
  if (fork_page_.load() != &never_started) return true;
  void* page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return false;
  if (madvise(page, 4096, MADV_WIPEONFORK) != 0) {
    // Kernels before 4.14, some sandboxes
    pthread_atfork(nullptr, nullptr, [] { fork_page_.load()->store(kOff); });
  }
  fork_page_.store(static_cast<std::atomic<std::uint32_t>*>(page));
  return true;
}

bool Process::make_directory() noexcept {
  static char parent[3072]; // under the slow lock; a thread's stack may be small
  if (!initial_environment("GPUMEMTRACE_DIR", parent, sizeof parent) &&
      getcwd(parent, sizeof parent) == nullptr) {
    std::strcpy(parent, ".");
  }
  if (parent[0] != '/') make_absolute(parent, sizeof parent);
  if (make_directory_under(parent)) return true;
  static char reason[3200];
  std::snprintf(reason, sizeof reason, "%s: %s", parent, strerrordesc_np(errno));
  if (!initial_environment("TMPDIR", parent, sizeof parent)) std::strcpy(parent, "/tmp");
  if (make_directory_under(parent)) {
    notify_command("moved", directory_);
    return true;
  }
  notify_command("nodir", reason);
  return false;
}

bool Process::make_directory_under(const char* parent) noexcept {
  char exe[1024];
  const ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
  exe[n > 0 ? n : 0] = '\0';
  const char* slash = std::strrchr(exe, '/');
  char name[65], host[65] = "localhost";
  std::snprintf(name, sizeof name, "%s",
                slash != nullptr && slash[1] != '\0' ? slash + 1 : "unknown");
  gethostname(host, sizeof host - 1);
  sanitize(name);
  sanitize(host);
  char* dot = std::strchr(host, '.'); // the short name is enough to distinguish machines
  if (dot != nullptr) *dot = '\0';
  // An exec keeps the pid; pids of two containers may be equal
  for (unsigned again = 0; again < 100000; ++again) {
    const char* separator = again == 0 ? "" : ".";
    char number[16] = "";
    if (again != 0) std::snprintf(number, sizeof number, "%u", again);
    const int length = std::snprintf(directory_, sizeof directory_, "%s/gpumemtrace.%s.%s.%d%s%s",
                                     parent, name, host, pid_, separator, number);
    if (length < 0 || static_cast<std::size_t>(length) >= sizeof directory_ - 64) {
      errno = ENAMETOOLONG;
      return false;
    }
    if (mkdir(directory_, 0700) == 0) return true;
    if (errno != EEXIST) return false;
  }
  return false;
}

bool Process::write_info() noexcept {
  static char buffer[4096]; // under the slow lock
  char path[4200], value[1024];
  if (!path_of("incomplete", path, sizeof path)) return false;
  {
    TextFile mark(path);
  }
  if (!path_of("info", path, sizeof path)) return false;
  TextFile info(path);
  info.number("format", trace::kFormatMajor, trace::kFormatMinor);
  info.text("tool", GPUMEMTRACE_VERSION);
  if (initial_environment("GPUMEMTRACE_RUN", value, sizeof value)) info.text("run", value);
  info.number("pid", static_cast<std::uint64_t>(pid_));
  info.number("ppid", static_cast<std::uint64_t>(getppid()));
  if (forked_from_ != 0) info.number("forked_from", static_cast<std::uint64_t>(forked_from_));
  if (gethostname(value, sizeof value) == 0) info.text("host", value);
  const ssize_t n = readlink("/proc/self/exe", value, sizeof value - 1);
  if (n > 0) info.text("exe", (value[n] = '\0', value));
  if (getcwd(buffer, sizeof buffer) != nullptr) info.text("cwd", buffer);
  if (options_.no_arguments == 0) info.arguments();
  if (launcher_rank(value, sizeof value)) info.text("rank", value);
  info.text("device", is_device_simulated() ? "simulated" : "real");
  info.number("tsc", read_tsc());
  info.number("monotonic_ns", monotonic_ns());
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  info.number("realtime_ns", static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u +
                               static_cast<std::uint64_t>(now.tv_nsec));
  info.number("stack_depth", options_.stack_depth);
  const HostRanges host_memory = host_ranges();
  info.number("heap_begin", host_memory.heap_begin);
  info.number("heap_end", host_memory.heap_end);
  info.number("stack_begin", host_memory.stack_begin);
  info.number("stack_end", host_memory.stack_end);
#define GMT_OPTION(type, name, environment, default_value, sentence)                               \
  info.number("option." #name, options_.name);
#define GMT_TEXT(name, environment, default_value, form, sentence)                                 \
  info.text("option." #name, options_.name);
#include "trace/interposer_options.def"
  return info.good();
}

bool Process::write_names() noexcept {
  char path[4200];
  if (!path_of("apis", path, sizeof path)) return false;
  TextFile names(path);
  for (const char* name : trace::kApiNames) names.line(name);
  return names.good();
}

bool Process::path_of(const char* file, char* buffer, std::size_t size) noexcept {
  const int n = std::snprintf(buffer, size, "%s/%s", directory_, file);
  return n > 0 && static_cast<std::size_t>(n) < size;
}

void Process::append_line(const char* file, const char* line, std::size_t length) noexcept {
  char path[4200];
  if (!path_of(file, path, sizeof path)) return;
  const int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | kNoOtherFile, 0600);
  if (fd < 0) return;
  if (!fits_file_size_limit(fd, length) || write(fd, line, length) < 0) { /* the logs count what is
                                                                             lost */
  }
  close(fd);
}

void Process::notify_command(const char* word, const char* text) noexcept {
  char line[4300]; // first the file's path, then the line: a thread's stack may be small
  if (!initial_environment("GPUMEMTRACE_NOTES", line, sizeof line)) return;
  const int fd = open(line, O_WRONLY | O_APPEND | kNoOtherFile);
  if (fd < 0) return;
  const int n = std::snprintf(line, sizeof line, "%s\t%d\t%s\n", word, process_id(), text);
  const std::size_t length = n > 0 ? std::min(static_cast<std::size_t>(n), sizeof line - 1) : 0;
  if (length != 0) line[length - 1] = '\n';
  if (!fits_file_size_limit(fd, length) || write(fd, line, length) < 0) { /* the command is gone */
  }
  close(fd);
}

bool Process::take_budget(std::uint64_t bytes, unsigned kept_sixteenths) noexcept {
  const std::uint64_t limit = options_.max_trace;
  const std::uint64_t allowed = limit - limit / 16 * kept_sixteenths;
  if (budget_used_.load() + bytes > allowed) credit_packed_logs();
  const std::uint64_t used = budget_used_.fetch_add(bytes);
  if (used + bytes <= allowed) return true;
  budget_used_.fetch_sub(bytes);
  return false;
}

} // namespace gmt::interposer
