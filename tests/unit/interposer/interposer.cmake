# SPDX-License-Identifier: Apache-2.0
# The interposer's logs, stacks and drain as a host program, so that the sanitizers see them; nothing of CUDA in it.
set(interposer ${PROJECT_SOURCE_DIR}/interposer)
file(GLOB logged CONFIGURE_DEPENDS ${interposer}/base/*.cpp ${interposer}/log/*.cpp ${interposer}/log/python/*.cpp
  ${interposer}/python/*.cpp ${interposer}/loader/exported_symbol.cpp)
list(FILTER logged EXCLUDE REGEX "unwinder_(library|imports)") # the tests' stacks are made up
file(GLOB ringed CONFIGURE_DEPENDS ${interposer}/device_ring/*.cpp)
add_executable(interposer_log_test ${CMAKE_CURRENT_LIST_DIR}/log/log_test.cpp ${logged}
  ${interposer}/base/own_stack_switch.S ${interposer}/loader/mapped_path.cpp ${interposer}/loader/object_files.cpp
  ${interposer}/device_ring/drain.cpp ${interposer}/device_ring/memory.cpp)
# The thread sanitizer does not follow the fences of nvtx_ranges.cpp, on which nothing under test relies.
target_compile_options(interposer_log_test PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-tsan>)
target_compile_definitions(interposer_log_test PRIVATE GPUMEMTRACE_VERSION="${PROJECT_VERSION}" _GNU_SOURCE)
target_link_libraries(interposer_log_test PRIVATE gmt_trace gmt_warnings gmt_sanitize GTest::gtest_main ${CMAKE_DL_LIBS})
if(TARGET gmt_device_hooks)
  target_sources(interposer_log_test PRIVATE ${CMAKE_CURRENT_LIST_DIR}/device_ring/drain_test.cpp)
  target_link_libraries(interposer_log_test PRIVATE gmt_device_hooks)
  add_test(NAME InterposerRing COMMAND interposer_log_test --gtest_filter=InterposerRing.*)
  set_tests_properties(InterposerRing PROPERTIES LABELS unit TIMEOUT 120
    ENVIRONMENT "GPUMEMTRACE_DIR=${CMAKE_CURRENT_BINARY_DIR}/interposer_ring")
  file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/interposer_ring)
endif()
foreach(part Log Room Arguments) # each in a process of its own: a process has one trace
  add_test(NAME Interposer${part} COMMAND interposer_log_test --gtest_filter=Interposer${part}.*)
  set_tests_properties(Interposer${part} PROPERTIES LABELS unit TIMEOUT 120
    ENVIRONMENT "GPUMEMTRACE_DIR=${CMAKE_CURRENT_BINARY_DIR}/interposer_${part}")
  file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/interposer_${part})
endforeach()

# The scan of launch arguments against a made-up driver, with the real logs and rings behind it, and how driver functions
# are looked up.
add_executable(interposer_kernels_test ${CMAKE_CURRENT_LIST_DIR}/recorders/launch_arguments_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/recorders/made_up_driver.cpp
  ${CMAKE_CURRENT_LIST_DIR}/loader/driver_function_test.cpp ${logged} ${ringed}
  ${interposer}/base/own_stack_switch.S ${interposer}/loader/mapped_path.cpp ${interposer}/loader/object_files.cpp
  ${interposer}/loader/driver_symbol.cpp ${interposer}/driver_state/code_generation.cpp
  ${interposer}/driver_state/context_ids.cpp ${interposer}/driver_state/device_facts.cpp
  ${interposer}/recorders/launch_arguments.cpp)
target_compile_options(interposer_kernels_test PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-tsan>)
target_compile_definitions(interposer_kernels_test PRIVATE GPUMEMTRACE_VERSION="${PROJECT_VERSION}" _GNU_SOURCE)
target_link_libraries(interposer_kernels_test PRIVATE gmt_trace gmt_warnings gmt_sanitize GTest::gtest_main)
gtest_discover_tests(interposer_kernels_test PROPERTIES LABELS unit TIMEOUT 120
  ENVIRONMENT "GPUMEMTRACE_DIR=${CMAKE_CURRENT_BINARY_DIR}/interposer_kernels")
file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/interposer_kernels)

# What is followed of CUDA's memory, and how it is hashed.
add_executable(interposer_memory_test ${CMAKE_CURRENT_LIST_DIR}/driver_state/followed_memory_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/base/mix_test.cpp
  ${interposer}/driver_state/retired_memory.cpp ${interposer}/driver_state/unrecorded_blocks.cpp)
target_link_libraries(interposer_memory_test PRIVATE gmt_trace gmt_warnings gmt_sanitize GTest::gtest_main)
gtest_discover_tests(interposer_memory_test PROPERTIES LABELS unit TIMEOUT 120)

# What --guard computes: addresses, blocks, patterns, shares. Nothing of it calls CUDA.
if(TARGET gmt_cuda_headers)
  set(guard ${interposer}/guard)
  add_executable(interposer_guard_test ${CMAKE_CURRENT_LIST_DIR}/guard/guard_test.cpp ${logged}
    ${guard}/store/address_space.cpp ${guard}/store/blocks.cpp ${guard}/slack.cpp ${guard}/sampler.cpp ${guard}/exclusions.cpp
    ${guard}/driver.cpp ${guard}/notes.cpp ${interposer}/base/own_stack_switch.S ${interposer}/loader/mapped_path.cpp
    ${interposer}/loader/object_files.cpp ${interposer}/loader/driver_symbol.cpp ${interposer}/device_ring/drain.cpp
    ${interposer}/device_ring/memory.cpp)
  target_compile_options(interposer_guard_test PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-tsan>)
  target_compile_definitions(interposer_guard_test PRIVATE GPUMEMTRACE_VERSION="${PROJECT_VERSION}" _GNU_SOURCE)
  target_link_libraries(interposer_guard_test PRIVATE gmt_trace gmt_warnings gmt_sanitize gmt_cuda_headers
    GTest::gtest_main ${CMAKE_DL_LIBS})
  gtest_discover_tests(interposer_guard_test PROPERTIES LABELS unit TIMEOUT 120)
endif()
