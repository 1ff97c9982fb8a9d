// Pictures that gnuplot draws.
#pragma once

#include <filesystem>
#include <string>

namespace pandora {

/// Whether the file is a picture of the format ("pdf", "svg" or "png") from its beginning to its end: a program that
/// meets a full disk may end well and leave a part of one. Throws LimitReached and std::bad_alloc.
bool is_whole_picture(const std::filesystem::path& file, const std::string& format);

}  // namespace pandora
