// @ts-check
/** What keys are called: by the signs on them, as the window calls them (PsychoPy's names). */

/** @type {Record<string, string>} */
const SIGNS = {
  "-": "minus", "+": "plus", "=": "equal", ",": "comma", ".": "period", "/": "slash", ";": "semicolon", "'": "apostrophe",
  "[": "bracketleft", "]": "bracketright", "\\": "backslash", " ": "space", ä: "adiaeresis", ö: "odiaeresis", ü: "udiaeresis", ß: "ssharp",
};
/** @type {Record<string, string>} */
const NAMED = {
  ArrowLeft: "left", ArrowRight: "right", ArrowUp: "up", ArrowDown: "down", Enter: "return", Tab: "tab", Backspace: "backspace", Escape: "escape",
  Home: "home", End: "end", PageUp: "pageup", PageDown: "pagedown", Insert: "insert", Delete: "delete",
};
/** @type {Record<string, string>} */
const PLACES = {
  NumpadAdd: "num_add", NumpadSubtract: "num_subtract", NumpadMultiply: "num_multiply", NumpadDivide: "num_divide", NumpadDecimal: "num_decimal",
  NumpadEnter: "num_enter", ShiftLeft: "lshift", ShiftRight: "rshift", ControlLeft: "lctrl", ControlRight: "rctrl", AltLeft: "lalt", AltRight: "ralt",
};

/** The name of a sign; empty where it has none. @param {string} sign */
function signName(sign) {
  const small = sign.toLowerCase();
  return SIGNS[small] ?? (/^[\p{L}0-9]$/u.test(small) ? small : "");
}

/**
 * The name of a key; empty where it has none. A key of the upper row that has a digit with the shift key counts as that digit (French keyboards), unless its
 * sign without the shift key is asked for and the digit is not.
 * @param {{key: string, code: string}} event
 * @param {(name: string) => boolean} asked whether the question can be answered with a key of this name
 */
export function keyName(event, asked) {
  if (event.code in PLACES) return PLACES[event.code];
  const digit = /^(Digit|Numpad)([0-9])$/.exec(event.code);
  if (digit?.[1] === "Numpad") return `num_${digit[2]}`;
  const sign = signName(event.key);
  if (digit) return sign !== "" && asked(sign) && !asked(digit[2]) ? sign : digit[2];
  if (event.key in NAMED) return NAMED[event.key];
  if (/^F([1-9]|1[0-2])$/.test(event.key)) return event.key.toLowerCase();
  return sign;
}
