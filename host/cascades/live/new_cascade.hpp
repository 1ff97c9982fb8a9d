// A cascade that has learned nothing yet, from what a user says.
#pragma once

#include <string>
#include <vector>

#include "pandora/cascade.hpp"

namespace pandora {

struct NewCascade {
  std::vector<std::string> models;
  double price = 0.0;
  std::string evaluator = {};  ///< must be said; with another one than quality that is learned from the feedback
  std::string policy = "shrunk_weitzman";  ///< or "dow"
  double width = 0.2;                      ///< c_shrunk or c_rho
  /// c_shrunk_theta or c_theta, where the quality is learned. With 0 the first model that was deployed may be the only
  /// one that anything is learned of (docs/beyond.md, "On tables of real outcomes").
  double reward_width = 1.0;
  std::string features;    ///< JSON; empty: requests come with psi
  int index_features = 1;  ///< m, then
  RefitSchedule refit = {};
  double forget = 0.0;
  int most_samples = live_estimation().most_samples;
};

/// Throws Error (usage) where no evaluator is said and for a policy that is none; Cascade's constructor checks all
/// else.
CascadeOptions new_cascade(const NewCascade& settings);

/// Of an object as the file of a cascade has it (docs/serving.md), without what no option says: version, removed, state and
/// digest. Beside kind, models, price and evaluator what is left out is as CascadeOptions has it. Throws Error (usage)
/// for a member that is unknown or of another form; Cascade's constructor checks all else.
CascadeOptions cascade_options(const std::string& json);

}  // namespace pandora
