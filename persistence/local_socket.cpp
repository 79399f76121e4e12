#include "persistence/local_socket.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

namespace stagecall {
namespace {

tl::unexpected<Error> refuse(const std::string& tried, const std::filesystem::path& on, int code) {
  return fail(ErrorCode::store_unavailable,
              "cannot " + tried + " " + on.string() + ": " + std::strerror(code));
}

}  // namespace

std::optional<sockaddr_un> local_address(const UniqueFd& folder, const std::string& name) {
  const std::string path = "/proc/self/fd/" + std::to_string(folder.get()) + "/" + name;
  sockaddr_un address{};
  if (name.empty() || name.front() == '.' || name.find('/') != std::string::npos ||
      path.size() >= sizeof address.sun_path) {
    return std::nullopt;
  }
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, path.size());
  return address;
}

UniqueFd open_socket_folder(const std::filesystem::path& path) {
  return UniqueFd{::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
}

Result<UniqueFd> make_socket_folder(const std::filesystem::path& path) {
  for (const auto& made : {path.parent_path(), path}) {
    if (::mkdir(made.c_str(), 0700) != 0 && errno != EEXIST) {
      return refuse("create folder", made, errno);
    }
  }
  UniqueFd folder = open_socket_folder(path);
  if (!folder) {
    return cannot_open_socket(path, errno);
  }
  return folder;
}

tl::unexpected<Error> cannot_open_socket(const std::filesystem::path& folder, int code) {
  return refuse("open a socket in", folder, code);
}

}  // namespace stagecall
