# Finds the C++ Actor Framework, which ships no CMake files in Debian 12.
#   CAF::core    the actor library
#   CAF_VERSION  of the headers found
# CAF_ROOT names another installation (tools/tsan builds an instrumented one).
find_path(CAF_INCLUDE_DIR caf/actor_system.hpp)
find_library(CAF_CORE_LIBRARY caf_core)

if(CAF_INCLUDE_DIR AND EXISTS "${CAF_INCLUDE_DIR}/caf/config.hpp")
  file(STRINGS "${CAF_INCLUDE_DIR}/caf/config.hpp" _line REGEX "#define CAF_VERSION [0-9]+")
  string(REGEX REPLACE ".*CAF_VERSION ([0-9]+).*" "\\1" _number "${_line}")
  math(EXPR _major "${_number} / 10000")
  math(EXPR _minor "(${_number} / 100) % 100")
  math(EXPR _patch "${_number} % 100")
  set(CAF_VERSION "${_major}.${_minor}.${_patch}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  CAF REQUIRED_VARS CAF_CORE_LIBRARY CAF_INCLUDE_DIR VERSION_VAR CAF_VERSION)

if(CAF_FOUND AND NOT TARGET CAF::core)
  find_package(Threads REQUIRED)
  add_library(CAF::core SHARED IMPORTED)
  set_target_properties(
    CAF::core PROPERTIES IMPORTED_LOCATION "${CAF_CORE_LIBRARY}"
                         INTERFACE_INCLUDE_DIRECTORIES "${CAF_INCLUDE_DIR}"
                         INTERFACE_LINK_LIBRARIES Threads::Threads)
endif()
mark_as_advanced(CAF_INCLUDE_DIR CAF_CORE_LIBRARY)
