// SPDX-License-Identifier: Apache-2.0
// Opens the plug-ins named by its arguments with RTLD_LOCAL and runs each twice. "deep:" before a
// name adds RTLD_DEEPBIND.
#include <cstdio>
#include <cstring>
#include <dlfcn.h>

int main(int argc, char** argv) {
  int (*run[8])() = {};
  int count = 0;
  for (int i = 1; i < argc && count < 8; ++i) {
    const bool deep = std::strncmp(argv[i], "deep:", 5) == 0;
    void* plugin =
      dlopen(argv[i] + (deep ? 5 : 0), RTLD_NOW | RTLD_LOCAL | (deep ? RTLD_DEEPBIND : 0));
    if (plugin == nullptr) return std::printf("%s\n", dlerror()), 1;
    run[count++] = reinterpret_cast<int (*)()>(dlsym(plugin, "plugin_run"));
  }
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < count; ++i) run[i]();
  }
  return 0;
}
