// A host that is made of actors: it talks to the engine by typed messages, and an actor of its own
// is told what happens.
#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/event_based_actor.hpp>
#include <stagecall/caf.hpp>
#include <stagecall/stagecall.hpp>

#include <cstdio>
#include <string>

namespace {

namespace host = stagecall::host;

// [actor]
caf::behavior starter(caf::event_based_actor* self, const host::EngineActor& engine,
                      const stagecall::Pipeline& pipeline) {
  self->request(engine, caf::infinite, host::Subscribe{{.pipeline = "greeting"}, self})
      .then([=](const host::Answer<host::Subscribed>&) {
        self->request(engine, caf::infinite, host::Start{pipeline, {}})
            .then([](const host::Answer<stagecall::StartedRun>& started) {
              std::printf("started %s\n", started.result.value().run.text().c_str());
            });
      });
  return {
      [=](const stagecall::RunEvent& event) {
        std::printf("%s %s\n", std::string{event.kind}.c_str(), event.node.c_str());
        if (event.kind == "run_ended") {
          self->quit();
        }
      },
  };
}
// [actor]

}  // namespace

int main() {
  caf::actor_system_config config;
  caf::actor_system system{config};
  const auto engine = host::spawn_engine(system, {.store = ":memory:"}).value();

  stagecall::Pipeline greeting{"greeting"};
  greeting.command("hello", {"echo", "hello"});
  greeting.task("rest", "sleep").params(R"({"seconds": 0.01})").after({"hello"});
  system.spawn(starter, engine, greeting);
  system.await_actors_before_shutdown(true);
  return 0;
}
