# Turns .lua files into headers at configure time, so that a binary needs no files beside it.

# stagecall_embed_lua(STEM FILES…): for each file name_of_it.lua two constants in namespace
# stagecall::STEM: kNameOfIt, its text, and kNameOfItSha1, by which a server knows it once loaded.
# Included as "lua/STEM.hpp".
function(stagecall_embed_lua stem)
  set(text "// Made from Lua scripts.\n#pragma once\n\n#include <string_view>\n\n")
  string(APPEND text "namespace stagecall::${stem} {\n")
  foreach(file IN LISTS ARGN)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
    file(READ "${file}" body)
    string(SHA1 sha1 "${body}")
    get_filename_component(words "${file}" NAME_WE)
    string(REPLACE "_" ";" words "${words}")
    set(name "k")
    foreach(word IN LISTS words)
      string(SUBSTRING "${word}" 0 1 initial)
      string(SUBSTRING "${word}" 1 -1 rest)
      string(TOUPPER "${initial}" initial)
      string(APPEND name "${initial}${rest}")
    endforeach()
    string(APPEND text "inline constexpr std::string_view ${name} = R\"lua(${body})lua\";\n")
    string(APPEND text "inline constexpr std::string_view ${name}Sha1 = \"${sha1}\";\n")
  endforeach()
  string(APPEND text "}  // namespace stagecall::${stem}\n")
  file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/generated/lua/${stem}.hpp" CONTENT "${text}" @ONLY)
endfunction()
