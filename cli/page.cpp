// SPDX-License-Identifier: BSD-3-Clause
#include "page.hpp"

#include <fmt/format.h>

#include "kopse/core.hpp"

namespace kopse::cli {
namespace {

constexpr std::string_view style = R"css(
:root { color-scheme: light; }
body { margin: 0 auto; padding: 48px 24px 64px; max-width: 1040px; background: #fff; color: #1d2433;
  font: 16px/1.5 Inter, "Helvetica Neue", "Segoe UI", "Liberation Sans", Arial, sans-serif; }
header p { margin: 0; color: #667085; }
h1 { margin: 0 0 2px; font-size: 36px; line-height: 1.2; letter-spacing: -0.015em; font-weight: 700; overflow-wrap: anywhere; }
h2 { margin: 48px 0 14px; font-size: 21px; letter-spacing: -0.005em; }
.key { display: grid; grid-template-columns: repeat(auto-fit, minmax(128px, 1fr)); gap: 12px 24px; margin: 26px 0 8px;
  padding: 16px 0; border-top: 1px solid #e4e7ec; border-bottom: 1px solid #e4e7ec; }
.key div { font-size: 13px; color: #667085; }
.key b { display: block; font-size: 23px; line-height: 1.3; font-weight: 600; color: #1d2433; white-space: nowrap; }
figure { margin: 0; break-inside: avoid; }
figcaption { margin-top: 8px; font-size: 14px; color: #667085; }
svg { display: block; width: 100%; height: auto; }
.pair { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(420px, 100%), 1fr)); gap: 28px 24px; }
table { border-collapse: collapse; font-size: 14px; font-variant-numeric: tabular-nums; }
th, td { padding: 5px 18px 5px 0; text-align: left; border-bottom: 1px solid #e4e7ec; vertical-align: top; }
th { font-weight: 400; color: #667085; white-space: nowrap; }
.columns { columns: 2; column-gap: 48px; }
.columns table { width: 100%; }
.columns tr { break-inside: avoid; }
.trace { overflow-x: auto; margin-top: 12px; }
.trace th, .trace td { text-align: right; font-size: 12.5px; padding: 4px 10px 4px 0; white-space: nowrap; }
summary { cursor: pointer; margin-top: 22px; }
footer { margin-top: 48px; padding-top: 14px; border-top: 1px solid #e4e7ec; font-size: 13px; color: #667085; }
@media (max-width: 640px) { .columns { columns: 1; } }
@media print { body { padding: 0; max-width: none; print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  h2 { break-after: avoid; } .pair { grid-template-columns: 1fr 1fr; } details { display: none; } }
)css";

} // namespace

std::string figure(svg::figure const& f) {
  return fmt::format("<figure>\n{}<figcaption>{}</figcaption>\n</figure>\n", f.picture,
                     svg::escape(f.caption));
}

std::string key_row(std::vector<std::pair<std::string, std::string>> const& entries) {
  std::string out = "<div class=\"key\">\n";
  for (auto const& [value, what] : entries)
    out += fmt::format("<div><b>{}</b>{}</div>\n", svg::escape(value), svg::escape(what));
  return out + "</div>\n";
}

std::string html_page(std::string const& title, std::string const& heading, std::string const& below,
                      std::string const& body) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
      "content=\"width=device-width, initial-scale=1\">\n<title>{}</title>\n<style>{}</style>\n"
      "</head>\n<body>\n<header><h1>{}</h1>\n<p>{}</p></header>\n{}<footer>Made by kopse {}.</footer>\n"
      "</body>\n</html>\n",
      svg::escape(title), style, svg::escape(heading), svg::escape(below), body, version());
}

} // namespace kopse::cli
