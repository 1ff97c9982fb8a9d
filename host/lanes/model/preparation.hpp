// How a replication is made ready for its lanes, on whatever machine.
#pragma once

#include <functional>

#include "host/lanes/model/order_frequencies.hpp"
#include "pandora/environment.hpp"

namespace pandora {

/// What a replication is prepared from.
struct Preparation {
  ReplicationRequest request;
  bool tape = true;        ///< draw tape and indices; without, there is the instance alone
  int order_contexts = 0;  ///< contexts in which the oracle's orders are counted, where that is asked for
};

/// Draws instance, tape and the oracle's indices; counts the oracle's orders into `order` unless it is null. Throws
/// IndexNotFinite and Error.
using ReplicationPreparer = std::function<Replication(const Preparation& from, OrderFrequencies* order)>;

}  // namespace pandora
