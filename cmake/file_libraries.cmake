# The libraries that some formats of files need. Each is used where it is found, and named where it is not: a file of
# that format is then refused. The installed package runs this too, for programs that link the static library.

# kopse_find_library(TARGET HEADER NAMES… [SUFFIXES…]): makes the imported target, if header and library are there.
function(kopse_find_library target header)
  cmake_parse_arguments(arg "" "" "NAMES;SUFFIXES" ${ARGN})
  find_path(${target}_include ${header} PATH_SUFFIXES ${arg_SUFFIXES})
  find_library(${target}_library NAMES ${arg_NAMES})
  mark_as_advanced(${target}_include ${target}_library)
  if(${target}_include AND ${target}_library AND NOT TARGET kopse::${target})
    add_library(kopse::${target} UNKNOWN IMPORTED)
    set_target_properties(kopse::${target} PROPERTIES IMPORTED_LOCATION ${${target}_library}
      INTERFACE_INCLUDE_DIRECTORIES ${${target}_include})
  endif()
endfunction()

function(kopse_find_file_libraries)
  foreach(name IN LISTS ARGN)
    if(name STREQUAL zlib)
      kopse_find_library(zlib zlib.h NAMES z zlib)
    elseif(name STREQUAL zstd)
      kopse_find_library(zstd zstd.h NAMES zstd)
    elseif(name STREQUAL hdf5)
      kopse_find_library(hdf5 hdf5.h NAMES hdf5_serial hdf5 SUFFIXES hdf5/serial)
    endif()
  endforeach()
endfunction()
