/**
 * What goes over the line between server and page. The server writes its side in participant/messages.py and agent.py and in visits/visits.py,
 * and checks the page's side in participant/reports.py and screen.py and in visits/messages.py. Nothing of this is loaded by the page.
 */

// -- what the server says ----------------------------------------------------------------------------------------------------------------------------

/** A value that can be given; null stands for an item that was left open. */
export type Value = number | string | null;
/** A clickable area in canvas units: the value, then left, top, right, bottom. */
export type Region = [value: number | string, x0: number, y0: number, x1: number, y1: number];
/** Colours by their names in the style sheet. */
export type Colours = Record<string, string>;

export interface Ordered {
  most: number;
  repeats: boolean;
  unknown: boolean;
  joined: boolean;
  line: [x0: number, y0: number, x1: number, y1: number] | null;
  labels: [number | string, string][];
  /** a text that is written, and edited, in a box at `line` */
  written: boolean;
}

export interface Dial {
  x: number;
  y: number;
  radius: number;
  dead: number;
  degrees: number;
  values: number[];
  turned: number;
  start: number;
  mark: "ring" | "dot" | "bar";
}

export interface Surface {
  keys: [string, number | string][];
  regions: Region[];
  several: boolean;
  take: number | null;
  outlined: boolean;
  ordered: Ordered | null;
  dial: Dial | null;
}

export interface Ask {
  window_ms: number | null;
  ends: "on_answer" | "on_time";
  counts: "first" | "last";
  legend: string;
  prompt: string | null;
  which: string[];
  buttons: { key: string; label: string }[];
  labels: [number | string, string][];
  surface: Surface;
  overlay: string | null;
}

export interface Tone {
  hz: number;
  ms: number;
  ring: string;
}

export interface Display {
  frame: string;
  ms: number | null;
  tone?: Tone;
}

export interface Percept {
  item: boolean;
  phase: string;
  displays: Display[];
  ask: Ask | null;
}

/** Sentences that the page says itself. */
export type Words = Record<WordName, string>;
export type WordName =
  | "go_on" | "done" | "undo" | "unknown" | "nothing" | "pause" | "pause_more" | "pause_replaces" | "continue" | "leave" | "enter_one" | "mark_one" | "marked_any"
  | "enter_more" | "mark_more" | "start" | "start_body" | "next" | "connecting" | "lost" | "unfit" | "saving" | "code" | "redirect" | "field_needed"
  | "choose" | "send" | "interrupted" | "again" | "again_yes" | "again_no" | "refused_title" | "refused";

/** How the page looks and speaks from now on. */
export interface Manner {
  words?: Words;
  language?: string;
  colours?: Colours;
  /** the key with which a scanner sends its pulses; empty where there is none */
  pulse?: string;
}

interface Command extends Manner {
  type: "do";
  c: number;
}

export interface TrialCommand extends Command {
  what: "trial";
  /** of each step what may be shown: one percept, or one for each verdict on the answer before */
  steps: Percept[][];
  rest_ms: number | null;
  /** whether an interruption cuts it off; a questionnaire goes on */
  cuts: boolean;
  /** the step that comes first, and which of its percepts: where a page goes on that was loaded anew */
  first: number;
  show: number;
  refractory: Refractory;
  acknowledge_ms: number;
  go_on_after_ms: number;
  canvas_px: number;
}

export interface Refractory {
  same_ms: number;
  other_ms: number;
}

/** A heading (h) or a paragraph (p), and its words. */
export type Paragraph = ["h" | "p", string];

export interface PageCommand extends Command {
  what: "page" | "choose";
  title: string;
  text: Paragraph[];
  footer: string;
  example: { frame: string; width: number; height: number } | null;
  example_title?: string;
  after: Paragraph[];
  progress: number | null;
  least: number;
  options: { name: string; label: string; key: string }[];
}

export interface FormCommand extends Command {
  what: "form";
  title: string;
  questions: { name: string; label: string; choices: [string, string][]; value: string; required: boolean; hint: string }[];
  wrong: Record<string, string>;
}

export interface EndCommand extends Command {
  what: "end";
  title: string;
  texts: string[];
  code: string;
  redirect: string;
  /** whether the redirect is sent as a form */
  post: boolean;
  at_once: boolean;
}

export interface ScannerCommand extends Command {
  what: "scanner";
  title: string;
  texts: string[];
  /** after so many pulses it is over */
  at: number;
}

export interface CalibrateCommand extends Command {
  what: "calibrate";
  /** card, and distance */
  measures: string[];
  title: string;
  calibration: Record<CalibrationWord, string>;
}
export type CalibrationWord =
  | "card" | "card_size" | "card_done" | "distance" | "distance_start" | "distance_gone" | "distance_skip" | "distance_again";

export type Do =
  | TrialCommand
  | ScannerCommand
  | CalibrateCommand
  | PageCommand
  | FormCommand
  | EndCommand
  | (Command & { what: "begin"; trial: number })
  | (Command & { what: "verdict"; trial: number; step: number; show: number })
  | (Command & { what: "language" | "wait" });

export type Told =
  | ({ type: "welcome"; epoch: string; secret: string } & Manner)
  | ({ type: "refused"; title: string; texts: string[]; final: boolean } & Manner)
  | { type: "ack"; n: string[] }
  | Do;

/** What the page is given before it connects. */
export interface Start extends Manner {
  title: string;
  /** parameters of the link: the first that is there says who takes part */
  identifiers: string[];
  /** whether one of them must be there */
  needed: boolean;
  /** parameters that are passed on */
  keep: string[];
}

// -- what the page says ------------------------------------------------------------------------------------------------------------------------------

/** A key or a button going down, at `t` ms since the page was loaded; the browser told the page at `heard`. */
export interface Press {
  device: "key" | "click";
  t: number;
  heard: number;
  key: string;
  x: number;
  y: number;
  button: string;
  held: boolean;
  touch: boolean;
  display: number;
}

/** How a display was shown. */
export interface Shown {
  onset: number;
  end: number | null;
  planned: number | null;
  frames: number;
  dropped: number;
}

/** A time without the focus, or in which a step was paused. */
export interface Absence {
  at: number;
  until: number;
}

/** The screen has changed: its size, its pixels (zoom), or how many of them the canvas takes. */
export interface ScreenChange {
  at: number;
  window_px: [number, number];
  pixel_ratio: number;
  shown_px: number;
}

/** What is told of a step. */
export interface StepReport {
  displays: Shown[];
  presses: Press[];
  left_out: number;
  complete: boolean;
  /** what was written, where somebody was asked to */
  text: string | null;
  earlier: Press[];
  closing: Shown | null;
  before: Press[];
  interval_ms: number | null;
  waited_ms: number | null;
  waited_frames: number;
  absences: Absence[];
  paused: Absence[];
  left_fullscreen: boolean;
  changes: ScreenChange[];
  pulses: number[];
  tone: string | null;
}

export interface EndReport {
  closing: Shown | null;
  earlier: Press[];
  pulses: number[];
}

export type Body = StepReport | EndReport | { pulses: number[] } | { name: string } | { typed: Record<string, string> } | { why: string; report?: StepReport | null } | CalibrationReport | Record<string, never>;

/** Lengths in CSS pixels: of the longer side of the card, and how far the dot went each time. */
export interface CalibrationReport {
  card_px: number;
  travels_px: number[];
  pixel_ratio: number;
}

/** Something that counts; `place` is the number of the step that it is about, -1 for none. */
export interface PageEvent {
  id: string;
  epoch: string;
  c: number;
  kind: "done" | "choice" | "form" | "step" | "end" | "cut" | "leave" | "calibrated" | "pulses";
  place: number;
  body: Body;
}

export interface ScreenReport {
  canvas_px: number;
  column_px: number;
  high_px: number;
  letter_px: number;
  window_px: [number, number];
  screen_px: [number, number];
  pixel_ratio: number;
  hz: number;
  measured: boolean;
  touch: boolean;
  fullscreen: boolean;
  isolated: boolean;
  browser: string;
}
