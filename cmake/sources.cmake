# remora_sources(VARIABLE folder...): the .cpp files directly in each folder of the current one ("." is itself).
# A new file is picked up by the next build; no list is edited.
function(remora_sources variable)
  set(patterns)
  foreach(folder IN LISTS ARGN)
    cmake_path(ABSOLUTE_PATH folder NORMALIZE)
    cmake_path(APPEND folder "*.cpp")
    list(APPEND patterns ${folder})
  endforeach()
  file(GLOB files CONFIGURE_DEPENDS ${patterns})
  set(${variable} ${files} PARENT_SCOPE)
endfunction()

# remora_component(NAME SOURCES file... DEPENDS target...): one folder of the library as an OBJECT library. While a
# folder has no sources yet, it is an INTERFACE library with the same use. OWN_FLAGS: the caller sets flags of its own,
# so the shared precompiled headers do not fit.
function(remora_component name)
  cmake_parse_arguments(arg "OWN_FLAGS" "" "SOURCES;DEPENDS;PRIVATE_DEPENDS" ${ARGN})
  if(arg_SOURCES)
    add_library(${name} OBJECT ${arg_SOURCES})
    if(NOT arg_OWN_FLAGS)
      remora_precompile(${name} remora_pch)
    endif()
    target_link_libraries(${name} PUBLIC ${arg_DEPENDS} PRIVATE ${arg_PRIVATE_DEPENDS})
    set_property(GLOBAL APPEND PROPERTY REMORA_OBJECTS $<TARGET_OBJECTS:${name}>)
  else()
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE ${arg_DEPENDS})
  endif()
endfunction()
