// SPDX-License-Identifier: Apache-2.0
// Stands in for libgpumemtrace.so in tests of the command: it is preloaded like the real one, and with
// FAKE_TRACE=1 leaves a trace of no events; with FAKE_NOTE=<word> <text> it appends that note. Nothing else.

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

__attribute__((constructor)) void start() {
  const std::string pid = std::to_string(::getpid());
  if (const std::string note = get("FAKE_NOTE"); !note.empty()) {
    const std::size_t space = note.find(' ');
    write_file(get("GPUMEMTRACE_NOTES"),
               note.substr(0, space) + "\t" + pid + "\t" + note.substr(space + 1) + "\n", "a");
  }
  if (get("FAKE_TRACE").empty()) return;
  char host[256] = "";
  ::gethostname(host, sizeof host - 1);
  timespec now = {};
  ::clock_gettime(CLOCK_REALTIME, &now);
  const std::string folder =
      get("GPUMEMTRACE_DIR") + "/gpumemtrace." + get("FAKE_TRACE") + "." + host + "." + pid;
  ::mkdir(folder.c_str(), 0700);
  write_file(folder + "/info",
             "format=1.0\ntool=test\nrun=" + get("GPUMEMTRACE_RUN") + "\npid=" + pid + "\nppid=1\nhost=" +
                 host + "\nexe=/bin/" + get("FAKE_TRACE") + "\ncwd=/\nargc=1\narg.0=" + get("FAKE_TRACE") +
                 "\ndevice=real\ntsc=1\nmonotonic_ns=1\nrealtime_ns=" +
                 std::to_string(now.tv_sec * 1'000'000'000 + now.tv_nsec) + "\nstack_depth=32\n",
             "w");
  write_file(folder + "/apis", "cuMemAlloc_v2\n", "w");
  write_file(folder + "/modules", "", "w");
  write_file(folder + "/incomplete", "", "w");
}

} // namespace
