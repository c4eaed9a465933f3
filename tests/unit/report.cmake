# SPDX-License-Identifier: Apache-2.0
# Unit tests of what lies between an analysis and its report: symbols, suppressions, the report builder, outputs.
# Always with debug information and inlining: what the symbols test resolves must not depend on the build type.
add_library(report_symbols_target MODULE report_symbols_target.cpp)
target_compile_options(report_symbols_target PRIVATE -g -O2)
target_link_options(report_symbols_target PRIVATE -Wl,--build-id)
set_target_properties(report_symbols_target PROPERTIES PREFIX "")

# Tail calls as DWARF 5 tells them, and as GNU's extension of DWARF 4 does.
foreach(version 5 4)
  add_library(report_tail_calls_${version} MODULE report_tail_calls_target.cpp report_tail_calls_other.cpp)
  # clang does not know the attribute that keeps GCC from making clones.
  target_compile_options(report_tail_calls_${version} PRIVATE -g -gdwarf-${version} -O2 -Wno-attributes)
  target_link_options(report_tail_calls_${version} PRIVATE -Wl,--build-id)
  set_target_properties(report_tail_calls_${version} PROPERTIES PREFIX "")
endforeach()

# Fat binaries of the fixtures' cubins.
add_library(report_code_target MODULE report_code_target.S)
target_compile_definitions(report_code_target PRIVATE
  GMT_LINES_75="${cubins}/kernels.lines.sm_75.cubin"
  GMT_LINES_90="${cubins}/kernels.lines.sm_90.cubin"
  GMT_PLAIN_90="${cubins}/kernels.plain.sm_90.cubin")
target_link_options(report_code_target PRIVATE -Wl,--build-id)
set_target_properties(report_code_target PROPERTIES PREFIX "" LINKER_LANGUAGE CXX)

# Variables of the host and of the device.
add_library(report_variables_target MODULE report_variables_target.S)
target_link_options(report_variables_target PRIVATE -Wl,--build-id)
set_target_properties(report_variables_target PROPERTIES PREFIX "" LINKER_LANGUAGE CXX)

add_executable(report_tests
  report_builder_test.cpp
  report_fatbin_test.cpp
  report_kernel_code_test.cpp
  report_names_test.cpp
  report_runtime_names_test.cpp
  report_static_variables_test.cpp
  report_suppressions_test.cpp
  report_symbol_file_test.cpp
  report_symbols_test.cpp
  report_tail_calls_test.cpp
  report_text_test.cpp)
target_link_libraries(report_tests PRIVATE analyzer_core analyzer_report trace_writer GTest::gtest_main ${CMAKE_DL_LIBS})
target_compile_options(report_tests PRIVATE -O0) # as the analyzer's tests
target_precompile_headers(report_tests PRIVATE <gtest/gtest.h> <algorithm> <filesystem> <map> <string> <vector>)
target_compile_definitions(report_tests PRIVATE
  GMT_CUBINS="${cubins}"
  GMT_CODE_TARGET="$<TARGET_FILE:report_code_target>"
  GMT_TAIL_CALLS_5="$<TARGET_FILE:report_tail_calls_5>"
  GMT_TAIL_CALLS_4="$<TARGET_FILE:report_tail_calls_4>"
  GMT_SYMBOLS_TARGET="$<TARGET_FILE:report_symbols_target>"
  GMT_VARIABLES_TARGET="$<TARGET_FILE:report_variables_target>"
  GMT_SYMBOLS_TARGET_SOURCE="${CMAKE_CURRENT_LIST_DIR}/report_symbols_target.cpp")
add_dependencies(report_tests report_symbols_target report_code_target report_tail_calls_5 report_tail_calls_4
  report_variables_target)
gtest_discover_tests(report_tests PROPERTIES LABELS unit TIMEOUT 120)

add_executable(report_write_json ${PROJECT_SOURCE_DIR}/tests/report/write_json.cpp)
target_link_libraries(report_write_json PRIVATE analyzer_core analyzer_report)
if(Python3_FOUND)
  add_test(NAME report_json_schema
    COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tests/report/check_schema.py $<TARGET_FILE:report_write_json>
            ${PROJECT_SOURCE_DIR}/docs)
  set_tests_properties(report_json_schema PROPERTIES LABELS unit TIMEOUT 120 SKIP_RETURN_CODE 77)
endif()
