// @ts-check
/** Plays one trial by counted animation frames. What is on the screen in which frame is decided here; what was answered, by the server. */

import { AnswerSheet, refusal } from "./sheet.js";

/** So many presses of one step are told, and so many between steps: keys that lie down and repeat themselves beyond that are counted, and do nothing. */
const MOST_PRESSES = 1000, MOST_BETWEEN = 300;
/** So much of what a time stamp strays by moves the refreshes to come. */
const FOLLOWS = 0.1;

/** @import { Absence, Body, Display, PageEvent, Percept, Press, Refractory, ScreenChange, Shown, StepReport, TrialCommand } from "./messages" */

/**
 * What a trial asks of the page around it.
 * @typedef {object} Around
 * @property {number} period from one frame to the next, in ms
 * @property {(display: Display) => string | null} show returns how a tone was given
 * @property {() => void} clear
 * @property {(step: Step | null, number: number) => void} asks
 * @property {(kind: PageEvent["kind"], body: Body, place?: number) => void} send
 * @property {(from: number, to: number) => Absence[]} absences
 * @property {() => boolean} leftFullscreen
 * @property {() => number[]} pulses of a scanner that were not reported yet
 * @property {(until: number) => ScreenChange[]} changes of the screen that were not reported yet
 */

/** A step as it is played. */
export class Step {
  /** @param {number} place @param {Percept} percept @param {number} onset @param {Press | null} before @param {Refractory} refractory */
  constructor(place, percept, onset, before, refractory) {
    this.place = place;
    this.percept = percept;
    this.onset = onset;
    this.before = before;
    this.refractory = refractory;
    /** keys that went down in this step @type {Set<string>} */
    this.began = new Set();
    this.sheet = percept.ask === null ? null : new AnswerSheet(percept.ask, onset);
    /** @type {Shown[]} */
    this.shown = [];
    /** @type {Press[]} */
    this.presses = [];
    this.goneOn = false;
    /** @type {Press | null} */
    this.endedBy = null;
    /** @type {{before: Press[], interval_ms: number | null, waited_ms: number | null, tone: string | null}} */
    this.extra = { before: [], interval_ms: null, waited_ms: null, tone: null };
    this.waited = 0;
    /** @type {Absence[]} when the display was covered, or the page hidden */
    this.paused = [];
  }

  get last() { return this.shown.length === this.percept.displays.length; }
  get over() { return this.sheet !== null && this.sheet.over; }
  /** Whether it has been over, or gone on from, at a refresh: what is pressed after one has its effect at the next. @param {number} at */
  overBy(at) { return this.over && (this.sheet?.answeredAt ?? at) <= at; }
  /** @param {number} at */
  goneOnBy(at) { return this.goneOn && (this.endedBy?.t ?? at) <= at; }

  /** The press that ended the step, for the refractory times of the next one. */
  get ending() {
    if (this.over) return this.sheet?.answeredBy ?? null;
    return this.goneOn ? this.endedBy : null;
  }
}

export class Trial {
  /**
   * @param {TrialCommand} message as the server sent it
   * @param {Around} page
   * @param {number} restedFrom when the screen was emptied
   * @param {Press | null} endedBy the press that ended what was before
   */
  constructor(message, page, restedFrom, endedBy) {
    this.c = message.c;
    this.steps = message.steps;
    this.cuts = message.cuts;
    this.first = message.first;
    this.showFirst = message.show;
    this.rest = message.rest_ms;
    this.refractory = message.refractory;
    this.acknowledgeMs = message.acknowledge_ms;
    this.goOnAfter = message.go_on_after_ms;
    this.page = page;
    this.restedFrom = restedFrom;
    /** "awaits": the server's verdict @type {"rest" | "plays" | "acknowledges" | "awaits" | "over" | "cut"} */
    this.state = "rest";
    this.begun = false;
    this.ready = false;
    /** @type {Step | null} */
    this.step = null;
    /** @type {Step | null} the step before, not reported yet */
    this.pending = null;
    /** @type {Press[]} presses that belong to a step that was reported */
    this.earlier = [];
    /** @type {Press[]} */
    this.aside = [];
    /** @type {Shown | null} */
    this.closing = null;
    /** @type {Press | null} */
    this.endedBy = endedBy;
    this.acknowledging = 0;
    this.verdict = -1;
    this.awaitedFrom = 0;
    this.asked = 0;
    this.askedIn = "";
    /** the last refresh, without the delay of a single time stamp @type {number | null} */
    this.refresh = null;
    /** when the screen was emptied after the trial @type {number | null} */
    this.cleared = null;
    /** repetitions of keys that were left out since the last report */
    this.leftOut = 0;
    /** since when the step under way is paused @type {number | null} */
    this.pausedSince = null;
    for (const [percept] of this.steps.slice(0, this.first)) this.#count(percept);
  }

  /** @param {number} ms */
  frames(ms) { return Math.max(1, Math.floor(ms / this.page.period + 0.5)); }

  /** Whether the trial would not count after an interruption now. */
  get exposed() {
    if (this.state === "rest" || this.state === "over" || this.step === null) return false;
    const { step } = this;
    return !(step.place === this.steps.length - 1 && (step.sheet === null || step.sheet.complete));
  }

  /** The step under way is covered, or the page is hidden: until it is seen again, no time passes for it. @param {number} at */
  pause(at) {
    if (this.step !== null && this.state !== "rest" && this.state !== "over" && this.state !== "cut") this.pausedSince ??= at;
  }

  /** @param {number} at */
  goOn(at) {
    if (this.pausedSince === null || this.step === null) return;
    this.step.paused.push({ at: this.pausedSince, until: at });
    if (this.step.sheet !== null) this.step.sheet.paused += at - this.pausedSince;
    [this.pausedSince, this.refresh] = [null, null];
  }

  // -- frames --------------------------------------------------------------------------------------------------------------------------------------

  /** One animation frame. @param {number} at its time */
  frame(at) {
    if (this.pausedSince !== null) return undefined;
    const passed = this.#passed(at);
    if (this.state === "cut") return undefined;
    if (this.state === "over") return this.#settle(at);
    if (this.state === "rest") {
      if (this.begun && this.ready && (this.rest === null || at - this.restedFrom >= this.rest - this.page.period / 2)) this.#begin(at);
      return undefined;
    }
    const step = /** @type {Step} */ (this.step);
    const on = step.shown[step.shown.length - 1];
    on.frames += passed;
    on.dropped += Math.max(0, passed - 1);
    this.#settle(at);
    if (this.state === "awaits") return this.#verdict(at);
    if (this.state === "acknowledges") {
      this.acknowledging -= passed;
      if (this.acknowledging <= 0) this.#end(at);
      return undefined;
    }
    if (step.overBy(at)) {
      if (step.percept.ask?.window_ms !== null) return this.#end(at);
      this.state = "acknowledges";
      this.acknowledging = this.frames(this.acknowledgeMs);
      return undefined;
    }
    const due = this.#due(step);
    if (!step.goneOnBy(at) && (due === null || on.frames < due)) return undefined;
    return step.last ? this.#end(at) : this.#next(step, at);
  }

  /**
   * How many refreshes have come since the frame before: none where the browser draws twice between two, several where frames are missing. Time stamps of a
   * busy browser stray; counted from each to the next, what they stray by would add up, so they are held against refreshes that follow them slowly.
   * @param {number} at
   */
  #passed(at) {
    const { period } = this.page;
    if (this.refresh === null) {
      this.refresh = at;
      return 1;
    }
    const passed = Math.max(0, Math.round((at - this.refresh) / period));
    this.refresh += passed * period;
    this.refresh += FOLLOWS * (at - this.refresh);
    return passed;
  }

  /** For how many frames the display stays; null until somebody answers or goes on. @param {Step} step @returns {number | null} */
  #due(step) {
    const on = step.shown[step.shown.length - 1];
    const ask = step.percept.ask;
    if (!step.last || ask === null) return on.planned;
    if (ask.window_ms === null) return on.planned === null || ask.ends === "on_answer" ? null : on.planned;
    if (on.planned !== null) return on.planned;
    const before = step.shown.slice(0, -1).reduce((sum, shown) => sum + shown.frames, 0);
    return Math.max(1, this.frames(ask.window_ms) - before);
  }

  /** @param {number} at */
  #begin(at) {
    this.state = "plays";
    this.#show(this.first, this.steps[this.first][this.showFirst], at);
    const step = /** @type {Step} */ (this.step);
    step.extra.before = this.aside;
    step.extra.interval_ms = this.rest === null ? null : at - this.restedFrom;
    this.aside = [];
  }

  /** The first display of a step comes on. @param {number} place @param {Percept} percept @param {number} at */
  #show(place, percept, at) {
    this.step = new Step(place, percept, at, this.endedBy, this.refractory);
    this.#count(percept);
    this.#display(this.step, 0, at);
    this.page.asks(this.step, this.asked);
  }

  /** Number the self-paced questions of a phase. @param {Percept} percept */
  #count(percept) {
    if (percept.ask === null) return;
    this.asked = percept.ask.window_ms !== null ? 0 : this.askedIn === percept.phase ? this.asked + 1 : 1;
    this.askedIn = percept.phase;
  }

  /** @param {Step} step @param {number} number @param {number} at */
  #display(step, number, at) {
    const { ms } = step.percept.displays[number];
    step.shown.push({ onset: at, end: null, planned: ms === null ? null : this.frames(ms), frames: 0, dropped: 0 });
    step.extra.tone = this.page.show(step.percept.displays[number]) ?? step.extra.tone;
  }

  /** @param {Step} step @param {number} at */
  #next(step, at) {
    step.shown[step.shown.length - 1].end = at;
    if (!step.goneOn) step.endedBy = null;
    step.goneOn = false;
    this.#display(step, step.shown.length, at);
    this.page.asks(step, this.asked);
  }

  /** A step is over. @param {number} at */
  #end(at) {
    const step = /** @type {Step} */ (this.step);
    const on = step.shown[step.shown.length - 1];
    const following = this.steps[step.place + 1];
    this.endedBy = step.ending;
    if (following === undefined) {
      on.end = at;
      this.pending = step;
      this.state = "over";
      this.cleared = at;
      this.page.asks(null, 0);
      this.page.clear();
    } else if (following.length === 1) {
      on.end = at;
      this.pending = step;
      this.state = "plays";
      this.#show(step.place + 1, following[0], at);
    } else {
      this.state = "awaits";
      this.awaitedFrom = at;
      this.verdict = -1;
      this.pending = step;
    }
  }

  /** A step that is over is reported once nothing can come any more that happened in it. @param {number} at */
  #settle(at) {
    const step = this.pending;
    if (step === null) return;
    const end = step.shown[step.shown.length - 1].end;
    if (end === at) return;
    const closes = step.sheet?.closes ?? null;
    if (end === null && closes !== null && step.sheet?.waits && !step.over && at <= closes + this.page.period) {
      step.waited += 1;
      return;
    }
    this.pending = null;
    this.page.send("step", this.#report(step, at), step.place);
    if (this.state === "over") {
      this.page.send("end", { closing: this.closing, earlier: this.earlier.map(plain), pulses: this.page.pulses() });
      [this.closing, this.earlier] = [null, []];
    }
  }

  /** @param {Step} step @param {number} at @returns {StepReport} */
  #report(step, at) {
    const until = step.shown[step.shown.length - 1].end ?? at;
    const { before, interval_ms, waited_ms, tone } = step.extra;
    const body = {
      displays: step.shown.map((shown) => ({ ...shown })),
      presses: step.presses.map(plain),
      left_out: this.leftOut,
      complete: step.sheet !== null && step.sheet.complete,
      text: step.sheet?.surface.ordered?.written ? step.sheet.text : null,
      earlier: this.earlier.map(plain),
      closing: this.closing,
      before: before.map(plain),
      interval_ms,
      waited_ms,
      waited_frames: step.waited,
      absences: this.page.absences(step.onset, until),
      paused: step.paused,
      left_fullscreen: this.page.leftFullscreen(),
      changes: this.page.changes(until),
      pulses: this.page.pulses(),
      tone,
    };
    [this.closing, this.earlier, this.leftOut] = [null, [], 0];
    return body;
  }

  /** The server has judged: which of the displays comes. @param {number} place @param {number} which */
  judged(place, which) {
    if (this.step !== null && place === this.step.place + 1) this.verdict = which;
  }

  /** @param {number} at */
  #verdict(at) {
    if (this.verdict < 0 || this.pending !== null) return;
    const step = /** @type {Step} */ (this.step);
    const on = step.shown[step.shown.length - 1];
    on.end = at;
    this.closing = { ...on };
    this.state = "plays";
    this.#show(step.place + 1, this.steps[step.place + 1][this.verdict], at);
    /** @type {Step} */ (this.step).extra.waited_ms = at - this.awaitedFrom;
  }

  /** The trial does not count any more: what is known of the step under way. @param {number} at */
  cut(at) {
    this.state = "cut";
    return this.step === null ? null : this.#report(this.step, at);
  }

  // -- presses -------------------------------------------------------------------------------------------------------------------------------------

  /** @param {Press} press */
  press(press) {
    const { step } = this;
    if (step === null || this.state === "rest" || this.state === "over") {
      if (step !== null && this.pending === step && this.cleared !== null && press.t < this.cleared) this.#take(step, press);
      else this.#keep(this.aside, press, MOST_BETWEEN);
    } else if (press.t < step.onset) {
      if (this.pending !== null && this.pending !== step) this.#take(this.pending, press);
      else this.#keep(this.earlier, press, MOST_BETWEEN);
    } else if (this.state === "awaits" && this.pending === null) this.#keep(this.earlier, press, MOST_BETWEEN);
    else this.#take(step, press);
  }

  /** Keep a press to be told; false where it is left out. @param {Press[]} presses @param {Press} press @param {number} most */
  #keep(presses, press, most) {
    if (press.held && presses.length >= most) {
      this.leftOut += 1;
      return false;
    }
    presses.push(press);
    return true;
  }

  /** @param {Step} step @param {Press} press */
  #take(step, press) {
    press.display = Math.max(0, step.shown.length - 1);
    if (!this.#keep(step.presses, press, MOST_PRESSES)) return;
    const on = step.shown[step.shown.length - 1];
    if (step.sheet !== null) {
      if (refusal(step, press, step.before, step.onset) === "") step.sheet.take(press);
      return;
    }
    if (refusal(step, press, press.display === 0 ? step.before : step.endedBy, on.onset) !== "") return;
    if (step.percept.displays[press.display].ms !== null || !(press.device === "click" || press.key === "space")) return;
    if (press.t - on.onset < this.goOnAfter) return;
    step.goneOn = true;
    step.endedBy = press;
  }
}

/** @param {Press} press @returns {Press} */
function plain(press) {
  const { device, t, heard, key, x, y, button, held, touch, display } = press;
  return { device, t, heard, key, x, y, button, held, touch, display };
}
