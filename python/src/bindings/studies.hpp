// Functions on studies that several topics use.
#pragma once

#include "beside.hpp"
#include "host/studies/study/study_config.hpp"

namespace pandora::python {

/// fill_in_tables, which stops when the work is interrupted.
void read_tables(StudyConfig& config, Beside& work);

}  // namespace pandora::python
