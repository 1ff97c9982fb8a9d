// Short lists whose order matters.
#pragma once

#include <algorithm>
#include <type_traits>
#include <vector>

namespace pandora {

template <class T>
bool has(const std::vector<T>& list, const std::type_identity_t<T>& item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

/// Appends the item unless the list has it.
template <class T>
void add_new(std::vector<T>& list, const std::type_identity_t<T>& item) {
  if (!has(list, item)) list.push_back(item);
}

}  // namespace pandora
