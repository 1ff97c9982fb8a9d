#include <fmt/format.h>
#include <fmt/ranges.h>

#include "host/cascades/fits/frontier.hpp"

namespace pandora {

Columns frontier_rows(const Frontier& frontier, const TraceTable& test) {
  Columns out;
  const auto add = [&](const char* kind, const FrontierPoint& point) {
    for (std::size_t row = 0; row < test.rows(); ++row) {
      std::vector<std::string> called;
      for (std::size_t m = 0; m < test.models.size(); ++m)
        if ((point.called[row] >> m & 1) != 0) called.push_back(test.models[m]);
      out.add({{"kind", kind},
               {"price", fmt::format("{:g}", point.price)},
               {"prompt", std::string(test.prompts[row])},
               {"called", fmt::format("{}", fmt::join(called, "|"))},
               {"quality", fmt::format("{}", point.routed.quality[row])},
               {"usd", fmt::format("{}", point.routed.dollars[row])}});
    }
  };
  for (const FrontierPoint& point : frontier.cascades) add("cascade", point);
  for (const FrontierPoint& point : frontier.singles) add("single", point);
  return out;
}

}  // namespace pandora
