// Sockets of the processes of one store, by name in a private folder beside it.
#pragma once

#include "platform/unique_fd.hpp"
#include "stagecall/error.hpp"

#include <sys/socket.h>
#include <sys/un.h>

#include <filesystem>
#include <optional>
#include <string>

namespace stagecall {

/// Socket addresses hold 107 bytes; a store may lie deeper. Through its descriptor the folder has a
/// short name. None: the name is no plain file name or too long even so.
std::optional<sockaddr_un> local_address(const UniqueFd& folder, const std::string& name);

inline const sockaddr* generic(const sockaddr_un& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

/// Invalid where there is none.
UniqueFd open_socket_folder(const std::filesystem::path& path);

/// The same, made with the folder above it, both for their owner alone.
Result<UniqueFd> make_socket_folder(const std::filesystem::path& path);

tl::unexpected<Error> cannot_open_socket(const std::filesystem::path& folder, int code);

}  // namespace stagecall
