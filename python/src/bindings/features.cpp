// Features of prompts, fitted on some rows of a table.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "beside.hpp"
#include "host/ground/files/sealed_file.hpp"
#include "rows.hpp"

namespace pandora::python {
namespace {

// The n-grams of all texts of a table.
void count_texts(TextCounts* self, const TraceTable& table) {
  if (table.text_column == TraceTable::kNone) table.refuse("has no text of prompts");
  new (self) TextCounts(TextCounts::of(table.columns[table.text_column].texts, all_rows(table.rows())));
}

CountedRows counted_rows(const TextCounts* counts, const TraceTable& table, std::span<const std::size_t> rows = {}) {
  if (counts != nullptr && counts->size() != table.rows())
    throw misuse("the texts that were counted are another table's");
  return {counts, rows};
}

FeatureMap fit_map(const TraceTable& table, const Texts& specs, const RowNumbers& rows, const TextCounts* counts,
                   const FeatureMap* near) {
  const std::vector<std::size_t> fitted = rows_of(rows, table.rows());
  if (fitted.empty()) throw misuse("features are fitted on a row at least");
  const CountedRows counted = counted_rows(counts, table, fitted);
  return beside([&](Beside&) {
    if (fitted == all_rows(table.rows())) return FeatureMap::fit(table, specs, counted, near);
    return FeatureMap::fit(select_rows(table, fitted), specs, counted, near);
  });
}

Array<float> apply_map(const FeatureMap& map, const TraceTable& table, const TextCounts* counts) {
  const CountedRows counted = counted_rows(counts, table);
  std::vector<float> out = beside([&](Beside&) {
    const std::vector<double> numbers = map.apply(table, counted);
    return std::vector<float>(numbers.begin(), numbers.end());
  });
  return array_of(std::move(out), {table.rows(), map.size()});
}

Array<float> apply_to_prompt(const FeatureMap& map, const std::string& text, const Dict& columns) {
  Prompt prompt;
  prompt.text = text;
  for (const auto& [key, value] : columns) {
    const std::string name = nb::cast<std::string>(key);
    if (nb::isinstance<nb::str>(value))
      prompt.columns[name] = nb::cast<std::string>(value);
    else if (nb::isinstance<nb::float_>(value) || nb::isinstance<nb::int_>(value))
      prompt.columns[name] = nb::cast<double>(value);
    else if (value.is_none())
      prompt.columns[name] = std::monostate();
    else
      prompt.columns[name] = nb::cast<std::vector<double>>(value);
  }
  const std::vector<double> numbers = without_gil([&] { return map.apply(prompt); });
  return array_of(std::vector<float>(numbers.begin(), numbers.end()));
}

}  // namespace

FeatureMap parse_map(const std::string& json) {
  try {
    return FeatureMap::from_json(nlohmann::json::parse(json));
  } catch (const nlohmann::json::exception&) {
    throw misuse("the features are not JSON");
  } catch (const Damaged& damage) {
    throw misuse(fmt::format("the features: the text {}", damage.what()));
  }
}

void bind_features(nb::module_& module) {
  nb::class_<TextCounts>(module, "CountedTexts", "The n-grams of a table's texts, counted once for many fits.")
      .def("__init__", &count_texts, nb::arg("table"), nb::call_guard<WithoutGil>(),
           "DataError where the table has no texts.");
  nb::class_<FeatureMap>(module, "FeatureMap", "Features of prompts, fitted on some rows of a table.")
      .def_static("parse", &parse_map, nb::arg("json"),
                  "Reads features from `json`; UsageError if `json` cannot have written it.")
      .def_prop_ro(
          "json", [](const FeatureMap& map) { return map.to_json().dump(); },
          "The features as JSON, as in files of cascades.")
      .def_prop_ro("names", &FeatureMap::names, "One for each number.")
      .def_prop_ro("notes", &FeatureMap::notes, "What was dropped, in one sentence each.")
      .def_prop_ro("size", &FeatureMap::size, "d, numbers of a prompt.")
      .def("apply", &apply_to_prompt, nb::arg("text"), nb::arg("columns"),
           "f32[d] of one prompt; columns: numbers, texts, lists of numbers, or None where a value is not known.");
  module.def(
      "features_fit", &fit_map, nb::arg("table"), nb::arg("specs"), nb::arg("rows"),
      nb::arg("counts").none() = nb::none(), nb::arg("near").none() = nb::none(),
      "Of these rows, i64[k]. specs: text:K, length, NAME, raw:NAME. counts: of this table; without them texts are "
      "counted anew. near: of the same specs, fitted on nearly the same rows, as those of all rows are; text:K sets "
      "out from there and takes fewer iterations. UsageError for a spec that is none or stands twice, DataError "
      "where the table lacks what it names.");
  module.def("features_apply", &apply_map, nb::arg("map"), nb::arg("table"), nb::arg("counts").none() = nb::none(),
             "f32[n,d], in [-1, 1] but for those of raw columns. DataError where the table lacks a column.");
}

}  // namespace pandora::python
