// @ts-check
/** Draws what lies on the canvas while a question is open: outlines, marks, what was given, the mark on a dial, acknowledgement. All of it is declared. */

import { hit, valueAt } from "./sheet.js";

/** @import { Colours, Dial, Ordered, Region, Surface } from "./messages" */
/** @import { AnswerSheet } from "./sheet.js" */

const CANVAS = 96;
/** So long an answer is acknowledged, in ms. */
const ACKNOWLEDGE = 300;
/** Ring, dot and bar on a dial, in canvas units. */
const RING = 4.6, DOT = 2.4, BAR = [24, 3.4], EDGE = 0.8;

/**
 * @param {CanvasRenderingContext2D} ctx @param {number} x0 @param {number} y0 @param {number} x1 @param {number} y1
 * @param {{line?: string, fill?: string, width?: number, inset?: number}} style
 */
function box(ctx, x0, y0, x1, y1, { line, fill, width = 2, inset = 0 }) {
  const margin = inset * Math.min(x1 - x0, y1 - y0);
  const w = x1 - x0 - 2 * margin, h = y1 - y0 - 2 * margin;
  ctx.beginPath();
  ctx.roundRect(x0 + margin, y0 + margin, w, h, Math.min(w, h) / 12);
  if (fill) { ctx.fillStyle = fill; ctx.fill(); }
  if (line) { ctx.strokeStyle = line; ctx.lineWidth = width; ctx.stroke(); }
}

/** @param {CanvasRenderingContext2D} ctx @param {string} text @param {number} x @param {number} y @param {number} size @param {number} room @param {string} colour */
function write(ctx, text, x, y, size, room, colour) {
  ctx.fillStyle = colour;
  ctx.textAlign = "center";
  ctx.textBaseline = "middle";
  ctx.font = `600 ${Math.max(6, size)}px SpanLab, sans-serif`;
  const wide = ctx.measureText(text).width;
  if (wide > room) ctx.font = `600 ${Math.max(6, (size * room) / wide)}px SpanLab, sans-serif`;
  ctx.fillText(text, x, y);
}

/**
 * @param {CanvasRenderingContext2D} ctx
 * @param {number} px width of the canvas in pixels
 * @param {AnswerSheet} sheet
 * @param {{x: number, y: number} | null} pointer in canvas units; null where there is none
 * @param {number} now
 * @param {Colours} colours
 */
export function drawSurface(ctx, px, sheet, pointer, now, colours) {
  const { surface } = sheet;
  const unit = px / CANVAS;
  const under = pointer === null ? null : hit(surface.regions, pointer.x, pointer.y);
  if (surface.outlined) outlines(ctx, unit, surface);
  if (surface.several) {
    if (surface.ordered === null) marks(ctx, unit, sheet, under, colours);
    else inOrder(ctx, unit, sheet, surface.ordered, under, colours);
  } else if (surface.dial !== null) dialMark(ctx, unit, sheet, surface.dial, pointer, now, colours);
  else single(ctx, unit, sheet, under, now, colours);
}

/** Everything that changes what is drawn. @param {AnswerSheet} sheet @param {{x: number, y: number} | null} pointer @param {number} now */
export function surfaceState(sheet, pointer, now) {
  const { surface } = sheet;
  const seen = sheet.acknowledged !== null && now - sheet.acknowledged[1] < ACKNOWLEDGE;
  let under = null;
  if (pointer !== null) under = surface.dial !== null ? valueAt(surface.dial, pointer.x, pointer.y) : hit(surface.regions, pointer.x, pointer.y)?.[0] ?? null;
  return JSON.stringify([sheet.marks, sheet.complete, under, sheet.turnedTo, seen]);
}

/** @param {CanvasRenderingContext2D} ctx @param {number} unit @param {Surface} surface */
function outlines(ctx, unit, surface) {
  ctx.strokeStyle = surface.several ? "rgba(150, 154, 160, .51)" : "rgba(255, 255, 255, .9)";
  ctx.lineWidth = 1;
  for (const [, x0, y0, x1, y1] of surface.regions) {
    const [left, top] = [Math.round(x0 * unit), Math.round(y0 * unit)];
    ctx.strokeRect(left + 0.5, top + 0.5, Math.round(x1 * unit) - left - 1, Math.round(y1 * unit) - top - 1);
  }
}

/** @param {Region} region @param {number} unit @returns {[number, number, number, number]} */
const corners = (region, unit) => [region[1] * unit, region[2] * unit, region[3] * unit, region[4] * unit];

/** @param {CanvasRenderingContext2D} ctx @param {number} unit @param {AnswerSheet} sheet @param {Region | null} under @param {Colours} colours */
function marks(ctx, unit, sheet, under, colours) {
  for (const region of sheet.surface.regions) {
    if (sheet.marks.includes(region[0])) box(ctx, ...corners(region, unit), { fill: colours.accent, inset: 0.16 });
  }
  if (under !== null && (sheet.marks.includes(under[0]) || !sheet.mayFinish)) {
    box(ctx, ...corners(under, unit), { line: colours.accent_strong, inset: 0.05 });
  }
}

/** @param {CanvasRenderingContext2D} ctx @param {number} unit @param {AnswerSheet} sheet @param {Ordered} ordered @param {Region | null} under @param {Colours} colours */
function inOrder(ctx, unit, sheet, ordered, under, colours) {
  if (ordered.written) { /* a box of the page lies there */ } else if (ordered.line !== null) line(ctx, unit, sheet, ordered, ordered.line, colours);
  else {
    for (const region of sheet.surface.regions) {
      const numbers = sheet.marks.flatMap((mark, number) => (mark === region[0] ? [number + 1] : [])).join(", ");
      if (!numbers) continue;
      const [x0, y0, x1, y1] = corners(region, unit);
      const side = Math.min(x1 - x0, y1 - y0);
      box(ctx, x0, y0, x1, y1, { fill: colours.accent, inset: 0.1 });
      write(ctx, numbers, (x0 + x1) / 2, (y0 + y1) / 2, Math.max(8, 0.42 * side), 0.9 * (x1 - x0), colours.on_accent);
    }
  }
  if (under !== null && sheet.marks.length < ordered.most && !sheet.complete) {
    box(ctx, ...corners(under, unit), { line: colours.accent_strong, inset: 0.05 });
  }
}

/** @param {CanvasRenderingContext2D} ctx @param {number} unit @param {AnswerSheet} sheet @param {Ordered} ordered @param {[number, number, number, number]} place @param {Colours} colours */
function line(ctx, unit, sheet, ordered, place, colours) {
  const { take } = sheet.surface;
  const [x0, y0, x1, y1] = place.map((value) => value * unit);
  const wide = x1 - x0, high = y1 - y0;
  const names = new Map([...sheet.ask.labels, ...ordered.labels.map((pair) => (ordered.joined ? /** @type {[number | string, string]} */ ([pair[0], String(pair[0])]) : pair))]);
  const given = sheet.marks.map((mark) => (mark === null ? "?" : String(names.get(mark) ?? mark)));
  ctx.fillStyle = colours.background;
  ctx.fillRect(x0, y0, wide, high);
  ctx.strokeStyle = colours.muted;
  ctx.lineWidth = Math.max(1, high / 40);
  const rule = (/** @type {number} */ from, /** @type {number} */ to) => {
    ctx.beginPath();
    ctx.moveTo(from, y0 + 0.9 * high);
    ctx.lineTo(to, y0 + 0.9 * high);
    ctx.stroke();
  };
  if (ordered.joined) {
    write(ctx, given.join(""), x0 + wide / 2, y0 + high / 2, 0.62 * high, 0.94 * wide, colours.text);
    rule(x0 + 0.04 * wide, x0 + 0.96 * wide);
    return;
  }
  const slots = Math.max(take ?? 0, given.length, 1);
  const step = Math.min(wide / slots, 1.6 * high);
  const start = x0 + (wide - step * slots) / 2;
  for (let slot = 0; slot < slots; slot++) {
    const middle = start + (slot + 0.5) * step;
    if (take !== null || slot < given.length) rule(middle - 0.38 * step, middle + 0.38 * step);
    if (slot < given.length) write(ctx, given[slot], middle, y0 + 0.46 * high, 0.62 * high, 0.9 * step, colours.text);
  }
}

/** @param {CanvasRenderingContext2D} ctx @param {number} unit @param {AnswerSheet} sheet @param {Dial} dial @param {{x: number, y: number} | null} pointer @param {number} now @param {Colours} colours */
function dialMark(ctx, unit, sheet, dial, pointer, now, colours) {
  /** @type {import("./messages").Value} */
  let value = null;
  if (sheet.complete) {
    if (sheet.acknowledged === null || now - sheet.acknowledged[1] >= ACKNOWLEDGE) return;
    value = sheet.marks[0];
  } else if (sheet.turnedTo !== null) value = dial.values[sheet.turnedTo];
  else if (pointer !== null) value = valueAt(dial, pointer.x, pointer.y);
  if (value === null) return;
  const angle = ((dial.turned + dial.degrees * dial.values.indexOf(Number(value))) * Math.PI) / 180;
  const ink = sheet.complete ? colours.accent : "#141414";
  ctx.save();
  if (dial.mark === "bar") {
    ctx.translate(dial.x * unit, dial.y * unit);
    ctx.rotate(angle);
    ctx.fillStyle = ink;
    ctx.fillRect((-BAR[1] / 2) * unit, (-BAR[0] / 2) * unit, BAR[1] * unit, BAR[0] * unit);
  } else {
    const x = (dial.x + dial.radius * Math.sin(angle)) * unit, y = (dial.y - dial.radius * Math.cos(angle)) * unit;
    if (dial.mark === "dot") {
      for (const [radius, colour] of /** @type {[number, string][]} */ ([[DOT + EDGE, "#ffffff"], [DOT, ink]])) {
        ctx.beginPath();
        ctx.arc(x, y, radius * unit, 0, 2 * Math.PI);
        ctx.fillStyle = colour;
        ctx.fill();
      }
    } else {
      for (const [radius, wide, colour] of /** @type {[number, number, string][]} */ ([[RING - 1.5 * EDGE, 3 * EDGE, "#ffffff"], [RING - 1.5 * EDGE, EDGE, ink]])) {
        ctx.beginPath();
        ctx.arc(x, y, radius * unit, 0, 2 * Math.PI);
        ctx.strokeStyle = colour;
        ctx.lineWidth = wide * unit;
        ctx.stroke();
      }
    }
  }
  ctx.restore();
}

/** @param {CanvasRenderingContext2D} ctx @param {number} unit @param {AnswerSheet} sheet @param {Region | null} under @param {number} now @param {Colours} colours */
function single(ctx, unit, sheet, under, now, colours) {
  const given = sheet.acknowledged;
  if (given !== null && now - given[1] < ACKNOWLEDGE) {
    const region = sheet.surface.regions.find((one) => one[0] === given[0]);
    if (region !== undefined) {
      const width = Math.max(3, unit);
      box(ctx, ...corners(region, unit), { line: "#ffffff", width: width + 4, inset: 0.04 });
      box(ctx, ...corners(region, unit), { line: colours.accent, width, inset: 0.04 });
    }
  } else if (under !== null && !sheet.complete) box(ctx, ...corners(under, unit), { line: colours.accent, width: 1.5, inset: 0.04 });
}
