// SPDX-License-Identifier: Apache-2.0
// Functions of libtorch_cpu by which torch.profiler.record_function begins and ends a range, under
// their own names. libtorch_cpu itself calls them by these names, and goes on to its own.
#include "interposer/hooks/torch_library.h"
#include "interposer/hooks/torch_ranges.h"

namespace gi = gmt::interposer;

namespace {

// Returns an intrusive_ptr<PythonRecordFunction>, whose place the caller gives, and takes a
// std::string and an optional one. A string begins with the address of its characters, whether it
// is of the old or of the new C++ library's: wheels up to 2.6 have the old one.
using Enter = void*(void* result, const void* name, const void* arguments);
using End = void(void* record);

#define ENTER                                                                                      \
  "_ZN5torch8autograd8profiler25record_function_enter_newERKNSt7__cxx1112basic_stringIcSt11char_"  \
  "traitsIcESaIcEEERKSt8optionalIS7_E"
#define ENTER_OLD "_ZN5torch8autograd8profiler25record_function_enter_newERKSsRKSt8optionalISsE"
#define END "_ZN2at14RecordFunction3endEv"

constinit gi::TorchFunction<Enter> real_enter{"libtorch", ENTER};
constinit gi::TorchFunction<Enter> real_enter_old{"libtorch", ENTER_OLD};
constinit gi::TorchFunction<End> real_end{"libtorch", END};

void* enter(gi::TorchFunction<Enter>& function, void* result, const void* name,
            const void* arguments) {
  Enter* const real = function.get();
  if (real == nullptr) {
    *static_cast<void**>(result) = nullptr;
    return result;
  }
  void* const answer = real(result, name, arguments);
  // The name says nothing of the result: one of another kind has the arguments elsewhere
  if (answer == result)
    gi::open_torch_range(*static_cast<const char* const*>(name), *static_cast<void**>(result));
  return answer;
}

} // namespace

#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED void* gmt_record_function_enter(void* result, const void* name,
                                         const void* arguments) __asm__(ENTER);
EXPORTED void* gmt_record_function_enter_old(void* result, const void* name,
                                             const void* arguments) __asm__(ENTER_OLD);
EXPORTED void gmt_record_function_end(void* record) __asm__(END);

void* gmt_record_function_enter(void* result, const void* name, const void* arguments) {
  return enter(real_enter, result, name, arguments);
}

void* gmt_record_function_enter_old(void* result, const void* name, const void* arguments) {
  return enter(real_enter_old, result, name, arguments);
}

void gmt_record_function_end(void* record) {
  gi::close_torch_range(record);
  if (End* const real = real_end.get()) real(record);
}
