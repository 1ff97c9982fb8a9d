// Replications of boxes with finite laws that are known to us and not to the policies: the game of Liu et al. (arXiv
// 2505.18828), without contexts.
#pragma once

#include "host/lanes/model/trace_keys.hpp"
#include "pandora/environment.hpp"

namespace pandora {

/// Like prepare_replication, for an environment with laws_of(). Every opening of every box in every period draws its
/// value afresh, and the value is mu*. The benchmark's index is that of the law, (eq:sigma).
Replication draw_from_laws(const ReplicationRequest& request);

}  // namespace pandora
