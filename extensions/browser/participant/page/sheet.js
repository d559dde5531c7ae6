// @ts-check
/** From presses and clicks to the answer to one question, as at the window. The server reads the same presses again, and decides; this decides what is seen. */

export const CONFIRM = ["return", "enter", "num_enter"];
/** @type {Record<string, number>} */
const TURN = { left: -1, right: 1, down: -10, up: 10 };
const UNDO = ["backspace", "delete"];
const UNKNOWN = ["minus", "num_subtract"];
const CANVAS = 96;

/** @import { Ask, Dial, Ordered, Press, Refractory, Region, Surface, Value } from "./messages" */

/** Halves are rounded to even numbers, as on the server. @param {number} value */
function rounded(value) {
  const low = Math.floor(value);
  const rest = value - low;
  return rest > 0.5 || (rest === 0.5 && low % 2 !== 0) ? low + 1 : low;
}

/** @param {Dial} dial @param {number} x @param {number} y @returns {number | null} */
export function valueAt(dial, x, y) {
  if (!(x >= 0 && x <= CANVAS && y >= 0 && y <= CANVAS) || Math.hypot(x - dial.x, y - dial.y) < dial.dead) return null;
  const direction = (Math.atan2(x - dial.x, dial.y - y) * 180) / Math.PI - dial.turned;
  const many = dial.values.length;
  return dial.values[((rounded(direction / dial.degrees) % many) + many) % many];
}

/** @param {Region[]} regions @param {number} x @param {number} y @returns {Region | null} */
export function hit(regions, x, y) {
  return regions.find((region) => region[1] <= x && x < region[3] && region[2] <= y && y < region[4]) ?? null;
}

export class AnswerSheet {
  /** @param {Ask} ask @param {number} onset */
  constructor(ask, onset) {
    this.ask = ask;
    /** @type {Surface} */
    this.surface = ask.surface;
    this.onset = onset;
    /** @type {Value[]} */
    this.marks = [];
    /** for how long it was paused, in ms */
    this.paused = 0;
    /** @type {number | null} */
    this.answeredAt = null;
    /** @type {Press | null} */
    this.answeredBy = null;
    /** @type {number | null} */
    this.turnedTo = null;
    /** @type {[Value, number] | null} */
    this.acknowledged = null;
    /** what was written freely, and whether "no answer" was given in its place */
    this.text = "";
    this.nothing = false;
  }

  get complete() { return this.answeredAt !== null; }
  /** When the window closes, or null. @returns {number | null} */
  get closes() { return this.ask.window_ms === null ? null : this.onset + this.paused + this.ask.window_ms; }
  /** Whether the step ends with the answer that there is. */
  get over() { return this.complete && this.ask.ends === "on_answer"; }
  /** Whether a press could still matter. */
  get waits() { return !this.complete || this.ask.counts === "last" || this.surface.several; }

  get mayFinish() {
    const { take, ordered } = this.surface;
    if (take !== null) return this.marks.length === take;
    if (ordered?.written) return this.nothing || this.text.trim() !== "";
    if (ordered === null || this.marks.length < 1 || this.marks.length > ordered.most) return false;
    if (!ordered.joined) return true;
    const text = this.marks.map((mark) => (mark === null ? "?" : String(mark))).join("").trim();
    return text.length > 0 && !text.includes("  ");
  }

  /** Let a press have its effect; returns what it did. @param {Press} press */
  take(press) {
    if (this.closes !== null && press.t > this.closes) return "late";
    let effect;
    if (this.surface.ordered?.written) effect = this.#write(press);
    else if (this.surface.dial !== null) effect = this.#dial(this.surface.dial, press);
    else effect = this.surface.several ? this.#several(press) : this.#one(press);
    if (effect === "answer") this.answeredBy = press;
    return effect;
  }

  /** @param {Press} press @returns {Value} */
  #value(press) {
    if (press.device === "key") {
      const found = this.surface.keys.find((pair) => pair[0] === press.key);
      return found === undefined ? null : found[1];
    }
    if (press.button === "done") return null;
    const region = hit(this.surface.regions, press.x, press.y);
    return region === null ? null : region[0];
  }

  /** @param {Press} press @param {Value} value */
  #answer(press, value) {
    this.marks = [value];
    this.answeredAt = press.t;
    this.acknowledged = [value, press.t];
    return "answer";
  }

  /** @param {Press} press */
  #one(press) {
    const value = this.#value(press);
    if (value === null) return "nothing";
    if (this.complete && this.ask.counts === "first") return "extra";
    return this.#answer(press, value);
  }

  /** @param {Dial} dial @param {Press} press */
  #dial(dial, press) {
    if (this.complete && this.ask.counts === "first") return "extra";
    /** @type {number | null} */
    let value = null;
    if (press.device === "click") value = valueAt(dial, press.x, press.y);
    else if (press.key in TURN) {
      const before = this.turnedTo === null ? dial.start : this.turnedTo;
      const many = dial.values.length;
      this.turnedTo = (((before + TURN[press.key]) % many) + many) % many;
      return "turn";
    } else if (CONFIRM.includes(press.key)) {
      if (this.turnedTo === null) return "not yet";
      value = dial.values[this.turnedTo];
    }
    return value === null ? "nothing" : this.#answer(press, value);
  }

  /** Keys write in a box of the page; its buttons end the answer. @param {Press} press */
  #write(press) {
    if (this.complete && this.ask.counts === "first") return "extra";
    if (press.button !== "done" && press.button !== "unknown") return this.#value(press) === null ? "nothing" : "mark";
    this.nothing = press.button === "unknown";
    if (!this.mayFinish) return "not yet";
    this.answeredAt = press.t;
    return "answer";
  }

  /** @param {Press} press */
  #several(press) {
    if (this.complete && this.ask.counts === "first") return "extra";
    if (press.button === "done" || (press.device === "key" && CONFIRM.includes(press.key))) {
      if (!this.mayFinish) return "not yet";
      this.answeredAt = press.t;
      return "answer";
    }
    const value = this.#value(press);
    if (this.surface.ordered !== null) return this.#inOrder(press, value, this.surface.ordered);
    if (value === null) return "nothing";
    const there = this.marks.indexOf(value);
    if (there >= 0) {
      this.marks.splice(there, 1);
      this.answeredAt = null;
      return "unmark";
    }
    if (this.surface.take !== null && this.marks.length >= this.surface.take) return "full";
    return this.#mark(press, value);
  }

  /** @param {Press} press @param {Value} value @param {Ordered} ordered */
  #inOrder(press, value, ordered) {
    const typed = press.device === "key" && value === null ? press.key : "";
    if (press.button === "undo" || UNDO.includes(typed)) {
      if (this.marks.length === 0) return "nothing";
      this.marks.pop();
      this.answeredAt = null;
      return "unmark";
    }
    if (ordered.unknown && (press.button === "unknown" || UNKNOWN.includes(typed))) {
      if (ordered.joined) this.marks = [];
    } else if (value === null) return "nothing";
    else if (ordered.joined && this.marks.length === 1 && this.marks[0] === null) this.marks = [];
    if (value !== null && !ordered.repeats && this.marks.includes(value)) return "used";
    if (this.marks.length >= ordered.most) return "full";
    return this.#mark(press, value);
  }

  /** @param {Press} press @param {Value} value */
  #mark(press, value) {
    this.marks.push(value);
    this.answeredAt = null;
    this.acknowledged = [value, press.t];
    return "mark";
  }
}

/**
 * Why a press may do nothing in a step; empty if it may. What was down before the step, and repeats itself, answers nothing; in a self-paced step neither does
 * what follows at once on the press that ended the step before. A mark on a dial turns as long as its key is held.
 * @param {{sheet: AnswerSheet | null, refractory: Refractory, began: Set<string>}} step
 * @param {Press} press @param {Press | null} before @param {number} onset
 */
export function refusal({ sheet, refractory, began }, press, before, onset) {
  const turns = sheet !== null && sheet.surface.dial !== null && press.key in TURN;
  if (press.held && !(turns && began.has(press.key))) return "held";
  if ((sheet === null || (sheet.closes === null && !sheet.complete)) && holdsOff(refractory, press, before, onset)) return "too soon";
  if (!press.held) began.add(press.key);
  return "";
}

/** @param {Refractory} times @param {Press} press @param {Press | null} before @param {number} onset */
function holdsOff(times, press, before, onset) {
  if (before === null || onset - before.t > 1000) return false;
  return press.t - onset < (press.device === before.device && press.key === before.key ? times.same_ms : times.other_ms);
}
