// The form of a lease server's address. It may hold a password: never show one whole.
#pragma once

#include <string>
#include <string_view>

namespace stagecall::cli {

/// `redis://[user:password@]host:port[/db]`, or the same with `rediss://`.
bool is_lease_url(std::string_view url);

/// The address without user and password.
std::string without_password(std::string_view url);

}  // namespace stagecall::cli
