// A summary of two rows, for tests of printed tables.
#pragma once

#include <string>
#include <vector>

#include "host/studies/results/summary.hpp"

namespace pandora::test {

inline std::vector<std::string> lines_of(const std::string& text) {
  return split(text, '\n');
}

inline Summary two_rows() {
  Summary summary;
  SummaryRow row;
  row.regime = "A";
  row.environment = "uniform";
  row.T0 = 50;
  row.policy = "dow";
  row.reward = "unknown";
  row.hyperparameter = "c_rho=0.1;c_theta=1";
  row.lane_name = "50/dow/unknown/c_rho=0.1;c_theta=1";
  row.replications = 12;
  row.periods = 30000;
  row.regret = {7.5, 0.25, 0.125};
  row.realised_regret = {7.25, 0.5, 0.25};
  row.quality = {600.0, 2.0, 1.0};
  row.realised_quality = {601.0, 3.0, 1.5};
  row.cost = {90.0, 1.0, 0.5};
  row.queries = {1.625, 0.125, 0.0625};
  row.parts[0] = {4.0, 0.4, 0.2};
  row.parts[1] = {2.0, 0.2, 0.1};
  row.parts[2] = {1.0, 0.1, 0.05};
  row.parts[3] = {0.5, 0.05, 0.025};
  row.gaps[0] = {0.3, 0.03, 0.015};
  row.gaps[1] = estimate({});  // nothing is known
  row.best = true;
  row.published = PublishedValue{7.66, 0.3};
  row.inside_joint_95 = true;
  summary.rows.push_back(row);
  row.best = false;
  row.hyperparameter = "c_rho=1;c_theta=1";
  row.published.reset();
  row.inside_joint_95.reset();
  summary.rows.push_back(row);
  summary.oracle.push_back(
      {"A", "uniform", 0.23, {522.5, 12.5, 6.25}, {1.6875, 0.0625, 0.03125}, published_oracle("A", "uniform")});
  summary.order.push_back(
      {"uniform", "A", {1.0, 0.0, 0.0}, {1.0, 0.0, 0.0}, {1.0, 0.0, 0.0}, published_order("A", "uniform")});
  return summary;
}

}  // namespace pandora::test
