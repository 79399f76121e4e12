#include "actors/settings.hpp"

#include "actors/replica.hpp"
#include "persistence/nudge.hpp"
#include "platform/process.hpp"
#include "platform/random.hpp"

namespace stagecall {

SharedSettings make_settings(const ReplicaOptions& options, const Clock& clock) {
  const ProcessIdentity& process = this_process();
  const std::string folder = store_folder(options.store_path);
  return std::make_shared<ReplicaSettings>(ReplicaSettings{
      .self = {.replica = options.replica.empty() ? process.host + "-" + std::to_string(process.pid)
                                                  : options.replica,
               .incarnation = random_id(),
               .process = process},
      .clock = &clock,
      .tick = options.tick,
      .lease_ttl = options.lease_ttl,
      .slots = options.slots,
      .adopts_all = options.adopts_all,
      .random = random_number,
      .nudge = [folder](const std::string& incarnation, const std::string& text) {
        send_nudge(folder, incarnation, text);
      }});
}

}  // namespace stagecall
