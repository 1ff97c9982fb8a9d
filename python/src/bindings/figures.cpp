// The figures of a report as data.
#include <nlohmann/json.hpp>

#include "beside.hpp"
#include "bindings.hpp"
#include "host/ground/figures/figure.hpp"
#include "host/report/report.hpp"
#include "results.hpp"

namespace pandora::python {
namespace {

std::string figures_of(Results& results, std::optional<int> T0, bool differences,
                       const std::vector<std::string>& policies) {
  const std::vector<FigureGroup> groups = beside([&](Beside&) {
    const std::lock_guard lock(results.mutex());
    StoredResults& stored = results.stored();
    const std::vector<SettingSummary> settings = stored.summaries();
    const ReportOptions options{.T0 = T0, .policies = policies};
    const auto pairs = differences ? compared_pairs(stored, settings, options) : std::vector<ComparedPair>();
    return report_figures(stored, settings, pairs, options);
  });
  nlohmann::json out = nlohmann::json::array();
  for (const FigureGroup& group : groups)
    for (const Figure& figure : group.figures) {
      out.push_back(figure_json(figure, true));
      out.back()["heading"] = group.heading;
    }
  return out.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

void bind_figures(nb::module_& module) {
  module.def("figures", &figures_of, nb::arg("results"), nb::arg("T0").none(), nb::arg("differences"),
             nb::arg("policies"),
             "The figures of a report, with or without the paired differences: JSON of what they show and under which "
             "heading.");
}

}  // namespace pandora::python
