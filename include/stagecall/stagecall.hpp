// Everything a host needs, the actors aside: those who have an actor_system of their own include
// stagecall/caf.hpp as well.
#pragma once

#include "stagecall/engine.hpp"
#include "stagecall/error.hpp"
#include "stagecall/executor.hpp"
#include "stagecall/ids.hpp"
#include "stagecall/locks.hpp"
#include "stagecall/pipeline.hpp"
#include "stagecall/run.hpp"
#include "stagecall/task.hpp"
#include "stagecall/time.hpp"
#include "stagecall/trace.hpp"
