// @ts-check
/** Pages of text, questions about the participant, and what is said over everything else. */

import { $, button, element } from "./kit.js";

/** @import { EndCommand, FormCommand, PageCommand, Paragraph, Words } from "./messages" */

/** @param {Paragraph[]} lines */
const paragraphs = (lines) => lines.map(([kind, text]) => element(kind === "h" ? "h2" : "p", {}, text));

/** A line and an arrow above the way on say that more of the page lies below. */
function more() {
  const below = document.documentElement.scrollHeight - innerHeight - scrollY;
  document.querySelector("#sheet > .row:last-child")?.classList.toggle("more", below > 8);
}
addEventListener("scroll", more, { passive: true });
addEventListener("resize", more);
document.addEventListener("load", more, true); // of a picture

/** @param {(Node | string)[]} content */
export function put(content) {
  const sheet = $("sheet");
  sheet.replaceChildren(...content);
  sheet.hidden = false;
  window.scrollTo(0, 0);
  sheet.focus({ preventScroll: true });
  more();
}

const DOTS = 10;

/** How much is done, as a row of dots. @param {number} share */
function dots(share) {
  const all = Array.from({ length: DOTS }, (_, number) => element("span", { class: number < Math.round(share * DOTS) ? "done" : "" }));
  return element("div", { class: "dots", role: "img", "aria-label": `${Math.round(100 * share)} %` }, ...all);
}

/** Forget the keys of the page before. @type {AbortController | null} */
let keys = null;

/** @param {(event: KeyboardEvent) => void} take */
export function onKeys(take) {
  keys?.abort();
  keys = new AbortController();
  document.addEventListener("keydown", (event) => {
    if (!event.repeat && !event.ctrlKey && !event.altKey && !event.metaKey) take(event);
  }, { signal: keys.signal });
}

/** No page listens any more. */
export function silence() {
  keys?.abort();
  keys = null;
}

/**
 * A page of text with one way on, or with options.
 * @param {PageCommand} page @param {Words} words @param {(frame: string) => string} address @param {(name: string) => void} done
 */
export function showPage(page, words, address, done) {
  const content = [element("h1", {}, page.title)];
  if (page.progress !== null) content.push(dots(page.progress));
  content.push(...paragraphs(page.text));
  if (page.example !== null) {
    const image = element("img", { src: address(page.example.frame), alt: page.example_title ?? "", width: String(page.example.width), height: String(page.example.height) });
    image.style.width = `${page.example.width / devicePixelRatio}px`;
    content.push(element("h2", {}, page.example_title ?? ""), image);
  }
  content.push(...paragraphs(page.after));
  let finished = false;
  const finish = (/** @type {string} */ name) => {
    if (finished) return;
    finished = true;
    silence();
    done(name);
  };
  const row = element("div", { class: "row" });
  if (page.options.length) {
    for (const { name, label, key } of page.options) row.append(button(`${label}  (${key.toUpperCase()})`, () => finish(name), { "data-name": name }));
  } else row.append(button(words.next, () => finish(""), { class: "main", "data-name": "on" }));
  put([...content, row]);
  const buttons = /** @type {HTMLButtonElement[]} */ ([...row.children]);
  const listen = () => onKeys((event) => {
    if (page.options.length) {
      const option = page.options.find((one) => one.key === event.key.toLowerCase());
      if (option !== undefined) finish(option.name);
    } else if (event.key === " " || event.key === "ArrowRight") {
      event.preventDefault();
      finish("");
    }
  });
  // what ended the step before is not to end the page, too
  for (const button of buttons) button.disabled = true;
  setTimeout(() => {
    for (const button of buttons) button.disabled = false;
    if (!finished) listen();
  }, Math.max(300, 1000 * page.least));
}

/** What is asked about the participant. @param {FormCommand} form @param {Words} words @param {(typed: Record<string, string>) => void} done */
export function showForm(form, words, done) {
  silence();
  const made = element("form", { novalidate: "" });
  for (const question of form.questions) {
    const id = `field-${question.name}`;
    const wrong = form.wrong[question.name];
    made.append(element("label", { for: id }, question.required ? `${question.label} *` : question.label));
    const attributes = { id, name: question.name, ...(wrong ? { "aria-invalid": "true", "aria-describedby": `${id}-wrong` } : {}) };
    if (question.choices.length) {
      const select = element("select", attributes, element("option", { value: "" }, words.choose));
      for (const [value, label] of question.choices) {
        select.append(element("option", { value, ...(value === question.value ? { selected: "" } : {}) }, label));
      }
      made.append(select);
    } else made.append(element("input", { ...attributes, type: "text", maxlength: "500", autocomplete: "off", value: question.value, placeholder: question.hint }));
    if (wrong) made.append(element("p", { id: `${id}-wrong`, class: "wrong" }, wrong));
  }
  made.append(element("p", { class: "muted" }, words.field_needed));
  made.append(element("div", { class: "row" }, element("button", { type: "submit", class: "main", "data-name": "send" }, words.send)));
  made.addEventListener("submit", (event) => {
    event.preventDefault();
    /** @type {Record<string, string>} */
    const typed = {};
    for (const question of form.questions) {
      const field = /** @type {HTMLInputElement} */ (made.querySelector(`[name="${question.name}"]`));
      typed[question.name] = field.value;
    }
    done(typed);
  });
  put([element("h1", {}, form.title), made]);
}

/** A page without a way on, or with buttons. @param {string} title @param {string[]} texts @param {{label: string, act: () => void}[]} buttons */
export function showText(title, texts, buttons = []) {
  silence();
  /** @type {Node[]} */
  const content = [element("h1", {}, title), ...texts.map((text) => element("p", {}, text))];
  const row = element("div", { class: "row" });
  for (const [number, { label, act }] of buttons.entries()) {
    row.append(button(label, act, { ...(number ? {} : { class: "main" }), "data-name": number ? "other" : "on" }));
  }
  if (buttons.length) content.push(row);
  put(content);
}

/** A button that sends what stands behind the question mark of an address as a form. @param {string} address @param {string} label */
function form(address, label) {
  const url = new URL(address);
  const made = element("form", { method: "post", action: url.origin + url.pathname });
  for (const [name, value] of url.searchParams) made.append(element("input", { type: "hidden", name, value }));
  made.append(element("div", { class: "row" }, element("button", { type: "submit", class: "main", "data-name": "on" }, label)));
  return made;
}

/** The end: a code to copy, a way back. @param {EndCommand} end @param {Words} words */
export function showEnd(end, words) {
  silence();
  /** @type {Node[]} */
  const content = [element("h1", {}, end.title), ...end.texts.map((text) => element("p", {}, text))];
  if (end.code) content.push(element("p", {}, words.code), element("p", {}, element("code", {}, end.code)));
  if (end.redirect && end.post) content.push(form(end.redirect, words.redirect));
  else if (end.redirect) content.push(element("div", { class: "row" }, element("a", { class: "button", href: end.redirect, rel: "noreferrer" }, words.redirect)));
  put(content);
}

/** Something in front of everything else, with buttons. @param {string} title @param {string[]} texts @param {[string, string, () => void][]} buttons key, label, what it does */
export function showNotice(title, texts, buttons) {
  const notice = $("notice");
  const row = element("div", { class: "row" });
  const heading = element("h1", { id: "notice-title" }, title);
  notice.replaceChildren(heading, ...texts.map((text) => element("p", {}, text)), row);
  const listener = new AbortController();
  for (const [key, label, act] of buttons) {
    const chosen = () => {
      listener.abort();
      notice.hidden = true;
      act();
    };
    document.addEventListener("keydown", (event) => {
      if (event.key.toLowerCase() === key && !event.repeat) {
        event.preventDefault();
        event.stopPropagation();
        chosen();
      }
    }, { signal: listener.signal, capture: true });
    row.append(button(label, chosen, { class: key === " " ? "main" : "", "data-key": key }));
  }
  notice.hidden = false;
  /** @type {HTMLElement | null} */ (row.querySelector("button"))?.focus();
}
