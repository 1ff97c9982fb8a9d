// Tables whose columns have names, such as CSV files and data frames. The name of a column decides its meaning.
#pragma once

#include <algorithm>
#include <functional>

#include "host/outcomes/tables/table_builder.hpp"

namespace pandora {

/// The name of a prompt or a model: a text or a whole number; empty if the cell is missing.
std::string name_in(const FilePlace& place, std::string_view column, const CellValue& cell);

class NamedColumns {
 public:
  /// `infer`: cells are texts, which may spell numbers (in a CSV file all cells are texts). Both references must
  /// outlive it.
  NamedColumns(const FilePlace& place, const TraceOptions& options, bool infer)
      : place_(place), infer_(infer), builder_(place, options, infer) {}

  /// Call it before the first row. Throws Error (bad_data) for names of no known form.
  void name(std::vector<std::string> names);
  std::size_t size() const { return names_.size(); }

  /// Takes a row of size() cells.
  void take(std::span<const CellValue> cells);

  TraceTable finish() &&;

 private:
  static constexpr std::size_t kNone = TraceTable::kNone;

  // The meaning of a column.
  struct Role {
    enum class Is { ignored, cell, value, answers } is = Is::ignored;
    std::size_t number = 0;  // of the quantity of a cell, or of the column of a value
    std::size_t model = 0;   // for a cell; in a long table the row names the model
  };

  std::size_t position(std::string_view name) const {
    return static_cast<std::size_t>(std::find(names_.begin(), names_.end(), name) - names_.begin());
  }
  bool has(std::string_view name) const { return position(name) < names_.size(); }
  template <class Is>
  bool any_of(const Is& is) const {
    return std::any_of(names_.begin(), names_.end(), is);
  }
  void require_long_form() const;
  std::string model_of_cost(const std::string& name) const;
  void find_models();
  Role role_of(std::size_t column);

  const FilePlace& place_;
  const bool infer_;
  TableBuilder builder_;
  bool long_ = false;
  std::size_t model_name_ = kNone, answer_ = kNone, decision_ = kNone, answers_ = kNone;  // columns
  std::vector<std::size_t> prompt_names_;                    // their values together name the prompt
  std::function<void(std::string_view text)> take_answers_;  // for an object by model, in the column answers_
  NameList models_;                                          // of a wide table
  std::vector<std::string> names_;
  std::vector<Role> roles_;
};

}  // namespace pandora
