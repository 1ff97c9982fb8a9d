#include "host/lanes/model/drawn_rows.hpp"

#include <algorithm>
#include <utility>

namespace pandora {
namespace {

// Two words of a stream at (block, period, box), as one number.
std::uint64_t word_at(const Stream& stream, std::size_t block, std::size_t period, std::size_t box) {
  std::uint32_t words[4][1];
  philox<1>(stream, {static_cast<std::uint32_t>(block)}, {static_cast<std::uint32_t>(period)},
            {static_cast<std::uint32_t>(box)}, words);
  return static_cast<std::uint64_t>(words[0][0]) << 32 | words[1][0];
}

// `count` rows of a table: in order, in a random order (after the last row in a new random order), or with replacement.
std::vector<std::size_t> rows_of(const Stream& stream, Resample how, std::size_t rows, std::size_t count,
                                 std::size_t model) {
  std::vector<std::size_t> out;
  out.reserve(count);
  const auto word = [&](std::size_t round, std::size_t k) { return word_at(stream, round, k, model); };
  if (how == Resample::bootstrap) {
    for (std::size_t k = 0; k < count; ++k)
      out.push_back(static_cast<std::size_t>(static_cast<unsigned __int128>(word(0, k)) * rows >> 64));
    return out;
  }
  for (std::size_t round = 0; out.size() < count; ++round) {
    std::vector<std::pair<std::uint64_t, std::size_t>> keys(rows);
    for (std::size_t k = 0; k < rows; ++k) keys[k] = {how == Resample::in_order ? 0 : word(round, k), k};
    std::sort(keys.begin(), keys.end());
    for (std::size_t k = 0; k < rows && out.size() < count; ++k) out.push_back(keys[k].second);
  }
  return out;
}

}  // namespace

DrawnRows draw_rows(const Stream& stream, Resample how, std::size_t rows, std::size_t count, std::size_t models) {
  if (how != Resample::independent) return {1, rows_of(stream, how, rows, count, 0)};
  DrawnRows out{models, std::vector<std::size_t>(count * models)};
  for (std::size_t a = 0; a < models; ++a) {
    const std::vector<std::size_t> own = rows_of(stream, how, rows, count, a);
    for (std::size_t k = 0; k < count; ++k) out.rows[k * models + a] = own[k];
  }
  return out;
}

PromptAnswers::PromptAnswers(const TraceTable& table) : rows(table.rows()), prompt(table.rows()) {
  const PromptGroups groups = group_prompts(table);
  std::vector<std::size_t> of_group(groups.count, groups.count);  // the prompt of a group, once it has one
  for (std::size_t row = 0; row < table.rows(); ++row) {
    std::size_t& p = of_group[groups.of_row[row]];
    if (p == groups.count) {
      p = count();
      first.push_back(0);
    }
    prompt[row] = static_cast<std::uint32_t>(p);
    ++first[p + 1];
  }
  for (std::size_t p = 0; p < count(); ++p) first[p + 1] += first[p];
  std::vector<std::size_t> next(first.begin(), first.end() - 1);
  for (std::size_t row = 0; row < table.rows(); ++row) rows[next[prompt[row]]++] = row;
}

void PromptAnswers::require(const TraceTable& table, int openings, const std::string& environment) const {
  for (std::size_t p = 0; p < count() && openings > 1; ++p)
    if (const std::size_t found = of(p).size(); found < static_cast<std::size_t>(openings))
      table.refuse(
          "prompt {} has {} answer{} of each model, but actions.openings = {} needs as many; give fewer openings, or "
          "more answers (further rows of a prompt, with environment.{}.repeats = true)",
          in_quotes(table.prompts[of(p)[0]]), found, found == 1 ? "" : "s", openings, environment);
}

DrawnRows draw_answers(const Stream& stream, Resample how, const PromptAnswers& prompts, std::size_t count,
                       std::size_t models, std::size_t openings) {
  const std::vector<std::size_t> drawn = rows_of(stream, how, prompts.count(), count, 0);
  DrawnRows out{models * openings, {}};
  out.rows.reserve(count * out.each);
  std::vector<std::pair<std::uint64_t, std::size_t>> order;
  for (std::size_t t = 0; t < count; ++t)
    for (std::size_t a = 0; a < models; ++a) {
      const std::span<const std::size_t> answers = prompts.of(drawn[t]);
      order.clear();
      // The draws of the prompts are at box 0.
      for (std::size_t j = 0; j < answers.size(); ++j)
        order.emplace_back(how == Resample::in_order ? 0 : word_at(stream, j, t, 1 + a), answers[j]);
      std::sort(order.begin(), order.end());
      for (std::size_t k = 0; k < openings; ++k) out.rows.push_back(order[k].second);
    }
  return out;
}

}  // namespace pandora
