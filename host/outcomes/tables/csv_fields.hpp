// A row of a CSV file in fields (RFC 4180).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pandora {

/// Fields of a row, without their quotes. A field that begins with a quote ends with one, and two inside stand for one;
/// other fields hold no quote and no carriage return. nullptr, or what is wrong. Fields stand as long as `record` and
/// `unescaped`, which is overwritten.
const char* split_csv(std::string_view record, std::vector<std::string_view>& fields, std::string& unescaped);

}  // namespace pandora
