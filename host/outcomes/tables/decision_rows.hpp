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

/// The lines of a cascade's decision log, of one file or several (docs/serving.md). A decision is a
/// row and its calls are those of a log; the quality of the deployed answer comes with its feedback, in whatever order.
/// With the evaluator "quality" every score is one. What is not known of answers that were not deployed:
///
///   label_propensity = deploy_propensity x the share of decisions that had a feedback
///
/// where every call could have been deployed; otherwise nothing says it.
class DecisionRows {
 public:
  /// Both references must outlive it.
  DecisionRows(const FilePlace& place, TableBuilder& builder) : place_(place), builder_(builder) {}

  static bool is_one(const simdjson::dom::object& row);
  bool any() const { return !decisions_.empty() || !feedbacks_.empty(); }
  /// `reader`: whose line it is.
  void take(const simdjson::dom::object& row, JsonRows& reader);
  /// After the last line.
  void finish();
  /// A last line that is not whole.
  void cut() { ++cut_; }

 private:
  struct Decision {
    std::size_t deployed = TraceTable::kNone;
    std::vector<std::pair<std::size_t, double>> chances = {};  // of each call, that it was deployed
    bool has_feedback = false;
    bool is_whole = true;                               // no model failed, and none was asked for alone
    const std::set<std::string>* candidates = nullptr;  // that could be called, if the line says so
  };

  void take_decision(const std::string& request, const simdjson::dom::object& row, const simdjson::dom::array& calls,
                     JsonRows& reader);
  void take_candidates(const simdjson::dom::object& row, Decision& decision);
  void leave_out_partial();
  void take_call(const simdjson::dom::object& call, std::string_view score, std::string_view deployed,
                 Decision& decision);
  void cell(std::size_t model, std::string_view quantity, double value);
  std::string_view text(const simdjson::dom::object& row, const char* member) const;
  double number(const simdjson::dom::object& row, const char* member) const;

  const FilePlace& place_;
  TableBuilder& builder_;
  std::map<std::string, Decision, std::less<>> decisions_;  // by request
  std::set<std::set<std::string>> candidates_;
  std::vector<std::pair<std::string, double>> feedbacks_;
  std::size_t cut_ = 0;
  bool is_truth_ = false;
};

}  // namespace pandora
