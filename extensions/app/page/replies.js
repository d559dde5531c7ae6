// @ts-check
// Answers of chat models: one table to search, filter and sort, and each conversation with its pictures.
import { $, button, element } from "./kit.js";

/** @typedef {{x: number, y: number, width: number, height: number, number: string}} Spot */
/** @typedef {{right: string, source: string, spots: Spot[]}} Question */
/** @typedef {{answer: string, mark: string, outcome: string, rt_ms: number | null, reply: string, spots: Spot[]}} Given */
/** @typedef {{text?: string, source?: string, words?: string, size?: number, same?: boolean}} Part */
/** @typedef {{ask: number, sent: {role: string, parts: Part[]}[], reply: string, reasoning: string, read_as: string, how: string, again: boolean}} Turn */
/** @typedef {{who: string, session: string, trial: string, answers: Given[]}} Taker */
/** @typedef {{session: string, trial: string, who: string, title: string, levels: Record<string, unknown>, questions: Question[], takers: Taker[], turns: Turn[]}} Talk */
/** @typedef {{columns: string[], models: string[], rows: any[][], unread: string[], state: string}} Table */

const page = $("answers"), says = JSON.parse(page.dataset.says || "{}"), bundled = page.dataset.bundled === "yes";
const SIGNS = /** @type {Record<string, string>} */ ({ right: "✓", wrong: "✗", partly: "½", unread: "?", none: "·" });
const ON_PAGE = 100, LONG = 900;
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
  $("rows").replaceChildren(...chosen.slice(first, first + ON_PAGE).map((row) => {
    const cells = shown.slice(1).map((column) => {
      const content = value(row, column);
      if (column === "mark") return element("td", {}, element("span", { class: `mark ${content}` }, `${SIGNS[content]} ${says[`mark_${content}`]}`));
      const digits = column === "cost" ? 6 : 0;
      return typeof content === "number" ? element("td", { class: "number" }, number(content, digits)) : element("td", column === "reply" ? { class: "reply" } : {}, String(content ?? ""));
    });
    return element("tr", {}, element("th", { scope: "row" }, button(value(row, "who"), () => void open(row), { class: "open", "aria-label": `${value(row, "who")}, ${value(row, "paradigm")}, ${says.trial} ${value(row, "trial")}, ${says.question} ${value(row, "question")}` })), ...cells);
  }));
  const pages = Math.ceil(chosen.length / ON_PAGE);
  $("pager").hidden = pages < 2;
  $("at").textContent = `${first / ON_PAGE + 1} / ${pages}`;
  /** @type {HTMLButtonElement} */ ($("before")).disabled = !first;
  /** @type {HTMLButtonElement} */ ($("after")).disabled = first + ON_PAGE >= chosen.length;
}

/** A picture of a question with the right answer and one that was given. @param {Question} question @param {Given | null} given */
function marked(question, given) {
  const drawn = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  drawn.setAttribute("viewBox", "0 0 96 96");
  drawn.setAttribute("aria-hidden", "true");
  const shape = (/** @type {string} */ tag, /** @type {Record<string, string | number>} */ attributes, text = "") => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, content] of Object.entries(attributes)) made.setAttribute(name, String(content));
    made.textContent = text;
    drawn.append(made);
  };
  const around = (/** @type {Spot} */ one, /** @type {number} */ by) => ({ x: one.x + by, y: one.y + by, width: Math.max(1, one.width - 2 * by), height: Math.max(1, one.height - 2 * by) });
  for (const one of question.spots) shape("rect", { class: "should", ...around(one, 1) });
  for (const one of given?.spots ?? []) shape("rect", { class: `did ${given?.mark}`, ...around(one, 3.5) });
  for (const one of (given ?? question).spots) if (one.number) shape("text", { x: one.x + one.width / 2, y: one.y + one.height / 2 }, one.number);
  return element("span", { class: "marked" }, element("img", { src: question.source, width: "112", height: "112", alt: "" }), drawn);
}

/** @param {string} text */
const written = (text) => {
  const shown = element("pre", { tabindex: "0" }, text);
  return text.length > LONG ? element("details", {}, element("summary", {}, `${text.slice(0, 80).split("\n")[0]} … (${number(text.length)})`), shown) : shown;
};

/** @param {Turn} turn @param {string} mark */
function said(turn, mark) {
  const list = element("ol", { class: "plain talk" });
  for (const message of turn.sent) {
    const item = element("li", {}, element("strong", {}, message.role));
    const pictures = element("span", { class: "shown" });
    for (const part of message.parts) {
      if (part.source) pictures.append(element("img", { src: part.source, alt: part.words || "", title: part.words || "", width: "112" }));
      else item.append(written(part.text ?? part.words ?? ""));
    }
    if (pictures.childElementCount) item.append(pictures);
    list.append(item);
  }
  const item = element("li", {}, element("strong", {}, "assistant"), " ", element("span", { class: `mark ${mark}` }, turn.again ? says.asked_again : `${SIGNS[mark] || ""} ${turn.read_as}`), " ", element("span", { class: "muted" }, turn.how));
  if (turn.reasoning) item.append(element("details", {}, element("summary", {}, says.reasoning), element("pre", { tabindex: "0" }, turn.reasoning)));
  item.append(written(turn.reply));
  list.append(item);
  return list;
}

/** Open the conversation of a row. @param {any[]} row */
async function open(row) {
  const [session, trial, question] = ["session", "trial", "question"].map((column) => value(row, column));
  const dialog = /** @type {HTMLDialogElement} */ ($("conversation")), inside = $("inside");
  inside.replaceChildren("…");
  if (!dialog.open) dialog.showModal();
  history.replaceState(null, "", `#${[session, trial, question].map(encodeURIComponent).join("/")}`);
  /** @type {Talk | null} */
  const talk = await load(`${session}/${trial}`).catch(() => null);
  if (!talk) return inside.replaceChildren(element("p", { class: "problem", role: "alert" }, says.not_loaded));
  const asked = talk.questions[question - 1];
  const at = chosen.indexOf(row), step = (/** @type {number} */ by, /** @type {string} */ label) => {
    const other = chosen[at + by], made = button(label, () => void open(/** @type {any[]} */ (other)));
    made.disabled = at < 0 || !other;
    return made;
  };
  const takers = talk.takers.map((taker) => {
    const given = taker.answers[question - 1];
    const item = element("li", {}, element("strong", {}, taker.who));
    if (!given) return item;
    item.append(element("br"), element("span", { class: `mark ${given.mark}` }, `${SIGNS[given.mark]} ${says[`mark_${given.mark}`]}`), ` ${given.answer || given.outcome}`);
    if (given.rt_ms !== null) item.append(" ", element("span", { class: "muted" }, `${number(given.rt_ms)} ms`));
    if (asked?.source) item.append(marked(asked, given));
    return item;
  });
  const own = talk.takers[0]?.answers ?? [];
  const turns = talk.turns.map((turn) => {
    const content = said(turn, own[turn.ask - 1]?.mark || "none");
    const folded = element("details", {}, element("summary", {}, turn.ask ? `${says.question} ${turn.ask}` : says.before_questions), content);
    if (turn.ask === question || talk.turns.length === 1) folded.setAttribute("open", "");
    return folded;
  });
  inside.replaceChildren(
    element("h2", { tabindex: "-1" }, `${talk.who} · ${talk.title} · ${says.trial} ${trial}, ${says.question} ${question}`),
    element("p", { class: "chips" }, ...Object.entries(talk.levels).map(([name, level]) => element("span", { class: "chip" }, `${name.replaceAll("_", " ")}: ${level}`))),
    element("p", { class: "buttons" }, step(-1, says.answer_before), step(1, says.answer_after)),
    element("h3", {}, filled(says.same_question, { right: asked?.right || "–" })),
    element("ul", { class: "plain takers" }, ...takers),
    ...(turns.length ? [element("h3", {}, says.conversation_title), ...turns] : []),
  );
  /** @type {HTMLElement} */ (inside.querySelector("h2")).focus();
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
if (!bundled) {
  setInterval(async () => {
    if (document.hidden || /** @type {HTMLDialogElement} */ ($("conversation")).open) return;
    const answer = await fetch("/replies/state");
    if (answer.ok && (await answer.json()).state !== table.state) void start();
  }, 3000);
}
