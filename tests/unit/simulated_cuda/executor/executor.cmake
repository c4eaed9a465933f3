# SPDX-License-Identifier: Apache-2.0
# Unit tests of the executor of PTX: an executable for each room.
set(executor_tests ${CMAKE_CURRENT_LIST_DIR})

find_path(GMT_ZSTD_INCLUDE zstd.h REQUIRED)
add_library(ptx_fixtures STATIC ${executor_tests}/support/ptx_fixtures.cpp)
target_compile_definitions(ptx_fixtures PRIVATE GMT_PTX_FIXTURES="${PROJECT_SOURCE_DIR}/tests/executor/ptx")
target_include_directories(ptx_fixtures PUBLIC ${PROJECT_SOURCE_DIR})
target_link_libraries(ptx_fixtures PUBLIC gmt_warnings gmt_sanitize zstd)

# Each form of an opcode as a kernel, and its results as a device gave them. A program for a GPU has them, which runs
# where no zstd is installed.
find_library(GMT_ZSTD_STATIC libzstd.a)
mark_as_advanced(GMT_ZSTD_STATIC)
file(GLOB opcode_forms CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/executor/forms/*.cpp
  ${PROJECT_SOURCE_DIR}/tests/executor/forms/lists/*.cpp)
add_library(opcode_forms STATIC ${opcode_forms})
target_include_directories(opcode_forms PUBLIC ${PROJECT_SOURCE_DIR})
target_compile_features(opcode_forms PUBLIC cxx_std_20)
target_link_libraries(opcode_forms PRIVATE gmt_warnings PUBLIC gmt_sanitize
  $<IF:$<BOOL:${GMT_ZSTD_STATIC}>,${GMT_ZSTD_STATIC},zstd>)
file(GLOB forms_model CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/executor/forms/model/*.cpp)
add_library(opcode_forms_model STATIC ${forms_model})
target_compile_options(opcode_forms_model PRIVATE $<$<CONFIG:Release>:-O2>)
target_link_libraries(opcode_forms_model PRIVATE gmt_warnings PUBLIC opcode_forms)

# gmt_executor_tests(<executable> <library> <folder>...): the tests of some folders.
function(gmt_executor_tests name library)
  list(TRANSFORM ARGN REPLACE "(.+)" "${executor_tests}/\\1/*_test.cpp" OUTPUT_VARIABLE patterns)
  file(GLOB sources CONFIGURE_DEPENDS ${patterns})
  add_executable(${name} ${sources})
  target_link_libraries(${name} PRIVATE ${library} ptx_fixtures GTest::gtest_main gmt_warnings gmt_sanitize)
  if(GPUMEMTRACE_SANITIZE)
    add_test(NAME ${name} COMMAND ${name} --gtest_brief=1)
    set_tests_properties(${name} PROPERTIES LABELS unit TIMEOUT 600)
  else()
    gtest_discover_tests(${name} PROPERTIES LABELS unit TIMEOUT 120)
  endif()
endfunction()

gmt_executor_tests(unit_ptx_parse ptx_parse parse flow)
gmt_executor_tests(unit_executor executor program machine workers)

gmt_executor_tests(unit_opcode_forms executor forms)
set(stride 1)
if(GPUMEMTRACE_SANITIZE)
  set(stride 8) # all of them would take four minutes under the address sanitizer
endif()
target_compile_definitions(unit_opcode_forms PRIVATE GMT_STRIDE=${stride}
  GMT_RECORDED_FORMS="${PROJECT_SOURCE_DIR}/tests/executor/forms/h200.forms")
target_link_libraries(unit_opcode_forms PRIVATE opcode_forms_model)
