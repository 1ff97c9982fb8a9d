#include "host/lanes/model/tape_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kernels/tape/formulas.hpp"
#include "pandora/error.hpp"

namespace pandora {
namespace {

// A column with one number for every model.
const PromptColumn& numbers_of_models(const TraceTable& table, const std::string& name, const char* key) {
  const PromptColumn* column = find_column(table, name);
  if (column == nullptr || column->kind != PromptColumn::Kind::vector || column->length != table.models.size())
    throw Error(ExitCode::bad_data, fmt::format("{}: has no column {} with a number for each of the {} models; mend {}",
                                                table.source, name, table.models.size(), key));
  for (std::size_t k = 0; k < column->numbers.size(); ++k)
    if (!std::isfinite(column->numbers[k]))
      throw Error(ExitCode::bad_data,
                  fmt::format("{}: row {}: {} lacks a number; fill it in", table.source, k / column->length + 1, name));
  return *column;
}

}  // namespace

Dimensions TraceSizes::dimensions() const {
  return {.boxes = boxes, .context = context, .output = 1, .reward_features = reward_features};
}

std::vector<std::int64_t> TraceSizes::list() const {
  std::vector<std::int64_t> out = {boxes, context, reward_features, calibration, online};
  if (has_rows_of_one_prompt()) out.push_back(prompts);
  return out;
}

TraceSizes sizes_of_laws(const FiniteProblem& laws) {
  const int A = static_cast<int>(laws.boxes.size()), any = 1000000000;
  return {.boxes = A, .context = 1, .reward_features = 2 * A, .calibration = any, .online = any, .prompts = any};
}

Stream stream_of(const ReplicationRequest& request, Purpose purpose) {
  return {request.seed, purpose, request.environment.id, static_cast<std::uint8_t>(request.regime),
          request.replication};
}

TapeWriter::TapeWriter(const ReplicationRequest& request, const TraceSizes& sizes, std::size_t rows)
    : keys_(*trace_keys(request.environment)), request_(request), sizes_(sizes) {
  const std::size_t A = static_cast<std::size_t>(sizes.boxes), cells = rows * A,
                    d = static_cast<std::size_t>(sizes.reward_features);
  Contexts& contexts = tape_.contexts;
  contexts.rows = static_cast<int>(rows);
  contexts.boxes = sizes.boxes;
  contexts.index_size = sizes.dimensions().index_size();
  contexts.index_stride = padded_to_vector<float>(contexts.index_size);
  contexts.reward_features = sizes.reward_features;
  contexts.psi.assign(rows * static_cast<std::size_t>(contexts.index_stride), 0.0f);
  tape_.phi.reserve(cells * d);
  for (std::vector<double>* numbers : {&tape_.mu, &tape_.cost, &sigma_}) numbers->reserve(cells);
  tape_.reward.reserve(cells);
}

void TapeWriter::append(const TraceTable& table, std::span<const float> context, const DrawnRows& rows,
                        std::size_t first, std::size_t last, Purpose rewards, std::size_t opening) {
  const std::size_t A = static_cast<std::size_t>(sizes_.boxes), d_x = static_cast<std::size_t>(sizes_.context),
                    N = rows.each > A ? rows.each / A : 1;
  const Evaluator evaluator(keys_.evaluator, table);
  const PromptColumn *index = nullptr, *feedback = nullptr;
  if (!keys_.index.empty()) index = &numbers_of_models(table, keys_.index, "index");
  if (keys_.feedback.starts_with("column:")) feedback = &numbers_of_models(table, keys_.feedback.substr(7), "feedback");
  const bool bernoulli = keys_.feedback == "bernoulli";
  const Stream stream = stream_of(request_, rewards), noise = stream_of(request_, Purpose::online_shock);
  for (std::size_t k = 0; k < last - first; ++k) {
    float* const psi = tape_.contexts.psi.data() + row_++ * static_cast<std::size_t>(tape_.contexts.index_stride);
    psi[0] = 1.0f;
    std::copy_n(context.data() + rows.at(first + k, 0) * d_x, d_x, psi + 1);  // none if models have their own rows
    for (std::size_t a = 0; a < A; ++a) {
      const std::size_t row = rows.at(first + k, a * N + opening);
      const double quality = table.quality[row * A + a];
      tape_.mu.push_back(quality);
      tape_.cost.push_back(keys_.price * table.cost[row * A + a]);
      evaluator.append_features(row, a, noise, tape_.phi);
      tape_.reward.push_back(
          feedback != nullptr ? static_cast<float>(feedback->numbers[row * A + a])
          : bernoulli
              ? reward_of(stream, static_cast<std::uint32_t>(k),
                          draw_place(static_cast<std::uint32_t>(a), static_cast<std::uint32_t>(opening)), quality)
              : static_cast<float>(quality));
      sigma_.push_back(index != nullptr ? index->numbers[row * A + a] : 0.0);
    }
  }
}

Replication TapeWriter::replication() && {
  Replication out;
  out.instance.dimensions = sizes_.dimensions();
  out.instance.environment = request_.environment;
  out.instance.regime = request_.regime;
  out.instance.replication = request_.replication;
  out.instance.seed = request_.seed;
  tape_.calibration_rows = request_.calibration_periods;
  tape_.online_rows = request_.periods;
  out.tape = std::move(tape_);
  out.sigma = std::move(sigma_);
  out.actions = request_.actions;
  return out;
}

}  // namespace pandora
