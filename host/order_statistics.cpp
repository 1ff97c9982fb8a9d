#include "host/order_statistics.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include "kernels/walk.hpp"

namespace pandora {

OrderStatistics order_statistics(const Instance& instance, const ShockSample& sample, int contexts,
                                 const OracleOptions& options) {
  const Contexts drawn = draw_contexts(instance, {{Purpose::order_context, 0, static_cast<std::uint32_t>(contexts)}});
  const std::vector<double> sigma = oracle_indices(instance, sample, drawn, options);
  const int A = drawn.boxes;
  std::map<std::vector<int>, int> counts;
  std::vector<int> order(static_cast<std::size_t>(A));
  for (int row = 0; row < drawn.rows; ++row) {
    sort_boxes(A, sigma.data() + static_cast<std::size_t>(row) * A, order.data());
    ++counts[order];
  }
  const auto [least, greatest] = std::minmax_element(counts.begin(), counts.end(),
                                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return {static_cast<double>(counts.size()), static_cast<double>(greatest->second) / contexts,
          static_cast<double>(least->second) / contexts};
}

}  // namespace pandora
