#include "host/outcomes/tables/json_rows.hpp"

#include <algorithm>

namespace pandora {

namespace dom = simdjson::dom;
using JsonType = dom::element_type;

namespace {

// RouterArena's cached results, a file for each model with an object per line.
const AnswerForm kRouterArena{"global_index",
                              "llm_selected",
                              "question",
                              {{"/evaluation_result/score", "quality"},
                               {"/evaluation_result/inference_cost", "cost"},
                               {"/token_usage/input_tokens", "prompt_tokens"},
                               {"/token_usage/output_tokens", "completion_tokens"}}};

}  // namespace

void JsonRows::take_lines(RecordStream& stream) {
  dom::parser parser;
  std::string_view record;
  while (stream.next(RecordStream::Form::lines, record)) {
    dom::element root;
    const simdjson::error_code problem = parser.parse(record.data(), record.size(), false).get(root);
    if (problem != simdjson::SUCCESS && problem != simdjson::MEMALLOC && stream.is_cut() &&
        (decides_ || decisions_.any()))
      return decisions_.cut();
    if (problem == simdjson::UTF8_ERROR)
      place_.refuse_row("has bytes that are not UTF-8; convert the file: iconv -f LATIN1 -t UTF-8, or what it is in");
    if (problem == simdjson::MEMALLOC) throw std::bad_alloc();
    dom::object row;
    if (problem == simdjson::SUCCESS && root.get(row) == simdjson::SUCCESS) {
      take(row);
      continue;
    }
    const bool nan = record.find("NaN") != std::string_view::npos || record.find("Infinity") != std::string_view::npos;
    place_.refuse_row("is not a JSON object on one line ({}{})",
                      problem == simdjson::SUCCESS ? in_quotes(record) : simdjson::error_message(problem),
                      nan ? "; JSON has no NaN or Infinity, write null for an unknown value" : "");
  }
}

void JsonRows::take(const Object& row) {
  if (!std::exchange(chosen_, true) && form_ == nullptr) choose_form(row);
  if (decides_)
    decisions_.take(row, *this);
  else if (form_ != nullptr)
    take_other(row);
  else
    long_ ? take_answer(row) : take_prompt(row);
}

void JsonRows::choose_form(const Object& row) {
  if ((decides_ = DecisionRows::is_one(row))) return;
  std::string found;
  bool has_model = !of_file_.model.empty(), has_quality = false, has_score = false;
  for (const dom::key_value_pair member : row) {
    if ((member.key == "models" || member.key == "arms") && (member.value.is_object() || is_object_text(member.value)))
      answers_ = member.key;
    has_model |= member.key == "model";
    has_quality |= builder_.gives_quality(member.key);
    has_score |= is_score(member.key);
    log_ |= member.key == "propensity";
    has_decision_ |= member.key == "decision";
    found.append(found.empty() ? "" : ", ").append(member.key);
  }
  prompt_names_ = builder_.options().prompt_key;
  for (const std::string_view name : kPromptNames)
    if (prompt_names_.empty() && has(row, name)) prompt_names_.emplace_back(name);
  long_ = answers_.empty() && has_model && has_quality && !prompt_names_.empty();
  if (long_ && log_) builder_.is_log();
  if (long_ || !answers_.empty()) return;
  if (has_model && has_score && !prompt_names_.empty()) place_.refuse(kScoresAlone);
  if (!has(row, kRouterArena.prompt) || !has(row, kRouterArena.model))
    place_.refuse_form("its first object has the members " + in_quotes(found));
  form_ = &kRouterArena;
}

std::string_view JsonRows::text_of(std::string_view text) const {
  if (!simdjson::validate_utf8(text))
    place_.refuse_row("has an escape that is no character (half of a surrogate pair)");
  return text;
}

CellValue JsonRows::value_of(const dom::element& element) {
  switch (element.type()) {
    case JsonType::INT64:
    case JsonType::UINT64:
    case JsonType::DOUBLE:
      return {CellValue::Kind::number, element.get_double().value_unsafe(), {}, {}};
    case JsonType::STRING: {
      const std::string_view text = text_of(element.get_string().value_unsafe());
      return {text.empty() ? CellValue::Kind::missing : CellValue::Kind::text, 0.0, text, {}};
    }
    case JsonType::BOOL:
      return {CellValue::Kind::text, 0.0, element.get_bool().value_unsafe() ? "true" : "false", {}};
    case JsonType::ARRAY:
      if (is_vector(element)) return {CellValue::Kind::vector, 0.0, {}, vector_};
      [[fallthrough]];
    case JsonType::OBJECT:  // as text, as it may stand in a CSV file
      written_ = simdjson::minify(element);
      return {CellValue::Kind::text, 0.0, text_of(written_), {}};
    case JsonType::NULL_VALUE:
      break;
  }
  return {};
}

// Whether it is a list of numbers; they are then in vector_.
bool JsonRows::is_vector(const dom::element& element) {
  vector_.clear();
  const dom::array numbers = element.get_array().value_unsafe();
  for (const dom::element number : numbers) {
    if (!number.is_number()) return false;
    vector_.push_back(number.get_double().value_unsafe());
  }
  return !vector_.empty();
}

// The name of a prompt or a model: a text or a whole number.
std::string JsonRows::name_in(const Object& row, std::string_view member) const {
  dom::element element;
  if (row.at_key(member).get(element) != simdjson::SUCCESS) refuse_without(member);
  if (element.is_string()) return std::string(text_of(element.get_string().value_unsafe()));
  if (element.is_int64()) return std::to_string(element.get_int64().value_unsafe());
  if (element.is_uint64()) return std::to_string(element.get_uint64().value_unsafe());
  place_.refuse_cell({member}, "is neither a text nor a whole number");
}

// The name of the prompt of a long or nested row.
std::string JsonRows::prompt_in(const Object& row) const {
  std::string name = prompt_names_.empty() ? "" : name_in(row, prompt_names_[0]);
  for (std::size_t k = 1; k < prompt_names_.size(); ++k) name += " | " + name_in(row, prompt_names_[k]);
  return name;
}

void JsonRows::take_values(const Object& row, std::initializer_list<std::string_view> but) {
  for (const dom::key_value_pair member : row)
    if (std::find(but.begin(), but.end(), member.key) == but.end())
      builder_.value(builder_.column(text_of(member.key)), value_of(member.value));
}

// The number of the model that the member or the file names.
std::size_t JsonRows::model_in(const Object& row, std::string_view member) {
  const bool is_files = !of_file_.model.empty() && !has(row, member);
  return builder_.model(is_files ? of_file_.model : name_in(row, member));
}

std::uint32_t JsonRows::answer_of(const Object& row) {
  dom::element element;
  return row.at_key(kAnswer).get(element) == simdjson::SUCCESS ? builder_.answer_number(value_of(element)) : 0;
}

void JsonRows::take_cell(std::size_t model, std::string_view what, const Element& element, TableBuilder::Label label) {
  if (builder_.is_usage(what)) {
    Object counts;
    if (element.get(counts) != simdjson::SUCCESS) return;
    for (const dom::key_value_pair count : counts)
      if (is_tokens(count.key) || builder_.is_usage(count.key)) take_cell(model, count.key, count.value, label);
    return;
  }
  const std::size_t quantity = builder_.quantity(what);
  if (quantity == TraceTable::kNone) return;
  CellValue value = value_of(element);
  if (element.is_array()) {
    written_ = simdjson::minify(element);
    value = {CellValue::Kind::text, 0.0, written_, {}};
  }
  builder_.cell(model, quantity, value, label);
}

void JsonRows::take_prompt(const dom::object& row) {
  builder_.begin_row(answer_of(row));
  bool answered = false, named = false;
  for (const dom::key_value_pair member : row) {
    if (member.key == answers_) {
      once(answered, answers_);
      take_answers(member.value);
    } else if (is_prompt_name(member.key)) {
      once(named, member.key);
    } else {
      builder_.value(builder_.column(text_of(member.key)), value_of(member.value));
    }
  }
  if (!answered) refuse_without(answers_);
  if (!prompt_names_.empty()) builder_.name_row(prompt_in(row));
}

bool JsonRows::is_object_text(const dom::element& element) {
  std::string_view text;
  if (element.get(text) != simdjson::SUCCESS) return false;
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '{';
}

void JsonRows::take_answers(std::string_view member, std::string_view text) {
  answers_ = member;
  dom::element element;
  if (texts_.parse(text.data(), text.size()).get(element) != simdjson::SUCCESS || !element.is_object())
    place_.refuse_cell({answers_}, "is a text that is no JSON object (" + in_quotes(text) +
                                       "); write the object itself, or in Python the text of json.dumps of it");
  take_answers(element);
}

void JsonRows::take_answers(const dom::element& answers) {
  if (std::string_view text; answers.get(text) == simdjson::SUCCESS) return take_answers(answers_, text);
  if (!answers.is_object()) place_.refuse_cell({answers_}, "is no object of models");
  const dom::object models = answers.get_object().value_unsafe();
  for (const dom::key_value_pair answer : models) {
    const std::size_t model = builder_.model(text_of(answer.key));
    if (model == TraceTable::kNone) continue;
    if (!answer.value.is_object()) place_.refuse_cell({answers_, answer.key}, "is no object with quality and cost");
    const dom::object members = answer.value.get_object().value_unsafe();
    for (const dom::key_value_pair member : members)
      take_cell(model, member.key, member.value, {answers_, answer.key, member.key});
  }
}

// Takes an answer of the long form.
void JsonRows::take_answer(const Object& row) {
  const std::string prompt = prompt_in(row);
  const std::size_t model = model_in(row, "model");
  builder_.find_row(has_decision_ ? name_in(row, "decision") : prompt, prompt, model, answer_of(row));
  if (log_) builder_.call(model);
  bool named = false, has_model = false;
  for (const dom::key_value_pair member : row) {
    if (is_prompt_name(member.key) || member.key == "model") {
      once(member.key == "model" ? has_model : named, member.key);
      continue;
    }
    if (has_decision_ && member.key == "decision") continue;
    if (!builder_.is_of_answers(member.key) && !builder_.is_usage(member.key))
      builder_.value(builder_.column(text_of(member.key)), value_of(member.value));
    else if (model != TraceTable::kNone)
      take_cell(model, member.key, member.value, {member.key});
  }
}

// Takes an answer in the form of another program.
void JsonRows::take_other(const Object& row) {
  const std::string prompt = of_file_.prefix + name_in(row, form_->prompt);
  const std::size_t model = model_in(row, form_->model);
  builder_.find_row(prompt, prompt, model);
  for (const auto& [name, value] : of_file_.columns)
    builder_.value(builder_.column(name), {CellValue::Kind::text, 0.0, value, {}});
  const auto is_used = [&](std::string_view member) {
    return member == form_->prompt || member == form_->model || member == form_->text ||
           std::any_of(form_->cells.begin(), form_->cells.end(), [&](const AnswerForm::Cell& cell) {
             const std::string_view first = std::string_view(cell.pointer).substr(1);
             return first.substr(0, first.find('/')) == member;
           });
  };
  for (const dom::key_value_pair member : row) {
    if (member.key == form_->text)
      builder_.value(builder_.column("prompt"), value_of(member.value));
    else if (!is_used(member.key))
      builder_.unused(text_of(member.key));
  }
  dom::element element;
  for (const auto& [pointer, quantity] : form_->cells)
    if (model != TraceTable::kNone && row.at_pointer(pointer).get(element) == simdjson::SUCCESS)
      take_cell(model, quantity, element, {pointer});
}

}  // namespace pandora
