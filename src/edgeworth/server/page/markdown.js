/**
 * Markdown as elements: headings, paragraphs, lists, tables, code, quotations, links and pictures. Whatever else stands in the text,
 * HTML included, stays text; comments are left out.
 */

import { h } from "./dom.js";

const FENCE = /^```/;
const HEADING = /^(#{1,4}) +(.*)$/;
const ITEM = /^(\s*)([-*]|\d+\.) +(.*)$/;
const RULE = /^\|[\s:|-]+\|$/;
const COMMENT = /^<!--.*-->$/;
const INLINE = /`([^`]+)`|!\[([^\]]*)\]\(([^)\s]+)\)|\[((?:[^\]`]|`[^`]*`)+)\]\(([^)\s]+)\)|\*\*((?:[^*]|\*(?!\*))+)\*\*|\*([^*\s][^*]*)\*/;

/** The elements of a text. `link(target, words)` and `picture(target, words)` make the elements of links and pictures. */
export function markdown(text, link, picture) {
  const lines = text.split(/\r?\n/).filter((line) => !COMMENT.test(line.trim()));
  return blocks(lines, (words) => inline(words, link, picture));
}

function blocks(lines, spans) {
  const found = [];
  for (let at = 0; at < lines.length; ) {
    const [element, next] = block(lines, at, spans);
    if (element) found.push(element);
    at = next;
  }
  return found;
}

/** The block that begins at a line, and the line after it. */
function block(lines, at, spans) {
  const line = lines[at];
  const heading = HEADING.exec(line);
  if (!line.trim()) return [null, at + 1];
  if (heading) return [h(`h${heading[1].length}`, {}, spans(heading[2])), at + 1];
  if (FENCE.test(line)) {
    const end = until(lines, at + 1, (each) => FENCE.test(each));
    return [h("pre", {}, lines.slice(at + 1, end).join("\n")), end + 1];
  }
  if (line.startsWith("|") && RULE.test((lines[at + 1] ?? "").trim())) {
    const end = until(lines, at, (each) => !each.startsWith("|"));
    return [table(lines.slice(at, end), spans), end];
  }
  if (line.startsWith(">")) {
    const end = until(lines, at, (each) => !each.startsWith(">"));
    return [h("blockquote", {}, blocks(lines.slice(at, end).map((each) => each.replace(/^> ?/, "")), spans)), end];
  }
  if (ITEM.test(line)) {
    const end = until(lines, at, (each, number) => !each.trim() && !ITEM.test(lines[number + 1] ?? "") && !/^\s+\S/.test(lines[number + 1] ?? ""));
    return [list(lines.slice(at, end), spans), end];
  }
  const end = until(lines, at + 1, (each) => !each.trim() || HEADING.test(each) || FENCE.test(each) || ITEM.test(each) || each.startsWith("|"));
  return [h("p", {}, spans(lines.slice(at, end).join(" "))), end];
}

function until(lines, from, ends) {
  let at = from;
  while (at < lines.length && !ends(lines[at], at)) at += 1;
  return at;
}

function list(lines, spans) {
  const [, indent, sign] = ITEM.exec(lines[0]);
  const items = [];
  for (const line of lines) {
    const match = ITEM.exec(line);
    if (match && match[1].length <= indent.length) items.push([match[3]]);
    else items.at(-1).push(line);
  }
  return h(/\d/.test(sign) ? "ol" : "ul", {}, items.map((item) => {
    const inner = until(item, 1, (each) => ITEM.test(each));
    return h("li", {}, spans(item.slice(0, inner).map((each) => each.trim()).join(" ")), inner < item.length ? list(item.slice(inner), spans) : null);
  }));
}

function table(lines, spans) {
  const cells = (line) => line.trim().replace(/^\||\|$/g, "").split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));
  const [head, , ...rows] = lines.map(cells);
  return h("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": "Table" }, h("table", {},
    head.some(Boolean) ? h("thead", {}, h("tr", {}, head.map((cell) => (cell ? h("th", { scope: "col" }, spans(cell)) : h("td", {}))))) : null,
    h("tbody", {}, rows.map((row) => h("tr", {}, row.map((cell) => h("td", {}, spans(cell))))))));
}

/** Words with code, emphasis, links and pictures. */
function inline(text, link, picture) {
  const match = INLINE.exec(text);
  if (!match) return text ? [text] : [];
  const [whole, code, alt, source, words, target, strong, weak] = match;
  const inner = (part) => inline(part, link, picture);
  const made = code !== undefined ? h("code", {}, code)
    : source !== undefined ? picture(source, alt)
      : target !== undefined ? link(target, inner(words))
        : strong !== undefined ? h("strong", {}, inner(strong)) : h("em", {}, inner(weak));
  return [text.slice(0, match.index), made, ...inner(text.slice(match.index + whole.length))].flat();
}
