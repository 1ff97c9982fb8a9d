// Any bytes as pieces of a cascade's file whose checksums are right, which only a forger writes.
#pragma once

#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "host/ground/files/sealed_file.hpp"
#include "pandora/cascade.hpp"
#include "pandora/error.hpp"

namespace pandora::fuzz {

inline const char kBase64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

inline std::string base64(const std::string& bytes) {
  std::string out;
  for (std::size_t k = 0; k < bytes.size(); k += 3) {
    std::uint32_t word = 0;
    for (std::size_t j = 0; j < 3; ++j)
      word = word << 8 | (k + j < bytes.size() ? static_cast<unsigned char>(bytes[k + j]) : 0u);
    for (std::size_t j = 0; j < 4; ++j) out += j <= bytes.size() - k ? kBase64[word >> (18 - 6 * j) & 63] : '=';
  }
  return out;
}

inline std::string from_base64(const std::string& text) {
  std::string out;
  std::uint32_t word = 0;
  int bits = 0;
  for (const char c : text) {
    const char* const found = c == '=' ? nullptr : std::strchr(kBase64, c);
    if (found == nullptr) break;
    word = word << 6 | static_cast<std::uint32_t>(found - kBase64);
    if ((bits += 6) >= 8) out += static_cast<char>(word >> (bits -= 8) & 255);
  }
  return out;
}

/// Two models after two requests, the second of which is open; of thresholds, indices or plans.
inline nlohmann::json small_cascade(int kind) {
  CascadeOptions options;
  options.models = {"a", "b"};
  options.price = 1.0;
  options.evaluator = "score";
  if (kind == 1)
    options.rules = shrunk_rules(true, 0.2);
  else if (kind == 2)
    options.plans = {{{0}, {}}, {{1, 0}, {0.5}}},
    options.router = R"({"learner": "neighbours", "nearest": 1, "prompts": [1.0, 0.5], "quality": [0.1, 0.6, 0.2, 0.7],
                         "dollars": [0.0, 0.1, 0.0, 0.1]})";
  else
    options.order = {1, 0}, options.thresholds = {0.5};
  Cascade cascade(options);
  cascade.set_epoch(0);
  const float psi[] = {1.0f};
  for (int k = 0; k < 2; ++k) {
    const std::uint64_t request = cascade.begin(psi);
    cascade.observe(request, *cascade.next(request), {0.1, {0.4}});
    if (k == 0) cascade.deploy(request), cascade.feedback(request, 0.5);
  }
  return nlohmann::json::parse(cascade.text());
}

inline void as_cascade(const std::string& bytes) {
  using nlohmann::json;
  static const json originals[] = {small_cascade(0), small_cascade(1), small_cascade(2)};
  if (bytes.size() < 4) return;
  const auto at = [&bytes](std::size_t k) { return static_cast<unsigned char>(bytes[k]); };
  json cascade = originals[at(0) % 8 == 4 || at(0) % 8 == 6 ? 2 : at(0) % 4 > 0],
       any = json::parse(bytes.substr(3), nullptr, false);
  if (any.is_discarded()) any = bytes.substr(3);
  const auto replace_one = [&](json& object) {
    auto member = object.begin();
    std::advance(member, at(1) % object.size());
    *member = any;
  };
  try {
    if (at(0) % 4 < 2) {
      replace_one(cascade);
    } else {
      json state = unseal("cascade", from_base64(cascade["state"].get<std::string>()));
      if (at(0) % 4 == 2) {
        replace_one(at(2) % 2 == 0 ? state : state["requests"][0]);
      } else {
        const auto& binary = state["estimator"].get_binary();
        json estimator = unseal("estimator", std::string(binary.begin(), binary.end()));
        std::vector<double> numbers = unpack(estimator["numbers"]);
        double value = at(2) % 2 == 0 ? at(2) : 0.0;
        if (value == 0.0 && bytes.size() >= 11) std::memcpy(&value, bytes.data() + 3, sizeof value);
        numbers[at(1) % numbers.size()] = value;
        estimator["numbers"] = pack(numbers);
        const std::string sealed = seal("estimator", estimator);
        state["estimator"] = json::binary(std::vector<std::uint8_t>(sealed.begin(), sealed.end()));
      }
      cascade["state"] = base64(seal("cascade", state));
    }
    cascade.erase("digest");
    cascade["digest"] = sha256(cascade.dump(-1, ' ', true));
    Cascade read = Cascade::parse(cascade.dump(), "fuzz");
    (void)read.text();
    const std::vector<float> psi(static_cast<std::size_t>(read.options().index_features), 1.0f);
    const std::uint64_t request = read.begin(psi);
    while (const auto model = read.next(request)) read.observe(request, *model, {0.1, {0.4}});
    read.deploy(request);
    read.feedback(request, 0.5);
    (void)read.explain_json(2);
  } catch (const Error&) {
  } catch (const json::exception&) {  // text that is not UTF-8 cannot be forged into it
  } catch (const std::invalid_argument&) {
  }
}

}  // namespace pandora::fuzz
