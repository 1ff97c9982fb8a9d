// What cascades need of tables.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "bindings.hpp"
#include "host/outcomes/tables/trace_table.hpp"

namespace pandora::python {

/// An object as plain Python values.
Dict python_of(const nlohmann::json& json);

}  // namespace pandora::python
