// What the stores of all kinds read back, from bytes to values. store_damaged names the row.
#pragma once

#include "persistence/store.hpp"
#include "stagecall/error.hpp"

#include <string>
#include <vector>

namespace stagecall {

/// `store` is its name in error texts.
Result<std::vector<StoredPass>> decode_passes(const std::vector<RawPass>& rows, const RunId& run,
                                              const std::string& store);

Result<InboxRow> decode_inbox_row(std::int64_t id, const std::string& message, const RunId& run,
                                  const std::string& store);

}  // namespace stagecall
