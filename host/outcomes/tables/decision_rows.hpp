// The decisions of a cascade as rows of a log.
#pragma once

#include <simdjson.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "host/outcomes/tables/table_builder.hpp"

namespace pandora {

class JsonRows;

inline bool has(const simdjson::dom::object& row, std::string_view member) {
  return row.at_key(member).error() == simdjson::SUCCESS;
}

/// Reads the lines of a cascade's decision log, from one or several files (docs/learning.md). A decision becomes a row,
/// and its calls are those of a log. Feedback brings the quality of the deployed answer, in any order. With the
/// evaluator "quality" every score is a quality. The probability that an answer's quality became known is
///
///   label_propensity = deploy_propensity x the share of decisions that had a feedback
///
/// if every call could have been deployed; otherwise it is unknown.
class DecisionRows {
 public:
  /// Both references must outlive it.
  DecisionRows(const FilePlace& place, TableBuilder& builder) : place_(place), builder_(builder) {}

  static bool is_one(const simdjson::dom::object& row);
  bool any() const { return !decisions_.empty() || !feedbacks_.empty(); }
  /// `reader`: the reader of the line.
  void take(const simdjson::dom::object& row, JsonRows& reader);
  /// Called after the last line.
  void finish();
  /// Called if the last line is incomplete.
  void cut() { ++cut_; }

 private:
  struct Decision {
    std::size_t deployed = TraceTable::kNone;
    std::vector<std::pair<std::size_t, double>> chances = {};  // for each call: the probability that it was deployed
    bool has_feedback = false;
    bool is_whole = true;                               // no model failed, and no model was asked for by name
    const std::set<std::string>* candidates = nullptr;  // the models that could be called, if the line says so
  };

  void take_decision(const std::string& request, const simdjson::dom::object& row, const simdjson::dom::array& calls,
                     JsonRows& reader);
  void take_candidates(const simdjson::dom::object& row, Decision& decision);
  void leave_out_partial();
  void take_call(const simdjson::dom::object& call, std::string_view score, std::string_view deployed,
                 Decision& decision);
  void cell(std::size_t model, std::string_view quantity, double value);

  const FilePlace& place_;
  TableBuilder& builder_;
  std::map<std::string, Decision, std::less<>> decisions_;  // by request
  std::set<std::set<std::string>> candidates_;
  std::vector<std::pair<std::string, double>> feedbacks_;
  std::size_t cut_ = 0;
  bool is_truth_ = false;
};

}  // namespace pandora
