#include <simdjson.h>

#include "host/outcomes/tables/record_stream.hpp"
#include "host/outcomes/tables/table_builder.hpp"

namespace pandora {
namespace {

namespace dom = simdjson::dom;
using Type = dom::element_type;
using Kind = CellValue::Kind;

class JsonReader {
 public:
  JsonReader(RecordStream& stream, FilePlace& place, const TraceOptions& options)
      : stream_(stream), place_(place), builder_(place, options, false) {}

  TraceTable read() {
    std::string_view record;
    for (bool first = true; stream_.next(RecordStream::Form::lines, record); first = false) {
      const dom::object row = parse(record);
      if (first) choose_form(row);
      long_ ? take_answer(row) : take_prompt(row);
    }
    return std::move(builder_).finish();
  }

 private:
  dom::object parse(std::string_view record) {
    dom::element root;
    const simdjson::error_code problem = parser_.parse(record.data(), record.size(), false).get(root);
    if (problem == simdjson::UTF8_ERROR)
      place_.refuse_row("has bytes that are not UTF-8; convert the file: iconv -f LATIN1 -t UTF-8, or what it is in");
    if (problem == simdjson::MEMALLOC) throw std::bad_alloc();
    dom::object row;
    if (problem == simdjson::SUCCESS && root.get(row) == simdjson::SUCCESS) return row;
    if (place_.row == 1 && record.starts_with('['))
      place_.refuse("is a list; write an object a line, without brackets and commas around them (jq -c '.[]')");
    const bool nan = record.find("NaN") != std::string_view::npos || record.find("Infinity") != std::string_view::npos;
    place_.refuse_row("is not a JSON object on one line ({}{})",
                      problem == simdjson::SUCCESS ? in_quotes(record) : simdjson::error_message(problem),
                      nan ? "; NaN and Infinity are none of JSON, write null where nothing is known" : "");
  }

  void choose_form(const dom::object& row) {
    std::string found;
    bool has_model = false, has_quality = false;
    for (const dom::key_value_pair member : row) {
      if ((member.key == "models" || member.key == "arms") && member.value.is_object()) answers_ = member.key;
      has_model |= member.key == "model";
      has_quality |= is_quality(member.key);
      log_ |= member.key == "propensity";
      has_decision_ |= member.key == "decision";
      found.append(found.empty() ? "" : ", ").append(member.key);
    }
    for (const std::string_view name : kPromptNames)
      if (prompt_name_.empty() && row.at_key(name).error() == simdjson::SUCCESS) prompt_name_ = name;
    long_ = answers_.empty() && has_model && has_quality && !prompt_name_.empty();
    if (long_ && log_) builder_.is_log();
    if (!long_ && answers_.empty()) place_.refuse_form("its first object has the members " + in_quotes(found));
  }

  std::string_view text_of(std::string_view text) const {
    if (!simdjson::validate_utf8(text))
      place_.refuse_row("has an escape that is no character (half of a surrogate pair)");
    return text;
  }

  CellValue value_of(const dom::element& element) {
    switch (element.type()) {
      case Type::INT64:
      case Type::UINT64:
      case Type::DOUBLE:
        return {Kind::number, element.get_double().value_unsafe(), {}, {}};
      case Type::STRING: {
        const std::string_view text = text_of(element.get_string().value_unsafe());
        return {text.empty() ? Kind::missing : Kind::text, 0.0, text, {}};
      }
      case Type::BOOL:
        return {Kind::text, 0.0, element.get_bool().value_unsafe() ? "true" : "false", {}};
      case Type::ARRAY:
        if (is_vector(element)) return {Kind::vector, 0.0, {}, vector_};
        [[fallthrough]];
      case Type::OBJECT:  // as it may be written in a CSV file
        written_ = simdjson::minify(element);
        return {Kind::text, 0.0, text_of(written_), {}};
      case Type::NULL_VALUE:
        break;
    }
    return {};
  }

  // Whether it is a list of numbers, which then are in vector_.
  bool is_vector(const dom::element& element) {
    vector_.clear();
    const dom::array numbers = element.get_array().value_unsafe();
    for (const dom::element number : numbers) {
      if (!number.is_number()) return false;
      vector_.push_back(number.get_double().value_unsafe());
    }
    return !vector_.empty();
  }

  // A name of a prompt or a model: a text or a whole number.
  std::string name_of(std::string_view member, const dom::element& element) {
    if (element.is_string()) return std::string(text_of(element.get_string().value_unsafe()));
    if (element.is_int64()) return std::to_string(element.get_int64().value_unsafe());
    if (element.is_uint64()) return std::to_string(element.get_uint64().value_unsafe());
    place_.refuse_cell({member}, "is neither a text nor a whole number");
  }

  [[noreturn]] void refuse_without(std::string_view member) const { place_.refuse_row("has no \"{}\"", member); }

  void once(bool& seen, std::string_view member) const {
    if (std::exchange(seen, true)) place_.refuse_cell({member}, "stands twice in a row");
  }

  void take_cell(std::size_t model, std::string_view name, std::string_view member, const dom::element& element,
                 bool nested) {
    const std::size_t quantity = builder_.quantity(member);
    if (quantity == TraceTable::kNone) return;
    CellValue value = value_of(element);
    if (!element.is_number() && !element.is_null()) {  // an empty text is no missing number
      written_ = simdjson::minify(element);
      value = {Kind::text, 0.0, written_, {}};
    }
    if (nested)
      builder_.cell(model, quantity, value, {answers_, name, member});
    else
      builder_.cell(model, quantity, value, {member});
  }

  void take_prompt(const dom::object& row) {
    builder_.begin_row();
    bool answered = false, named = false;
    for (const dom::key_value_pair member : row) {
      if (member.key == answers_) {
        once(answered, answers_);
        take_answers(member.value);
      } else if (member.key == prompt_name_) {
        once(named, prompt_name_);
        builder_.name_row(name_of(prompt_name_, member.value));
      } else {
        builder_.value(builder_.column(text_of(member.key)), value_of(member.value));
      }
    }
    if (!answered) refuse_without(answers_);
    if (!named && !prompt_name_.empty()) refuse_without(prompt_name_);
  }

  void take_answers(const dom::element& answers) {
    if (!answers.is_object()) place_.refuse_cell({answers_}, "is no object of models");
    const dom::object models = answers.get_object().value_unsafe();
    for (const dom::key_value_pair answer : models) {
      const std::size_t model = builder_.model(text_of(answer.key));
      if (model == TraceTable::kNone) continue;
      if (!answer.value.is_object()) place_.refuse_cell({answers_, answer.key}, "is no object with quality and cost");
      const dom::object members = answer.value.get_object().value_unsafe();
      for (const dom::key_value_pair member : members) take_cell(model, answer.key, member.key, member.value, true);
    }
  }

  void take_answer(const dom::object& row) {
    dom::element prompt, model_name;
    if (row.at_key(prompt_name_).get(prompt) != simdjson::SUCCESS) refuse_without(prompt_name_);
    if (row.at_key("model").get(model_name) != simdjson::SUCCESS) refuse_without("model");
    dom::element decision = prompt;
    if (has_decision_ && row.at_key("decision").get(decision) != simdjson::SUCCESS) refuse_without("decision");
    builder_.find_row(name_of(has_decision_ ? "decision" : prompt_name_, decision), name_of(prompt_name_, prompt));
    const std::size_t model = builder_.model(name_of("model", model_name));
    if (log_ && model != TraceTable::kNone) builder_.call(model);
    int names = 0;
    for (const dom::key_value_pair member : row) {
      if (member.key == prompt_name_ || member.key == "model") {
        if (++names > 2) place_.refuse_cell({member.key}, "stands twice in a row");
        continue;
      }
      if (has_decision_ && member.key == "decision") continue;
      if (!is_score(member.key) && builder_.quantity(member.key) == TraceTable::kNone)
        builder_.value(builder_.column(text_of(member.key)), value_of(member.value));
      else if (model != TraceTable::kNone)
        take_cell(model, "", member.key, member.value, false);
    }
  }

  RecordStream& stream_;
  FilePlace& place_;
  TableBuilder builder_;
  dom::parser parser_;
  bool long_ = false, log_ = false, has_decision_ = false;
  std::string prompt_name_, answers_;  // members; empty where the table has none
  std::string written_;
  std::vector<double> vector_;
};

}  // namespace

TraceTable read_json_trace(RecordStream& stream, FilePlace& place, const TraceOptions& options) {
  return JsonReader(stream, place, options).read();
}

}  // namespace pandora
