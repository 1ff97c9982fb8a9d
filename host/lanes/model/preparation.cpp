#include "host/lanes/model/preparation.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "kernels/rules/period.hpp"

namespace pandora {

OrderFrequencies count_orders(const std::vector<double>& sigma, int A) {
  const std::size_t boxes = static_cast<std::size_t>(A), contexts = sigma.size() / boxes;
  std::map<std::vector<int>, int> counts;
  std::vector<int> order(boxes);
  for (std::size_t row = 0; row < contexts; ++row) {
    for (std::size_t a = 0; a < boxes; ++a)
      if (!is_finite(sigma[row * boxes + a]))
        throw IndexNotFinite("the oracle's index of box " + std::to_string(a + 1) + " in context " +
                             std::to_string(row + 1) + " of Table 3 is not finite");
    sort_boxes(A, sigma.data() + row * boxes, order.data());
    ++counts[order];
  }
  const auto [least, greatest] = std::minmax_element(counts.begin(), counts.end(),
                                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  const double n = static_cast<double>(contexts);
  return {static_cast<double>(counts.size()), greatest->second / n, least->second / n};
}

OrderFrequencies order_frequencies(const Instance& instance, const ShockSample& sample, int contexts,
                                   const OracleOptions& options) {
  const Contexts drawn = draw_contexts(instance, {{Purpose::order_context, 0, static_cast<std::uint32_t>(contexts)}});
  return count_orders(oracle_indices(instance, sample, drawn, options), drawn.boxes);
}

}  // namespace pandora
