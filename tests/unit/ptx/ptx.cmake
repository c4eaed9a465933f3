# SPDX-License-Identifier: Apache-2.0
# Unit tests of what reads PTX, and the PTX that compilers wrote, for other folders too.
find_path(GMT_ZSTD_INCLUDE zstd.h REQUIRED)
add_library(ptx_fixtures STATIC ${CMAKE_CURRENT_LIST_DIR}/support/ptx_fixtures.cpp)
target_compile_definitions(ptx_fixtures PRIVATE GMT_TESTS="${PROJECT_SOURCE_DIR}/tests")
target_include_directories(ptx_fixtures PUBLIC ${PROJECT_SOURCE_DIR})
target_link_libraries(ptx_fixtures PUBLIC gmt_warnings gmt_sanitize zstd)

add_library(ptx_difference STATIC EXCLUDE_FROM_ALL ${CMAKE_CURRENT_LIST_DIR}/support/syntax_difference.cpp)
target_link_libraries(ptx_difference PUBLIC ptx gmt_warnings gmt_sanitize)

# gmt_ptx_tests(<executable> <library> <folder>...): the tests of some folders of tests/unit.
function(gmt_ptx_tests name library)
  list(TRANSFORM ARGN REPLACE "(.+)" "${CMAKE_CURRENT_SOURCE_DIR}/\\1/*_test.cpp" OUTPUT_VARIABLE patterns)
  file(GLOB sources CONFIGURE_DEPENDS ${patterns})
  add_executable(${name} ${sources})
  target_link_libraries(${name} PRIVATE ${library} ptx_fixtures GTest::gtest_main gmt_warnings gmt_sanitize gmt_test_code)
  gmt_unity_of_tests(${name})
  if(GPUMEMTRACE_SANITIZE)
    add_test(NAME ${name} COMMAND ${name} --gtest_brief=1)
    set_tests_properties(${name} PROPERTIES LABELS unit TIMEOUT ${GMT_SANITIZED_SECONDS})
  else()
    gtest_discover_tests(${name} PROPERTIES LABELS unit TIMEOUT 120)
  endif()
endfunction()

if(NOT GPUMEMTRACE_UNIT_TESTS)
  return()
endif()
gmt_ptx_tests(unit_ptx ptx ptx/fatbin ptx/syntax ptx/opcodes ptx/print ptx/flow ptx/names)
target_link_libraries(unit_ptx PRIVATE ptx_difference lz4)
target_precompile_headers(unit_ptx PRIVATE ${CMAKE_CURRENT_LIST_DIR}/support/ptx_text.h <gtest/gtest.h> <map> <set> <vector>)
target_compile_definitions(unit_ptx PRIVATE GMT_PTX_ISA="${CMAKE_CURRENT_LIST_DIR}/opcodes/ptx_isa_9.0.txt")
