#include "executors/run_files.hpp"

#include "executors/attempt_path.hpp"

#include <filesystem>
#include <system_error>

namespace stagecall {

Result<void> remove_run_files(const std::string& folder, const RunId& run) {
  const std::string path = run_folder(folder, run);
  std::error_code error;
  std::filesystem::remove_all(path, error);
  if (error) {
    return fail(ErrorCode::executor_unavailable, "cannot remove the files of " + run.text() +
                                                     " in " + path + ": " + error.message() +
                                                     "; they may be removed by hand");
  }
  return {};
}

}  // namespace stagecall
