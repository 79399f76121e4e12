// The store in memory: the same contract without a file, for a host that need not survive its
// process, and for simulation. Ends with its process.
#pragma once

#include "persistence/store.hpp"

#include <memory>
#include <string>

namespace stagecall {

/// What several connections share, as several connections to one file do.
struct MemoryStoreContent;

std::shared_ptr<MemoryStoreContent> make_memory_store_content(
    std::string lease_authority = "memory");

/// One more connection. Each belongs to one thread at a time; several may work at once. The content
/// lives as long as one of them does, or its maker keeps it.
std::unique_ptr<Store> open_memory_store(std::shared_ptr<MemoryStoreContent> content);

}  // namespace stagecall
