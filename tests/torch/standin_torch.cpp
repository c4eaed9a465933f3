// SPDX-License-Identifier: Apache-2.0
// Stands for PyTorch's libtorch_cpu: what record_function in torch/autograd/profiler.py calls, each
// function by its exported name. Counts what arrives.
#include <optional>
#include <string>

namespace at {

class __attribute__((visibility("default"))) RecordFunction {
public:
  ~RecordFunction() { end(); }
  void end();
};

static long begins, ends;
void RecordFunction::end() { ++ends; }

} // namespace at

namespace torch::autograd::profiler {

struct PythonRecordFunction {
  long references[2];
  at::RecordFunction record;
};

struct Handle { // an intrusive_ptr
  PythonRecordFunction* object;
  explicit Handle(PythonRecordFunction* taken) : object(taken) {}
  Handle(Handle&& other) noexcept : object(other.object) { other.object = nullptr; }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() { delete object; }
};

__attribute__((visibility("default"))) Handle
record_function_enter_new(const std::string& name, const std::optional<std::string>& arguments);
Handle record_function_enter_new(const std::string&, const std::optional<std::string>&) {
  ++at::begins;
  return Handle(new PythonRecordFunction{});
}

} // namespace torch::autograd::profiler

namespace profiler = torch::autograd::profiler;
#define EXPORTED extern "C" __attribute__((visibility("default")))
EXPORTED void* standin_enter(const char* name) {
  profiler::Handle handle = profiler::record_function_enter_new(name, std::nullopt);
  profiler::PythonRecordFunction* const object = handle.object;
  handle.object = nullptr;
  return object;
}
EXPORTED void standin_exit(void* object) {
  static_cast<profiler::PythonRecordFunction*>(object)->record.end();
}
EXPORTED void standin_delete(void* object) {
  delete static_cast<profiler::PythonRecordFunction*>(object);
}
EXPORTED long standin_ranges() { return at::begins * 1000 + at::ends; }
