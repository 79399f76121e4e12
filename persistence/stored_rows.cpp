#include "persistence/stored_rows.hpp"

#include "persistence/codec.hpp"

#include <utility>

namespace stagecall {
namespace {

tl::unexpected<Error> unreadable(const std::string& row, const RunId& run, const std::string& store,
                                 const Error& cause) {
  return fail(ErrorCode::store_damaged, "cannot read " + row + " of run " + run.text() + " in " +
                                            store + ": " + cause.message);
}

}  // namespace

Result<std::vector<StoredPass>> decode_passes(const std::vector<RawPass>& rows, const RunId& run,
                                              const std::string& store) {
  std::vector<StoredPass> passes;
  passes.reserve(rows.size());
  for (const RawPass& row : rows) {
    auto events = decode_events(row.events);
    if (!events) {
      return unreadable("pass " + std::to_string(row.seq.value), run, store, events.error());
    }
    passes.push_back({{row.seq, row.term, row.at, std::move(*events)}, row.checksum});
  }
  return passes;
}

Result<InboxRow> decode_inbox_row(std::int64_t id, const std::string& message, const RunId& run,
                                  const std::string& store) {
  auto decoded = decode_message(message);
  if (!decoded) {
    return unreadable("inbox row " + std::to_string(id), run, store, decoded.error());
  }
  return InboxRow{id, std::move(*decoded)};
}

}  // namespace stagecall
