/**
 * The server's public API. A refusal becomes an error that says what happened and what to do; a server that does not answer becomes one too.
 */

const TOKEN = "edgeworth.token";
const PATIENCE_MS = 60_000;

/** The server refused: `code`, `message`, `remedy` and further facts, as docs/server.md describes them. */
export class Refusal extends Error {
  constructor(status, body) {
    super(body.message ?? `The server answered ${status}.`);
    Object.assign(this, { status, code: body.code ?? "fault", remedy: body.remedy ?? "Try again.", facts: body });
  }
}

/** The server did not answer. */
export class Unreachable extends Error {
  constructor() {
    super("The server does not answer.");
    this.code = "unreachable";
    this.remedy = "Nothing is lost: the game is in the address of this page. Try again when the server runs.";
  }
}

/** The token that requests carry in this tab; the empty text removes it. */
export function setToken(token) {
  token ? sessionStorage.setItem(TOKEN, token) : sessionStorage.removeItem(TOKEN);
}

/** Whether requests carry a token. */
export function hasToken() {
  return sessionStorage.getItem(TOKEN) !== null;
}

/** The address of a path of the server, also behind a proxy with a path of its own. */
export function address(path) {
  return new URL(path, document.baseURI.split("#")[0]).href;
}

function headersFor(body) {
  const token = sessionStorage.getItem(TOKEN);
  return { ...(body === undefined ? {} : { "content-type": "application/json" }), ...(token ? { authorization: `Bearer ${token}` } : {}) };
}

async function answered(method, path, body, signal) {
  const limit = AbortSignal.timeout(PATIENCE_MS);
  let answer;
  try {
    answer = await fetch(address(path), { method, headers: headersFor(body), body: JSON.stringify(body), signal: signal ? AbortSignal.any([signal, limit]) : limit });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Unreachable();
  }
  if (!answer.ok) throw await refusal(answer);
  return answer;
}

async function refusal(answer) {
  const said = await answer.text();
  try {
    return new Refusal(answer.status, JSON.parse(said));
  } catch {
    return new Refusal(answer.status, { message: said.slice(0, 200) || undefined });
  }
}

async function request(method, path, body, signal) {
  const answer = await answered(method, path, body, signal);
  if (answer.status === 204) return null;
  try {
    return await answer.json();
  } catch {
    throw new Unreachable(); // a body that was cut off
  }
}

export const get = (path, query = {}, signal) => request("GET", `${path}${Object.keys(query).length ? `?${new URLSearchParams(query)}` : ""}`, undefined, signal);
export const post = (path, body, signal) => request("POST", path, body, signal);
/** A page of text, and a picture; requests, since links carry no token. */
export const text = async (path) => (await answered("GET", path)).text();
export const blob = async (path) => (await answered("GET", path)).blob();
/** Delete something that is not needed any more; also while the page is being left, and without waiting for an answer. */
export function drop(path) {
  fetch(address(path), { method: "DELETE", headers: headersFor(), keepalive: true }).catch(() => {});
}
