// @ts-check
/** The line to the server: every event is numbered and kept in IndexedDB until the server has acknowledged it, and is sent again whenever the line is new. */

/** @import { Body, PageEvent, ScreenReport, Told } from "./messages" */

/** @returns {string} */
export function randomName() {
  return Array.from(crypto.getRandomValues(new Uint8Array(12)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Who takes part, as the link says; empty where it does not. @param {string[]} identifiers names of parameters, the most telling first */
export function whoTakesPart(identifiers) {
  const query = new URLSearchParams(location.search);
  return identifiers.map((name) => query.get(name)?.trim() ?? "").find((name) => name !== "") ?? "";
}

/** Who took part in this browser before; empty where nobody has. */
export function whoTookPart() {
  try { return localStorage.getItem("spanlab-participant") ?? ""; } catch { return ""; }
}

/** Keep a name in this browser and in the address, so that the page finds it again; a new one where there is none. @param {string} name */
export function keepName(name) {
  const kept = name || `web-${randomName().slice(0, 16)}`;
  try { localStorage.setItem("spanlab-participant", kept); } catch { /* storage is off: the address keeps the name */ }
  const query = new URLSearchParams(location.search);
  query.set("participant", kept);
  history.replaceState(null, "", `?${query}`);
  return kept;
}

/** What the link says besides. @param {string[]} names of parameters */
export function linkSays(names) {
  const query = new URLSearchParams(location.search);
  /** @type {Record<string, string>} */
  const says = {};
  for (const name of names) if (query.has(name)) says[name] = /** @type {string} */ (query.get(name)).slice(0, 300);
  return says;
}

/** Events that are not acknowledged, on this device. */
class Store {
  /** @param {string} name */
  constructor(name) {
    /** @type {Promise<IDBDatabase | null>} */
    this.database = new Promise((resolve) => {
      try {
        const request = indexedDB.open(`spanlab-${name}`, 1);
        request.onupgradeneeded = () => request.result.createObjectStore("events", { keyPath: "id" });
        request.onsuccess = () => resolve(request.result);
        request.onerror = () => resolve(null);
      } catch {
        resolve(null);
      }
    });
  }

  /** @template T @param {IDBTransactionMode} mode @param {(events: IDBObjectStore) => IDBRequest<T>} act @returns {Promise<T | null>} */
  async #run(mode, act) {
    const database = await this.database;
    if (database === null) return null;
    return new Promise((resolve) => {
      try {
        const request = act(database.transaction("events", mode, { durability: "strict" }).objectStore("events"));
        request.onsuccess = () => resolve(request.result);
        request.onerror = () => resolve(null);
      } catch {
        resolve(null);
      }
    });
  }

  /** @param {PageEvent} event */
  put(event) { return this.#run("readwrite", (events) => events.put(event)); }
  /** @param {string} id */
  remove(id) { return this.#run("readwrite", (events) => events.delete(id)); }
  /** @returns {Promise<PageEvent[]>} */
  async all() { return (await this.#run("readonly", (events) => events.getAll())) ?? []; }
}

/** What is passed on: `anew` says whether the server has forgotten everything. @typedef {Exclude<Told, {type: "ack"}> & {anew?: boolean}} Heard */

export class Link {
  /**
   * @param {string} participant
   * @param {string} session of a study, as the link says
   * @param {Record<string, string>} link what it says besides
   * @param {() => {screen: ScreenReport}} introduction what the page says of itself whenever it connects
   * @param {(message: Heard) => void} receive
   * @param {(state: "open" | "lost") => void} tell
   */
  constructor(participant, session, link, introduction, receive, tell) {
    this.instance = randomName();
    this.epoch = "";
    this.last = 0;
    this.participant = participant;
    this.session = session;
    this.link = link;
    this.introduction = introduction;
    this.receive = receive;
    this.tell = tell;
    this.count = 0;
    this.wait = 250;
    this.stopped = false;
    /** @type {WebSocket | null} */
    this.socket = null;
    this.welcome = false;
    /** whether the server has said why it does not let this page in now */
    this.refused = false;
    this.store = new Store(participant);
    /** @type {Map<string, PageEvent>} events that are not acknowledged */
    this.kept = new Map();
  }

  async open() {
    for (const event of await this.store.all()) this.kept.set(event.id, event);
    this.connect();
  }

  connect() {
    if (this.stopped) return;
    const socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}${location.pathname.replace(/[^/]*$/, "")}visit?participant=${encodeURIComponent(this.participant)}`);
    this.socket = socket;
    this.welcome = false;
    socket.onopen = () => socket.send(JSON.stringify({
      type: "hello", participant: this.participant, session: this.session, link: this.link, instance: this.instance, epoch: this.epoch, last: this.last, ...this.introduction(),
    }));
    socket.onmessage = (message) => this.#message(JSON.parse(message.data));
    socket.onclose = () => {
      if (this.socket !== socket) return;
      this.socket = null;
      this.welcome = false;
      if (this.stopped) return;
      if (!this.refused) this.tell("lost");
      this.refused = false;
      setTimeout(() => this.connect(), this.wait);
      this.wait = Math.min(4000, this.wait * 2);
    };
  }

  /** @param {Told} message */
  #message(message) {
    if (message.type === "ack") {
      for (const id of message.n) {
        this.kept.delete(id);
        void this.store.remove(id);
      }
      return;
    }
    if (message.type === "welcome") {
      const anew = this.epoch !== message.epoch;
      if (anew) this.last = 0;
      this.epoch = message.epoch;
      this.wait = 250;
      this.welcome = true;
      this.tell("open");
      this.receive({ ...message, anew });
      for (const event of this.kept.values()) this.#post(event);
      return;
    }
    if (message.type === "do") {
      if (message.c <= this.last) return;
      this.last = message.c;
    }
    if (message.type === "refused") {
      this.refused = true;
      this.tell("open");
      if (message.final) this.stop();
    }
    this.receive(message);
  }

  /** Nothing more is sent or expected. */
  stop() {
    this.stopped = true;
    this.socket?.close();
  }

  /** Whether everything has arrived. */
  get settled() { return this.kept.size === 0; }

  /** @param {PageEvent} event */
  #post(event) {
    if (this.welcome && this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify({ type: "event", ...event }));
  }

  /** Tell the server something that counts. @param {number} c @param {PageEvent["kind"]} kind @param {Body} body @param {number} place */
  send(c, kind, body = {}, place = -1) {
    this.count += 1;
    const event = { id: `${this.instance}:${this.count}`, epoch: this.epoch, c, kind, place, body };
    this.kept.set(event.id, event);
    void this.store.put(event);
    this.#post(event);
  }

  /** Tell the server something that it may miss. @param {{type: "screen", screen: ScreenReport}} message */
  mention(message) {
    if (this.welcome && this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message));
  }
}
