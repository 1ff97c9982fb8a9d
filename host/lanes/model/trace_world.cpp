#include "host/lanes/model/trace_world.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <numeric>
#include <span>

#include "host/ground/base/option.hpp"
#include "host/ground/base/printable.hpp"
#include "host/ground/files/sealed_file.hpp"
#include "host/lanes/model/trace_keys.hpp"
#include "host/lanes/model/wider_actions.hpp"
#include "host/outcomes/tables/read_trace.hpp"
#include "kernels/tape/instance.hpp"
#include "pandora/error.hpp"

namespace pandora {
namespace {

std::mutex worlds_mutex;
std::function<void(const std::string&, std::uint64_t, std::uint64_t)> progress_of_reading;

// The keys on which the reading of tables depends, as one text.
std::string keys_of_reading(const TraceKeys& keys) {
  std::string out = fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}\n", keys.table, keys.online, keys.split, keys.part,
                                keys.evaluator, keys.drop_missing, keys.digest);
  out += keys.drift + "\n";
  for (const std::string& model : keys.models) out += model + "\n";
  for (const auto& [mark, texts] :
       {std::pair{"\t", &keys.context}, {"\r", &keys.ranges}, {"$", &keys.prices}, {"#", &keys.prompt_key}})
    for (const std::string& text : *texts) out += mark + text + "\n";
  out += fmt::format("{}{}{}", keys.free_calls, keys.repeats, keys.quality);
  return out;
}

TraceTable read(const std::string& path, const TraceKeys& keys) {
  TraceOptions options;
  options.missing = keys.drop_missing ? MissingCells::drop : MissingCells::refuse;
  options.models = keys.models;
  if (!keys.quality.starts_with("score")) options.scores = scores_wanted(keys.evaluator);
  for (const std::string& text : keys.ranges) options.scale.push_back(*range_of(text));
  for (const std::string& text : keys.prices) {
    const StatedRange price = *range_of(text);
    options.prices[price.name] = {price.low, price.high};
  }
  options.free_calls = keys.free_calls;
  options.repeats = keys.repeats;
  options.quality = keys.quality;
  options.prompt_key = keys.prompt_key;
  if (progress_of_reading)
    options.progress = [&](std::uint64_t done, std::uint64_t total) { progress_of_reading(path, done, total); };
  return read_trace(path, options);
}

// The rows twice: first unchanged, then with a model's quality, and all that evaluators show of it, times a factor.
TraceTable with_drift(const TraceTable& table, const Drift& drift) {
  const auto model = std::find(table.models.begin(), table.models.end(), drift.model);
  if (model == table.models.end())
    throw Error(ExitCode::bad_data,
                fmt::format("{}: has no model {}, which drift names", table.source, printable(drift.model)));
  std::vector<std::size_t> rows(table.rows());
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  rows.insert(rows.end(), rows.begin(), rows.end());
  TraceTable out = select_rows(table, rows);
  const std::size_t A = out.models.size(), a = static_cast<std::size_t>(model - table.models.begin());
  std::vector<std::vector<double>*> shown = {&out.quality};
  for (ScoreColumn& score : out.scores) shown.push_back(&score.values);
  for (std::vector<double>* values : shown)
    for (std::size_t row = table.rows(); row < out.rows(); ++row) (*values)[row * A + a] *= drift.factor;
  return out;
}

TraceSplit split_by_column(const TraceTable& table, const std::string& name) {
  const PromptColumn* column = find_column(table, name);
  if (column == nullptr || column->kind != PromptColumn::Kind::text)
    throw Error(ExitCode::bad_data,
                fmt::format("{}: has no column {} of words; `part` names one with \"calibration\" or \"online\"",
                            table.source, name));
  TraceSplit split;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const std::string_view part = column->texts[row];
    if (part != "calibration" && part != "online")
      throw Error(ExitCode::bad_data, fmt::format("{}: row {}: {} is \"{}\"; give \"calibration\" or \"online\"",
                                                  table.source, row + 1, name, part.substr(0, 60)));
    (part == "online" ? split.second : split.first).push_back(row);
  }
  if (split.first.empty() || split.second.empty())
    throw Error(ExitCode::bad_data, fmt::format("{}: {} names no row for {}", table.source, name,
                                                split.first.empty() ? "calibration" : "online"));
  return split;
}

std::vector<float> context_of(const FeatureMap& features, const TraceTable& table, std::size_t d_x) {
  if (features.size() == 0) return std::vector<float>(table.rows() * d_x, 0.0f);
  const std::vector<double> numbers = features.apply(table);
  return {numbers.begin(), numbers.end()};
}

}  // namespace

std::shared_ptr<const TraceWorld> TraceWorld::of(const TraceKeys& keys, const std::string& environment) {
  static std::map<std::string, std::shared_ptr<const TraceWorld>> worlds;
  const std::lock_guard lock(worlds_mutex);
  std::shared_ptr<const TraceWorld>& world = worlds[keys_of_reading(keys)];
  if (world == nullptr) world.reset(new TraceWorld(keys, environment));
  return world;
}

void TraceWorld::set_progress(std::function<void(const std::string&, std::uint64_t, std::uint64_t)> told) {
  const std::lock_guard lock(worlds_mutex);
  progress_of_reading = std::move(told);
}

TraceWorld::TraceWorld(const TraceKeys& keys, const std::string& environment) {
  read(keys, environment);
  fit(keys, environment);
}

void TraceWorld::read(const TraceKeys& keys, const std::string& environment) {
  TraceTable table = pandora::read(keys.table, keys);
  digest_ = content_digest(table);
  if (!keys.online.empty()) {
    online_.table = pandora::read(keys.online, keys);
    require_apart(table, online_.table);
    if (online_.table.models != table.models) online_.table = select_models(online_.table, table.models);
    digest_ = sha256(digest_ + content_digest(online_.table));
    calibration_.table = std::move(table);
  } else {
    const TraceSplit split = keys.part.empty() ? split_rows(table, keys.split) : split_by_column(table, keys.part);
    calibration_.table = select_rows(table, split.first);
    online_.table = select_rows(table, split.second);
  }
  if (!keys.digest.empty() && keys.digest != digest_)
    throw Error(ExitCode::mismatch,
                fmt::format("{}: its content is not that of environment.{}.digest; restore the table, or remove the "
                            "key and name another {}",
                            keys.table, environment, option("out")));
  if (const std::optional<Drift> drift = drift_of(keys.drift)) online_.table = with_drift(online_.table, *drift);
  for (const Side* side : {&calibration_, &online_})
    notes_.insert(notes_.end(), side->table.notes.begin(), side->table.notes.end());
}

void TraceWorld::fit(const TraceKeys& keys, const std::string& environment) {
  const TraceTable& table = calibration_.table;
  if (table.models.size() > static_cast<std::size_t>(kMaxBoxes)) {
    std::vector<std::pair<double, std::size_t>> by_quality;
    for (std::size_t a = 0; a < table.models.size(); ++a) {
      double sum = 0.0;
      for (std::size_t row = 0; row < table.rows(); ++row) sum += table.quality[row * table.models.size() + a];
      by_quality.emplace_back(-sum, a);
    }
    std::sort(by_quality.begin(), by_quality.end());
    std::string names;
    for (std::size_t k = 0; k < static_cast<std::size_t>(kMaxBoxes); ++k)
      names += (k > 0 ? ", " : "") + table.models[by_quality[k].second];
    throw Error(ExitCode::usage,
                fmt::format("environment {}: {} has {} models, more than {}; name some in "
                            "environment.{}.models, the best by their mean quality are {}",
                            environment, keys.table, table.models.size(), kMaxBoxes, environment, names));
  }
  features_ = FeatureMap::fit(table, keys.context);
  notes_.insert(notes_.end(), features_.notes().begin(), features_.notes().end());
  sizes_.boxes = static_cast<int>(table.models.size());
  sizes_.context = std::max(1, static_cast<int>(features_.size()));
  sizes_.reward_features = Evaluator(keys.evaluator, table).size();
  sizes_.calibration = static_cast<int>(table.rows());
  sizes_.online = static_cast<int>(online_.table.rows());
  answers_ = PromptAnswers(online_.table);
  sizes_.prompts = static_cast<int>(answers_.count());
  if (sizes_.reward_features > kMaxRewardFeatures)
    throw Error(ExitCode::usage, fmt::format("environment {}: {} models with this evaluator make {} reward features, "
                                             "more than {}; name fewer models",
                                             environment, sizes_.boxes, sizes_.reward_features, kMaxRewardFeatures));
  const TraceTable& later = online_.table;
  outcomes_ = std::make_shared<const PromptOutcomes>(PromptOutcomes{later.rows(),
                                                                    later.models.size(),
                                                                    {later.quality.begin(), later.quality.end()},
                                                                    {later.cost.begin(), later.cost.end()},
                                                                    answers_.prompt});
  for (Side* side : {&calibration_, &online_})
    side->context = context_of(features_, side->table, static_cast<std::size_t>(sizes_.context));
}

std::uint64_t TraceWorld::bytes() const {
  std::uint64_t out = 0;
  for (const Side* side : {&calibration_, &online_}) out += trace_bytes(side->table) + 4 * side->context.size();
  return out + 4 * (outcomes_->quality.size() + outcomes_->dollars.size()) + 24 * answers_.rows.size();
}

DrawnRows TraceWorld::online_rows(const ReplicationRequest& request) const {
  const TraceKeys& keys = *trace_keys(request.environment);
  const std::size_t copies = keys.drift.empty() ? 1 : 2, rows = static_cast<std::size_t>(sizes_.online) / copies,
                    periods = static_cast<std::size_t>(request.periods);
  if (request.actions.openings > 1) {
    require_answers(request.actions.openings, request.environment.name);
    return draw_answers(stream_of(request, Purpose::online_context), keys.resample, answers_, periods,
                        static_cast<std::size_t>(sizes_.boxes), static_cast<std::size_t>(request.actions.openings));
  }
  DrawnRows out = draw_rows(stream_of(request, Purpose::online_context), keys.resample, rows, periods,
                            static_cast<std::size_t>(sizes_.boxes));
  for (std::size_t k = periods / 2 * out.each; k < out.rows.size() && copies == 2; ++k) out.rows[k] += rows;
  return out;
}

Replication TraceWorld::draw(const ReplicationRequest& request) const {
  const std::size_t calibration = 1 + static_cast<std::size_t>(request.calibration_periods);
  const DrawnRows earlier =
      draw_rows(stream_of(request, Purpose::calibration_context), trace_keys(request.environment)->resample,
                static_cast<std::size_t>(sizes_.calibration), calibration, static_cast<std::size_t>(sizes_.boxes));
  const DrawnRows later = online_rows(request);
  const std::size_t openings = static_cast<std::size_t>(request.actions.openings);
  TapeWriter tape(request, sizes_, calibration + later.periods() * openings);
  tape.append(calibration_.table, calibration_.context, earlier, 0, 1, Purpose::initial_shock);
  tape.append(calibration_.table, calibration_.context, earlier, 1, calibration, Purpose::calibration_reward);
  for (std::size_t k = 0; k < openings; ++k)
    tape.append(online_.table, online_.context, later, 0, later.periods(), Purpose::online_reward, k);
  Replication out = std::move(tape).replication();
  if (trace_keys(request.environment)->index.empty()) set_hindsight_indices(out);
  return out;
}

TraceSizes trace_sizes(const Environment& environment) {
  const TraceKeys& keys = *trace_keys(environment);
  if (const FiniteProblem* laws = laws_of(environment)) return sizes_of_laws(*laws);
  if (keys.sizes.empty()) return TraceWorld::of(keys, environment.name)->sizes();
  TraceSizes out;
  int* const members[] = {&out.boxes, &out.context, &out.reward_features, &out.calibration, &out.online, &out.prompts};
  for (std::size_t k = 0; k < keys.sizes.size(); ++k) *members[k] = static_cast<int>(keys.sizes[k]);
  if (keys.sizes.size() == 5) out.prompts = out.online;
  return out;
}

}  // namespace pandora
