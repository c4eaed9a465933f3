# SPDX-License-Identifier: Apache-2.0
# The interface targets that everything else links: warnings, the trace folder, and what comes from outside.

add_library(gmt_warnings INTERFACE)
target_compile_options(gmt_warnings INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic;-Wshadow;-Wconversion>)
# Clang takes the names of a batch's other sources for ones of an outer scope. GCC's -Wshadow, which does not, stays.
target_compile_options(gmt_warnings INTERFACE
  $<$<AND:$<COMPILE_LANG_AND_ID:CXX,Clang>,$<BOOL:$<TARGET_PROPERTY:UNITY_BUILD>>>:-Wno-shadow>)
# GCC 12 warns of overlapping copies inside its own std::string (GCC bug 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(gmt_warnings INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)
endif()
if(GPUMEMTRACE_WERROR)
  target_compile_options(gmt_warnings INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Werror>)
endif()

# Sanitizers never go into what is loaded into somebody else's process.
add_library(gmt_sanitize INTERFACE)
if(GPUMEMTRACE_SANITIZE)
  target_compile_options(gmt_sanitize INTERFACE -fsanitize=${GPUMEMTRACE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(gmt_sanitize INTERFACE -fsanitize=${GPUMEMTRACE_SANITIZE})
  if(GPUMEMTRACE_SANITIZE MATCHES undefined AND CMAKE_CXX_COMPILER_ID MATCHES Clang)
    set(unchecked ${PROJECT_SOURCE_DIR}/cmake/unchecked-headers.txt)
    target_compile_options(gmt_sanitize INTERFACE -fsanitize-ignorelist=${unchecked})
  endif()
endif()
# libFuzzer follows the code that it reaches: the code under test counts it. The counters' runtime is the address sanitizer's.
add_library(gmt_fuzzed INTERFACE)
if(GPUMEMTRACE_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES Clang OR NOT GPUMEMTRACE_SANITIZE MATCHES address)
    message(FATAL_ERROR "GPUMEMTRACE_FUZZ needs clang and GPUMEMTRACE_SANITIZE=address,undefined")
  endif()
  # Not fuzzer-no-link: it calls a function at each comparison, which the tests of this build would pay for.
  target_compile_options(gmt_fuzzed INTERFACE -fsanitize-coverage=inline-8bit-counters,pc-table)
endif()

add_library(gmt_trace INTERFACE)
target_include_directories(gmt_trace INTERFACE ${PROJECT_SOURCE_DIR})

if(GPUMEMTRACE_BUILD_ANALYZER)
  find_package(fmt REQUIRED)
  find_package(nlohmann_json REQUIRED)
  if(GPUMEMTRACE_STATIC_COMMAND AND NOT GPUMEMTRACE_SANITIZE)
    set(Boost_USE_STATIC_LIBS ON)
  endif()
  find_package(Boost REQUIRED COMPONENTS program_options)

  # elfutils, and what unpacks device code. libdw static needs its own dependencies named.
  find_path(GMT_LIBDW_INCLUDE elfutils/libdw.h REQUIRED)
  add_library(gmt_libdw INTERFACE)
  target_include_directories(gmt_libdw SYSTEM INTERFACE ${GMT_LIBDW_INCLUDE})
  if(GPUMEMTRACE_STATIC_COMMAND AND NOT GPUMEMTRACE_SANITIZE)
    foreach(archive IN ITEMS dw elf lzma bz2 zstd lz4 z) # by path: CMake wraps bare names in -Bstatic ... -Bdynamic
      find_library(GMT_ARCHIVE_${archive} lib${archive}.a REQUIRED)
      target_link_libraries(gmt_libdw INTERFACE ${GMT_ARCHIVE_${archive}})
    endforeach()
  else()
    target_link_libraries(gmt_libdw INTERFACE dw elf zstd lz4 z)
  endif()

  find_path(GMT_SQLITE_INCLUDE sqlite3.h REQUIRED)
  add_library(gmt_sqlite INTERFACE)
  target_include_directories(gmt_sqlite SYSTEM INTERFACE ${GMT_SQLITE_INCLUDE})
  if(GPUMEMTRACE_STATIC_COMMAND AND NOT GPUMEMTRACE_SANITIZE)
    find_library(GMT_ARCHIVE_sqlite libsqlite3.a REQUIRED)
    target_link_libraries(gmt_sqlite INTERFACE ${GMT_ARCHIVE_sqlite} m)
  else()
    target_link_libraries(gmt_sqlite INTERFACE sqlite3)
  endif()
endif()

find_path(GMT_CUDA_INCLUDE_DIR cudaTypedefs.h PATHS /usr/local/cuda/include ENV CUDA_HOME PATH_SUFFIXES include)
if(GMT_CUDA_INCLUDE_DIR)
  add_library(gmt_cuda_headers INTERFACE)
  target_include_directories(gmt_cuda_headers SYSTEM INTERFACE ${GMT_CUDA_INCLUDE_DIR})
elseif(GPUMEMTRACE_BUILD_INTERPOSER)
  message(FATAL_ERROR "CUDA's headers were not found: set GMT_CUDA_INCLUDE_DIR to the toolkit's include folder")
endif()

# gmt_programs(<target> <binaries...>): builds programs that custom commands link. Those with a static runtime are part of
# the default build where there is a GPU, and of the samples; scripts/gpu-pack asks for gpu_programs.
set(all_with_gpu "")
if(EXISTS /dev/nvidiactl OR EXISTS /dev/dxg)
  set(all_with_gpu ALL)
endif()
add_custom_target(gpu_programs ${all_with_gpu})
function(gmt_programs target)
  set(static ${ARGN})
  list(FILTER static INCLUDE REGEX "[-_]static$")
  list(FILTER ARGN EXCLUDE REGEX "[-_]static$")
  add_custom_target(${target} ALL DEPENDS ${ARGN})
  if(target STREQUAL "samples")
    add_custom_target(${target}_static ALL DEPENDS ${static})
  else()
    add_custom_target(${target}_static DEPENDS ${static})
  endif()
  add_dependencies(gpu_programs ${target}_static)
endfunction()

# gmt_unity(<target> <sources at once>): reading the headers costs more than the sources themselves. Where each source is
# compiled by itself, those of the standard library are precompiled. Both hide a missing include, which scripts/lint finds
# in files that have changed.
function(gmt_unity target batch)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${GPUMEMTRACE_UNITY} UNITY_BUILD_BATCH_SIZE ${batch})
  if(NOT GPUMEMTRACE_UNITY)
    target_precompile_headers(${target} PRIVATE <algorithm> <array> <cstdint> <filesystem> <functional> <map> <memory>
      <optional> <set> <span> <sstream> <string> <string_view> <tuple> <unordered_map> <utility> <vector>)
  endif()
endfunction()
