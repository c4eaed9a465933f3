// SPDX-License-Identifier: Apache-2.0
// gpumemtrace-replay FILE [BLOCK]: runs a captured launch on the simulated device, at the addresses
// that it had, and says whether its output equals the GPU's. `gpumemtrace replay` starts it. BLOCK
// is the number in the grid of the only block that runs. Status: 0 equal, or nothing to compare; 1
// different; 3 no capture; 4 it could not be run.
#include "simulated_cuda/replay/placement.h"
#include "simulated_cuda/replay/result.h"
#include "simulated_cuda/replay/tensor_maps.h"
#include "simulated_cuda/replay/textures.h"
#include "trace/capture_on_disk.h"

#include <cuda.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace gmt::replay {
namespace {

constexpr int kEqual = 0, kDifferent = 1, kNoCapture = 3, kNotRun = 4;

int fail(int status, const std::string& why) {
  std::fprintf(stderr, "gpumemtrace replay: %s\n", why.c_str());
  return status;
}

std::string error_name(CUresult result) {
  const char* name = nullptr;
  cuGetErrorName(result, &name);
  return name != nullptr ? name : "error " + std::to_string(result);
}

void say_launch(const trace::Capture& capture) {
  std::uint64_t bytes = 0;
  for (const trace::CapturedBlock& block : capture.blocks) bytes += block.before.size();
  std::printf(
    "replay: launch %llu of %s, grid (%u,%u,%u), block (%u,%u,%u), captured on %s (sm_%u), "
    "with %zu blocks of memory, %llu bytes\n",
    static_cast<unsigned long long>(capture.number), capture.kernel.c_str(), capture.grid[0],
    capture.grid[1], capture.grid[2], capture.block[0], capture.block[1], capture.block[2],
    capture.device.c_str(), capture.capability, capture.blocks.size(),
    static_cast<unsigned long long>(bytes));
  if (capture.left_out.empty()) return;
  std::uint64_t left_out = 0;
  for (const trace::UncapturedBlock& block : capture.left_out) left_out += block.bytes;
  std::printf("replay: %zu more blocks with %llu bytes were left out of the capture "
              "(--capture-limit): here they are not written\n",
              capture.left_out.size(), static_cast<unsigned long long>(left_out));
}

// Behind the load of the module: its variables have their first values.
std::string fill_variables(const trace::Capture& capture, CUmodule module) {
  for (const trace::CapturedBlock& block : capture.blocks) {
    if (block.variable.empty()) continue;
    CUdeviceptr address = 0;
    std::size_t bytes = 0;
    const CUresult found = cuModuleGetGlobal(&address, &bytes, module, block.variable.c_str());
    if (found != CUDA_SUCCESS || address != block.address || bytes != block.before.size())
      return "the variable '" + block.variable + "' could not be put where it was";
    if (cuMemcpyHtoD(address, block.before.data(), bytes) != CUDA_SUCCESS)
      return "the variable '" + block.variable + "' could not be filled";
  }
  return {};
}

std::size_t bytes_of_arguments(CUfunction function) {
  std::size_t end = 0, offset = 0, bytes = 0;
  for (std::size_t i = 0; cuFuncGetParamInfo(function, i, &offset, &bytes) == CUDA_SUCCESS; ++i)
    end = offset + bytes;
  return end;
}

CUresult launch(const trace::Capture& capture, CUfunction function) {
  if (capture.shared_bytes != 0)
    cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                       static_cast<int>(capture.shared_bytes));
  std::string arguments = capture.arguments;
  std::size_t bytes = arguments.size();
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, arguments.data(), CU_LAUNCH_PARAM_BUFFER_SIZE,
                   &bytes, CU_LAUNCH_PARAM_END};
  std::vector<CUlaunchAttribute> attributes;
  if (capture.is_cooperative) {
    CUlaunchAttribute one{};
    one.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    one.value.cooperative = 1;
    attributes.push_back(one);
  }
  if (capture.cluster[0] != 0) {
    CUlaunchAttribute one{};
    one.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    one.value.clusterDim = {capture.cluster[0], capture.cluster[1], capture.cluster[2]};
    attributes.push_back(one);
    cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1);
  }
  CUlaunchConfig config{};
  config.gridDimX = capture.grid[0];
  config.gridDimY = capture.grid[1];
  config.gridDimZ = capture.grid[2];
  config.blockDimX = capture.block[0];
  config.blockDimY = capture.block[1];
  config.blockDimZ = capture.block[2];
  config.sharedMemBytes = static_cast<unsigned>(capture.shared_bytes);
  config.attrs = attributes.data();
  config.numAttrs = static_cast<unsigned>(attributes.size());
  return cuLaunchKernelEx(&config, function, nullptr, bytes != 0 ? extra : nullptr);
}

void say_reasons(const trace::Capture& capture) {
  const std::string reasons = reasons_to_differ(capture);
  if (!reasons.empty()) std::printf("replay: the kernel uses %s\n", reasons.c_str());
}

int say_result(const trace::Capture& capture, const Textures& textures, CUresult ended) {
  if (ended != CUDA_SUCCESS) {
    std::printf(
      "replay: the kernel ended with %s here; on the GPU with %s\n", error_name(ended).c_str(),
      capture.error == 0 ? "no error" : error_name(static_cast<CUresult>(capture.error)).c_str());
    say_reasons(capture);
    return kDifferent;
  }
  if (std::ranges::none_of(capture.blocks, &trace::CapturedBlock::has_after)) {
    std::printf("replay: there is no output of the GPU to compare with%s\n",
                capture.error != 0 ? ", as the launch ended with an error there" : "");
    return kEqual;
  }
  const Comparison result = compare(capture, textures);
  if (!result.could_read) return fail(kNotRun, "the memory could not be read behind the launch");
  if (result.different == 0) {
    std::printf("replay: the output equals the GPU's: %llu bytes, of which the launch changed "
                "%llu\n",
                static_cast<unsigned long long>(result.compared),
                static_cast<unsigned long long>(result.changed));
    return kEqual;
  }
  std::printf(
    "replay: the output differs from the GPU's in %llu of %llu bytes, in %llu blocks; the "
    "first is byte %llu of %s: 0x%02x on the GPU, 0x%02x here\n",
    static_cast<unsigned long long>(result.different),
    static_cast<unsigned long long>(result.compared),
    static_cast<unsigned long long>(result.different_blocks),
    static_cast<unsigned long long>(result.offset), result.where.c_str(), result.on_gpu,
    result.here);
  say_reasons(capture);
  return kDifferent;
}

int run(trace::Capture& capture, const char* only_block) {
  CUdevice device = 0;
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  if (cuInit(0) != CUDA_SUCCESS || cuDeviceGet(&device, 0) != CUDA_SUCCESS ||
      cuDevicePrimaryCtxRetain(&context, device) != CUDA_SUCCESS ||
      cuCtxSetCurrent(context) != CUDA_SUCCESS)
    return fail(kNotRun, "the simulated device does not start");
  if (const CUresult refused = write_maps(&capture); refused != CUDA_SUCCESS)
    return fail(kNotRun, "a tensor map of the launch is not executed here: " + error_name(refused));
  std::string problem = allocate_memory(capture);
  if (!problem.empty()) return fail(kNotRun, problem);
  CUresult result = cuModuleLoadData(&module, capture.ptx.c_str());
  if (result == CUDA_SUCCESS)
    result = cuModuleGetFunction(&function, module, capture.kernel.c_str());
  if (result != CUDA_SUCCESS)
    return fail(kNotRun, "the simulated device does not take the code: " + error_name(result));
  if (bytes_of_arguments(function) != capture.arguments.size())
    return fail(kNotRun, "the launch has arguments of another size than its kernel");
  problem = fill_variables(capture, module);
  Textures textures;
  if (problem.empty()) problem = textures.make(capture.textures);
  if (!problem.empty()) return fail(kNotRun, problem);
  if (only_block != nullptr) choose_block(std::strtoull(only_block, nullptr, 10));
  const CUresult launched = launch(capture, function);
  result = cuCtxSynchronize();
  if (launched != CUDA_SUCCESS && result == CUDA_SUCCESS)
    return fail(kNotRun, "the simulated device does not take the launch: " + error_name(launched));
  int status = kEqual;
  if (only_block == nullptr || result != CUDA_SUCCESS)
    status = say_result(capture, textures, result);
  else std::printf("replay: block %s ran alone: there is nothing to compare\n", only_block);
  std::fflush(stdout);
  for (const trace::CapturedBlock& block : capture.blocks)
    if (block.variable.empty()) cuMemFree(block.address);
  for (const trace::UncapturedBlock& block : capture.left_out) cuMemFree(block.address);
  textures.destroy();
  cuModuleUnload(module);
  return status;
}

int main_of(char** arguments) {
  trace::Capture capture;
  std::string error;
  if (!trace::read_capture_file(arguments[1], &capture, &error))
    return fail(kNoCapture, std::string("'") + arguments[1] + "' cannot be replayed: " + error);
  error = hold_addresses(capture, arguments);
  if (!error.empty()) return fail(kNotRun, error);
  say_launch(capture);
  return run(capture, arguments[2]);
}

} // namespace
} // namespace gmt::replay

int main(int count, char** arguments) {
  if (count != 2 && count != 3)
    return gmt::replay::fail(2, "FILE is missing: gpumemtrace-replay FILE [BLOCK]");
  return gmt::replay::main_of(arguments);
}
