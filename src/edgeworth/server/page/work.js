/**
 * Something that takes the server's time: what is being waited for, what went wrong, and how to try again. Newer work replaces older.
 *
 * Each has a session of its own on the server, which is closed when the page is left. A page that is opened again opens another one and
 * replays the game, which is in its address.
 */

import { drop } from "./api.js";

const OPEN = new Set();

export class Work {
  /** `changed` is called whenever there is something new to show. */
  constructor(changed) {
    Object.assign(this, { changed, task: null, busy: "", error: null, retry: null });
    this.session = `page-${Array.from(crypto.getRandomValues(new Uint32Array(4)), (n) => n.toString(16).padStart(8, "0")).join("")}`;
  }

  /** Do something with the server; `words` say what is waited for, `retry` is offered where it fails. */
  async work(words, doing, retry) {
    this.task?.abort();
    OPEN.add(this);
    const task = (this.task = new AbortController());
    Object.assign(this, { busy: words, error: null, retry: null });
    this.changed();
    try {
      await doing(task.signal);
    } catch (error) {
      if (task.signal.aborted) return;
      Object.assign(this, { error, retry });
    }
    if (this.task !== task) return;
    this.busy = "";
    this.changed();
  }

  /** Stop, and close the session. */
  close() {
    this.task?.abort();
    if (OPEN.delete(this)) drop(`sessions/${this.session}`);
  }
}

window.addEventListener("pagehide", () => {
  for (const work of OPEN) work.close();
});
window.addEventListener("pageshow", ({ persisted }) => {
  if (persisted) location.reload(); // back from the browser's memory, where its sessions were closed
});

/** Refusals after which a session is opened again and its actions are replayed. */
export const LOST = new Set(["unknown_session", "other_game", "other_rules", "episode_over", "conflict"]);
