// @ts-check
/**
 * Takes the place of the line to a laboratory's server (link.js) on the pages of the site: the trials lie beside the page, and so does what is right. The player
 * itself is the laboratory's own. What is right is a file of its own, which is asked for when the first answer is to be judged.
 */

import { element } from "./kit.js";
import { screenNow } from "./screen.js";
import { AnswerSheet, refusal } from "./sheet.js";

/** @import { Ask, Body, Percept, StepReport, TrialCommand, Value } from "./messages" */

/**
 * @typedef {{answer: Value | Value[], none: Value, degrees: number | null}} Right what is right, what silence stands for, and the size of a step on a dial
 * @typedef {{who: string, said: string}} Other
 * @typedef {{title: string, start: object, manner: object, instructions: object, trials: Omit<TrialCommand, "c" | "type" | "what">[], verdicts: Record<string, string[]>[],
 *   pictures: Record<string, string>, right: string, home: string, others: Other[]}} Recording
 */

/** @type {Recording} */
const recording = /** @type {any} */ (window).spanlabTrials;

export const randomName = () => "site";
export const whoTakesPart = () => "";
export const whoTookPart = () => "";
export const keepName = (/** @type {string} */ name) => name;
export const linkSays = () => ({});

/** @param {string} text */
const bytes = (text) => Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));

/** What the laboratory's server would send: its greeting, and the pictures of trials. */
window.fetch = async (address) => {
  const file = String(address).split("/").pop() ?? "";
  if (file.startsWith("start")) return new Response(JSON.stringify(recording.start));
  const picture = recording.pictures[file.replace(".png", "")];
  return picture === undefined ? new Response(null, { status: 404 }) : new Response(bytes(picture));
};

/** Pictures are drawn for one size of canvas, and shown at that of this screen. */
const decode = window.createImageBitmap.bind(window);
window.createImageBitmap = /** @type {any} */ ((/** @type {Blob} */ file, /** @type {ImageBitmapOptions} */ how) => {
  const side = screenNow().canvas_px;
  return decode(file, { ...how, resizeWidth: side, resizeHeight: side, resizeQuality: "high" });
});

/** What is right, of each trial and step. @returns {Promise<Record<number, Right>[]>} */
const theRight = () => new Promise((resolve) => {
  const known = /** @type {any} */ (window);
  if (known.spanlabRight) { resolve(known.spanlabRight); return; }
  const script = element("script", { src: recording.right });
  script.addEventListener("load", () => resolve(known.spanlabRight));
  document.head.append(script);
});

/** The answer in the presses of a step, as the page has read them. @param {Percept} percept @param {StepReport} report @param {TrialCommand["refractory"]} refractory */
function answerIn(percept, report, refractory) {
  const ask = /** @type {Ask} */ (percept.ask);
  const onset = report.displays[0].onset;
  const sheet = new AnswerSheet(ask, onset);
  const step = { sheet, refractory, began: /** @type {Set<string>} */ (new Set()) };
  if (report.text !== null) sheet.text = report.text;
  for (const press of report.presses) if (refusal(step, press, null, onset) === "") sheet.take(press);
  if (report.text !== null) return sheet.nothing ? null : report.text;
  if (!report.complete) return null;
  return ask.surface.several ? [...sheet.marks] : sheet.marks[0] ?? null;
}

/** How an answer went: what was right of it, of how much, and by how many degrees it was off. @param {Value | Value[] | null} given @param {Right} right @param {boolean} ordered */
function judge(given, right, ordered) {
  const said = given ?? right.none;
  if (said === null) return { right: 0, of: Array.isArray(right.answer) ? right.answer.length : 1, off: null, verdict: "missed" };
  if (right.degrees !== null) {
    const turns = Math.abs(Number(said) - Number(right.answer)) * right.degrees;
    const off = Math.min(turns % 360, 360 - (turns % 360));
    return { right: Number(off === 0), of: 1, off, verdict: off === 0 ? "right" : "wrong" };
  }
  const wanted = Array.isArray(right.answer) ? right.answer : [right.answer], got = Array.isArray(said) ? said : [said];
  const hits = wanted.filter((value, at) => (ordered ? got[at] === value : got.includes(value))).length;
  return { right: hits, of: wanted.length, off: null, verdict: hits === wanted.length && got.length === wanted.length ? "right" : "wrong" };
}

export class Link {
  /** @param {string} _participant @param {string} _session @param {object} _link @param {() => object} _introduction @param {(message: any) => void} receive @param {(state: "open" | "lost") => void} tell */
  constructor(_participant, _session, _link, _introduction, receive, tell) {
    this.receive = receive;
    this.tell = tell;
    this.settled = true;
    this.stopped = false;
    this.count = 0;
    /** the number of the trial under way */
    this.trial = -1;
    /** @type {{right: number, of: number, off: number | null}[]} */
    this.scores = [];
    /** @type {string} of the last answer */
    this.verdict = "missed";
  }

  async open() {
    this.tell("open");
    this.receive({ type: "welcome", epoch: "site", secret: "", anew: true, ...recording.manner });
    this.#say("page", recording.instructions);
  }

  /** @param {string} what @param {object} content */
  #say(what, content) {
    this.count += 1;
    this.receive({ type: "do", c: this.count, what, ...content });
    return this.count;
  }

  #begin() {
    if (this.trial >= recording.trials.length) {
      this.#say("end", { title: recording.title, texts: [], code: "", redirect: "", post: false, at_once: false });
      return;
    }
    const c = this.#say("trial", { ...recording.trials[this.trial], canvas_px: screenNow().canvas_px });
    this.#say("begin", { trial: c });
    this.playing = c;
  }

  /** @param {number} _c @param {string} kind @param {Body} body @param {number} place */
  send(_c, kind, body = {}, place = -1) {
    if (kind === "done") { this.trial += 1; this.#begin(); }
    else if (kind === "step") void this.#step(/** @type {StepReport} */ (body), place);
    else if (kind === "end") { this.trial += 1; setTimeout(() => this.#begin(), 0); }
    else if (kind === "cut") setTimeout(() => this.#begin(), 0);
    else if (kind === "leave") { this.trial = recording.trials.length; this.#begin(); }
  }

  /** @param {StepReport} report @param {number} place */
  async #step(report, place) {
    const { steps, refractory } = recording.trials[this.trial], verdicts = recording.verdicts[this.trial], number = this.trial;
    const shown = verdicts[place] === undefined ? 0 : Math.max(0, verdicts[place].indexOf(this.verdict));
    const percept = steps[place][shown] ?? steps[place][0];
    if (percept.ask !== null) {
      const right = (await theRight())[number][place];
      if (right !== undefined) {
        const score = judge(answerIn(percept, report, refractory), right, percept.ask.surface.ordered !== null);
        this.scores.push(score);
        this.verdict = score.verdict;
      }
    }
    const next = verdicts[place + 1];
    if (next !== undefined) this.#say("verdict", { trial: this.playing, step: place + 1, show: Math.max(0, next.indexOf(this.verdict)) });
  }

  /** The page is at its end: what came out follows on it. */
  stop() {
    this.stopped = true;
    queueMicrotask(() => this.#results());
  }

  #results() {
    const sheet = /** @type {HTMLElement} */ (document.getElementById("sheet"));
    const offs = this.scores.flatMap(({ off }) => (off === null ? [] : [off]));
    const [right, of] = this.scores.reduce(([hits, all], score) => [hits + score.right, all + score.of], [0, 0]);
    let said = "no answers";
    if (offs.length) said = `${Math.round(offs.reduce((sum, off) => sum + off, 0) / offs.length)}° off on average, of ${offs.length}`;
    else if (of) said = `${right} of ${of} right (${Math.round((100 * right) / of)} %)`;
    const rows = [{ who: "You", said }, ...recording.others];
    const table = element("table", { class: "results" }, element("tbody", {}, ...rows.map((row) => element("tr", {}, element("th", { scope: "row" }, row.who), element("td", {}, row.said)))));
    sheet.append(
      element("p", {}, "These few trials were taken by all of them. They are far too few to compare anybody."), table,
      element("div", { class: "row" }, element("a", { class: "button", href: recording.home, target: "_top" }, "The paradigm, and its curves"), element("a", { class: "button", href: location.href }, "Once more")),
    );
  }

  /** Nothing is told to anybody. */
  mention() {}
}
