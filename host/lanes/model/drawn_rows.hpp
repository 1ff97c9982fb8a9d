// The rows of a table of outcomes that the periods of a replication use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "host/lanes/model/trace_keys.hpp"
#include "kernels/random/philox.hpp"

namespace pandora {

/// The row behind every period, or behind every period and arm (kernels/rules/actions.hpp). Where models answer once in
/// a period, arms are models.
struct DrawnRows {
  std::size_t each = 1;           ///< 1: all models of a period use its row; otherwise as many as there are arms
  std::vector<std::size_t> rows;  ///< periods x each

  std::size_t periods() const { return rows.size() / each; }
  std::size_t at(std::size_t period, std::size_t arm) const { return rows[period * each + (each == 1 ? 0 : arm)]; }
};

/// The rows of each prompt of a table (group_prompts), which are the answers to it. Prompts come in the order of their
/// first rows, and their rows as in the file.
struct PromptAnswers {
  std::vector<std::size_t> rows, first = {0};  ///< prompt p has rows[first[p]] to rows[first[p + 1] - 1]
  std::vector<std::uint32_t> prompt;           ///< the prompt of every row

  PromptAnswers() = default;
  explicit PromptAnswers(const TraceTable& table);
  std::size_t count() const { return first.size() - 1; }
  /// Throws Error (bad_data) if a prompt of the table has fewer rows than `openings`, unless that is 1.
  void require(const TraceTable& table, int openings, const std::string& environment) const;
  std::span<const std::size_t> of(std::size_t p) const { return {rows.data() + first[p], first[p + 1] - first[p]}; }
};

/// `count` periods of a table of `rows` prompts and `models` models. Under Resample::independent the first model has
/// the rows of Resample::permute, and each other model has rows in an order of its own.
DrawnRows draw_rows(const Stream& stream, Resample how, std::size_t rows, std::size_t count, std::size_t models);

/// `count` periods of one prompt each, in which every model is opened up to `openings` times and shows another answer
/// each time. A model's answers to a prompt come in a random order of their own, but under Resample::in_order as in the
/// file. Every prompt must have at least `openings` answers.
DrawnRows draw_answers(const Stream& stream, Resample how, const PromptAnswers& prompts, std::size_t count,
                       std::size_t models, std::size_t openings);

}  // namespace pandora
