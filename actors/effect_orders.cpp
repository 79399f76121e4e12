#include "actors/effect_orders.hpp"

#include "actors/attempt_inputs.hpp"

#include <utility>

namespace stagecall {
namespace {

class Sorter {
 public:
  Sorter(const OrderContext& context, EffectOrders& orders) : context_(context), orders_(orders) {}

  void operator()(const LaunchEffect& launch) {
    orders_.launches.launches.push_back(
        {attempt_key(context_, launch.node, launch.attempt, launch.nonce), spec(launch.node),
         context_.term, context_.trusted_until, inputs(launch.node)});
  }
  void operator()(const CancelEffect& cancel) {
    CustodyItem item = custody(cancel, context_.state.node(cancel.node).custodian);
    Cancel order{item.key, cancel.reason, item.node->grace};
    orders_.cancels.cancels.emplace_back(std::move(item), std::move(order));
  }
  void operator()(const QueryEffect& query) {
    orders_.queries.queries.push_back(custody(query, query.custodian));
  }
  void operator()(const AcknowledgeEffect& ended) {
    orders_.acknowledged.items.push_back(custody(ended, context_.state.node(ended.node).custodian));
  }

 private:
  /// Shares the definition's life.
  std::shared_ptr<const NodeSpec> spec(NodeIndex node) const {
    return {context_.state.shared_definition(), &context_.state.spec(node)};
  }

  std::shared_ptr<const AttemptInputs> inputs(NodeIndex node) const {
    return context_.outputs == nullptr
               ? nullptr
               : inputs_of(context_.run, node, context_.state.shared_definition(),
                           context_.outputs);
  }

  template <class AttemptEffect>
  CustodyItem custody(const AttemptEffect& effect, std::uint32_t holder) const {
    const auto& holders = context_.state.holders();
    return {attempt_key(context_, effect.node, effect.attempt, effect.nonce),
            holders.empty() ? ReplicaIdentity{} : holders.at(holder), spec(effect.node)};
  }

  const OrderContext& context_;
  EffectOrders& orders_;
};

}  // namespace

EffectOrders orders_of(std::span<const Effect> effects, const OrderContext& context) {
  EffectOrders orders;
  for (const Effect& effect : effects) {
    std::visit(Sorter{context, orders}, effect);
  }
  return orders;
}

AttemptKey attempt_key(const OrderContext& context, NodeIndex node, Attempt attempt, Nonce nonce) {
  return {context.run, context.state.spec(node).id, attempt, nonce};
}

}  // namespace stagecall
