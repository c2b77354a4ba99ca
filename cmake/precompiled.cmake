# Precompiled headers halve the time of most files: half of it went into reading Abseil and the standard library. No
# header of ours is in them, and the clang preset and clang-tidy do without, so a missing include is still found.

set(REMORA_PRECOMPILED
  <algorithm> <array> <atomic> <chrono> <cmath> <cstdint> <functional> <map> <memory> <optional> <span> <sstream>
  <string> <string_view> <thread> <utility> <variant> <vector>
  <absl/container/flat_hash_map.h> <absl/container/inlined_vector.h> <absl/status/statusor.h>
  <absl/synchronization/mutex.h> <absl/time/time.h>)

# remora_precompiled(NAME header...): a target whose precompiled headers others share through remora_precompile. It is
# compiled with the flags of the current folder; those of whoever shares it must be the same.
function(remora_precompiled name)
  if(REMORA_PCH)
    set(source ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp)
    file(GENERATE OUTPUT ${source} CONTENT "")
    add_library(${name} OBJECT ${source})
    target_precompile_headers(${name} PRIVATE ${ARGN})
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      target_compile_options(${name} PRIVATE -fpch-preprocess)
    endif()
  endif()
endfunction()

function(remora_precompile target precompiled)
  if(REMORA_PCH)
    target_precompile_headers(${target} REUSE_FROM ${precompiled})
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      target_compile_options(${target} PRIVATE -fpch-preprocess)
    endif()
  endif()
endfunction()

remora_precompiled(remora_pch ${REMORA_PRECOMPILED})
