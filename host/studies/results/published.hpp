// The paper's Tables 1 to 3, embedded at build time from experiments/published/.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace pandora {

struct PublishedValue {
  double value = 0.0;
  double half_width_95 = 0.0;  ///< 1.96 standard errors; 0.005 (rounding) where the paper gives none
};

struct PublishedOracle {
  double u = 0.0;
  PublishedValue utility_x1000, boxes_queried;
};

struct PublishedOrder {
  PublishedValue permutations, max_mass, min_mass;
};

/// Regret x 1000 of a policy in a cell. static_plugin is matched in its unknown-reward form, LinUCB by name alone.
std::optional<PublishedValue> published_regret(const std::string& regime, const std::string& environment, int T0,
                                               const std::string& policy, const std::string& reward);
std::optional<PublishedOracle> published_oracle(const std::string& regime, const std::string& environment);
std::optional<PublishedOrder> published_order(const std::string& regime, const std::string& environment);

/// |a - b| <= sqrt(ha^2 + hb^2): whether two independent means agree at the joint 95% level.
bool inside_joint_95(double a, double half_width_a, const PublishedValue& b);

/// Rows of a comma-separated text without quoting, the header dropped.
std::vector<std::vector<std::string>> csv_rows(const std::string& text);

}  // namespace pandora
