#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "host/studies/run/find_lane.hpp"
#include "host/studies/sweep/prepare_replication.hpp"

namespace pandora {
namespace {

using nlohmann::json;

template <class Numbers>
json numbers(const Numbers& from, std::size_t first, std::size_t count) {
  json out = json::array();
  for (std::size_t k = first; k < first + count; ++k) out.push_back(static_cast<double>(from[k]));
  return out;
}

std::vector<std::string> names_of_boxes(const Unit& unit, std::size_t boxes) {
  if (const TraceKeys* keys = trace_keys(unit.environment); keys != nullptr)
    return TraceWorld::of(*keys, unit.environment.name)->models();
  std::vector<std::string> out;
  for (std::size_t a = 1; a <= boxes; ++a) out.push_back(fmt::format("box{}", a));
  return out;
}

std::string line_of(const Replication& replication, std::size_t row, const std::vector<std::string>& boxes) {
  const Tape& tape = replication.tape;
  const std::size_t A = boxes.size(), d = static_cast<std::size_t>(tape.contexts.reward_features),
                    online = static_cast<std::size_t>(tape.online_row(0));
  json line = {
      {"prompt_id", row == 0       ? "initial"
                    : row < online ? fmt::format("calibration {}", row)
                                   : fmt::format("online {}", row - online + 1)},
      {"part", row < online ? "calibration" : "online"},
      {"x", numbers(tape.contexts.psi, row * static_cast<std::size_t>(tape.contexts.index_stride) + 1,
                    static_cast<std::size_t>(tape.contexts.index_size) - 1)},
      {"phi", numbers(tape.phi, row * A * d, A * d)},
      {"feedback", numbers(tape.reward, row * A, A)},
      // before the online rows a drawer need not give any
      {"index", row < online ? numbers(std::vector<double>(A), 0, A) : numbers(replication.sigma, row * A, A)}};
  json& models = line["models"] = json::object();
  for (std::size_t a = 0; a < A; ++a) {
    const double mu = tape.mu[row * A + a], cost = tape.cost[row * A + a];
    if (!(mu >= 0.0 && mu <= 1.0 && cost >= 0.0 && std::isfinite(cost)))
      throw Error(ExitCode::usage,
                  fmt::format("{}: mu* = {} and cost {} of {} cannot stand in a table, which takes qualities from 0 to "
                              "1 and costs from 0 on",
                              line["prompt_id"].get<std::string>(), mu, cost, boxes[a]));
    models[boxes[a]] = {{"quality", mu}, {"cost", cost}};
  }
  return line.dump() + "\n";
}

}  // namespace

ExportedTrace export_trace(const PlannedSetting& planned, const Unit& unit, const std::string& name,
                           const std::string& path) {
  const Replication replication = prepare_replication(planned.setting.study, planned.plan, unit, nullptr);
  const std::vector<std::string> boxes = names_of_boxes(unit, static_cast<std::size_t>(replication.tape.boxes()));
  ExportedTrace out;
  for (std::size_t row = 0; row < static_cast<std::size_t>(replication.tape.contexts.rows); ++row)
    out.jsonl += line_of(replication, row, boxes);
  StudyValue table, models;
  table.texts = {path};
  models.kind = StudyValue::Kind::texts;
  models.texts = boxes;
  out.toml = fmt::format(
      "[environment.{}]\ntable = {}\npart = \"part\"\nmodels = {}\ncontext = [\"raw:x\"]\nevaluator = \"column:phi\"\n"
      "feedback = \"column:feedback\"\nindex = \"index\"\nprice = 1\nresample = \"in_order\"\nregime = \"{}\"\nstream "
      "= "
      "{}\n",
      name, table.toml(), models.toml(), regime_name(unit.regime), static_cast<int>(unit.environment.id));
  return out;
}

}  // namespace pandora
