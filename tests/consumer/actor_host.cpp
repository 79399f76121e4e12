// A host made of actors, built against an installed Stagecall and the CAF of the system.
#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/scoped_actor.hpp>
#include <stagecall/caf.hpp>

#include <cstdio>
#include <string>

int main() {
  caf::actor_system_config config;
  caf::actor_system system{config};
  std::string state = "no answer";
  {
    auto engine = stagecall::host::spawn_engine(system, {.store = ":memory:"});
    if (!engine) {
      std::fprintf(stderr, "%s\n", engine.error().message.c_str());
      return 1;
    }
    stagecall::Pipeline pipeline{"consumer"};
    pipeline.external("outside");
    const caf::scoped_actor self{system};
    stagecall::RunId run;
    self->request(*engine, caf::infinite, stagecall::host::Start{pipeline, {}})
        .receive(
            [&](stagecall::host::Answer<stagecall::StartedRun>& answer) {
              run = answer.result.value().run;
            },
            [&](const caf::error&) {});
    self->request(*engine, caf::infinite, stagecall::host::StatusOf{run})
        .receive(
            [&](const stagecall::host::Answer<stagecall::RunStatus>& answer) {
              state =
                  run.text() + " " + (is_terminal(answer.result.value().state) ? "ended" : "lives");
            },
            [&](const caf::error&) {});
  }
  std::printf("%s\n", state.c_str());
  return 0;
}
