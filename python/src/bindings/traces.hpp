// What cascades need of tables.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "bindings.hpp"
#include "host/traces/trace_table.hpp"

namespace pandora::python {

/// Plain Python values.
nb::object python_of(const nlohmann::json& json);

}  // namespace pandora::python
