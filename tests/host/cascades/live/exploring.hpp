// Cascades that explore, of the models of TraceLaw.
#pragma once

#include "pandora/cascade.hpp"
#include "tests/host/outcomes/tables/made_up_traces.hpp"

namespace pandora::test {

inline CascadeOptions in_order(std::vector<std::size_t> order, std::vector<double> thresholds, double explore) {
  CascadeOptions out;
  out.models = {"small", "medium", "large"};
  out.price = 1.0;
  out.evaluator = "score";
  out.order = std::move(order);
  out.thresholds = std::move(thresholds);
  out.explore = explore;
  return out;
}

inline CascadeOptions exploring_learner(double explore) {
  CascadeOptions out = in_order({}, {}, explore);
  out.rules = shrunk_rules(true, 0.2);
  out.index_features = 2;
  return out;
}

}  // namespace pandora::test
