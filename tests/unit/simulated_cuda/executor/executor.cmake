# SPDX-License-Identifier: Apache-2.0
# Unit tests of the executor of PTX: an executable for each room.

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
gmt_unity_of_tests(opcode_forms)
gmt_unity_of_tests(opcode_forms_model)
target_compile_options(opcode_forms_model PRIVATE $<$<CONFIG:Release>:-O2>)
target_link_libraries(opcode_forms_model PRIVATE gmt_warnings PUBLIC opcode_forms)

set(executor_tests simulated_cuda/executor)
if(GPUMEMTRACE_UNIT_TESTS)
  gmt_ptx_tests(unit_executor executor ${executor_tests}/program ${executor_tests}/machine ${executor_tests}/workers)
  target_precompile_headers(unit_executor PRIVATE ${CMAKE_CURRENT_LIST_DIR}/support/kernel_runner.h)
  # The thread sanitizer sees something only where kernels have several workers.
  if(GPUMEMTRACE_SANITIZE MATCHES thread AND NOT GPUMEMTRACE_LONG_TESTS)
    get_target_property(sources unit_executor SOURCES)
    set(threaded "")
    foreach(source IN LISTS sources)
      file(STRINGS ${source} workers REGEX "workers_ = |global_race_runner\\.h|worker_kernel\\.h" LIMIT_COUNT 1)
      if(workers)
        list(APPEND threaded ${source})
      endif()
    endforeach()
    set_target_properties(unit_executor PROPERTIES SOURCES "${threaded}")
  endif()
endif()

gmt_ptx_tests(unit_opcode_forms executor ${executor_tests}/forms)
target_sources(unit_opcode_forms PRIVATE ${executor_tests}/forms/chosen_level.cpp)
set(stride 1)
if(GPUMEMTRACE_SANITIZE AND NOT GPUMEMTRACE_LONG_TESTS)
  set(stride 32) # all of them would take four minutes under the address sanitizer, which does not see the handlers
endif()
target_compile_definitions(unit_opcode_forms PRIVATE GMT_STRIDE=${stride}
  GMT_RECORDED_FORMS="${PROJECT_SOURCE_DIR}/tests/executor/forms/h200.forms"
  GMT_RECORDED_VIDEO_FORMS="${PROJECT_SOURCE_DIR}/tests/executor/forms/h100_video.forms"
  GMT_RECORDED_MATRICES="${PROJECT_SOURCE_DIR}/tests/executor/matrices/")
target_link_libraries(unit_opcode_forms PRIVATE opcode_forms_model)
