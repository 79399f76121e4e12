// validate and verify: is the input right, was everything done right.
#include "cli/commands.hpp"
#include "cli/run_json.hpp"

namespace stagecall::cli {

Result<ExitCode> validate(const Session& session) {
  const auto definition = read_file(session);
  if (!definition) {
    return tl::unexpected<Error>{definition.error()};
  }
  const Json value = definition_json(**definition);
  if (session.output.is_json()) {
    session.output.value(value);
  } else {
    session.output.line(escaped((*definition)->spec().name) + ": " + value["nodes"].dump() +
                        " nodes, " + value["edges"].dump() + " edges, depth " +
                        value["depth"].dump());
  }
  return ExitCode::done;
}

Result<ExitCode> verify(const Session& session) {
  const auto store = open_store(session);
  if (!store) {
    return tl::unexpected<Error>{store.error()};
  }
  Result<Verification> verification;
  if (session.arguments.run.empty()) {
    verification = verify_store(**store);
  } else {
    const auto row = find_run(**store, session.arguments.run);
    if (!row) {
      return tl::unexpected<Error>{row.error()};
    }
    verify_run(**store, row->run, *verification);
  }
  if (!verification) {
    return tl::unexpected<Error>{verification.error()};
  }
  if (session.output.is_json()) {
    session.output.value(verification_json(*verification));
  } else {
    for (const RunViolation& found : verification->violations) {
      session.output.line(escaped(found.run.text()) + " pass " +
                          std::to_string(found.violation.seq.value) + ": " + found.violation.rule +
                          ": " + escaped(found.violation.text));
    }
    session.output.line(std::to_string(verification->runs) + " runs, " +
                        std::to_string(verification->events) + " events, " +
                        std::to_string(verification->violations.size()) + " violations");
  }
  return verification->violations.empty() ? ExitCode::done : ExitCode::failed;
}

}  // namespace stagecall::cli
