// What `--help` prints: the sentences and examples of help.toml, in 80 columns.
#include <algorithm>

#include "host/cli/commands.hpp"
#include "host/ground/base/printable.hpp"
#include "host/ground/tables/table.hpp"
#include "host/studies/study/toml_text.hpp"
#include "texts.hpp"

namespace pandora::cli {
namespace {

std::string indented(const std::string& text, std::size_t by) {
  std::string out;
  for (const std::string& line : split(wrapped(text, 80 - by), '\n'))
    if (!line.empty()) out += std::string(by, ' ') + line + "\n";
  return out;
}

std::string examples_text(const toml::table& help) {
  std::string out = "Examples:\n";
  for (const toml::node& node : *help["examples"].as_array()) {
    const toml::table& example = *node.as_table();
    for (const toml::node& command : *example["commands"].as_array()) out += "  " + command.ref<std::string>() + "\n";
    out += indented(example["meaning"].ref<std::string>(), 6);
  }
  return out.substr(0, out.find_last_not_of('\n') + 1);
}

class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter() { column_width(28); }

  std::string make_description(const CLI::App* app) const override {
    return wrapped(app->get_description(), 80) + "\n";
  }
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override {
    return CLI::detail::find_and_replace(CLI::Formatter::make_help(app, std::move(name), mode), "\n\n\n", "\n\n");
  }
  std::string make_subcommand(const CLI::App* app) const override {
    const std::string text = app->get_description();
    const std::string out = indented(text.substr(0, std::min(text.find(". "), text.size() - 1)), get_column_width());
    const std::string name = "  " + app->get_display_name(true);
    return name + out.substr(name.size());
  }
  std::string make_option_desc(const CLI::Option* option) const override {
    const std::string text = wrapped(option->get_description(), 80 - get_column_width());
    return text.substr(0, text.find_last_not_of('\n') + 1);  // CLI11 indents the lines
  }
};

}  // namespace

CLI::App* add_command(CLI::App& group, const std::string& name) {
  const std::string words = group.get_parent() == nullptr ? name : group.get_name() + " " + name;
  static const toml::table helps = table_of(kHelp, "help.toml");
  const toml::table& help = *helps[words].as_table();
  CLI::App* command = group.add_subcommand(name, help["sentences"].ref<std::string>());
  if (help.contains("examples")) command->footer(examples_text(help));
  const bool of_tables = words == "trace" || words == "import" || words == "cascade" || words == "serve";
  command->group(of_tables ? "Tables and cascades" : "Subcommands");  // else a command has the group of its parent
  return command;
}

std::shared_ptr<CLI::FormatterBase> help_formatter() {
  return std::make_shared<HelpFormatter>();
}

}  // namespace pandora::cli
