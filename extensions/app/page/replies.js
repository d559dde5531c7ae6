// @ts-check
// Answers of chat models: one table to search, filter and sort, and each conversation with its pictures.
import { $, button, element, redraw } from "./kit.js";

/** @typedef {{columns: string[], models: string[], rows: any[][], unread: string[], state: string}} Table */

const page = $("answers"), says = JSON.parse(page.dataset.says || "{}"), bundled = page.dataset.bundled === "yes";
const SIGNS = /** @type {Record<string, string>} */ ({ right: "✓", wrong: "✗", partly: "½", unread: "?", none: "·" });
const ON_PAGE = 100;
const shown = Array.from(document.querySelectorAll("th [data-column]"), (head) => /** @type {HTMLElement} */ (head).dataset.column || "");
/** @type {Table} */
let table = { columns: [], models: [], rows: [], unread: [], state: "" };
let chosen = table.rows, sortBy = "", down = false, first = 0;
/** @type {(row: any[], column: string) => any} */
const value = (row, column) => row[table.columns.indexOf(column)];

/** Data by name: over the line in the app, by scripts where the page is a file. @type {Map<string, (data: any) => void>} */
const waiting = new Map();
/** @type {any} */ (window).spanlabData = (/** @type {string} */ name, /** @type {any} */ data) => waiting.get(name)?.(data);
/** @param {string} name @returns {Promise<any>} */
function load(name) {
  const path = name.split("/").map(encodeURIComponent).join("/");
  if (!bundled) return fetch(`/replies/data/${path}`).then((answer) => (answer.ok ? answer.json() : Promise.reject(new Error(`${answer.status}`))));
  return new Promise((resolve, reject) => {
    const script = document.createElement("script");
    waiting.set(name, resolve);
    script.onerror = () => reject(new Error(name));
    script.onload = () => script.remove();
    script.src = `data/${path}.js`;
    document.head.append(script);
  });
}

/** The rows that the form asks for, in the order of a column. */
function sieve() {
  const asked = new FormData(/** @type {HTMLFormElement} */ ($("sieve")));
  const words = String(asked.get("search") || "").toLowerCase().split(/\s+/).filter(Boolean), everybody = asked.get("everybody");
  chosen = table.rows.filter((row) =>
    (everybody || table.models.includes(value(row, "kind")))
    && ["who", "paradigm", "mark"].every((column) => !asked.get(column) || value(row, column) === asked.get(column))
    && (!words.length || words.every((word) => row.join(" ").toLowerCase().includes(word))));
  if (sortBy) {
    const at = table.columns.indexOf(sortBy), sign = down ? -1 : 1;
    chosen.sort((a, b) => (a[at] === b[at] ? 0 : a[at] === null ? 1 : b[at] === null ? -1 : sign * (typeof a[at] === "number" ? a[at] - b[at] : String(a[at]).localeCompare(String(b[at]), undefined, { numeric: true }))));
  }
}

/** @param {string} text @param {Record<string, string | number>} values */
const filled = (text, values) => text.replace(/\{(\w+)\}/g, (_, name) => String(values[name]));
const number = (/** @type {number | null} */ count, digits = 0) => (count === null || count === undefined ? "" : count.toLocaleString(document.documentElement.lang, { maximumFractionDigits: digits }));

function show() {
  sieve();
  const sum = (/** @type {string} */ column) => chosen.reduce((total, row) => total + (value(row, column) || 0), 0);
  const share = (/** @type {string} */ mark) => (chosen.length ? Math.round((100 * chosen.filter((row) => value(row, "mark") === mark).length) / chosen.length) : 0);
  $("count").textContent = filled(says.replies_found, { n: number(chosen.length), right: share("right"), unread: share("unread"), read: number(sum("tokens_read")), written: number(sum("tokens_written")), cost: (sum("cost") ? number(sum("cost"), 4) : "–") });
  first = Math.min(first, Math.max(0, chosen.length - 1));
  first -= first % ON_PAGE;
  redraw($("rows"), () => $("rows").replaceChildren(...chosen.slice(first, first + ON_PAGE).map((row) => {
    const cells = shown.slice(1).map((column) => {
      const content = value(row, column);
      if (column === "mark") return element("td", {}, element("span", { class: `mark ${content}` }, `${SIGNS[content]} ${says[`mark_${content}`]}`));
      const digits = column === "cost" ? 6 : 0;
      return typeof content === "number" ? element("td", { class: "number" }, number(content, digits)) : element("td", column === "reply" ? { class: "reply" } : {}, String(content ?? ""));
    });
    return element("tr", {}, element("th", { scope: "row" }, button(value(row, "who"), () => void open(row), { class: "open", "aria-label": `${value(row, "who")}, ${value(row, "paradigm")}, ${says.trial} ${value(row, "trial")}, ${says.question} ${value(row, "question")}` })), ...cells);
  })));
  const pages = Math.ceil(chosen.length / ON_PAGE);
  $("pager").hidden = pages < 2;
  $("at").textContent = `${first / ON_PAGE + 1} / ${pages}`;
  /** @type {HTMLButtonElement} */ ($("before")).disabled = !first;
  /** @type {HTMLButtonElement} */ ($("after")).disabled = first + ON_PAGE >= chosen.length;
}

/** Open the conversation of a row. @param {any[]} row */
async function open(row) {
  const [session, trial, question] = ["session", "trial", "question"].map((column) => value(row, column));
  const dialog = /** @type {HTMLDialogElement} */ ($("conversation")), inside = $("inside"), at = chosen.indexOf(row);
  inside.replaceChildren("…");
  if (!dialog.open) dialog.showModal();
  history.replaceState(null, "", `#${[session, trial, question].map(encodeURIComponent).join("/")}`);
  inside.innerHTML = await load(`${session}/${trial}`).catch(() => "");
  const asked = /** @type {HTMLElement | null} */ (inside.querySelector(`[data-question="${question}"]`));
  if (!asked) return inside.replaceChildren(element("p", { class: "problem", role: "alert" }, says.not_loaded));
  asked.hidden = false;
  for (const picture of asked.querySelectorAll(".marked img")) picture.setAttribute("src", asked.dataset.source || "");
  inside.querySelector(`[data-ask="${question}"]`)?.setAttribute("open", "");
  for (const step of /** @type {NodeListOf<HTMLButtonElement>} */ (asked.querySelectorAll("[data-step]"))) {
    const other = chosen[at + Number(step.dataset.step)];
    step.disabled = at < 0 || !other;
    step.addEventListener("click", () => void open(/** @type {any[]} */ (other)));
  }
  asked.querySelector("h2")?.focus();
  dialog.scrollTop = 0;
}

/** @param {string} id @param {string} column */
function choices(id, column) {
  const select = /** @type {HTMLSelectElement} */ ($(id)), before = select.value;
  const all = [...new Set(table.rows.map((row) => value(row, column)))].sort();
  select.replaceChildren(/** @type {HTMLOptionElement} */ (select.options[0]), ...all.map((one) => new Option(column === "mark" ? says[`mark_${one}`] : one, one)));
  select.value = before;
}

async function start() {
  table = await load("table");
  for (const [id, column] of [["by-who", "who"], ["by-paradigm", "paradigm"], ["by-mark", "mark"]]) choices(/** @type {string} */ (id), /** @type {string} */ (column));
  $("unread").textContent = table.unread.length ? `${filled(says.unread, { n: table.unread.length })} ${table.unread.join(", ")}` : "";
  show();
}

$("sieve").addEventListener("input", () => { first = 0; show(); });
$("sieve").addEventListener("submit", (event) => event.preventDefault());
for (const head of /** @type {NodeListOf<HTMLButtonElement>} */ (document.querySelectorAll("thead button"))) {
  head.addEventListener("click", () => {
    const column = head.dataset.column || "";
    down = sortBy === column && !down;
    sortBy = column;
    for (const cell of document.querySelectorAll("thead th[aria-sort]")) cell.removeAttribute("aria-sort");
    head.closest("th")?.setAttribute("aria-sort", down ? "descending" : "ascending");
    show();
  });
}
$("before").addEventListener("click", () => { first -= ON_PAGE; show(); });
$("after").addEventListener("click", () => { first += ON_PAGE; show(); });
$("close").addEventListener("click", () => /** @type {HTMLDialogElement} */ ($("conversation")).close());
$("conversation").addEventListener("close", () => history.replaceState(null, "", location.pathname + location.search));
/** @type {HTMLInputElement} */ (document.querySelector("#sieve [name=search]")).value = new URLSearchParams(location.search).get("search") || "";
/** Open the answer that the address names. */
function openNamed() {
  const wanted = location.hash.slice(1).split("/").map(decodeURIComponent).join("/");
  const row = wanted && table.rows.find((one) => ["session", "trial", "question"].map((column) => value(one, column)).join("/") === wanted);
  if (row) void open(row);
}
addEventListener("hashchange", openNamed);
void start().then(openNamed);
/** The table as it is now, when something has changed; the next question follows the answer. */
async function follow() {
  const answer = document.hidden || /** @type {HTMLDialogElement} */ ($("conversation")).open ? null : await fetch("/replies/state").catch(() => null);
  if (answer?.ok && (await answer.json()).state !== table.state) await start();
  setTimeout(follow, 3000);
}
if (!bundled) setTimeout(follow, 3000);
