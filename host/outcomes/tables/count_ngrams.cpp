#include <string>

#include "host/outcomes/tables/text_hash.hpp"
#include "host/outcomes/tables/text_projection.hpp"

namespace pandora {
namespace {

bool continues_a_character(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
}

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool is_of_a_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || static_cast<unsigned char>(c) >= 0x80;
}

std::string lowered(std::string_view text) {
  std::size_t size = text.size();
  if (size > kMostText) {
    size = kMostText;
    while (size > 0 && continues_a_character(text[size])) --size;
  }
  std::string low(text.substr(0, size));
  for (char& c : low) c = lower(c);
  return low;
}

class Counter {
 public:
  explicit Counter(int bits) : mask_((std::uint64_t{1} << bits) - 1), slot_(mask_ + 1) {}

  void add(const Fnv1a& ngram) {
    const auto bucket = static_cast<std::uint32_t>(mixed(ngram.state) & mask_);
    if (slot_[bucket] == 0) {
      counts_.emplace_back(bucket, 0);
      slot_[bucket] = static_cast<std::uint32_t>(counts_.size());
    }
    ++counts_[slot_[bucket] - 1].second;
  }

  void add_word(std::string_view word) {
    Fnv1a hash;
    hash.add("w");
    hash.add(word);
    add(hash);
  }

  void add_pair(std::string_view first, std::string_view second) {
    Fnv1a hash;
    hash.add("p");
    hash.add(first);
    hash.add(" ");
    hash.add(second);
    add(hash);
  }

  // Its runs of three and four characters, a blank before and after.
  void add_characters(std::string_view word) {
    padded_.assign(" ").append(word).append(" ");
    starts_.clear();
    for (std::size_t i = 0; i < padded_.size(); ++i)
      if (!continues_a_character(padded_[i])) starts_.push_back(i);
    starts_.push_back(padded_.size());
    for (std::size_t i = 0; i + 3 < starts_.size(); ++i) {
      Fnv1a hash;
      hash.add("c");
      hash.add(std::string_view(padded_).substr(starts_[i], starts_[i + 3] - starts_[i]));
      add(hash);
      if (i + 4 >= starts_.size()) continue;
      hash.add(std::string_view(padded_).substr(starts_[i + 3], starts_[i + 4] - starts_[i + 3]));
      add(hash);
    }
  }

  std::vector<std::pair<std::uint32_t, std::uint32_t>> take() { return std::move(counts_); }

 private:
  std::uint64_t mask_;
  std::vector<std::uint32_t> slot_;  // 1 + a bucket's place in counts_; 0: none
  std::vector<std::pair<std::uint32_t, std::uint32_t>> counts_;
  std::string padded_;
  std::vector<std::size_t> starts_;  // of characters in padded_
};

}  // namespace

std::vector<std::pair<std::uint32_t, std::uint32_t>> count_ngrams(std::string_view text, int bits) {
  const std::string low = lowered(text);
  Counter counter(bits);
  std::string_view before;
  for (std::size_t at = 0; at < low.size();) {
    std::size_t end = at;
    while (end < low.size() && is_of_a_word(low[end])) ++end;
    if (end > at) {
      const std::string_view word = std::string_view(low).substr(at, end - at);
      counter.add_word(word);
      if (!before.empty()) counter.add_pair(before, word);
      counter.add_characters(word);
      before = word;
    }
    at = end + 1;
  }
  return counter.take();
}

}  // namespace pandora
