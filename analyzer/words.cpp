// SPDX-License-Identifier: Apache-2.0
// Names of CUDA's error codes. A table of our own, since the command builds without CUDA; numbers are the
// same in driver and runtime for all that the two share (driver_types.h: "corresponds to CUresult").

#include "analyzer/words.h"

#include <algorithm>
#include <iterator>

namespace gmt {
namespace {

struct ErrorName {
  std::uint16_t code;
  const char* driver;
  const char* runtime;
};

constexpr ErrorName kErrors[] = {
  {0, "CUDA_SUCCESS", "cudaSuccess"},
  {1, "CUDA_ERROR_INVALID_VALUE", "cudaErrorInvalidValue"},
  {2, "CUDA_ERROR_OUT_OF_MEMORY", "cudaErrorMemoryAllocation"},
  {3, "CUDA_ERROR_NOT_INITIALIZED", "cudaErrorInitializationError"},
  {4, "CUDA_ERROR_DEINITIALIZED", "cudaErrorCudartUnloading"},
  {5, "CUDA_ERROR_PROFILER_DISABLED", "cudaErrorProfilerDisabled"},
  {6, "CUDA_ERROR_PROFILER_NOT_INITIALIZED", "cudaErrorProfilerNotInitialized"},
  {7, "CUDA_ERROR_PROFILER_ALREADY_STARTED", "cudaErrorProfilerAlreadyStarted"},
  {8, "CUDA_ERROR_PROFILER_ALREADY_STOPPED", "cudaErrorProfilerAlreadyStopped"},
  {9, nullptr, "cudaErrorInvalidConfiguration"},
  {12, nullptr, "cudaErrorInvalidPitchValue"},
  {13, nullptr, "cudaErrorInvalidSymbol"},
  {16, nullptr, "cudaErrorInvalidHostPointer"},
  {17, nullptr, "cudaErrorInvalidDevicePointer"},
  {18, nullptr, "cudaErrorInvalidTexture"},
  {19, nullptr, "cudaErrorInvalidTextureBinding"},
  {20, nullptr, "cudaErrorInvalidChannelDescriptor"},
  {21, nullptr, "cudaErrorInvalidMemcpyDirection"},
  {22, nullptr, "cudaErrorAddressOfConstant"},
  {23, nullptr, "cudaErrorTextureFetchFailed"},
  {24, nullptr, "cudaErrorTextureNotBound"},
  {25, nullptr, "cudaErrorSynchronizationError"},
  {26, nullptr, "cudaErrorInvalidFilterSetting"},
  {27, nullptr, "cudaErrorInvalidNormSetting"},
  {28, nullptr, "cudaErrorMixedDeviceExecution"},
  {31, nullptr, "cudaErrorNotYetImplemented"},
  {32, nullptr, "cudaErrorMemoryValueTooLarge"},
  {34, "CUDA_ERROR_STUB_LIBRARY", "cudaErrorStubLibrary"},
  {35, nullptr, "cudaErrorInsufficientDriver"},
  {36, "CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER", "cudaErrorCallRequiresNewerDriver"},
  {37, nullptr, "cudaErrorInvalidSurface"},
  {43, nullptr, "cudaErrorDuplicateVariableName"},
  {44, nullptr, "cudaErrorDuplicateTextureName"},
  {45, nullptr, "cudaErrorDuplicateSurfaceName"},
  {46, "CUDA_ERROR_DEVICE_UNAVAILABLE", "cudaErrorDevicesUnavailable"},
  {49, nullptr, "cudaErrorIncompatibleDriverContext"},
  {52, nullptr, "cudaErrorMissingConfiguration"},
  {53, nullptr, "cudaErrorPriorLaunchFailure"},
  {65, nullptr, "cudaErrorLaunchMaxDepthExceeded"},
  {66, nullptr, "cudaErrorLaunchFileScopedTex"},
  {67, nullptr, "cudaErrorLaunchFileScopedSurf"},
  {68, nullptr, "cudaErrorSyncDepthExceeded"},
  {69, nullptr, "cudaErrorLaunchPendingCountExceeded"},
  {98, nullptr, "cudaErrorInvalidDeviceFunction"},
  {100, "CUDA_ERROR_NO_DEVICE", "cudaErrorNoDevice"},
  {101, "CUDA_ERROR_INVALID_DEVICE", "cudaErrorInvalidDevice"},
  {102, "CUDA_ERROR_DEVICE_NOT_LICENSED", "cudaErrorDeviceNotLicensed"},
  {103, nullptr, "cudaErrorSoftwareValidityNotEstablished"},
  {127, nullptr, "cudaErrorStartupFailure"},
  {200, "CUDA_ERROR_INVALID_IMAGE", "cudaErrorInvalidKernelImage"},
  {201, "CUDA_ERROR_INVALID_CONTEXT", "cudaErrorDeviceUninitialized"},
  {202, "CUDA_ERROR_CONTEXT_ALREADY_CURRENT", nullptr},
  {205, "CUDA_ERROR_MAP_FAILED", "cudaErrorMapBufferObjectFailed"},
  {206, "CUDA_ERROR_UNMAP_FAILED", "cudaErrorUnmapBufferObjectFailed"},
  {207, "CUDA_ERROR_ARRAY_IS_MAPPED", "cudaErrorArrayIsMapped"},
  {208, "CUDA_ERROR_ALREADY_MAPPED", "cudaErrorAlreadyMapped"},
  {209, "CUDA_ERROR_NO_BINARY_FOR_GPU", "cudaErrorNoKernelImageForDevice"},
  {210, "CUDA_ERROR_ALREADY_ACQUIRED", "cudaErrorAlreadyAcquired"},
  {211, "CUDA_ERROR_NOT_MAPPED", "cudaErrorNotMapped"},
  {212, "CUDA_ERROR_NOT_MAPPED_AS_ARRAY", "cudaErrorNotMappedAsArray"},
  {213, "CUDA_ERROR_NOT_MAPPED_AS_POINTER", "cudaErrorNotMappedAsPointer"},
  {214, "CUDA_ERROR_ECC_UNCORRECTABLE", "cudaErrorECCUncorrectable"},
  {215, "CUDA_ERROR_UNSUPPORTED_LIMIT", "cudaErrorUnsupportedLimit"},
  {216, "CUDA_ERROR_CONTEXT_ALREADY_IN_USE", "cudaErrorDeviceAlreadyInUse"},
  {217, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED", "cudaErrorPeerAccessUnsupported"},
  {218, "CUDA_ERROR_INVALID_PTX", "cudaErrorInvalidPtx"},
  {219, "CUDA_ERROR_INVALID_GRAPHICS_CONTEXT", "cudaErrorInvalidGraphicsContext"},
  {220, "CUDA_ERROR_NVLINK_UNCORRECTABLE", "cudaErrorNvlinkUncorrectable"},
  {221, "CUDA_ERROR_JIT_COMPILER_NOT_FOUND", "cudaErrorJitCompilerNotFound"},
  {222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "cudaErrorUnsupportedPtxVersion"},
  {223, "CUDA_ERROR_JIT_COMPILATION_DISABLED", "cudaErrorJitCompilationDisabled"},
  {224, "CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY", "cudaErrorUnsupportedExecAffinity"},
  {225, "CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC", "cudaErrorUnsupportedDevSideSync"},
  {226, "CUDA_ERROR_CONTAINED", "cudaErrorContained"},
  {300, "CUDA_ERROR_INVALID_SOURCE", "cudaErrorInvalidSource"},
  {301, "CUDA_ERROR_FILE_NOT_FOUND", "cudaErrorFileNotFound"},
  {302, "CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND", "cudaErrorSharedObjectSymbolNotFound"},
  {303, "CUDA_ERROR_SHARED_OBJECT_INIT_FAILED", "cudaErrorSharedObjectInitFailed"},
  {304, "CUDA_ERROR_OPERATING_SYSTEM", "cudaErrorOperatingSystem"},
  {400, "CUDA_ERROR_INVALID_HANDLE", "cudaErrorInvalidResourceHandle"},
  {401, "CUDA_ERROR_ILLEGAL_STATE", "cudaErrorIllegalState"},
  {402, "CUDA_ERROR_LOSSY_QUERY", "cudaErrorLossyQuery"},
  {500, "CUDA_ERROR_NOT_FOUND", "cudaErrorSymbolNotFound"},
  {600, "CUDA_ERROR_NOT_READY", "cudaErrorNotReady"},
  {700, "CUDA_ERROR_ILLEGAL_ADDRESS", "cudaErrorIllegalAddress"},
  {701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "cudaErrorLaunchOutOfResources"},
  {702, "CUDA_ERROR_LAUNCH_TIMEOUT", "cudaErrorLaunchTimeout"},
  {703, "CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING", "cudaErrorLaunchIncompatibleTexturing"},
  {704, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED", "cudaErrorPeerAccessAlreadyEnabled"},
  {705, "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED", "cudaErrorPeerAccessNotEnabled"},
  {708, "CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE", "cudaErrorSetOnActiveProcess"},
  {709, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "cudaErrorContextIsDestroyed"},
  {710, "CUDA_ERROR_ASSERT", "cudaErrorAssert"},
  {711, "CUDA_ERROR_TOO_MANY_PEERS", "cudaErrorTooManyPeers"},
  {712, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED", "cudaErrorHostMemoryAlreadyRegistered"},
  {713, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED", "cudaErrorHostMemoryNotRegistered"},
  {714, "CUDA_ERROR_HARDWARE_STACK_ERROR", "cudaErrorHardwareStackError"},
  {715, "CUDA_ERROR_ILLEGAL_INSTRUCTION", "cudaErrorIllegalInstruction"},
  {716, "CUDA_ERROR_MISALIGNED_ADDRESS", "cudaErrorMisalignedAddress"},
  {717, "CUDA_ERROR_INVALID_ADDRESS_SPACE", "cudaErrorInvalidAddressSpace"},
  {718, "CUDA_ERROR_INVALID_PC", "cudaErrorInvalidPc"},
  {719, "CUDA_ERROR_LAUNCH_FAILED", "cudaErrorLaunchFailure"},
  {720, "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE", "cudaErrorCooperativeLaunchTooLarge"},
  {721, "CUDA_ERROR_TENSOR_MEMORY_LEAK", "cudaErrorTensorMemoryLeak"},
  {800, "CUDA_ERROR_NOT_PERMITTED", "cudaErrorNotPermitted"},
  {801, "CUDA_ERROR_NOT_SUPPORTED", "cudaErrorNotSupported"},
  {802, "CUDA_ERROR_SYSTEM_NOT_READY", "cudaErrorSystemNotReady"},
  {803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "cudaErrorSystemDriverMismatch"},
  {804, "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE", "cudaErrorCompatNotSupportedOnDevice"},
  {805, "CUDA_ERROR_MPS_CONNECTION_FAILED", "cudaErrorMpsConnectionFailed"},
  {806, "CUDA_ERROR_MPS_RPC_FAILURE", "cudaErrorMpsRpcFailure"},
  {807, "CUDA_ERROR_MPS_SERVER_NOT_READY", "cudaErrorMpsServerNotReady"},
  {808, "CUDA_ERROR_MPS_MAX_CLIENTS_REACHED", "cudaErrorMpsMaxClientsReached"},
  {809, "CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED", "cudaErrorMpsMaxConnectionsReached"},
  {810, "CUDA_ERROR_MPS_CLIENT_TERMINATED", "cudaErrorMpsClientTerminated"},
  {811, "CUDA_ERROR_CDP_NOT_SUPPORTED", "cudaErrorCdpNotSupported"},
  {812, "CUDA_ERROR_CDP_VERSION_MISMATCH", "cudaErrorCdpVersionMismatch"},
  {900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "cudaErrorStreamCaptureUnsupported"},
  {901, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", "cudaErrorStreamCaptureInvalidated"},
  {902, "CUDA_ERROR_STREAM_CAPTURE_MERGE", "cudaErrorStreamCaptureMerge"},
  {903, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED", "cudaErrorStreamCaptureUnmatched"},
  {904, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED", "cudaErrorStreamCaptureUnjoined"},
  {905, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION", "cudaErrorStreamCaptureIsolation"},
  {906, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT", "cudaErrorStreamCaptureImplicit"},
  {907, "CUDA_ERROR_CAPTURED_EVENT", "cudaErrorCapturedEvent"},
  {908, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD", "cudaErrorStreamCaptureWrongThread"},
  {909, "CUDA_ERROR_TIMEOUT", "cudaErrorTimeout"},
  {910, "CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE", "cudaErrorGraphExecUpdateFailure"},
  {911, "CUDA_ERROR_EXTERNAL_DEVICE", "cudaErrorExternalDevice"},
  {912, "CUDA_ERROR_INVALID_CLUSTER_SIZE", "cudaErrorInvalidClusterSize"},
  {913, "CUDA_ERROR_FUNCTION_NOT_LOADED", "cudaErrorFunctionNotLoaded"},
  {914, "CUDA_ERROR_INVALID_RESOURCE_TYPE", "cudaErrorInvalidResourceType"},
  {915, "CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION", "cudaErrorInvalidResourceConfiguration"},
  {916, "CUDA_ERROR_KEY_ROTATION", nullptr},
  {999, "CUDA_ERROR_UNKNOWN", "cudaErrorUnknown"},
};

constexpr bool out_of_order(const ErrorName& a, const ErrorName& b) { return a.code >= b.code; }
static_assert(std::adjacent_find(std::begin(kErrors), std::end(kErrors), out_of_order) == std::end(kErrors),
              "error_name() searches by halves");

} // namespace

std::string error_name(std::uint16_t code, bool runtime) {
  const auto* found = std::lower_bound(std::begin(kErrors), std::end(kErrors), code,
                                       [](const ErrorName& e, std::uint16_t c) { return e.code < c; });
  const bool known = found != std::end(kErrors) && found->code == code;
  const char* name = !known ? nullptr : runtime ? found->runtime : found->driver;
  if (name == nullptr) return cat({"error ", std::to_string(code)});
  return cat({name, " (", std::to_string(code), ")"});
}

std::string_view as_written(std::string_view symbol) {
  for (const std::string_view suffix : {"_ptsz", "_ptds"})
    if (symbol.ends_with(suffix)) symbol.remove_suffix(suffix.size());
  const std::size_t last = symbol.find_last_not_of("0123456789");
  const bool versioned =
    last != symbol.npos && last + 1 < symbol.size() && symbol.substr(0, last + 1).ends_with("_v");
  return versioned ? symbol.substr(0, last - 1) : symbol;
}

bool glob_match(std::string_view pattern, std::string_view text) {
  std::size_t p = 0, t = 0;
  std::size_t star = std::string_view::npos,
              resume = 0; // the last star, and where its run may be extended to
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

} // namespace gmt
