// Explanations in words, and as JSON.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "host/run/explain.hpp"

namespace pandora {
namespace {

using nlohmann::json;

std::string boxes_text(const Explanation& e, const ExplainedPeriod& p) {
  const bool scored = !e.score_name.empty() && e.score_name != "sigma*";
  std::string out = fmt::format("  box  {}oracle's sigma*  scale s(x)  context cost\n",
                                scored ? fmt::format("{:>9}  {:>7}  ", e.score_name, "width") : "");
  for (const ExplainedBox& b : p.boxes) {
    const std::string score = b.score >= kForcedScore ? "forced" : fmt::format("{:.4f}", b.score);
    out += fmt::format("  {:>3}  {}{:>15.4f}  {:>10.4f}  {:>12.4f}\n", b.box,
                       scored ? fmt::format("{:>9}  {:>7.4f}  ", score, b.width) : "", b.sigma, b.scale, b.mean_cost);
  }
  return out;
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
  for (const ExplainedPeriod& p : e.periods) {
    double squares = 0.0;
    for (const float x : p.psi) squares += static_cast<double>(x) * x;
    out += fmt::format("\nperiod {}: request with {} index features of length {:.4f}, reward shift {:.4f}\n", p.period,
                       p.psi.size(), std::sqrt(squares), p.reward_shift);
    out += boxes_text(e, p);
    out += walk_text("the policy", p.own, !e.knows_reward);
    out += fmt::format("  the realised reward is {}\n", p.reward);
    out += walk_text("the oracle", p.oracle, false);
    out += fmt::format("  regret of the period {:.4f}, so far {:.4f}\n", p.regret, p.regret_so_far);
  }
  return out;
}

json explanation_json(const Explanation& e) {
  json periods = json::array();
  for (const ExplainedPeriod& p : e.periods) {
    json boxes = json::array();
    for (const ExplainedBox& b : p.boxes) {
      json box = {{"box", b.box}, {"sigma", b.sigma}, {"scale", b.scale}, {"context_cost", b.mean_cost}};
      if (!e.score_name.empty()) {
        box["score"] = b.score;
        box["width"] = b.width;
      }
      boxes.push_back(std::move(box));
    }
    periods.push_back({{"period", p.period},
                       {"psi", p.psi},
                       {"reward_shift", p.reward_shift},
                       {"boxes", std::move(boxes)},
                       {"policy", walk_json(p.own)},
                       {"oracle", walk_json(p.oracle)},
                       {"reward", p.reward},
                       {"regret", p.regret},
                       {"regret_so_far", p.regret_so_far}});
  }
  return {{"lane", e.lane}, {"score", e.score_name}, {"reward_known", e.knows_reward}, {"periods", std::move(periods)}};
}

}  // namespace pandora
