// The definitions of host/outcomes/tables/text_projection.hpp, implemented literally.
#pragma once

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "host/outcomes/tables/text_hash.hpp"
#include "host/outcomes/tables/text_projection.hpp"

namespace pandora::test {

/// The characters of a text in UTF-8, each as a text.
inline std::vector<std::string> characters_of(const std::string& text) {
  std::vector<std::string> characters;
  for (const char c : text)
    if ((static_cast<unsigned char>(c) & 0xC0) == 0x80 && !characters.empty())
      characters.back() += c;
    else
      characters.emplace_back(1, c);
  return characters;
}

inline std::vector<std::string> naive_words(const std::string& text) {
  std::vector<std::string> words(1);
  for (std::string c : characters_of(text)) {
    if (c.size() == 1 && c[0] >= 'A' && c[0] <= 'Z') c[0] = static_cast<char>(c[0] + 32);
    const bool in_word = c.size() > 1 || (c[0] >= 'a' && c[0] <= 'z') || (c[0] >= '0' && c[0] <= '9');
    if (in_word)
      words.back() += c;
    else if (!words.back().empty())
      words.emplace_back();
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

/// Every n-gram with its tag.
inline std::vector<std::string> naive_ngrams(const std::string& text) {
  const std::vector<std::string> words = naive_words(text);
  std::vector<std::string> ngrams;
  for (std::size_t w = 0; w < words.size(); ++w) {
    ngrams.push_back("w" + words[w]);
    if (w > 0) ngrams.push_back("p" + words[w - 1] + " " + words[w]);
    const std::vector<std::string> padded = characters_of(" " + words[w] + " ");
    for (const std::size_t length : {3u, 4u})
      for (std::size_t i = 0; i + length <= padded.size(); ++i) {
        std::string ngram = "c";
        for (std::size_t k = 0; k < length; ++k) ngram += padded[i + k];
        ngrams.push_back(ngram);
      }
  }
  return ngrams;
}

inline std::map<std::uint32_t, std::uint32_t> naive_counts(const std::string& text, int bits) {
  std::map<std::uint32_t, std::uint32_t> counts;
  for (const std::string& ngram : naive_ngrams(text))
    ++counts[static_cast<std::uint32_t>(stable_hash(ngram) % (std::uint64_t{1} << bits))];
  return counts;
}

/// x: the weights of a text, scaled to length 1.
inline std::map<std::uint32_t, double> naive_weights(const std::string& text, int bits,
                                                     const std::vector<double>& idf) {
  std::map<std::uint32_t, double> x;
  double squares = 0;
  for (const auto& [bucket, n] : naive_counts(text, bits)) {
    x[bucket] = (1 + std::log(static_cast<double>(n))) * idf[bucket];
    squares += x[bucket] * x[bucket];
  }
  for (auto& [bucket, weight] : x) weight /= std::sqrt(squares);
  return x;
}

/// Different texts about a few subjects, some with characters beyond ASCII.
inline TextColumn some_texts(int count) {
  const char* const openings[] = {"What is the capital of", "Solve for x:", "Write a python function that returns",
                                  "\u00dcbersetze ins Englische:"};
  const char* const things[] = {
      "France",  "3x + 4 = 10", "the sorted list", "Stra\u00dfe und Haus", "\u4f60\u597d \u4e16\u754c",
      "a tuple", "Peru"};
  TextColumn texts;
  for (int i = 0; i < count; ++i)
    texts.push_back(std::string(openings[i % 4]) + " " + things[i % 7] + ", please! Number " + std::to_string(i * i));
  return texts;
}

/// The projection that is fitted on all these texts.
inline TextProjection projection_of(const TextColumn& texts, std::size_t k) {
  const std::vector<std::size_t> rows = TextProjection::spread(texts.size());
  return TextProjection::fit(TextCounts::of(texts, rows), rows, k);
}

}  // namespace pandora::test
