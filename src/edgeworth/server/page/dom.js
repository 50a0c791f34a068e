/**
 * Elements of the page, made by calls instead of HTML: text from people and models is always text, never markup.
 */

const SVG = "http://www.w3.org/2000/svg";

/** An element. `on` holds listeners, `style` CSS properties; a property that is false or null is left out. */
export function h(tag, props = {}, ...children) {
  return filled(document.createElement(tag), props, children);
}

/** An element of a drawing. */
export function svg(tag, props = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), props, children);
}

function filled(element, props, children) {
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === false || value === null || value === undefined) continue;
    if (name === "on") for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    else if (name === "style") for (const [key, set] of Object.entries(value)) element.style.setProperty(key, set);
    else if (name === "value" || name === "selected") element[name] = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** Show these nodes in a region; the element with the focus keeps it where its `data-key` is shown again. */
export function show(region, ...nodes) {
  const key = region.contains(document.activeElement) ? document.activeElement.dataset?.key : null;
  region.replaceChildren(...nodes.flat(Infinity).filter(Boolean));
  if (key) region.querySelector(`[data-key="${CSS.escape(key)}"]`)?.focus();
}

/** An error in words: what happened, what to do, and buttons that do it. */
export function problem(error, ...buttons) {
  const remedy = error.remedy ? ` ${error.remedy}` : "";
  return h("div", { class: "problem", role: "alert" },
    h("p", {}, h("strong", {}, error.message), remedy),
    buttons.length ? h("div", { class: "row" }, buttons) : null);
}

/** A button with words on it. */
export function button(words, press, props = {}) {
  return h("button", { type: "button", ...props, on: { click: press } }, words);
}
