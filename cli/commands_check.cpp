// validate and verify: is the input right, was everything done right.
#include "cli/commands.hpp"
#include "cli/run_json.hpp"

namespace stagecall::cli {
namespace {

/// One run, or every run of the store.
Result<Verification> verify_what_is_named(const Session& session) {
  if (!session.arguments.names_run) {
    const auto store = open_store(session);
    return store ? verify_store(**store) : tl::unexpected<Error>{store.error()};
  }
  const auto found = open_run(session);
  if (!found) {
    return tl::unexpected<Error>{found.error()};
  }
  Verification verification;
  verify_run(*found->store, found->row.run, verification);
  return verification;
}

}  // namespace

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
  const auto verification = verify_what_is_named(session);
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
