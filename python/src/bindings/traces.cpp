// Tables of outcomes.
#include <algorithm>

#include "beside.hpp"
#include "host/outcomes/tables/named_columns.hpp"
#include "host/outcomes/tables/read_trace.hpp"
#include "host/studies/study/price_list.hpp"
#include "rows.hpp"

namespace pandora::python {
namespace {

MissingCells missing_of(const std::string& missing) {
  if (missing == "refuse") return MissingCells::refuse;
  if (missing == "drop") return MissingCells::drop;
  if (missing == "failed") return MissingCells::failed;
  throw misuse("missing \"" + missing + "\": unknown; use refuse, drop or failed");
}

using NamedPairs = std::vector<std::pair<std::string, std::pair<double, double>>>;
using NamedPrices = std::vector<std::pair<std::string, TokenPrice>>;
using NamedNumbers = std::vector<std::pair<std::string, double>>;

NamedPrices price_list(const std::string& path) {
  TraceOptions options;
  options.prices = read_price_list(path);
  require_sound(options);
  return {options.prices.begin(), options.prices.end()};
}

double token_dollars(const TokenPrice& price, const NamedNumbers& counts) {
  TokenUsage usage;
  for (const auto& [name, count] : counts)
    if (double TokenUsage::*const member = TokenUsage::member(is_tokens(name) ? canonical_count(name) : name))
      usage.*member = std::max(usage.*member, count);  // providers give a count under several names
  if (const char* const fault = usage.fault()) throw Error(ExitCode::bad_data, std::string("a call ") + fault);
  return dollars_of(price, usage);
}

void set_options(TraceOptions* options, const Texts& models, const std::string& missing, const NamedPairs& scale,
                 const NamedPrices& prices, bool free_calls, bool repeats, const std::string& quality,
                 const Texts& prompt_key, bool scores_alone) {
  new (options) TraceOptions();
  options->holes = true;
  options->models = models;
  options->missing = missing_of(missing);
  for (const auto& [name, range] : scale) options->scale.push_back({name, range.first, range.second});
  options->prices = {prices.begin(), prices.end()};
  options->free_calls = free_calls;
  options->repeats = repeats;
  options->quality = quality;
  options->prompt_key = prompt_key;
  options->scores_alone = scores_alone;
}

TraceTable read(const std::string& path, TraceOptions options, const nb::object& progress) {
  constexpr int kMebibyte = 20;
  return beside(
      [&](Beside& work) {
        options.progress = [&work](std::uint64_t done, std::uint64_t total) {
          if (work.interrupted) throw Error(ExitCode::interrupted, "interrupted");
          work.progress(done >> kMebibyte, std::max(done, total) >> kMebibyte);
        };
        return read_trace(path, options);
      },
      progress);
}

CellValue number_cell(double value) {
  return {value == value ? CellValue::Kind::number : CellValue::Kind::missing, value, {}, {}};
}

// The value of a cell in a column. `text` and `numbers` hold its contents and must outlive it.
CellValue value_of(const nb::handle& cell, std::string& text, std::vector<double>& numbers) {
  CellValue out;
  if (nb::isinstance<nb::str>(cell)) {
    text = nb::cast<std::string>(cell);
    out.kind = text.empty() ? CellValue::Kind::missing : CellValue::Kind::text;
    out.text = text;
  } else if (nb::isinstance<nb::float_>(cell)) {
    out = number_cell(nb::cast<double>(cell));
  } else if (nb::isinstance<nb::int_>(cell)) {
    out = number_cell(nb::cast<double>(cell));
    text = nb::str(cell).c_str();  // a name keeps all its digits
    out.text = text;
  } else if (!cell.is_none()) {
    numbers = nb::cast<std::vector<double>>(cell);
    out.kind = CellValue::Kind::vector;
    out.vector = numbers;
  }
  return out;
}

using CellList = nb::typed<nb::list, nb::any>;
using NamedMatrices = std::vector<std::pair<std::string, Cells>>;
using NamedCells = std::vector<std::pair<std::string, CellList>>;

void require_rows(const FilePlace& place, const std::string& what, std::size_t count, std::size_t rows) {
  if (count != rows)
    place.refuse(what + " has " + std::to_string(count) + " values for " + std::to_string(rows) + " prompts");
}

void require_shapes(const FilePlace& place, const Texts& models, const NamedMatrices& answers) {
  const std::size_t rows = answers[0].second.shape(0);
  for (const auto& [name, values] : answers)
    if (values.shape(0) != rows || values.shape(1) != models.size())
      place.refuse(in_quotes(name) + " is " + std::to_string(values.shape(0)) + " x " +
                   std::to_string(values.shape(1)) + "; give a row for each of the " + std::to_string(rows) +
                   " prompts and a column for each of the " + std::to_string(models.size()) + " models");
}

// The reader of files refuses wrong cells, with `source` in place of a file's name. `answers` are quality, cost and
// other values named as in files, then `scores` judges' scores, which get the prefix that they have in files.
TraceTable of_arrays(const std::string& source, const Texts& models, const CellList& prompts,
                     const NamedMatrices& answers, std::size_t scores, const NamedCells& columns,
                     const TraceOptions& options) {
  FilePlace place(source);
  TableBuilder builder(place, options, false);
  require_shapes(place, models, answers);
  const std::size_t rows = answers[0].second.shape(0);
  if (prompts.size() > 0) require_rows(place, "prompts", prompts.size(), rows);
  std::vector<std::size_t> model_of, quantity_of, column_of;
  const auto add = [&place](std::vector<std::size_t>& to, std::size_t number, const std::string& name) {
    if (number != TraceTable::kNone && std::find(to.begin(), to.end(), number) != to.end())
      place.refuse(in_quotes(name) + " is given twice");
    to.push_back(number);
  };
  for (const std::string& model : models) add(model_of, builder.model(model), model);
  for (std::size_t q = 0; q < answers.size(); ++q) {
    const std::string& name = answers[q].first;
    const bool plain = q + scores < answers.size() || is_score(name);
    add(quantity_of, builder.quantity(plain ? name : "score:" + name), name);
  }
  for (const auto& [name, values] : columns) {
    require_rows(place, "column " + in_quotes(name), values.size(), rows);
    add(column_of, builder.column(name), name);
  }
  std::string text;
  std::vector<double> numbers;
  for (std::size_t row = 0; row < rows; ++row) {
    place.row = row + 1;
    builder.begin_row();
    if (prompts.size() > 0) builder.name_row(name_in(place, "prompts", value_of(prompts[row], text, numbers)));
    for (std::size_t c = 0; c < columns.size(); ++c)
      builder.value(column_of[c], value_of(columns[c].second[row], text, numbers));
    for (std::size_t q = 0; q < answers.size(); ++q)
      for (std::size_t m = 0; m < models.size(); ++m)
        if (model_of[m] != TraceTable::kNone && quantity_of[q] != TraceTable::kNone)
          builder.cell(model_of[m], quantity_of[q], number_cell(answers[q].second(row, m)),
                       {models[m], answers[q].first});
  }
  return std::move(builder).finish();
}

// A data frame, by the rules for columns of a CSV file, except that texts are not read as numbers.
TraceTable of_columns(const std::string& source, const NamedCells& columns, const TraceOptions& options) {
  FilePlace place(source);
  NamedColumns named(place, options, false);
  Texts names, texts(columns.size());
  for (const auto& [name, values] : columns) names.push_back(name);
  named.name(std::move(names));
  std::vector<std::vector<double>> numbers(columns.size());
  std::vector<CellValue> cells(columns.size());
  for (std::size_t row = 0; row < columns[0].second.size(); ++row) {
    place.row = row + 1;
    for (std::size_t c = 0; c < columns.size(); ++c) cells[c] = value_of(columns[c].second[row], texts[c], numbers[c]);
    named.take(cells);
  }
  return std::move(named).finish();
}

Array<double> matrix(const std::vector<double>& values, const TraceTable& table) {
  return array_of(values, {table.rows(), table.models.size()});
}

template <class Named>
Texts names_of(const std::vector<Named>& columns) {
  Texts out;
  for (const Named& column : columns) out.push_back(column.name);
  return out;
}

nb::object column(const TraceTable& table, const std::string& name) {
  const PromptColumn* found = find_column(table, name);
  if (found == nullptr) throw Error(ExitCode::bad_data, table.source + ": has no column " + in_quotes(name));
  if (found->kind == PromptColumn::Kind::text) {
    nb::list out;
    for (std::size_t row = 0; row < table.rows(); ++row)
      out.append(nb::str(found->texts[row].data(), found->texts[row].size()));
    return out;
  }
  std::vector<std::size_t> shape = {table.rows()};
  if (found->kind == PromptColumn::Kind::vector) shape.push_back(found->length);
  return nb::cast(array_of(found->numbers, shape));
}

using View = nb::ndarray<nb::numpy, const double>;

// Views of a table; they keep the table alive.
class TableArrays {
 public:
  explicit TableArrays(nb::object table) : kept_(std::move(table)), table_(nb::cast<const TraceTable&>(kept_)) {}

  const TraceTable& table() const { return table_; }
  View view(const std::vector<double>& values, std::size_t columns) const {
    return View(values.data(), {table_.rows(), columns}, kept_);
  }
  std::optional<View> cells(const std::vector<double>& values) const {
    if (values.empty()) return {};
    return view(values, table_.models.size());
  }
  std::optional<View> logged(std::vector<double> CallLog::*values) const {
    return table_.log ? cells((*table_.log).*values) : std::nullopt;
  }
  View numbers(const std::string& name) const {
    const PromptColumn* const column = find_column(table_, name);
    if (column == nullptr) table_.refuse("has no column {}", in_quotes(name));
    if (column->kind == PromptColumn::Kind::text) table_.refuse("column {} holds texts", in_quotes(name));
    return column->kind == PromptColumn::Kind::vector ? view(column->numbers, column->length)
                                                      : View(column->numbers.data(), {table_.rows()}, kept_);
  }

 private:
  nb::object kept_;
  const TraceTable& table_;
};

}  // namespace

void bind_traces(nb::module_& module) {
  nb::class_<TokenPrice>(module, "TokenPrice", "Dollars for a million tokens of a model.")
      .def_ro("into", &TokenPrice::in)
      .def_ro("out", &TokenPrice::out);
  module.def("price_list", &price_list, nb::arg("path"), "The prices of each model in a TOML file.");
  module.def(
      "price_named", [](const NamedNumbers& named) { return price_named(named); }, nb::arg("named"),
      "The price given by names such as in, out, cached and those of LiteLLM; None if they give no price.");
  module.def(
      "token_dollars", &token_dollars, nb::arg("price"), nb::arg("counts"),
      "Dollars of a call by its counts (prompt_tokens, completion_tokens, cached_tokens, total_tokens, ...); others "
      "are passed over. DataError for counts that cannot be.");
  nb::class_<TraceOptions>(module, "TraceOptions", "How a table is read.")
      .def("__init__", &set_options, nb::arg("models"), nb::arg("missing"), nb::arg("scale"), nb::arg("prices"),
           nb::arg("free_calls"), nb::arg("repeats"), nb::arg("quality") = "", nb::arg("prompt_key") = Texts(),
           nb::arg("scores_alone") = false);
  nb::class_<TraceTable>(module, "TraceTable", "A table of outcomes, prompts x models.")
      .def_rw("source", &TraceTable::source)
      .def_ro("models", &TraceTable::models)
      .def_ro("dropped", &TraceTable::dropped)
      .def_ro("notes", &TraceTable::notes)
      .def_ro("note_on", &TraceTable::note_on)
      .def_ro("judged_by", &TraceTable::judged_by)
      .def_prop_ro("rows", &TraceTable::rows)
      .def_prop_ro("prompts",
                   [](const TraceTable& t) {
                     Texts out;
                     for (std::size_t row = 0; row < t.rows(); ++row) out.emplace_back(t.prompts[row]);
                     return out;
                   })
      .def_prop_ro("columns", [](const TraceTable& t) { return names_of(t.columns); })
      .def_prop_ro("scores", [](const TraceTable& t) { return names_of(t.scores); })
      .def("quality", [](const TraceTable& t) { return matrix(t.quality, t); })
      .def("cost", [](const TraceTable& t) { return matrix(t.cost, t); })
      .def("latency",
           [](const TraceTable& t) { return t.latency.empty() ? std::nullopt : std::optional(matrix(t.latency, t)); })
      .def(
          "score", [](const TraceTable& t, const std::string& name) { return matrix(find_score(t, name).values, t); },
          nb::arg("name"))
      .def("column", &column, nb::arg("name"))
      .def("digest", &content_digest)
      .def("select_models", &select_models, nb::arg("models"))
      .def(
          "select_rows",
          [](const TraceTable& t, const std::vector<std::size_t>& rows) {
            for (const std::size_t row : rows)
              if (row >= t.rows()) throw misuse(t.source + ": has no row " + std::to_string(row));
            return select_rows(t, rows);
          },
          nb::arg("rows"))
      .def("split_rows", &split_rows, nb::arg("share"));
  module.def("require_apart", &require_apart, nb::arg("fitted"), nb::arg("test"), nb::call_guard<WithoutGil>(),
             "DataError where two tables have prompts in common or other models.");
  module.def("read_trace", &read, nb::arg("path"), nb::arg("options"), nb::arg("progress") = nb::none());
  module.def("trace_of_arrays", &of_arrays, nb::arg("source"), nb::arg("models"), nb::arg("prompts"),
             nb::arg("answers"), nb::arg("scores"), nb::arg("columns"), nb::arg("options"));
  module.def("trace_of_columns", &of_columns, nb::arg("source"), nb::arg("columns"), nb::arg("options"));
  constexpr auto kAsItIs = nb::rv_policy::automatic;  // views know who owns them
  nb::class_<TableArrays>(
      module, "TableArrays",
      "What a table holds, without a copy: arrays that cannot be written to, and that keep the table. "
      "f64[n,A] where nothing else is said.")
      .def(nb::init<nb::typed<nb::object, TraceTable>>(), nb::arg("table"))
      .def_prop_ro(
          "quality", [](const TableArrays& t) { return t.view(t.table().quality, t.table().models.size()); },
          "In [0, 1]; NaN where not known.", kAsItIs)
      .def_prop_ro(
          "usd", [](const TableArrays& t) { return t.view(t.table().cost, t.table().models.size()); },
          "Dollars of each call, not negative; NaN in a log where the model was not called.", kAsItIs)
      .def_prop_ro(
          "latency", [](const TableArrays& t) { return t.cells(t.table().latency); },
          "Seconds of each call, NaN where not known; None where none has them.", kAsItIs)
      .def_prop_ro(
          "label_propensity", [](const TableArrays& t) { return t.cells(t.table().label_propensity); },
          "The probability that a quality became known, in (0, 1]; None if the file does not say.", kAsItIs)
      .def_prop_ro("is_log", [](const TableArrays& t) { return t.table().log.has_value(); })
      .def_prop_ro(
          "propensity", [](const TableArrays& t) { return t.logged(&CallLog::propensity); },
          "For a log: the probability that the model was called there, given everything seen before, in (0, 1]; NaN "
          "if it was not called. None for a table.",
          kAsItIs)
      .def_prop_ro(
          "place", [](const TableArrays& t) { return t.logged(&CallLog::place); },
          "For a log: 1, 2, ..., the call's place in its decision; NaN if the model was not called. None for a table.",
          kAsItIs)
      .def_prop_ro(
          "by_rules", [](const TableArrays& t) { return t.logged(&CallLog::by_rules); },
          "For the answer that a log's client got: the probability that the decision went by the rules in all of its "
          "steps; NaN for other answers. None if the log does not say.",
          kAsItIs)
      .def(
          "score",
          [](const TableArrays& t, const std::string& name) {
            return t.view(find_score(t.table(), name).values, t.table().models.size());
          },
          nb::arg("name"), "A judge's scores, in [0, 1]; DataError if the table does not have them.")
      .def("numbers", &TableArrays::numbers, nb::arg("name"),
           "A column of numbers, f64[n], or of lists of k numbers, f64[n,k]; NaN where a cell is missing. DataError "
           "where it is not there or holds texts.");
  module.def(
      "group_prompts",
      [](const TraceTable& table) {
        const PromptGroups groups = without_gil([&] { return group_prompts(table); });
        return std::pair(numbers_of(groups.of_row), groups.count);
      },
      nb::arg("table"),
      "Which prompt each row has, i64[n], from 0 to count - 1 in the order of a hash, and count. Rows with the same "
      "text (without one the same name) are one prompt; fold f of F are those with of_row % F == f.");
}

}  // namespace pandora::python
