// The shapes of --json: a contract that scripts build on.
#pragma once

#include "actors/run_reader.hpp"
#include "cli/verify.hpp"
#include "executors/process_executor.hpp"
#include "stagecall/error.hpp"
#include "stagecall/run.hpp"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace stagecall::cli {

/// {"error":{"code","message","problems"?,"cycle"?}}
nlohmann::ordered_json error_json(const Error& error);

/// [{"pointer"|"byte","value","message"}], of problems and of warnings
nlohmann::ordered_json problems_json(const std::vector<Problem>& problems);

/// The run object of run, status and the requests.
nlohmann::ordered_json run_json(const RunReport& report);

/// {"run","nodes":[{"node","state","reason","text","until"?,"culprits"?}]}
nlohmann::ordered_json explanations_json(const RunId& run,
                                         const std::vector<NodeExplanation>& explanations);

/// {"pipeline","nodes","edges","depth"}
nlohmann::ordered_json definition_json(const Definition& definition);

/// {"run","node","attempt","head","tail","bytes_left_out"}
nlohmann::ordered_json log_json(const AttemptKey& key, const CommandLog& log);

/// {"runs","events","violations":[{"run","seq","rule","text"}],"leftovers"?}
nlohmann::ordered_json verification_json(const Verification& verification);

/// RFC 3339, UTC, milliseconds.
std::string time_text(WallTime time);

}  // namespace stagecall::cli
