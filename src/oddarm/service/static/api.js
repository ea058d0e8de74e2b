/** Requests to the service with the token, and a study followed as it changes. */

const KEY = "oddarm-token";
const FIRST_EVENT = 5_000; // the service sends one at once: if none comes, something holds events back
const SILENCE = 40_000; // the service sends something every 15 s
const RETRY = 1_000;
const POLL = 2_000;
const MAX_SILENT_STREAMS = 2; // the first stream may say nothing because a long study is still being read

let token = sessionStorage.getItem(KEY);

export const hasToken = () => token !== null;

/** Keep a token until the tab is closed; null forgets it. */
export function setToken(value) {
  token = value;
  if (value === null) sessionStorage.removeItem(KEY);
  else sessionStorage.setItem(KEY, value);
}

/** The service answered with an error. */
export class Refused extends Error {
  constructor(sentence, status) {
    super(sentence);
    this.status = status;
  }
}

/** The service did not answer. */
export class Away extends Error {}

/** Return the response to a request, or throw Refused or Away. */
export async function request(path, { method = "GET", body, signal } = {}) {
  const headers = {};
  if (token !== null) headers.Authorization = `Bearer ${token}`;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const content = body === undefined ? undefined : JSON.stringify(body);
  let answer;
  try {
    answer = await fetch(path, { method, headers, body: content, signal, cache: "no-store" });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Away("The service does not answer.");
  }
  if (answer.ok) return answer;
  const said = await answer.json().catch(() => ({}));
  throw new Refused(said.error ?? `The service answered ${answer.status}.`, answer.status);
}

/** Return what a request answers, as a value. */
export async function json(path, options) {
  const answer = await request(path, options);
  try {
    return await answer.json();
  } catch (error) {
    if (options?.signal?.aborted) throw error;
    throw new Away("The service broke off its answer.");
  }
}

export const pathOf = (name) => `studies/${encodeURIComponent(name)}`;

/** Wait; ends early, without error, when the signal is aborted. */
export function pause(milliseconds, signal) {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, milliseconds);
    signal.addEventListener("abort", end);
  });
}

/** Wait until the page is visible, or the signal is aborted. */
export function visible(signal) {
  return new Promise((resolve) => {
    const look = () => {
      if (document.hidden && !signal.aborted) return;
      document.removeEventListener("visibilitychange", look);
      signal.removeEventListener("abort", look);
      resolve();
    };
    document.addEventListener("visibilitychange", look);
    signal.addEventListener("abort", look);
    look();
  });
}

/**
 * Follow a study until it is deleted or the signal is aborted.
 *
 * Server-sent events are read by fetch, which can send the token. If no event arrives on two streams
 * in a row, the study is polled every two seconds. A hidden page closes its stream: browsers allow
 * few connections to one server.
 *
 * @param {string} name The study.
 * @param {object} handlers change(row), deleted(), trouble(sentence),
 *   state("live" | "polling" | "away"), refused(error).
 * @param {AbortSignal} signal Ends the function.
 */
export async function follow(name, handlers, signal) {
  let silent = 0; // streams in a row without an event
  const heard = () => (silent = 0);
  while (!signal.aborted) {
    await visible(signal);
    try {
      if (silent < MAX_SILENT_STREAMS) {
        if (await readStream(name, { ...handlers, heard }, signal)) continue;
        silent += 1;
      }
      handlers.change(await json(pathOf(name), { signal }));
      handlers.state("polling");
      if (silent === MAX_SILENT_STREAMS) await pause(POLL, signal);
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof Refused && error.status === 404) return handlers.deleted();
      if (error instanceof Refused && error.status < 500) return handlers.refused(error);
      if (error instanceof Refused) handlers.trouble(error.message);
      handlers.state("away");
      await pause(RETRY, signal);
    }
  }
}

/** Pass events to the handlers until the stream ends; return false if none arrives. */
async function readStream(name, handlers, signal) {
  const stop = new AbortController();
  const either = AbortSignal.any([signal, stop.signal]);
  const hide = () => document.hidden && stop.abort();
  document.addEventListener("visibilitychange", hide);
  let heard = false;
  let timer = setTimeout(() => stop.abort(), FIRST_EVENT);
  try {
    const answer = await request(`${pathOf(name)}/events`, { signal: either });
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      clearTimeout(timer);
      timer = setTimeout(() => stop.abort(), SILENCE);
      const parts = (text + value).split("\n\n");
      text = parts.pop();
      for (const part of parts) {
        heard = true;
        handlers.heard();
        handlers.state("live");
        dispatch(part, handlers);
      }
    }
  } catch (error) {
    if (signal.aborted || error instanceof Refused) throw error;
    if (document.hidden) return true;
    if (stop.signal.aborted && !heard) return false;
  } finally {
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", hide);
    stop.abort();
  }
  throw new Away("The stream of events ended.");
}

/** Pass one event to its handler. */
function dispatch(part, handlers) {
  const field = (key) =>
    part.split("\n").find((line) => line.startsWith(`${key}: `))?.slice(key.length + 2);
  const kind = field("event");
  if (kind === undefined) return; // a comment that keeps the connection open
  const data = JSON.parse(field("data"));
  if (kind === "change") handlers.change(data);
  if (kind === "trouble") handlers.trouble(data.error);
  if (kind === "deleted") throw new Refused("The study was deleted.", 404);
}
