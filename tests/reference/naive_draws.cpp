#include "tests/reference/naive_draws.hpp"

#include <cmath>

namespace pandora::naive {

Words block(const Stream& stream, std::uint32_t coordinate_block, std::uint32_t period, std::uint32_t box,
            std::uint32_t attempt) {
  const std::uint32_t purpose = static_cast<std::uint32_t>(stream.purpose);
  return philox({coordinate_block + attempt * 65536u, period,
                 box + 256u * purpose + 65536u * stream.environment + 16777216u * stream.regime, stream.replication},
                {static_cast<std::uint32_t>(stream.seed % 4294967296ull),
                 static_cast<std::uint32_t>(stream.seed / 4294967296ull)});
}

std::vector<double> uniforms(const Stream& stream, std::uint32_t period, int n) {
  std::vector<double> out;
  for (int j = 0; j < n; ++j)
    out.push_back((block(stream, static_cast<std::uint32_t>(j / 4), period, 0)[j % 4] + 0.5) / 4294967296.0);
  return out;
}

std::vector<double> centred_row(const Stream& stream, std::uint32_t box, int n) {
  std::vector<double> row = uniforms(stream, box, n);
  double mean = 0.0, square = 0.0;
  for (const double u : row) mean += u / n;
  for (const double u : row) square += (u - mean) * (u - mean);
  for (double& u : row) u = 8.0 * (u - mean) / std::sqrt(square);
  return row;
}

std::vector<float> context(const Stream& stream, std::uint32_t period, int n) {
  std::vector<float> x;
  for (int j = 0; j < n; ++j) {
    const std::uint32_t word = block(stream, static_cast<std::uint32_t>(j / 4), period, 0)[j % 4];
    // The word is a fraction in two's complement. It is rounded once to float.
    const double value = word < 2147483648u ? word : static_cast<double>(word) - 4294967296.0;
    x.push_back(static_cast<float>(value / 2147483648.0));
  }
  return x;
}

namespace {

// Coordinate j of a law in which a pair of words makes a pair of normals.
float normal(const Stream& stream, std::uint32_t j, std::uint32_t period, std::uint32_t box, std::uint32_t attempt) {
  const Words words = block(stream, j / 4, period, box, attempt);
  const std::uint32_t pair = j % 4 / 2;
  float first, second;
  two_normals(words[2 * pair], words[2 * pair + 1], first, second);
  return j % 2 == 0 ? first : second;
}

// z = sqrt(r) g + sqrt(1 - r) e. All boxes share g, which is drawn as for box 255.
float correlated(const Environment& environment, const Stream& stream, std::uint32_t j, std::uint32_t period,
                 std::uint32_t box, std::uint32_t attempt) {
  const float common = static_cast<float>(std::sqrt(environment.correlation)),
              own = static_cast<float>(std::sqrt(1.0 - environment.correlation));
  const float g = normal(stream, j, period, 255, attempt);
  if (environment.law != Law::student_t5) {
    const float z = std::fma(common, g, own * normal(stream, j, period, box, attempt));
    return environment.law == Law::gaussian ? z : centred_normal_cdf(z);
  }
  const Words words = block(stream, j, period, box, attempt);  // e and n, then u and v of chi^2_5 = -2 ln(u v) + n^2
  float e, n;
  two_normals(words[0], words[1], e, n);
  const float logs = natural_log(unit_uniform(words[2])) + natural_log(unit_uniform(words[3]));
  return std::fma(common, g, own * e) / std::sqrt(0.2f * std::fma(-2.0f, logs, n * n));
}

}  // namespace

std::vector<float> untruncated_shock(const Environment& environment, int n, const Stream& stream, std::uint32_t period,
                                     std::uint32_t box, std::uint32_t attempt) {
  std::vector<float> xi;
  for (int j = 0; j < n; ++j) {
    const std::uint32_t coordinate = static_cast<std::uint32_t>(j);
    float value = 0.0f;
    if (environment.correlation > 0.0) {
      value = correlated(environment, stream, coordinate, period, box, attempt);
    } else if (environment.law == Law::uniform) {
      value = signed_uniform(block(stream, coordinate / 4, period, box, attempt)[coordinate % 4]);
    } else if (environment.law == Law::gaussian) {
      value = normal(stream, coordinate, period, box, attempt);
    } else {  // laws in which a pair of words makes one coordinate
      const Words words = block(stream, coordinate / 2, period, box, attempt);
      value = student_t5(words[coordinate % 2 * 2], words[coordinate % 2 * 2 + 1]);
    }
    xi.push_back(environment.shock_scale * value);
  }
  return xi;
}

Shock shock(const Environment& environment, int n, const Stream& stream, std::uint32_t period, std::uint32_t box) {
  Shock out;
  while (true) {
    out.xi = untruncated_shock(environment, n, stream, period, box, out.rejected);
    float square = 0.0f;  // in order with fma, because rejection must agree
    for (float value : out.xi) square = std::fma(value, value, square);
    if (square <= environment.truncation_radius * environment.truncation_radius) return out;
    ++out.rejected;
  }
}

}  // namespace pandora::naive
