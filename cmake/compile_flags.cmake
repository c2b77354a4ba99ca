# Flags for every source of the project. Numeric flags are part of a device's fingerprint: every target of a build
# has the same ones, and kernels/cpu adds REMORA_KERNEL_FLAGS and those of a SIMD level to them.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_RUNTIME_OUTPUT_DIRECTORY)
  set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
endif()
if(REMORA_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

# Assertions stay on in release builds; -g1 gives stack traces with lines at a fraction of -g's size.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g1")
set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g")
set(CMAKE_CXX_FLAGS_SANITIZE "-O1 -g1 -fno-omit-frame-pointer")

set(REMORA_NUMERIC_FLAGS -ffp-contract=off)
set(REMORA_KERNEL_FLAGS -fno-math-errno -fno-trapping-math)
# The levels of kernels/cpu/simd_levels.def.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
  set(REMORA_SIMD_LEVELS avx2 avx512)
  set(REMORA_KERNEL_FLAGS_avx2 -march=x86-64-v3)
  set(REMORA_KERNEL_FLAGS_avx512 -march=x86-64-v4)
else()
  set(REMORA_SIMD_LEVELS native)
endif()
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  list(APPEND REMORA_KERNEL_FLAGS -O3)
endif()

add_compile_options(-pthread ${REMORA_NUMERIC_FLAGS} -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual
  -Wextra-semi -Wimplicit-fallthrough -fvisibility-inlines-hidden)
# False alarms of GCC 12, all in inlined code of std::string and absl::InlinedVector; clang's build keeps the first.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options(-Wno-uninitialized -Wno-maybe-uninitialized -Wno-array-bounds -Wno-restrict
    -Wno-stringop-overflow -Wno-stringop-overread)
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # The expressions shared with CUDA C and GLSL join booleans with | and & so that loops stay free of branches.
  add_compile_options(-Wno-bitwise-instead-of-logical)
endif()
if(BUILD_SHARED_LIBS)
  add_compile_options(-fPIC)  # of all, as precompiled headers are shared
endif()
if(REMORA_WERROR)
  add_compile_options(-Werror)
endif()

if(REMORA_SANITIZE STREQUAL "address")
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=all)
  add_link_options(-fsanitize=address,undefined)
elseif(REMORA_SANITIZE STREQUAL "thread")
  # GCC warns that it does not model atomic_thread_fence; the fences are Abseil's and libstdc++'s.
  add_compile_options(-fsanitize=thread)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-Wno-tsan)
  endif()
  add_link_options(-fsanitize=thread)
elseif(REMORA_SANITIZE STREQUAL "fuzzer")
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "REMORA_SANITIZE=fuzzer: only clang has libFuzzer; the compiler is ${CMAKE_CXX_COMPILER_ID}")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all)
  add_link_options(-fsanitize=address,undefined)
elseif(REMORA_SANITIZE)
  message(FATAL_ERROR "REMORA_SANITIZE is '${REMORA_SANITIZE}'; it must be empty, address, thread or fuzzer")
endif()

if(REMORA_TOP_LEVEL)
  find_program(REMORA_CCACHE ccache)
  if(REMORA_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    # The sloppiness is what ccache asks for before it trusts a compilation with a precompiled header; the other two let
    # clones in different folders share results.
    set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros
      CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${REMORA_CCACHE})
  endif()
  include(CheckLinkerFlag)
  check_linker_flag(CXX -fuse-ld=mold REMORA_HAVE_MOLD)
  if(REMORA_HAVE_MOLD)
    add_link_options(-fuse-ld=mold)
  endif()
endif()
add_link_options(-Wl,--gc-sections -Wl,--as-needed)
add_compile_options(-ffunction-sections)
