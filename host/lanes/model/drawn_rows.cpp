#include "host/lanes/model/drawn_rows.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace pandora {
namespace {

// `count` rows of a table: in order, in a random order (after the last row in a new random order), or with replacement.
std::vector<std::size_t> rows_of(const Stream& stream, Resample how, std::size_t rows, std::size_t count,
                                 std::size_t model) {
  std::vector<std::size_t> out;
  out.reserve(count);
  const auto word = [&](std::uint32_t round, std::size_t k) {
    std::uint32_t words[4][1];
    philox<1>(stream, {round}, {static_cast<std::uint32_t>(k)}, {static_cast<std::uint32_t>(model)}, words);
    return static_cast<std::uint64_t>(words[0][0]) << 32 | words[1][0];
  };
  if (how == Resample::bootstrap) {
    for (std::size_t k = 0; k < count; ++k)
      out.push_back(static_cast<std::size_t>(static_cast<unsigned __int128>(word(0, k)) * rows >> 64));
    return out;
  }
  for (std::uint32_t round = 0; out.size() < count; ++round) {
    std::vector<std::pair<std::uint64_t, std::size_t>> keys(rows);
    for (std::size_t k = 0; k < rows; ++k) keys[k] = {how == Resample::in_order ? 0 : word(round, k), k};
    std::sort(keys.begin(), keys.end());
    for (std::size_t k = 0; k < rows && out.size() < count; ++k) out.push_back(keys[k].second);
  }
  return out;
}

}  // namespace

DrawnRows draw_rows(const Stream& stream, Resample how, std::size_t rows, std::size_t count, std::size_t models) {
  if (how != Resample::independent) return {1, rows_of(stream, how, rows, count, 0)};
  DrawnRows out{models, std::vector<std::size_t>(count * models)};
  for (std::size_t a = 0; a < models; ++a) {
    const std::vector<std::size_t> own = rows_of(stream, how, rows, count, a);
    for (std::size_t k = 0; k < count; ++k) out.rows[k * models + a] = own[k];
  }
  return out;
}

}  // namespace pandora
