// What the executors of the command line can run. A host program may have others.
#pragma once

#include "core/definition.hpp"
#include "stagecall/ids.hpp"
#include "stagecall/time.hpp"

#include <set>

namespace stagecall::cli {

/// Nodes that need an executor, and that none of the command line's can run.
std::set<NodeIndex> nodes_without_executor(const Definition& definition, const Clock& clock);

}  // namespace stagecall::cli
