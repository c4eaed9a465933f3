// SPDX-License-Identifier: Apache-2.0
// Stands in for libgpumemtrace.so in tests of the command: it is preloaded like the real one, and
// with FAKE_TRACE=<name> leaves a trace of no events, with FAKE_MOVE=<folder> there; with
// FAKE_NOTE=<word> <text> it appends that note. Nothing else.

#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>

namespace {

std::string get(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

void write_file(const std::string& path, const std::string& text, const char* mode) {
  if (std::FILE* file = std::fopen(path.c_str(), mode)) {
    std::fwrite(text.data(), 1, text.size(), file);
    std::fclose(file);
  }
}

void leave_note(const std::string& word, const std::string& text) {
  write_file(get("GPUMEMTRACE_NOTES"),
             word + "\t" + std::to_string(::getpid()) + "\t" + text + "\n", "a");
}

__attribute__((constructor)) void start() {
  const std::string pid = std::to_string(::getpid());
  if (const std::string note = get("FAKE_NOTE"); !note.empty()) {
    const std::size_t space = note.find(' ');
    leave_note(note.substr(0, space), note.substr(space + 1));
  }
  const std::string name = get("FAKE_TRACE");
  if (name.empty()) return;
  char host[256] = "";
  ::gethostname(host, sizeof host - 1);
  timespec now = {};
  ::clock_gettime(CLOCK_REALTIME, &now);
  const std::string elsewhere = get("FAKE_MOVE");
  const std::string parent = elsewhere.empty() ? get("GPUMEMTRACE_DIR") : elsewhere;
  const std::string folder = parent + "/gpumemtrace." + name + "." + host + "." + pid;
  ::mkdir(parent.c_str(), 0700);
  ::mkdir(folder.c_str(), 0700);
  if (!elsewhere.empty()) leave_note("moved", folder);
  const std::string started = std::to_string(now.tv_sec * 1'000'000'000 + now.tv_nsec);
  write_file(folder + "/info",
             "format=1.0\ntool=test\nrun=" + get("GPUMEMTRACE_RUN") + "\npid=" + pid +
               "\nppid=1\nhost=" + host + "\nexe=/bin/" + name + "\ncwd=/\nargc=1\narg.0=" + name +
               "\ndevice=real\ntsc=1\nmonotonic_ns=1\nrealtime_ns=" + started +
               "\nstack_depth=32\n",
             "w");
  write_file(folder + "/apis", "cuMemAlloc_v2\n", "w");
  write_file(folder + "/modules", "", "w");
  write_file(folder + "/incomplete", "", "w");
}

} // namespace
