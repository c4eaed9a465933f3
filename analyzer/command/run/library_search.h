// SPDX-License-Identifier: Apache-2.0
// Finds shared libraries as the loader would, without being a dynamic program: the sanitizer
// runtime of a program, the NVIDIA driver of the machine, and the files of our own install.
#pragma once

#include <optional>
#include <string>

#include "analyzer/command/run/program_check.h"

namespace gmt {

// Path of the library by its soname: the requester's RPATH and RUNPATH, LD_LIBRARY_PATH,
// /etc/ld.so.cache, standard folders. Only files built for this machine count.
std::optional<std::string> find_library(const std::string& soname, const ElfFacts* requester,
                                        const std::string& requester_path);

// Whether an NVIDIA driver can be used: its library and its device node (or WSL's).
bool driver_present();

// What is installed beside the command (or in GPUMEMTRACE_LIBDIR). Missing files are UserErrors
// (125).
struct Install {
  std::string interposer; // libgpumemtrace.so
  std::string simulated;  // folder of the simulated libcuda.so.1 and libcudart.so.13
  std::string ptxas;      // that leaves PTX to the driver; may be missing
};
Install find_install(bool need_simulated);

} // namespace gmt
