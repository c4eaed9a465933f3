// SPDX-License-Identifier: Apache-2.0
// What the program finds in its environment. Nothing that the user has set is lost: an existing
// LD_PRELOAD stays behind ours, sanitizer runtimes go before it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/command/run/library_search.h"

namespace gmt {

struct Instrumentation {
  Install install;
  std::string sanitizer; // path of the sanitizer runtime that the program loads, empty if none
  bool simulated = false;
  // Variables of the simulated device
  std::vector<std::pair<std::string, std::string>> device_settings;
  std::string run_id;
  std::string trace_dir;  // absolute
  std::string notes_file; // where processes of the tree leave word; empty if none could be made
  std::vector<std::pair<std::string, std::string>> interposer; // GPUMEMTRACE_<OPTION>, value

  // Whether the options or the environment ask for the fence (--guard).
  bool is_on(const char* option) const;           // of the interposer, by its variable
  std::string value_of(const char* option) const; // the same
  bool wants_fence() const;
  bool wants_kernel_checks() const; // --kernel-checks
  bool captures_a_launch() const;   // --capture
  bool wants_samples_alone() const; // --kernel-checks-sample without --kernel-checks
  bool checks_tensors() const;      // --kernel-checks tensors
  // Of options that exclude each other, in one sentence; empty: all can be used.
  std::string why_not_together() const;
  bool without_fence = false;         // whatever they ask for
  bool without_kernel_checks = false; // the same of --kernel-checks

private:
  std::uint64_t kernel_checks() const; // trace/kernel_check_words.h
};

std::vector<std::string> inherited_environment();
std::vector<std::string> instrumented_environment(const Instrumentation& instrumentation);

// Where runs with --kernel-checks keep what was compiled; empty if the user has no folder for
// caches.
std::string cache_folder();

std::string make_run_id(); // 16 hex digits

// The folder that traces go to, absolute. An unwritable current directory is replaced by the
// temporary one, with a word on stderr; an unusable --trace-dir is a UserError (125).
std::string choose_trace_dir(const std::string& wanted);

} // namespace gmt
