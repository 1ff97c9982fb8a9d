// Explanations in words, and as JSON.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "host/studies/run/find_lane.hpp"

namespace pandora {
namespace {

using nlohmann::json;

// A number in a column of this width.
std::string column(double value, int width) {
  return fmt::format("  {:>{}}", std::isnan(value) ? "---" : fmt::format("{:.4f}", value), width);
}

std::string boxes_text(const Explanation& e, const ExplainedPeriod& p) {
  const bool learned = !e.prediction_name.empty(), scored = !e.score_name.empty() && e.score_name != "sigma*";
  std::string out = "  box";
  if (learned) out += fmt::format("  {:>9}  {:>7}  {:>8}", e.prediction_name, "width", "bonus");
  if (scored) out += fmt::format("  {:>8}", e.score_name);
  if (e.models.empty()) out += "  oracle's sigma*  expected cost  context cost  scale s(x)";
  if (e.models.empty() && !p.reward_shift) out += "  reward shift";
  out += "\n";
  for (const ExplainedBox& b : p.boxes) {
    out += fmt::format("  {:>3}", b.box);
    if (learned) out += column(b.prediction, 9) + column(b.width, 7) + column(b.bonus, 8);
    if (scored) out += b.score >= kForcedScore ? fmt::format("  {:>8}", "forced") : column(b.score, 8);
    if (e.models.empty())
      out += column(b.sigma, 15) + column(b.expected_cost.value_or(std::nan("")), 13) + column(b.context_cost, 12) +
             column(b.scale, 10) + (p.reward_shift ? "" : column(b.reward_shift, 12));
    out += b.there ? "\n" : "  (is not there)\n";
  }
  return out;
}

// What the words above mean.
std::string legend(const Explanation& e) {
  std::string out;
  if (!e.prediction_name.empty()) {
    const std::string sum = e.prediction_name + " + bonus";
    out += fmt::format("{}: {}, by which boxes are ranked; bonus: the width times a factor of the policy\n",
                       e.score_name, e.linked ? fmt::format("tanh({})", sum) : sum);
  }
  if (!e.models.empty()) return out + "the benchmark knows the best answer beforehand; mu* is the quality\n";
  return out +
         "oracle's sigma*: E[(mu* - sigma*)^+] = expected cost, which is E[c_a(x, omega)] = context cost + what the "
         "output costs\n"
         "scale s(x): what the shock of the box's output is multiplied with; reward shift: theta_*' Q x, what the "
         "request adds to theta_*' phi\n";
}

std::string walk_text(const std::string& who, const ExplainedWalk& walk, bool estimates) {
  std::string out;
  for (std::size_t k = 0; k < walk.queries.size(); ++k) {
    const ExplainedQuery& q = walk.queries[k];
    out += fmt::format("  {} {} box {}: pays {:.4f}, its output is worth mu* = {:.4f}{}\n", who,
                       k == 0 ? "queries" : "then queries", q.box, q.cost, q.mu,
                       estimates && q.known ? fmt::format(", estimated at {:.4f}", q.estimate) : "");
  }
  return out + fmt::format("  {} stops: {}; deploys box {}: utility {:.4f}\n", who, walk.stopped, walk.deployed,
                           walk.utility);
}

json known_or_null(const std::optional<double>& value) {
  return value ? json(*value) : json();
}

json walk_json(const ExplainedWalk& walk) {
  json queries = json::array();
  for (const ExplainedQuery& q : walk.queries) {
    json query = {{"box", q.box}, {"mu", q.mu}, {"cost", q.cost}};
    if (q.known) query["estimate"] = q.estimate;
    queries.push_back(std::move(query));
  }
  return {{"queries", std::move(queries)},
          {"deployed", walk.deployed},
          {"stopped", walk.stopped},
          {"utility", walk.utility}};
}

}  // namespace

std::string explanation_text(const Explanation& e) {
  std::string out = fmt::format("lane {}, boxes counted from 1\n", e.lane);
  for (std::size_t a = 0; a < e.models.size(); ++a) out += fmt::format("box {} is {}\n", a + 1, printable(e.models[a]));
  const char* const oracle = e.models.empty() ? "the oracle" : "the benchmark";
  for (const ExplainedPeriod& p : e.periods) {
    double squares = 0.0;
    for (const float x : p.psi) squares += static_cast<double>(x) * x;
    out += fmt::format("\nperiod {}: {} with {} index features of length {:.4f}{}\n", p.period,
                       p.prompt.empty() ? "request" : "prompt " + p.prompt, p.psi.size(), std::sqrt(squares),
                       e.models.empty() && p.reward_shift ? fmt::format(", reward shift {:.4f}", *p.reward_shift) : "");
    out += boxes_text(e, p);
    out += walk_text("the policy", p.own, !e.knows_reward);
    out += fmt::format("  the realised reward is {:g}\n", p.reward);
    out += walk_text(oracle, p.oracle, false);
    out += fmt::format("  regret of the period {:.4f}, so far {:.4f}\n", p.regret, p.regret_so_far);
  }
  return out + "\n" + legend(e);
}

json explanation_json(const Explanation& e) {
  json periods = json::array();
  for (const ExplainedPeriod& p : e.periods) {
    json boxes = json::array();
    for (const ExplainedBox& b : p.boxes) {
      json box = {{"box", b.box},
                  {"sigma", b.sigma},
                  {"scale", b.scale},
                  {"context_cost", b.context_cost},
                  {"reward_shift", b.reward_shift},
                  {"expected_cost", known_or_null(b.expected_cost)}};
      if (!e.score_name.empty()) box["score"] = b.score;
      if (!e.prediction_name.empty())
        box.update({{"prediction", b.prediction}, {"width", b.width}, {"bonus", b.bonus}});
      if (!b.there) box["there"] = false;
      boxes.push_back(std::move(box));
    }
    periods.push_back({{"period", p.period},
                       {"prompt", p.prompt},
                       {"psi", p.psi},
                       {"reward_shift", known_or_null(p.reward_shift)},
                       {"boxes", std::move(boxes)},
                       {"policy", walk_json(p.own)},
                       {"oracle", walk_json(p.oracle)},
                       {"reward", p.reward},
                       {"regret", p.regret},
                       {"regret_so_far", p.regret_so_far}});
  }
  return {{"lane", e.lane},
          {"models", e.models},
          {"score", e.score_name},
          {"reward_known", e.knows_reward},
          {"periods", std::move(periods)}};
}

}  // namespace pandora
