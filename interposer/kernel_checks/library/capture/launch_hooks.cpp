// SPDX-License-Identifier: Apache-2.0
// Launches: the one that --capture names goes into a file.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstring>
#include <exception>
#include <map>
#include <set>
#include <vector>

#include "interposer/kernel_checks/library/asked_launch.h"
#include "interposer/kernel_checks/library/capture/capture.h"
#include "interposer/kernel_checks/library/captures.h"
#include "interposer/kernel_checks/library/images.h"
#include "interposer/kernel_checks/library/lasting.h"
#include "interposer/kernel_checks/library/lock.h"
#include "interposer/kernel_checks/library/replacements.h"
#include "ptx/names/kernel_choice.h"
#include "ptx/syntax/ptx.h"

namespace gmt::interposer::kernel_checks {

namespace {

struct Wanted {
  ptx::KernelChoice kernels;
  std::uint64_t number = 1;
};

Wanted read_wanted() {
  std::string_view text = core->settings.capture;
  Wanted wanted;
  const std::size_t colon = text.rfind(':');
  if (colon != std::string_view::npos && colon != 0 && text[colon - 1] != ':') {
    std::uint64_t number = 0;
    const auto [end, error] =
      std::from_chars(text.data() + colon + 1, text.data() + text.size(), number);
    if (error == std::errc() && end == text.data() + text.size()) {
      wanted.number = std::max<std::uint64_t>(number, 1);
      text = text.substr(0, colon);
    }
  }
  wanted.kernels = ptx::KernelChoice(text, {});
  return wanted;
}

struct State {
  std::map<CUfunction, bool> chosen; // whether --capture names it
  std::set<std::string> launched;    // names of others, the first ones
  std::string failure;               // why the launch was not captured
};
constinit Lasting<State> all_state;
constinit std::atomic<bool> is_over{false};  // the launch has come
constinit std::atomic<bool> has_file{false}; // and is in one
constinit std::atomic<std::uint64_t> launches{0}, in_graphs{0};

const Wanted* wanted() noexcept {
  static const Wanted* const one = []() noexcept -> const Wanted* {
    try {
      return new Wanted(read_wanted()); // never destroyed
    } catch (const std::exception&) {   // the command refuses expressions that are none
      return nullptr;
    }
  }();
  return one;
}

bool is_chosen_kernel(CUfunction function, const Wanted& what) {
  constexpr std::size_t kMostNames = 8;
  {
    const Locked lock;
    const auto found = (*all_state).chosen.find(function);
    if (found != (*all_state).chosen.end()) return found->second;
  }
  const std::string name = name_kernel(function).name;
  const bool is_chosen = !name.empty() && what.kernels.includes(name);
  const Locked lock;
  (*all_state).chosen[function] = is_chosen;
  if (!is_chosen && !name.empty() && (*all_state).launched.size() < kMostNames)
    (*all_state).launched.insert(name);
  return is_chosen;
}

// As the kernel has them one behind the other; `parameters` and `extra` as cuLaunchKernel takes
// them.
std::string gather_arguments(const ptx::Function& function, void** parameters, void** extra) {
  std::string bytes;
  std::vector<std::pair<std::size_t, std::size_t>> layout; // offset, bytes
  for (const ptx::Variable& one : function.parameters) {
    const std::size_t alignment = std::max<std::size_t>(one.alignment, 1);
    const std::size_t offset = (bytes.size() + alignment - 1) / alignment * alignment;
    layout.emplace_back(offset, one.size);
    bytes.resize(offset + one.size);
  }
  if (parameters != nullptr) {
    for (std::size_t i = 0; i < layout.size(); ++i)
      std::memcpy(bytes.data() + layout[i].first, parameters[i], layout[i].second);
    return bytes;
  }
  const void* buffer = nullptr;
  std::size_t size = 0;
  for (void** at = extra; at != nullptr && *at != CU_LAUNCH_PARAM_END; at += 2) {
    if (*at == CU_LAUNCH_PARAM_BUFFER_POINTER) buffer = at[1];
    if (*at == CU_LAUNCH_PARAM_BUFFER_SIZE) size = *static_cast<const std::size_t*>(at[1]);
  }
  if (buffer != nullptr) std::memcpy(bytes.data(), buffer, std::min(size, bytes.size()));
  return bytes;
}

void note_failure(const std::string& why) noexcept {
  const Locked lock;
  (*all_state).failure = why;
}

// A handle of the program's says its own; NULL and the like are of the current one.
CUcontext context_of(CUstream named) noexcept {
  CUcontext context = nullptr;
  const bool has_handle = named != CU_STREAM_LEGACY && named != CU_STREAM_PER_THREAD;
  if (has_handle && driver.stream_context(named, &context) == 0 && context != nullptr)
    return context;
  return driver.current(&context) == 0 ? context : nullptr;
}

std::string waited_seconds() {
  return std::to_string(core->settings.capture_wait) + " s (--capture-wait)";
}

// Half a sentence: why there can be no waiting; empty: the work has ended.
std::string wait_for_earlier_work(CUcontext context) {
  if (any_capture()) // which a wait would end
    return "a stream was being captured into a graph at the time";
  const std::optional<int> result = wait_for_context(context);
  if (!result)
    return "the program's work from before the launch had not ended after " + waited_seconds() +
           ": it may wait for what the program does behind the launch";
  return *result == 0 ? "" : "the context has an error from before the launch";
}

// Half a sentence: why it cannot be captured; empty: it is.
std::string describe(const AskedLaunch& asked, CUcontext context, trace::Capture* capture) {
  const NamedKernel kernel = name_kernel(asked.function);
  capture->kernel = kernel.name;
  std::string why;
  capture->ptx = text_of(kernel, &why);
  if (capture->ptx.empty()) return why;
  const ptx::Module module = ptx::parse_module(capture->ptx);
  const ptx::Function* function = module.find_function(kernel.name);
  if (function == nullptr || !function->is_entry) return "its PTX does not define it";
  char device_name[256] = "";
  CUdevice device = 0;
  if (driver.device(&device) == 0) driver.device_name(device_name, sizeof device_name, device);
  capture->device = device_name;
  capture->capability = capability_of_device();
  std::ranges::copy(asked.shape.grid, capture->grid.begin());
  std::ranges::copy(asked.shape.block, capture->block.begin());
  std::ranges::copy(asked.cluster, capture->cluster.begin());
  capture->shared_bytes = asked.shared_bytes;
  capture->is_cooperative = asked.is_cooperative;
  capture->arguments = gather_arguments(*function, asked.parameters, asked.extra);
  why = wait_for_earlier_work(context);
  if (!why.empty()) return why;
  capture_memory(kernel, core->settings.capture_limit, capture);
  capture_maps(capture);
  capture_textures(core->settings.capture_limit, capture);
  return {};
}

std::string counted_blocks(std::uint64_t count, std::uint64_t bytes) {
  return std::to_string(count) + (count == 1 ? " block" : " blocks") + " of memory with " +
         std::to_string(bytes) + " bytes";
}

// `what` is behind what the file holds: half sentences that begin with "; ".
void say_captured(const char* word, const trace::Capture& capture, const std::string& path,
                  const std::string& what) {
  std::uint64_t bytes = 0, left_out = 0;
  for (const trace::CapturedBlock& block : capture.blocks) bytes += block.before.size();
  for (const trace::UncapturedBlock& block : capture.left_out) left_out += block.bytes;
  std::string text = path + "\tlaunch " + std::to_string(capture.number) + " of " +
                     readable(capture.kernel) + ", with " +
                     counted_blocks(capture.blocks.size(), bytes);
  if (!capture.left_out.empty())
    text +=
      "; " + counted_blocks(capture.left_out.size(), left_out) + " were left out (--capture-limit)";
  if (const std::uint64_t objects = capture.textures.left_out; objects != 0)
    text += "; " + std::to_string(objects) +
            (objects == 1 ? " texture or surface was" : " textures or surfaces were") +
            " left out (--capture-limit, or a format that no capture holds)";
  core->notify_command(word, (text + what).c_str());
}

// What there is to say behind the launch.
std::string add_results(const AskedLaunch& asked, const std::string& path,
                        trace::Capture* capture) {
  const std::optional<int> ended = wait_for_launch(asked.shape.stream);
  if (!ended) return "; it had not ended after " + waited_seconds() + ": its results are not there";
  capture->error = static_cast<std::uint32_t>(*ended);
  if (capture->error == 0) {
    capture_results(capture);
    capture_arrays(capture);
  }
  const std::string problem = write_file(path, *capture);
  if (!problem.empty()) return "; its results are not there: " + problem;
  return capture->error == 0 ? std::string()
                             : "; it ended with CUDA's error " + std::to_string(capture->error);
}

template <class Real> int run_captured(const AskedLaunch& asked, std::uint64_t number, Real real) {
  trace::Capture capture;
  capture.number = number;
  std::string path, problem;
  const CUcontext context = context_of(asked.shape.stream);
  try {
    const Work work(context);
    problem = work.ready() ? describe(asked, context, &capture) : "no context was current";
    if (problem.empty()) path = path_of_file(capture);
    if (problem.empty()) problem = write_file(path, capture);
    // Who ends the program while the kernel hangs hears of the file, too
    if (problem.empty()) say_captured("capturing", capture, path, "");
  } catch (const std::exception& error) { // of memory, or of threads
    problem = error.what();
  }
  if (!problem.empty()) {
    note_failure(problem);
    return real();
  }
  has_file.store(true);
  const int result = real();
  try {
    const Work work(context);
    if (result != CUDA_SUCCESS) {
      unlink(path.c_str());
      has_file.store(false);
      note_failure("the driver refused the launch with error " + std::to_string(result));
      return result;
    }
    say_captured("captured", capture, path, add_results(asked, path, &capture));
  } catch (const std::exception& error) { // of memory; the file has what was before the launch
    note_failure(error.what());
  }
  return result;
}

struct CapturedLaunch {
  template <class Real> static CUresult run(const AskedLaunch& asked, Real real_form) noexcept;
};

template <class Real>
CUresult CapturedLaunch::run(const AskedLaunch& asked, Real real_form) noexcept {
  const auto real = [&] { return real_form(asked.function, asked.parameters, asked.extra); };
  const Wanted* what = is_over.load(std::memory_order_relaxed) ? nullptr : wanted();
  if (what == nullptr || asked.function == nullptr) return static_cast<CUresult>(real());
  try {
    if (!is_chosen_kernel(asked.function, *what)) return static_cast<CUresult>(real());
  } catch (const std::exception&) { // of memory
    return static_cast<CUresult>(real());
  }
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  if (driver.capture_status(asked.shape.stream, &status) != 0 ||
      status != CU_STREAM_CAPTURE_STATUS_NONE) {
    in_graphs.fetch_add(1);
    return static_cast<CUresult>(real());
  }
  const std::uint64_t number = launches.fetch_add(1) + 1;
  if (number != what->number) return static_cast<CUresult>(real());
  is_over.store(true);
  return static_cast<CUresult>(run_captured(asked, number, real));
}

std::string why_nothing() {
  const Locked lock;
  const State& state = *all_state;
  if (!state.failure.empty()) return state.failure;
  const std::uint64_t launched_times = launches.load(), captured = in_graphs.load();
  if (wanted() == nullptr) return "GPUMEMTRACE_CAPTURE names no kernel";
  if (launched_times != 0 || captured != 0) {
    std::string text = "it was launched " + std::to_string(launched_times) +
                       (launched_times == 1 ? " time" : " times");
    if (captured != 0)
      text += ", and " + std::to_string(captured) +
              " launches became nodes of graphs, which are not captured";
    return text;
  }
  std::string text = "no kernel of this name was launched";
  const char* begin = "; launched were: ";
  for (const std::string& name : state.launched) {
    text += begin + readable(name);
    begin = ", ";
  }
  return text;
}

} // namespace

void forget_choices() noexcept {
  const Locked lock;
  (*all_state).chosen.clear();
}

void begin_capture() noexcept {
  replace_loads();
  replace_captures(nullptr);
  replace_allocations();
  replace_encoders();
  replace_objects();
  put_launches<CapturedLaunch>();
  core->notify_at_exit();
}

void report_capture() noexcept {
  try {
    if (!has_file.load()) core->notify_command("uncaptured", why_nothing().c_str());
  } catch (const std::exception&) { // of memory
    return;
  }
}

void abandon_capture() noexcept {
  abandon_loads();
  abandon_allocations();
  abandon_maps();
  abandon_objects();
  captures.store(0);
  all_state.begin_anew();
  is_over.store(false);
  has_file.store(false);
  launches.store(0);
  in_graphs.store(0);
}

} // namespace gmt::interposer::kernel_checks
