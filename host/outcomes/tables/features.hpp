// Features of prompts: numbers made from a table's columns. They are fitted on one table and applied to any other
// table, or to a single prompt.
//
//   text:k     k numbers of the prompt's text (TextProjection)
//   length     log(1 + characters of the prompt's text)
//   NAME       a column: a number; a vector, number by number; a text, as indicators of its kMostClasses most frequent
//              values and one of all others
//   raw:NAME   a column of numbers or vectors unchanged: not scaled, missing cells refused
//
// A value x becomes clip((x - mean) / (kSpreads * standard deviation), -1, 1), with the mean and the standard deviation
// of the table on which the features were fitted. A value that does not vary there is dropped with a note. A missing
// number becomes the mean, hence 0. A value of a text column that is missing, or did not occur in the fit, counts as
// "all others".
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>

#include "host/ground/base/prompt.hpp"
#include "host/outcomes/tables/text_projection.hpp"
#include "host/outcomes/tables/trace_table.hpp"

namespace pandora {

inline constexpr double kSpreads = 2.0;
inline constexpr std::size_t kMostClasses = 16;  ///< of a text column
inline constexpr std::size_t kMostFeatures = 4096;

/// A table's texts, counted: row i of the table is text rows[i], or text i if there are no `rows`.
struct CountedRows {
  const TextCounts* counts = nullptr;  ///< nullptr: they are counted when they are needed
  std::span<const std::size_t> rows = {};

  std::size_t text_of(std::size_t row) const { return rows.empty() ? row : rows[row]; }
  CountedText operator[](std::size_t row) const { return (*counts)[text_of(row)]; }
};

enum class FeatureKind { text, length, number, classes, vector, raw };

/// Where numbers come from, as a spec says it.
struct FeatureSource {
  FeatureKind kind = FeatureKind::number;
  std::string column = {};                ///< for number, classes, vector, raw
  std::size_t length = 1;                 ///< numbers of a prompt, before any is dropped
  std::vector<std::string> classes = {};  ///< for classes, ascending; the number after theirs is for all others
  TextProjection projection = {};         ///< for text

  std::string name(std::size_t index) const;  ///< the name of one of its numbers
  bool operator==(const FeatureSource&) const = default;
};

/// A number that is kept.
struct FeatureColumn {
  std::size_t source = 0, index = 0;  ///< which number of which source
  double mean = 0, spread = 1;        ///< (x - mean) / spread, clipped unless the source is raw
  bool operator==(const FeatureColumn&) const = default;
};

class FeatureMap {
 public:
  /// An empty map: size() is 0.
  FeatureMap() = default;

  /// Fits the features of `specs`. Throws Error (usage) if a spec is malformed or given twice, and Error (bad_data) if
  /// the table lacks something that a spec names (with near names) or a raw column lacks a value. `near`: a map of the
  /// same specs that was fitted on nearly the same texts, for TextProjection::fit().
  static FeatureMap fit(const TraceTable& calibration, const std::vector<std::string>& specs,
                        const CountedRows& counted = {}, const FeatureMap* near = nullptr);

  /// How many numbers a prompt becomes.
  std::size_t size() const { return columns_.size(); }
  /// Names such as "text:0", "length", "source=mmlu", "source=(other)", "embedding:3".
  std::vector<std::string> names() const;
  /// What fit() dropped, in one sentence each.
  const std::vector<std::string>& notes() const { return notes_; }

  /// Features of all rows: rows x size(), row-major. Throws Error (bad_data) if the table lacks a column or has one of
  /// another kind or length, or if a raw column lacks a value.
  std::vector<double> apply(const TraceTable& table, const CountedRows& counted = {}) const;
  /// The size() features of a prompt. Throws Error (usage) if a value is of another kind or length than its column, or
  /// not finite.
  std::vector<double> apply(const Prompt& prompt) const;

  /// The map as JSON. `format` is "pandora features 1". `sources` say where numbers come from: each has `kind` (text,
  /// length, number, classes, vector, raw) and, if the kind has them, `column`, `length` of a list and `classes` in the
  /// order of bytes (then all others). `columns` are the features in order: `name`, `source` and `index` (which number
  /// of which source, from 0), `mean` and `spread`. A feature is clip((x - mean) / spread, -1, 1); for `raw` it is x
  /// itself. `notes` are those of fit(). A source `text` has `bits`, `size`, `idf` and `basis` of its TextProjection;
  /// `length` is log(1 + characters). Numbers have all their digits: from_json(to_json()) is the same map in every bit.
  nlohmann::json to_json() const;
  /// Takes any JSON, also hostile; throws Damaged (sealed_file.hpp) if to_json() cannot have returned it.
  static FeatureMap from_json(const nlohmann::json& json);

  bool operator==(const FeatureMap&) const = default;

 private:
  std::vector<FeatureSource> sources_;
  std::vector<FeatureColumn> columns_;  // by source and index
  std::vector<std::string> notes_;
};

/// log(p / (1 - p)) of the score clipped to [0.01, 0.99]: a judge's score as a feature, in [-4.6, 4.6].
double logit_of_score(double score);

}  // namespace pandora
