# SPDX-License-Identifier: Apache-2.0
# Unit tests of the analyzer: an executable for each room, and for each group of detectors.
set(here ${CMAKE_CURRENT_LIST_DIR})

# What the tests of findings share, and the headers that all unit tests of the analyzer compile once.
add_library(analyzer_test_support STATIC ${here}/support/analysis_fixture.cpp)
target_link_libraries(analyzer_test_support PUBLIC analyzer_core trace_writer GTest::gtest gmt_test_code)
target_compile_options(analyzer_test_support PUBLIC -O0) # only what is tested is worth optimising: half the time to compile
target_precompile_headers(analyzer_test_support PRIVATE ${here}/support/analysis_fixture.h <algorithm> <cstring> <map> <random>)

# gmt_unit_tests(<executable> <folder>...): the tests of some folders.
function(gmt_unit_tests name)
  list(TRANSFORM ARGN REPLACE "(.+)" "${here}/\\1/*_test.cpp" OUTPUT_VARIABLE patterns)
  file(GLOB sources CONFIGURE_DEPENDS ${patterns})
  add_executable(${name} ${sources})
  # analyzer_core's objects come only where it is named itself.
  target_link_libraries(${name} PRIVATE analyzer_core analyzer_test_support GTest::gtest_main ${CMAKE_DL_LIBS} gmt_test_code)
  target_precompile_headers(${name} REUSE_FROM analyzer_test_support)
  gmt_unity_of_tests(${name})
  if(GPUMEMTRACE_SANITIZE) # to start a process for each test would take longer than the tests
    add_test(NAME ${name} COMMAND ${name} --gtest_brief=1)
    set_tests_properties(${name} PROPERTIES LABELS unit TIMEOUT ${GMT_SANITIZED_SECONDS})
  else()
    gtest_discover_tests(${name} PROPERTIES LABELS unit TIMEOUT 120)
  endif()
endfunction()

gmt_unit_tests(unit_base base)
gmt_unit_tests(unit_trace_reader trace_reader)
gmt_unit_tests(unit_symbols symbols)
gmt_unit_tests(unit_heap cuda_state heap heap/store heap/graphs heap/verdicts)
gmt_unit_tests(unit_device_heap device_heap)
gmt_unit_tests(unit_device_code device_code)
gmt_unit_tests(unit_core_dump core_dump)
gmt_unit_tests(unit_coalescing coalescing)
gmt_unit_tests(unit_allocations detectors/allocations)
gmt_unit_tests(unit_copies detectors/copies)
gmt_unit_tests(unit_launches detectors/launches)
gmt_unit_tests(unit_kernels detectors/kernels)
gmt_unit_tests(unit_calls detectors/calls detectors/performance)
gmt_unit_tests(unit_analysis analysis analysis/history analysis/timeline)
gmt_unit_tests(unit_wording wording)
gmt_unit_tests(unit_report report)
gmt_unit_tests(unit_command command)
target_link_libraries(unit_command PRIVATE analyzer_command)
foreach(tests unit_symbols unit_device_code unit_report unit_command) # some look at whole reports
  target_link_libraries(${tests} PRIVATE analyzer_report)
endforeach()

# gmt_test_module(<name> <tests> <macro> <source>...): a file whose code or symbols the tests look at, found through the macro.
function(gmt_test_module name tests macro)
  list(TRANSFORM ARGN PREPEND ${here}/ OUTPUT_VARIABLE sources)
  add_library(${name} MODULE ${sources})
  target_link_options(${name} PRIVATE -Wl,--build-id)
  set_target_properties(${name} PROPERTIES PREFIX "" LINKER_LANGUAGE CXX)
  target_compile_definitions(${tests} PRIVATE ${macro}="$<TARGET_FILE:${name}>")
  add_dependencies(${tests} ${name})
endfunction()

# Always with debug information and inlining: what is found there must not depend on the build type.
gmt_test_module(symbols_target unit_symbols GMT_SYMBOLS_TARGET symbols/symbols_target.cpp)
target_compile_options(symbols_target PRIVATE -g -O2)
target_compile_definitions(unit_report PRIVATE GMT_SYMBOLS_TARGET="$<TARGET_FILE:symbols_target>")
add_dependencies(unit_report symbols_target)
target_compile_definitions(unit_symbols PRIVATE GMT_SYMBOLS_TARGET_SOURCE="${here}/symbols/symbols_target.cpp")

# Tail calls as DWARF 5 records them, and as GNU's extension of DWARF 4 does.
foreach(version 5 4)
  gmt_test_module(tail_calls_${version} unit_symbols GMT_TAIL_CALLS_${version} symbols/tail_calls_target.cpp
    symbols/tail_calls_other.cpp)
  # clang does not know the attribute that keeps GCC from making clones.
  target_compile_options(tail_calls_${version} PRIVATE -g -gdwarf-${version} -O2 -Wno-attributes)
endforeach()

# Fat binaries of the fixtures' cubins.
gmt_test_module(code_target unit_device_code GMT_CODE_TARGET device_code/code_target.S)
target_compile_definitions(code_target PRIVATE
  GMT_LINES_75="${cubins}/kernels.lines.sm_75.cubin"
  GMT_LINES_90="${cubins}/kernels.lines.sm_90.cubin"
  GMT_PLAIN_90="${cubins}/kernels.plain.sm_90.cubin")
# Parts of nvcc -rdc, joined by the driver and by nvlink.
gmt_test_module(parts_target unit_device_code GMT_PARTS_TARGET device_code/parts_target.S)
gmt_test_module(linked_target unit_device_code GMT_LINKED_TARGET device_code/parts_target.S)
target_compile_definitions(linked_target PRIVATE GMT_LINKED)
# Variables of the host and of the device.
gmt_test_module(variables_target unit_device_code GMT_VARIABLES_TARGET device_code/variables_target.S)
target_compile_definitions(unit_device_code PRIVATE GMT_CUBINS="${cubins}")
target_compile_definitions(unit_core_dump PRIVATE GMT_CORE_DUMPS="${PROJECT_SOURCE_DIR}/tests/fixtures/core_dumps")
if(GMT_NVCC AND EXISTS ${GMT_NVCC})
  set(compiled_cubin ${CMAKE_CURRENT_BINARY_DIR}/kernels.cubin)
  add_custom_command(OUTPUT ${compiled_cubin} DEPENDS ${cubins}/kernels.cu VERBATIM
    COMMAND ${GMT_NVCC} -arch=sm_90 -lineinfo -cubin -o ${compiled_cubin} ${cubins}/kernels.cu)
  target_sources(unit_device_code PRIVATE ${compiled_cubin})
  target_compile_definitions(unit_device_code PRIVATE GMT_COMPILED_CUBIN="${compiled_cubin}")
endif()
