# SPDX-License-Identifier: Apache-2.0
# The interposer's rooms in a host program, so that the sanitizers see them: the product's own objects, in an archive of
# which each test takes what it needs. What has names of the C library or of CUDA is not in it (interposer/hooks/exports).
if(NOT TARGET interposer_objects)
  return()
endif()
add_library(interposer_rooms STATIC $<TARGET_OBJECTS:interposer_objects>)
target_link_libraries(interposer_rooms PUBLIC gmt_trace gmt_cuda_headers gmt_sanitize ${CMAKE_DL_LIBS})

# gmt_interposer_test(<name> <sources...>): the paths are relative to this folder.
set(here ${CMAKE_CURRENT_LIST_DIR})
function(gmt_interposer_test name)
  list(TRANSFORM ARGN PREPEND ${here}/)
  add_executable(${name} ${ARGN})
  target_compile_options(${name} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-tsan>)
  target_compile_definitions(${name} PRIVATE _GNU_SOURCE)
  target_link_libraries(${name} PRIVATE interposer_rooms gmt_warnings GTest::gtest_main)
endfunction()

# gmt_tests_with_traces(<test> <suites...>): a process has one trace, so each suite has a process and a folder of its own.
function(gmt_tests_with_traces test)
  foreach(suite ${ARGN})
    set(folder ${CMAKE_CURRENT_BINARY_DIR}/traces/${suite})
    file(MAKE_DIRECTORY ${folder})
    add_test(NAME ${suite} COMMAND ${test} --gtest_filter=${suite}.*)
    set_tests_properties(${suite} PROPERTIES LABELS unit TIMEOUT 120 ENVIRONMENT
      "GPUMEMTRACE_DIR=${folder};GPUMEMTRACE_NOTES=${folder}/notes")
  endforeach()
endfunction()

# Logs, stacks and drain.
gmt_interposer_test(interposer_log_test log/log_test.cpp)
if(TARGET gmt_device_hooks)
  target_sources(interposer_log_test PRIVATE ${here}/device_ring/drain_test.cpp)
  target_link_libraries(interposer_log_test PRIVATE gmt_device_hooks)
  gmt_tests_with_traces(interposer_log_test InterposerRing)
endif()
gmt_tests_with_traces(interposer_log_test InterposerLog InterposerNotes InterposerRoom InterposerArguments)

# The scan of launch arguments against a made-up driver, with the real logs and rings behind it, and how driver functions
# are looked up.
gmt_interposer_test(interposer_kernels_test recorders/launch_arguments_test.cpp recorders/made_up_driver.cpp
  loader/driver_function_test.cpp)
file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/interposer_kernels)
gtest_discover_tests(interposer_kernels_test PROPERTIES LABELS unit TIMEOUT 120
  ENVIRONMENT "GPUMEMTRACE_DIR=${CMAKE_CURRENT_BINARY_DIR}/interposer_kernels")

# What is followed of CUDA's memory, how it is hashed, and which pages are closed.
gmt_interposer_test(interposer_memory_test driver_state/followed_memory_test.cpp driver_state/host_blocks_test.cpp
  driver_state/host_watches_test.cpp
  base/mix_test.cpp)
gtest_discover_tests(interposer_memory_test PROPERTIES LABELS unit TIMEOUT 120)

# What --guard computes: addresses, blocks, patterns, shares. Nothing of it calls CUDA.
gmt_interposer_test(interposer_guard_test guard/guard_test.cpp)
gtest_discover_tests(interposer_guard_test PROPERTIES LABELS unit TIMEOUT 120)

# Hooked calls from their entries to their records, with the test's own functions in the driver's place.
gmt_interposer_test(interposer_hooks_test hooks/entries_test.cpp hooks/freed_memory_test.cpp hooks/process_hooks_test.cpp
  calls/calls_test.cpp)
gmt_tests_with_traces(interposer_hooks_test InterposerEntries InterposerRuntimeEntries InterposerFreedMemory
  InterposerProcessHooks InterposerCalls)

# Python's frames and code objects, as bytes that the test lays out.
gmt_interposer_test(interposer_python_test python/code_test.cpp python/frames_test.cpp)
gtest_discover_tests(interposer_python_test PROPERTIES LABELS unit TIMEOUT 120)

# What the simulated device says of kernels, as records.
gmt_interposer_test(interposer_execution_test execution/observer_test.cpp)
gmt_tests_with_traces(interposer_execution_test InterposerExecution)

# What the driver is asked beside the program's calls: of contexts, devices, memory; for core dumps.
gmt_interposer_test(interposer_questions_test driver_state/driver_questions_test.cpp)
gmt_tests_with_traces(interposer_questions_test InterposerDriverQuestions)
gmt_interposer_test(interposer_core_dump_test core_dump/core_dump_test.cpp)
gmt_tests_with_traces(interposer_core_dump_test InterposerCoreDump InterposerCoreDumpBesideChecks)
set_property(TEST InterposerCoreDump InterposerCoreDumpBesideChecks APPEND PROPERTY ENVIRONMENT GPUMEMTRACE_CORE_DUMP=1)
set_property(TEST InterposerCoreDumpBesideChecks APPEND PROPERTY ENVIRONMENT GPUMEMTRACE_KERNEL_CHECKS=memory)
