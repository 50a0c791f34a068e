/**
 * A study as a page: its Markdown as elements, its figures from the server, links to other studies within the page.
 */

import { blob, text } from "./api.js";
import { button, h, problem, show } from "./dom.js";
import { hashOf } from "./link.js";
import { markdown } from "./markdown.js";

/** The page of a study; `studies` are those that links can lead to. */
export function studyPage(name, studies) {
  const region = h("article", { class: "study" }, h("p", { class: "waiting", role: "status" }, "Reading …"));
  const known = new Set(studies.map((study) => study.name));
  const load = async () => {
    try {
      const content = await text(`studies/${name}`);
      show(region, markdown(content, (target, words) => link(resolved(name, target), words, known), (target, words) => picture(resolved(name, target), words)));
    } catch (error) {
      show(region, problem(error, button("Try again", load, { class: "main" })));
    }
  };
  load();
  return region;
}

/** A target within the repository, from the page that names it: `../results/x.png` in `studies/hints` is `results/x.png` beside the docs. */
function resolved(name, target) {
  if (/^[a-z]+:/i.test(target)) return target;
  const path = new URL(target, `file:///docs/${name}.md`).pathname;
  return path.replace(/^\/(docs\/)?/, "");
}

function link(target, words, known) {
  if (/^https?:/i.test(target)) return h("a", { href: target, rel: "noreferrer" }, words);
  const study = target.replace(/\.md$/, "");
  return known.has(study) ? h("a", { href: hashOf("results", { study }) }, words) : h("span", {}, words);
}

function picture(target, words) {
  const region = h("figure", {}, h("figcaption", { class: "small quiet" }, words));
  if (!/^results\/[\w/.-]+\.png$/.test(target)) return region;
  blob(`plots/${target}`).then((found) => {
    const source = URL.createObjectURL(found);
    region.prepend(h("img", { src: source, alt: "", on: { load: () => URL.revokeObjectURL(source) } }));
  }, () => region.append(h("p", { class: "small quiet" }, "This server does not have the figure.")));
  return region;
}
