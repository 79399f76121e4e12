// Every bound and default of the engine in one place, with its range.
#pragma once

#include "stagecall/time.hpp"

#include <cstddef>
#include <cstdint>

namespace stagecall {

struct Limits {
  // Pipeline files (the file format's contract).
  std::size_t id_bytes_max = 255;
  std::size_t nodes_max = 1'000'000;
  std::size_t depth_max = 64;
  std::size_t problems_max = 20;
  std::size_t problem_value_bytes_max = 80;
  std::size_t pipeline_bytes_max = std::size_t{1} << 30;
  // A run.
  Duration tick{5'000};                     // 50 ms … 1 h
  Duration cancel_confirm{2'000};           // waited for the word of an executor after a KILL
  Duration news_wait{100};                  // an attempt that began to run is recorded by then
  std::uint32_t slots_max = 100'000;        // of one engine
  std::uint32_t task_threads_max = 10'000;  // of one engine
  std::size_t nodes_listed_max = 100;       // running nodes that a status names
  std::size_t culprits_listed_max = 20;     // nodes that an explanation names
  // The store's path.
  std::size_t batch_writes_max = 512;  // run writes in one transaction
  Duration busy_timeout{30'000};       // waited for another process's transaction
  Duration store_retry{1'000};         // between two tries of an append that failed
  std::size_t inbox_read_max = 1'000;  // rows taken by one pass
  std::size_t output_bytes_max = std::size_t{64} << 10;  // JSON that an attempt leaves
  std::size_t ended_runs_max = 10'000;  // that a subscription remembers to have told to their end
  std::size_t inputs_bytes_max = std::size_t{16} << 20;  // of all dependencies of a node together
  std::size_t prune_runs_max = 100;                      // removed in one transaction
  // Leases.
  Duration lease_ttl{15'000};             // 1 s … 10 min
  std::size_t lease_keys_max = 128;       // of one script call, so that others get their turn
  std::size_t lease_undo_max = 100'000;   // remembered of one server; what is above ends by itself
  Duration lock_retry{50};                // at the most, between two tries of who waits for a lock
  std::size_t lock_connections_max = 16;  // kept by a lock service for its next calls
  Duration lease_number_kept{30LL * 24 * 3'600'000};  // by Redis, after it was drawn
  // Seeing inside.
  std::size_t trace_ring_events = 8'192;                     // of one thread, not taken yet
  Duration trace_flush{100};                                 // from an event to its sink
  Duration trace_end{2'000};                                 // what a sink gets for the last events
  std::uint64_t trace_bytes_max = std::uint64_t{256} << 20;  // of one file
  std::size_t trace_error_bytes_max = 200;                   // of an attempt's error text
  std::size_t actors_listed_max = 10'000;  // runs' actors that an inspection names
  Duration inspect_wait{500};              // for the answers of actors
  std::size_t control_clients_max = 16;    // at once
  Duration control_wait{2'000};            // for a client to ask, and to read
  Duration holder_wait{150};               // for the holder of a run to tell of it
  // Processes.
  std::size_t output_head_bytes = std::size_t{1} << 20;  // of a command's log, kept from its start
  std::size_t output_tail_bytes = std::size_t{1} << 20;  // and from its end
};

inline constexpr Limits kLimits{};

}  // namespace stagecall
