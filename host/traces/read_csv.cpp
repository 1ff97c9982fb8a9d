#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "host/base/printable.hpp"
#include "host/traces/csv_fields.hpp"
#include "host/traces/trace_forms.hpp"

namespace pandora {
namespace {

using Kind = CellValue::Kind;

// What a column of the file is.
struct Role {
  enum class Is { ignored, prompt_name, model_name, cell, value } is = Is::ignored;
  std::size_t model = 0, quantity = 0;  // of a cell; in a long table the row says which model
  std::size_t column = 0;               // of a value
};

class CsvReader {
 public:
  CsvReader(RecordStream& stream, FilePlace& place, const TraceOptions& options)
      : stream_(stream), place_(place), builder_(place, options, true) {}

  TraceTable read() {
    read_header();
    std::string_view record;
    while (stream_.next(RecordStream::Form::csv, record)) {
      split(record);
      if (fields_.size() != names_.size())
        place_.refuse_row(fmt::format("has {} fields where the header has {}", fields_.size(), names_.size()));
      if (long_)
        take_answer();
      else
        take_prompt();
    }
    return std::move(builder_).finish();
  }

 private:
  void split(std::string_view record) {
    if (const char* const problem = split_csv(record, fields_, unescaped_)) place_.refuse_row(problem);
  }

  std::size_t position(std::string_view name) const {
    return static_cast<std::size_t>(std::find(names_.begin(), names_.end(), name) - names_.begin());
  }
  bool has(std::string_view name) const { return position(name) < names_.size(); }

  void read_header() {
    std::string_view record;
    place_.row = static_cast<std::uint64_t>(-1);  // so that the header is row 0
    if (!stream_.next(RecordStream::Form::csv, record)) place_.refuse("is empty");
    split(record);
    names_.assign(fields_.begin(), fields_.end());
    std::vector<std::string> sorted = names_;
    std::sort(sorted.begin(), sorted.end());
    for (std::size_t i = 1; i < sorted.size(); ++i)
      if (!sorted[i].empty() && sorted[i] == sorted[i - 1])
        place_.refuse(fmt::format("column {} stands twice in the header", in_quotes(sorted[i])));
    roles_.resize(names_.size());
    for (const std::string_view name : kPromptNames)
      if (has(name) && prompt_name_ == kNone) prompt_name_ = position(name);
    if (prompt_name_ != kNone) roles_[prompt_name_].is = Role::Is::prompt_name;
    long_ = has("model") && (has("quality") || has("reward"));
    if (long_)
      give_long_roles();
    else
      give_wide_roles();
  }

  void give_long_roles() {
    if (prompt_name_ == kNone) refuse_form(place_, "a column prompt_id is missing");
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (i == prompt_name_ || names_[i].empty()) continue;
      Role& role = roles_[i];
      if (names_[i] == "model") {
        role.is = Role::Is::model_name;
        model_name_ = i;
      } else {
        give_answer_role(role, names_[i]);
      }
    }
    const auto count = [this](bool (*is)(std::string_view)) { return std::count_if(names_.begin(), names_.end(), is); };
    if (count(is_cost) == 0) refuse_form(place_, "a column cost is missing");
    if (count(is_quality) > 1 || count(is_cost) > 1)
      place_.refuse("has two columns of qualities or costs (quality and reward, or cost and total_cost); keep one");
  }

  void give_answer_role(Role& role, const std::string& name) {
    if (is_quality(name) || is_cost(name) || is_score(name)) {
      role.quantity = builder_.quantity(name);
      role.is = role.quantity == kNone ? Role::Is::ignored : Role::Is::cell;
    } else {
      role.is = Role::Is::value;
      role.column = builder_.column(name);
    }
  }

  // The model of "M|total_cost" or "M|cost", where M is a column too; empty for another name.
  std::string model_of_cost(const std::string& name) const {
    const std::size_t bar = name.rfind('|');
    if (bar == std::string::npos || !is_cost(std::string_view(name).substr(bar + 1))) return "";
    if (!has(name.substr(0, bar)))
      place_.refuse(fmt::format("column {} has no column {} of qualities beside it", in_quotes(name),
                                in_quotes(name.substr(0, bar))));
    return name.substr(0, bar);
  }

  void give_wide_roles() {
    NameList models;
    for (const std::string& name : names_) {
      const std::string model = model_of_cost(name);
      if (model.empty()) continue;
      if (models.find(model) != kNone)
        place_.refuse(fmt::format("model {} has two columns of costs", in_quotes(model)));
      models.add(model);
    }
    if (models.names().empty())
      refuse_form(place_, "its header is " + printable(fmt::format("{}", fmt::join(names_, ",")), 300));
    for (const std::string& name : names_)  // in the order of their qualities
      if (models.find(name) != kNone) (void)builder_.model(name);
    for (std::size_t i = 0; i < names_.size(); ++i)
      if (i != prompt_name_ && !names_[i].empty()) give_wide_role(roles_[i], names_[i], models);
  }

  void give_wide_role(Role& role, const std::string& name, const NameList& models) {
    const std::size_t bar = name.rfind('|');
    const bool is_model = models.find(name) != kNone;
    const std::string model = is_model ? name : name.substr(0, bar);
    if (models.find(model) == kNone) {
      role.is = Role::Is::value;
      role.column = builder_.column(name);
      return;
    }
    const std::string what = is_model ? "quality" : name.substr(bar + 1);
    if (!is_model && is_quality(what)) return;  // the column M is
    role.model = builder_.model(model);
    role.quantity = builder_.quantity(what);
    role.is = role.model == kNone || role.quantity == kNone ? Role::Is::ignored : Role::Is::cell;
  }

  CellValue text(std::size_t field) const {
    CellValue value;
    value.text = fields_[field];
    value.kind = value.text.empty() ? Kind::missing : Kind::text;
    return value;
  }

  void take_cell(std::size_t field, std::size_t model) {
    CellValue value = text(field);
    if (value.text.find_first_not_of(" \t") == std::string_view::npos) value.kind = Kind::missing;
    if (const std::optional<double> number = number_in(value.text)) {
      value.kind = Kind::number;
      value.number = *number;
    }
    builder_.cell(model, roles_[field].quantity, value, {names_[field]});
  }

  void take_prompt() {
    builder_.begin_row();
    if (prompt_name_ != kNone) builder_.name_row(fields_[prompt_name_]);
    for (std::size_t i = 0; i < roles_.size(); ++i) {
      if (roles_[i].is == Role::Is::cell) take_cell(i, roles_[i].model);
      if (roles_[i].is == Role::Is::value) builder_.value(roles_[i].column, text(i));
    }
  }

  void take_answer() {
    (void)builder_.find_row(fields_[prompt_name_]);
    const std::size_t model = builder_.model(fields_[model_name_]);
    for (std::size_t i = 0; i < roles_.size(); ++i) {
      if (roles_[i].is == Role::Is::cell && model != kNone) take_cell(i, model);
      if (roles_[i].is == Role::Is::value) builder_.value(roles_[i].column, text(i));
    }
  }

  static constexpr std::size_t kNone = TraceTable::kNone;

  RecordStream& stream_;
  FilePlace& place_;
  TableBuilder builder_;
  bool long_ = false;
  std::size_t prompt_name_ = kNone, model_name_ = kNone;  // fields
  std::vector<std::string> names_;
  std::vector<Role> roles_;
  std::vector<std::string_view> fields_;
  std::string unescaped_;
};

}  // namespace

TraceTable read_csv_trace(RecordStream& stream, FilePlace& place, const TraceOptions& options) {
  return CsvReader(stream, place, options).read();
}

}  // namespace pandora
