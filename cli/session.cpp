#include "cli/session.hpp"

#include "cli/run_json.hpp"
#include "cli/run_text.hpp"
#include "formats/pipeline_file.hpp"
#include "platform/unique_fd.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

namespace stagecall::cli {
namespace {

tl::unexpected<Error> cannot_read(const std::string& path, const std::string& cause) {
  return fail(ErrorCode::invalid_argument, "cannot read " + path + ": " + cause);
}

bool is_same_content(const struct stat& before, const struct stat& after) {
  return before.st_size == after.st_size && before.st_mtim.tv_sec == after.st_mtim.tv_sec &&
         before.st_mtim.tv_nsec == after.st_mtim.tv_nsec;
}

/// All of the file, as it was at one moment.
Result<std::string> file_content(const std::string& path) {
  const UniqueFd file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  struct stat before {};
  if (!file || ::fstat(file.get(), &before) != 0) {
    return cannot_read(path, std::strerror(errno));
  }
  std::string content;
  std::array<char, std::size_t{64} << 10> chunk;
  while (content.size() <= kLimits.pipeline_bytes_max) {
    const auto size = ::read(file.get(), chunk.data(), chunk.size());
    if (size < 0 && errno != EINTR) {
      return cannot_read(path, std::strerror(errno));
    }
    if (size == 0) {
      break;
    }
    content.append(chunk.data(), size < 0 ? 0 : static_cast<std::size_t>(size));
  }
  struct stat after {};
  if (S_ISREG(before.st_mode) &&
      (::fstat(file.get(), &after) != 0 || !is_same_content(before, after))) {
    return cannot_read(path, "it is being written; try again when it is whole");
  }
  return content;
}

}  // namespace

Result<std::shared_ptr<const Definition>> read_file(const Session& session) {
  const std::string& path = session.arguments.file;
  if (path.empty()) {
    return fail(ErrorCode::invalid_argument, "FILE is missing: which pipeline?");
  }
  const auto content = file_content(path);
  if (!content) {
    return tl::unexpected<Error>{content.error()};
  }
  auto definition = read_pipeline(*content, {.stem = std::filesystem::path{path}.stem().string(),
                                             .speedup = session.options.speedup});
  if (!definition) {
    definition.error().message = path + ": " + definition.error().message;
  }
  return definition;
}

Result<std::unique_ptr<Store>> open_store(const Session& session) {
  return open_sqlite_store(
      {.path = session.options.store, .durability = session.options.durability, .create = false});
}

Result<FoundRun> open_run(const Session& session) {
  auto store = open_store(session);
  if (!store) {
    return tl::unexpected<Error>{std::move(store).error()};
  }
  auto row = find_run(**store, session.arguments.run);
  if (!row) {
    return tl::unexpected<Error>{std::move(row).error()};
  }
  return FoundRun{*std::move(store), *std::move(row)};
}

Result<Reply> write_one(Store& store, Write write) {
  auto replies = store.write({std::move(write)});
  if (!replies) {
    return tl::unexpected<Error>{std::move(replies).error()};
  }
  return std::move(replies->front());
}

void show_run(const Session& session, Store& store, const RunRow& row, const Json& extra) {
  show_report(session, report_run(store, row, session.clock.wall()), extra);
}

void show_report(const Session& session, const RunReport& report, const Json& extra) {
  if (session.output.is_json()) {
    Json value = run_json(report);
    value.update(extra);
    session.output.value(value);
  } else {
    write_run(session.output, report);
  }
}

}  // namespace stagecall::cli
