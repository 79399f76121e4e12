// Random numbers from the kernel, for identities and nonces. The core is given them.
#pragma once

#include <cstdint>
#include <string>

namespace stagecall {

std::uint64_t random_number();

/// 32 hexadecimal digits.
std::string random_id();

}  // namespace stagecall
