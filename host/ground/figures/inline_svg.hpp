// SVG inside HTML.
#pragma once

#include <string>

namespace pandora {

/// A file of SVG as an element of a page: without prolog, title and fixed size, as wide as its box, named `label` for
/// readers that speak, and with NAME- before every id, so that several stand in one page. Empty where `svg` is no SVG
/// with a viewBox, or could run a script.
std::string inline_svg(const std::string& svg, const std::string& name, const std::string& label);

}  // namespace pandora
