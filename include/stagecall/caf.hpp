// The engine as an actor of the host's own actor_system: typed messages in, recorded events out.
// The only public header that shows CAF (0.17).
#pragma once

#include "stagecall/engine.hpp"

#include <caf/actor.hpp>
#include <caf/actor_system.hpp>
#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/replies_to.hpp>
#include <caf/typed_actor.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace stagecall::host {

/// As Engine::start_or_join.
struct Start {
  Pipeline pipeline;       ///< what to start
  StartOptions options{};  ///< how
};
/// As Engine::stop.
struct Stop {
  RunId run;  ///< which
};
/// As Engine::node_done.
struct NodeDone {
  RunId run;                  ///< whose node
  std::string node;           ///< its id
  std::uint32_t attempt = 0;  ///< 0 = the current one
  Outcome outcome{};          ///< succeeded or failed
  NodeDoneOptions options{};  ///< what else is to be said
};
/// As Engine::status.
struct StatusOf {
  RunId run;  ///< which
};
/// As Engine::subscribe: from now on the subscriber is sent a RunEvent for each recorded event. The
/// subscription ends with the subscriber, or with the engine's actor.
struct Subscribe {
  EventFilter filter{};   ///< of which runs
  caf::actor subscriber;  ///< who is sent them
};
/// The subscription is in force.
struct Subscribed {};

/// What the engine says, errors included. A request is answered with a caf::error only if the
/// engine's actor has ended.
template <class T>
struct Answer {
  Result<T> result;  ///< the value, or the engine's Error
};

/// All messages stay within the process. Answers come in the order in which they are ready.
using EngineActor = caf::typed_actor<caf::replies_to<Start>::with<Answer<StartedRun>>,
                                     caf::replies_to<Stop>::with<Answer<bool>>,
                                     caf::replies_to<NodeDone>::with<Answer<bool>>,
                                     caf::replies_to<StatusOf>::with<Answer<RunStatus>>,
                                     caf::replies_to<Subscribe>::with<Answer<Subscribed>>>;

/// Puts an engine behind an actor of the system. The actor never blocks one of the scheduler's
/// threads while it works; it shares the engine with whoever else has it. It ends by an exit
/// message or with its last handle; if it is the last to have the engine, that closes then, which
/// may take as long as ~Engine. As for every actor of CAF, the system's end waits for it: send it
/// an exit message or drop its last handle before. Not null.
EngineActor spawn_engine(caf::actor_system& system, std::shared_ptr<Engine> engine);

/// Opens an engine for the actor alone.
Result<EngineActor> spawn_engine(caf::actor_system& system, EngineOptions options);

}  // namespace stagecall::host

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(stagecall::host::Start)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(stagecall::host::Stop)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(stagecall::host::NodeDone)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(stagecall::host::StatusOf)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(stagecall::host::Subscribe)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(stagecall::host::Answer<stagecall::StartedRun>)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(stagecall::host::Answer<bool>)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(stagecall::host::Answer<stagecall::RunStatus>)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(stagecall::host::Answer<stagecall::host::Subscribed>)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(stagecall::RunEvent)
