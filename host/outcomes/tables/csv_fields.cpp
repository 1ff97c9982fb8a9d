#include "host/outcomes/tables/csv_fields.hpp"

#include <cstring>

namespace pandora {
namespace {

// The field in quotes that begins at record[at]; `at` moves behind it. An empty view without data: it is not closed.
std::string_view quoted_field(std::string_view record, std::size_t& at, std::string& unescaped) {
  const std::size_t begin = at + 1;
  std::size_t quote = record.find('"', begin);
  const auto doubled = [&] { return quote + 1 < record.size() && record[quote + 1] == '"'; };
  if (quote == std::string_view::npos) return {};
  if (!doubled()) {
    at = quote + 1;
    return record.substr(begin, quote - begin);
  }
  const std::size_t start = unescaped.size();
  std::size_t from = begin;
  while (doubled()) {
    unescaped += record.substr(from, quote + 1 - from);
    from = quote + 2;
    quote = record.find('"', from);
    if (quote == std::string_view::npos) return {};
  }
  unescaped += record.substr(from, quote - from);
  at = quote + 1;
  return std::string_view(unescaped).substr(start);
}

}  // namespace

const char* split_csv(std::string_view record, std::vector<std::string_view>& fields, std::string& unescaped) {
  fields.clear();
  unescaped.clear();
  unescaped.reserve(record.size());  // views into it stay
  std::size_t at = 0;
  while (true) {
    if (at < record.size() && record[at] == '"') {
      const std::string_view field = quoted_field(record, at, unescaped);
      if (field.data() == nullptr) return "a quote that is opened is not closed";
      fields.push_back(field);
      if (at < record.size() && record[at] != ',')
        return "something stands between a closing quote and the next comma; a quote inside a field is written twice";
    } else {
      const void* const comma = at < record.size() ? std::memchr(record.data() + at, ',', record.size() - at) : nullptr;
      const std::size_t end =
          comma == nullptr ? record.size() : static_cast<std::size_t>(static_cast<const char*>(comma) - record.data());
      const std::string_view field = record.substr(at, end - at);
      if (field.find('"') != std::string_view::npos)
        return "a quote stands inside a field that does not begin with one; such a field is put in quotes, and its "
               "quotes are written twice";
      if (field.find('\r') != std::string_view::npos)
        return "a carriage return stands outside quotes; lines end with a line feed";
      fields.push_back(field);
      at = end;
    }
    if (at == record.size()) return nullptr;
    ++at;  // the comma; a field follows, though it be empty
  }
}

}  // namespace pandora
