// Objects of JSON as rows of a table, and those of a cascade's decisions as rows of a log.
#pragma once

#include <simdjson.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "host/outcomes/tables/record_stream.hpp"
#include "host/outcomes/tables/table_builder.hpp"

namespace pandora {

inline bool has(const simdjson::dom::object& row, std::string_view member) {
  return row.at_key(member).error() == simdjson::SUCCESS;
}

class JsonRows;

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

/// How another program writes an answer: which member holds which value.
struct AnswerForm {
  const char *prompt, *model, *text;  ///< members: the prompt's name, the model's, the prompt's text
  struct Cell {
    const char *pointer, *quantity;  ///< in the form of JSON pointers: "/token_usage/input_tokens"
  };
  std::vector<Cell> cells;
};

/// What holds for all rows of a file.
struct RowsOfFile {
  std::string model = {};   ///< for rows that name no model
  std::string prefix = {};  ///< of the prompts' names
  std::vector<std::pair<std::string, std::string>> columns = {};
  const AnswerForm* form = nullptr;  ///< the form of its rows; null: decided by the first row
};

class JsonRows {
 public:
  /// All references must outlive the reader.
  JsonRows(const FilePlace& place, TableBuilder& builder, DecisionRows& decisions, RowsOfFile of_file = {})
      : place_(place), builder_(builder), decisions_(decisions), of_file_(std::move(of_file)), form_(of_file_.form) {}

  /// Reads a file with one object per line, in the form of its first line. Throws Error (bad_data) with file and row.
  void take_lines(RecordStream& stream);
  void take(const simdjson::dom::object& row);
  /// Takes the answers of the current row, by model. `answers`: an object, or an object as text.
  void take_answers(const simdjson::dom::element& answers);
  void take_answers(std::string_view member, std::string_view text);
  /// Takes members as columns of the current row, except those named in `but`.
  void take_values(const simdjson::dom::object& row, std::initializer_list<std::string_view> but);

 private:
  using Element = simdjson::dom::element;
  using Object = simdjson::dom::object;

  void choose_form(const Object& row);
  void take_prompt(const Object& row);
  void take_answer(const Object& row);
  void take_other(const Object& row);
  void take_cell(std::size_t model, std::string_view what, const Element& element, TableBuilder::Label label);
  CellValue value_of(const Element& element);
  bool is_vector(const Element& element);
  static bool is_object_text(const Element& element);
  // Whether a member is only the prompt's name. A member that prompt_key names stays a column.
  bool is_prompt_name(std::string_view member) const {
    return builder_.options().prompt_key.empty() && !prompt_names_.empty() && member == prompt_names_[0];
  }
  std::string name_in(const Object& row, std::string_view member) const;
  std::string prompt_in(const Object& row) const;
  std::string_view text_of(std::string_view text) const;
  std::size_t model_in(const Object& row, std::string_view member);
  std::uint32_t answer_of(const Object& row);
  [[noreturn]] void refuse_without(std::string_view member) const { place_.refuse_row("has no \"{}\"", member); }
  void once(bool& seen, std::string_view member) const {
    if (std::exchange(seen, true)) place_.refuse_cell({member}, "stands twice in a row");
  }

  const FilePlace& place_;
  TableBuilder& builder_;
  DecisionRows& decisions_;
  RowsOfFile of_file_;
  const AnswerForm* form_;
  bool chosen_ = false, long_ = false, log_ = false, has_decision_ = false, decides_ = false;
  std::vector<std::string> prompt_names_;  // the members whose values together name the prompt; empty if there are none
  std::string answers_;                    // a member; empty if the table has none
  simdjson::dom::parser texts_;            // for objects that are written as texts
  std::string written_;
  std::vector<double> vector_;
};

}  // namespace pandora
