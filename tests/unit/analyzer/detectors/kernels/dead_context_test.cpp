// SPDX-License-Identifier: Apache-2.0
// Contexts that died of an error of which only a call's answer is known: which kernel the finding
// names, and when it is about none.
#include "tests/unit/analyzer/detectors/kernels/faults_fixture.h"

namespace gmt::test {
namespace {

constexpr std::uint64_t kAdd = 0x910, kScale = 0x920, kMore = 0x930; // functions

class DeadContexts : public Faults {
protected:
  void SetUp() override {
    Faults::SetUp();
    expect_only({"kernel-fault", "kernel-out-of-bounds", "api-error"});
    log().name(kAdd, "_Z3addPf");
    log().name(kScale, "_Z5scalePf");
    log().name(kMore, "_Z4morePf");
  }
  void run_kernel(std::uint64_t function, std::vector<std::uint64_t> arguments = {},
                  std::uint64_t from = 0x400, std::uint16_t context = 1, std::uint16_t code = 0) {
    std::vector<std::uint64_t> words = {function, 0, trace::pack_grid({4, 1, 1}),
                                        trace::pack_block_extents({256, 1, 1})};
    unsigned parameter = 0;
    for (const std::uint64_t address : arguments)
      words.push_back(trace::argument_word(address, parameter++));
    log().record(Kind::kLaunch,
                 {.api = "cuLaunchKernel",
                  .via = "cudaLaunchKernel",
                  .result = code,
                  .stack = {from},
                  .context = context,
                  .flags = trace::kLaunchScanned},
                 words);
  }
  void wait(std::uint16_t code, std::uint16_t context = 1) {
    log().record({.api = "cuCtxSynchronize",
                  .via = "cudaDeviceSynchronize",
                  .result = code,
                  .stack = {0x500},
                  .context = context},
                 Made<trace::SyncFields>().op(trace::SyncOp::kContextSynchronize));
  }
};

TEST_F(DeadContexts, NamesTheKernelItsMemoryAndTheCall) {
  run_kernel(kAdd);
  wait(0); // done
  run_kernel(kFaulty, {kA});
  wait(700);
  wait(700);
  const ReportedFinding& f = only();
  EXPECT_EQ(f.kind, "kernel-fault");
  EXPECT_EQ(f.severity, Severity::kError);
  EXPECT_EQ(f.message,
            "A kernel used an illegal address: cudaErrorIllegalAddress (700) was reported by "
            "cudaDeviceSynchronize, and 1 later call failed because of it; kernels that may have "
            "been running: fill(float*, int); the only memory that its launch was given is 3.9 KiB "
            "of device memory allocated by cudaMalloc.");
  EXPECT_EQ(labels(f), "reported here|launched here|allocated here");
  EXPECT_NE(f.advice.find("--core-dump"), std::string::npos);
  EXPECT_NE(f.advice.find("--device simulated"), std::string::npos);
}

TEST_F(DeadContexts, SeveralKernelsAndFreedMemory) {
  cuda_malloc(kB, 64, 0x101);
  cuda_free(kB, 0, 0x201);
  run_kernel(kFaulty, {kA});
  run_kernel(kAdd, {kA, kB}, 0x401);
  run_kernel(kAdd, {kA, kB}, 0x401); // the same
  wait(716);
  const ReportedFinding& f = only();
  EXPECT_EQ(f.message,
            "A kernel used a misaligned address: cudaErrorMisalignedAddress (716) was reported by "
            "cudaDeviceSynchronize; kernels that may have been running: add(float*), fill(float*, "
            "int); the only live memory that their launches were given is 3.9 KiB of device memory "
            "allocated by cudaMalloc; their launches were given a pointer into memory that was "
            "already freed: 64 bytes of device memory allocated by cudaMalloc.");
  EXPECT_EQ(labels(f), "reported here|launched here|launched here|freed here|allocated here|"
                       "allocated here");
}

TEST_F(DeadContexts, OfManyKernelsTheNewest) {
  for (const std::uint64_t function : {kFaulty, kAdd, kScale, kMore}) run_kernel(function);
  wait(719);
  EXPECT_NE(only().message.find("; among the kernels that may have been running: more(float*), "
                                "scale(float*), add(float*)."),
            std::string::npos);
}

TEST_F(DeadContexts, EveryErrorThatAKernelCauses) {
  std::uint16_t context = 0;
  const std::initializer_list<std::uint16_t> codes = {700, 702, 710, 714, 715,
                                                      716, 717, 718, 719, 721};
  for (const std::uint16_t code : codes) {
    ++context;
    log().context(context, 0xc0 + context, 0, false);
    run_kernel(kFaulty, {}, 0x400, context);
    wait(code, context);
  }
  run();
  EXPECT_EQ(kinds(), "kernel-fault kernel-fault kernel-fault kernel-fault kernel-fault "
                     "kernel-fault kernel-fault kernel-fault kernel-fault kernel-fault");
}

TEST_F(DeadContexts, OnceForEachContext) {
  log().context(1, 0xc1, 0, true);
  log().context(2, 0xc2, 1, true);
  run_kernel(kFaulty, {}, 0x400, 1);
  run_kernel(kAdd, {}, 0x401, 2);
  wait(700, 2);
  wait(0, 1);
  run_kernel(kScale, {}, 0x402, 1);
  wait(719, 1);
  wait(700, 2);
  run();
  ASSERT_EQ(kinds(), "kernel-fault kernel-fault");
  EXPECT_NE(result.findings[0].message.find("have been running: add(float*)."), std::string::npos);
  EXPECT_NE(result.findings[1].message.find("have been running: scale(float*)."),
            std::string::npos);
}

TEST_F(DeadContexts, ALaunchThatWaitsAnswersForItself) { // CUDA_LAUNCH_BLOCKING=1
  run_kernel(kAdd);
  run_kernel(kFaulty, {kA}, 0x401, 1, 700);
  EXPECT_NE(only().message.find("reported by cudaLaunchKernel; kernels that may have been running: "
                                "add(float*), fill(float*, int) (where CUDA_LAUNCH_BLOCKING=1 is "
                                "set)"),
            std::string::npos);
}

TEST_F(DeadContexts, KernelsOfAGraph) {
  log().record({.api = "cuGraphAddKernelNode_v2", .stack = {0x600}},
               Made<trace::GraphKernelFields>().function(kAdd).graph(0x70).node(0x71));
  log().record({.api = "cuGraphInstantiateWithFlags"}, Made<trace::LifeFields>()
                                                         .handle(0x72)
                                                         .object(trace::ObjectClass::kGraphExec)
                                                         .op(trace::LifeOp::kCreate)
                                                         .parent(0x70));
  log().record({.api = "cuGraphLaunch", .stack = {0x700}},
               Made<trace::SyncFields>().op(trace::SyncOp::kGraphLaunch).executable_graph(0x72));
  wait(700);
  EXPECT_NE(only().message.find("have been running: add(float*)."), std::string::npos);
  EXPECT_EQ(labels(result.findings[0]), "reported here|graph launched here|node made here");
}

TEST_F(DeadContexts, WhatTheHardwareDidIsNoKernels) {
  run_kernel(kFaulty, {kA});
  wait(214);
  const ReportedFinding& f = only();
  EXPECT_EQ(f.kind, "api-error");
  EXPECT_EQ(f.severity, Severity::kError);
  EXPECT_EQ(f.message, "The hardware failed, and the context has died: cudaErrorECCUncorrectable "
                       "(214) was reported by cudaDeviceSynchronize.");
}

TEST_F(DeadContexts, AnUnknownErrorIsNoDeath) {
  run_kernel(kFaulty, {kA});
  wait(999);
  EXPECT_EQ(only().kind, "api-error");
  EXPECT_EQ(only().severity, Severity::kWarning);
}

TEST_F(DeadContexts, WithoutAKernelItIsACopyOrASet) {
  wait(700);
  const ReportedFinding& f = only();
  EXPECT_EQ(f.kind, "api-error");
  EXPECT_EQ(f.severity, Severity::kError);
  EXPECT_NE(f.message.find("though no kernel was launched"), std::string::npos);
}

TEST_F(DeadContexts, TheSimulatedDevicesOwnFindingIsBetter) {
  MadeFault f;
  fault(f, FaultKind::kOutOfBounds, launch()).address(kA + 4000).bytes(4).gpu_error(700);
  add(f);
  wait(700);
  EXPECT_EQ(only().kind, "kernel-out-of-bounds");
}

TEST_F(DeadContexts, AFaultThatAGpuSurvivesExplainsNothing) {
  MadeFault f;
  fault(f, FaultKind::kOutOfBounds, launch()).address(kA + 4000).bytes(4);
  add(f);
  wait(719);
  run();
  EXPECT_NE(find("kernel-fault"), nullptr);
  EXPECT_NE(find("kernel-out-of-bounds"), nullptr);
}

TEST_F(DeadContexts, AKernelThatTheSimulatedDeviceStoppedIsOnlySlow) {
  trace.info.push_back("device=simulated");
  run_kernel(kFaulty);
  log().record({}, Made<trace::ExecutionFields>().op(trace::ExecutionOp::kStopped));
  wait(702);
  const ReportedFinding& f = only();
  EXPECT_EQ(f.kind, "api-error");
  EXPECT_EQ(f.severity, Severity::kNote);
  EXPECT_NE(f.message.find("A kernel ran longer than it was given"), std::string::npos);
  EXPECT_NE(f.advice.find("--kernel-time"), std::string::npos);
}

} // namespace
} // namespace gmt::test
