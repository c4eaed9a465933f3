// SPDX-License-Identifier: Apache-2.0
// An image becomes a checked text. Whatever fails, the reason is kept and the image stays as it is.
#include <csignal>
#include <exception>
#include <new>
#include <optional>
#include <pthread.h>
#include <utility>

#include "interposer/kernel_checks/library/choice.h"
#include "interposer/kernel_checks/library/code.h"
#include "interposer/kernel_checks/library/driver.h"
#include "interposer/kernel_checks/library/heap_calls.h"
#include "interposer/kernel_checks/library/images.h"
#include "interposer/kernel_checks/library/memory.h"
#include "trace/device_ring.h"

namespace gmt::interposer::kernel_checks {

unsigned capability_of_device() noexcept {
  int major = 0, minor = 0;
  CUdevice device = 0;
  driver.device(&device); // or the first one
  driver.attribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
  driver.attribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
  return static_cast<unsigned>(major * 10 + minor);
}

namespace {

struct Task {
  const void* image;
  unsigned capability;
  const rewriter::Options& options;
  Module& module;
  bool may_be_cached;
};

// Whether it was there, or why the driver refuses it.
bool take_from_cache(Module& module, const std::string& ptx) {
  module.key = key_of_machine();
  if (!module.key) return false;
  module.key->add(ptx);
  std::optional<CachedCode> cached = code_cache().find(*module.key);
  if (!cached) {
    module.claim = code_cache().claim(*module.key);
    cached = code_cache().find(*module.key);
  }
  if (!cached) return false;
  module.claim.end();
  module.code = std::move(cached->code);
  module.heap_use = cached->heap_use;
  module.machine = std::move(cached->machine);
  module.why_plain = std::move(cached->why_plain);
  if (!module.why_plain.empty()) return true;
  if (module.heap_use == HeapUse::kMarked) table().avoid_grids();
  return true;
}

void rewrite_text(const Task& task) {
  Module& module = task.module;
  const std::string library = library_of_image(task.image);
  if (is_of_vendor(library)) {
    module.why_plain =
      "it is in " + library +
      ": NVIDIA's own libraries are left out (--kernel-checks=libraries checks them)";
    return;
  }
  module.heap_use = HeapUse::kUnmarked; // until its text says more
  const ImageText image = text_of_image(task.image, task.capability);
  module.why_plain = image.why_none;
  if (!module.why_plain.empty() && !library.empty())
    module.why_plain = "it is in " + library + ", and " + module.why_plain;
  if (!module.why_plain.empty()) return;
  if (task.may_be_cached && take_from_cache(module, image.ptx)) return;
  const std::string text = with_logged_heap(image.ptx, module.heap_use);
  if (text.find(trace::kControlSymbol) != std::string::npos) table().avoid_grids();
  rewriter::Options options = task.options;
  if (*core->settings.only_kernels == '\0') { // else the user has chosen to wait
    options.most_accesses = options.checks_written ? kMostFollowed : kMostAccesses;
    options.why_too_many =
      "its code has more than " + std::to_string(options.most_accesses) +
      " accesses of memory, and may take minutes to compile with checks" +
      (options.checks_written ? "" : ": '--only-kernels' with its name has it checked");
  }
  bool was_any_left_out = false;
  if (!are_all_chosen())
    options.is_chosen = [&was_any_left_out](std::string_view kernel) {
      const bool is_wanted = is_chosen(kernel);
      was_any_left_out |= !is_wanted;
      return is_wanted;
    };
  module.code = rewriter::rewrite(text, options);
  if (!module.code.kernels.empty()) return;
  if (!module.code.unchecked.empty()) module.why_plain = module.code.unchecked[0].reason;
  else module.why_plain = was_any_left_out ? kNotChosen : "it has no kernels";
}

void* run_task(void* argument) noexcept {
  const Task& task = *static_cast<const Task*>(argument);
  try {
    rewrite_text(task);
  } catch (const std::exception& error) {
    task.module.why_plain = error.what();
    if (task.module.why_plain.empty()) task.module.why_plain = "it could not be rewritten";
  }
  return nullptr;
}

// On a thread of its own: the program's may have a small stack, and signals must not cut in.
bool run_aside(Task& task) noexcept {
  constexpr std::size_t kStack = std::size_t{8} << 20;
  sigset_t all, before;
  sigfillset(&all);
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return false;
  pthread_attr_setstacksize(&attributes, kStack);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread{};
  const bool is_started = pthread_create(&thread, &attributes, run_task, &task) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  return is_started && pthread_join(thread, nullptr) == 0;
}

} // namespace

std::unique_ptr<Module> rewrite_image(const void* image, bool may_be_cached) noexcept {
  std::unique_ptr<Module> module(new (std::nothrow) Module);
  if (module == nullptr) return nullptr;
  if (!table().prepare()) {
    module->why_plain = "the device had no memory or no addresses for the table of valid bytes";
    return module;
  }
  Task task{image, capability_of_device(), table().options(), *module, may_be_cached};
  if (!run_aside(task)) module->why_plain = "no thread could be started to rewrite it";
  if (!module->why_plain.empty()) {
    module->code = {};
    module->claim.end();
  }
  return module;
}

} // namespace gmt::interposer::kernel_checks
