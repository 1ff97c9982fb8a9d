#include "host/report/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "pandora/error.hpp"

namespace pandora {
namespace {

Verdict verdict_on(const Setting& setting, const std::vector<Panel>& panels) {
  Verdict out;
  out.setting = setting.label();
  out.replications = setting.study.replications;
  out.least = std::numeric_limits<std::size_t>::max();
  out.costs = true;
  for (const Panel& panel : panels) {
    out.least = std::min(out.least, panel.n());
    out.costs = out.costs && !panel.costs[0].empty();
    std::vector<JudgedNumber> numbers = judge(panel, published_panel(panel));
    std::move(numbers.begin(), numbers.end(), std::back_inserter(out.numbers));
  }
  // Of fewer replications than kLeastForComparison a half-width is a guess, and so is what is inside.
  if (!out.numbers.empty() && out.least >= static_cast<std::size_t>(kLeastForComparison)) {
    out.rows = row_verdicts(out.numbers);
    out.counts = count_verdicts(panels, out.numbers);
  }
  out.findings = paper_findings(panels);
  out.prices = prices_of_unknown(panels);
  return out;
}

}  // namespace

std::vector<Verdict> verdicts(StoredResults& results) {
  std::vector<Panel> panels = paper_panels(results);
  std::vector<Verdict> out;
  for (std::size_t s = 0; s < results.settings().size(); ++s) {
    std::vector<Panel> own;
    for (Panel& panel : panels)
      if (panel.setting == s) own.push_back(std::move(panel));
    if (!own.empty()) out.push_back(verdict_on(results.settings()[s].setting, own));
  }
  if (out.empty())
    throw Error(
        ExitCode::usage,
        fmt::format("{}: has no replication of the paper's environments (uniform, gaussian, student_t5 with their "
                    "own options) in which the oracle and all rows were run to their end; `pandora reproduce` "
                    "runs them",
                    results.path()));
  return out;
}

const std::vector<std::string>& verdict_parts() {
  static const std::vector<std::string> parts = {"numbers", "rows", "counts", "findings", "prices"};
  return parts;
}

}  // namespace pandora
