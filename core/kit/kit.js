// @ts-check
/** What every page does: find its parts, and make new ones. */

/** The part of a page with this name. @param {string} id */
export const $ = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

/** @param {string} tag @param {Record<string, string>} attributes @param {...(Node | string)} content */
export function element(tag, attributes = {}, ...content) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...content);
  return made;
}

/** Draw a part of a page anew; whoever had reached something in it stays there. @param {HTMLElement} place @param {() => void} draw */
export function redraw(place, draw) {
  const within = () => /** @type {HTMLElement[]} */ ([...place.querySelectorAll("a, button, input, summary")]);
  const at = within().findIndex((one) => one === document.activeElement);
  draw();
  if (at >= 0) within().slice(0, at + 1).at(-1)?.focus();
}

/** A button that does something. @param {string} label @param {() => void} act @param {Record<string, string>} attributes */
export function button(label, act, attributes = {}) {
  const made = /** @type {HTMLButtonElement} */ (element("button", { type: "button", ...attributes }, label));
  made.addEventListener("click", act);
  return made;
}
