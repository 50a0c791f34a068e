/**
 * Something that takes the server's time: what is being waited for, what went wrong, and how to try again. Newer work replaces older.
 */

export class Work {
  /** `changed` is called whenever there is something new to show. */
  constructor(changed) {
    Object.assign(this, { changed, task: null, busy: "", error: null, retry: null });
    this.session = `page-${Array.from(crypto.getRandomValues(new Uint32Array(4)), (n) => n.toString(16).padStart(8, "0")).join("")}`;
  }

  /** Do something with the server; `words` say what is waited for, `retry` is offered where it fails. */
  async work(words, doing, retry) {
    this.task?.abort();
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
}

/** Refusals after which a session is opened again and its actions are replayed. */
export const LOST = new Set(["unknown_session", "other_game", "other_rules", "episode_over", "conflict"]);
