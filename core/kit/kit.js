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

/** A button that does something. @param {string} label @param {() => void} act @param {Record<string, string>} attributes */
export function button(label, act, attributes = {}) {
  const made = /** @type {HTMLButtonElement} */ (element("button", { type: "button", ...attributes }, label));
  made.addEventListener("click", act);
  return made;
}
