#include "host/ground/figures/picture.hpp"

#include <string_view>

#include "host/ground/files/input_file.hpp"

namespace pandora {

bool is_whole_picture(const std::filesystem::path& file, const std::string& format) {
  constexpr std::uint64_t kMost = std::uint64_t{256} << 20;
  std::string bytes;
  try {
    bytes = read_file(file, kMost);
  } catch (const Unreadable&) {
    return false;
  }
  std::string_view text = bytes;
  if (format == "png") return text.starts_with("\x89PNG\r\n") && text.ends_with("IEND\xAE\x42\x60\x82");
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.remove_suffix(1);
  if (format == "pdf") return text.starts_with("%PDF-") && text.ends_with("%%EOF");
  return text.starts_with("<?xml") && text.find("<svg") != text.npos && text.ends_with("</svg>");
}

}  // namespace pandora
