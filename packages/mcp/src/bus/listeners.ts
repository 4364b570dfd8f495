/**
 * - `ended`: an event said that the elicitation has ended.
 * - `check`: the stream broke or was lost; what it would have said is found by reading.
 * - `over`: nothing came in time.
 */
export type Heard = 'ended' | 'check' | 'over';

/** One that waits for the end of one elicitation. Disposed of, it listens no longer. */
export interface Listening extends Disposable {
  readonly elicitationId: string;
  /** @throws the signal's reason */
  next(ms: number, signal: AbortSignal): Promise<Heard>;
}

/** Ends that are remembered although nobody listens for them: an event may be faster than the answer that its id came with. */
const REMEMBERED = 2_048;
/** Listeners that look at once, and milliseconds until the next: thousands of them must not all read at the same moment. */
const AT_ONCE = 64;
const TURN_MS = 25;

/** Who listens in this process, by elicitation. */
export class Listeners {
  readonly #events: { readonly onFirst: () => void; readonly onLast: () => void };
  readonly #byId = new Map<string, Set<Listener>>();
  /** The newest ends and when they were heard, the oldest first. */
  readonly #recent = new Map<string, number>();
  /** Since then none was forgotten. */
  #remembersSince = Number.NEGATIVE_INFINITY;
  #checking: NodeJS.Timeout | undefined;
  #size = 0;

  constructor(events: { readonly onFirst: () => void; readonly onLast: () => void }) {
    this.#events = events;
  }

  get size(): number {
    return this.#size;
  }

  add(elicitationId: string): Listening {
    const listener: Listener = new Listener(elicitationId, () => this.#remove(listener));
    const same = this.#byId.get(elicitationId);
    if (same === undefined) this.#byId.set(elicitationId, new Set([listener]));
    else same.add(listener);
    this.#size += 1;
    if (this.#recent.has(elicitationId)) listener.hear('ended');
    if (this.#size === 1) this.#events.onFirst();
    return listener;
  }

  hear(elicitationId: string): void {
    const now = performance.now();
    this.#recent.delete(elicitationId);
    this.#recent.set(elicitationId, now);
    if (this.#recent.size > REMEMBERED) {
      const [oldest] = this.#recent;
      if (oldest !== undefined) {
        this.#recent.delete(oldest[0]);
        this.#remembersSince = oldest[1];
      }
    }
    for (const listener of this.#byId.get(elicitationId) ?? []) listener.hear('ended');
  }

  hasHeard(elicitationId: string): boolean {
    return this.#recent.has(elicitationId);
  }

  /** Whether every end that was heard after that moment is still known to {@link add}. */
  remembers(since: number): boolean {
    return this.#remembersSince < since;
  }

  checkAll(): void {
    clearTimeout(this.#checking);
    const waiting = [...this.#byId.values()].flatMap(same => [...same]);
    const turn = (from: number) => {
      for (const listener of waiting.slice(from, from + AT_ONCE)) listener.hear('check');
      if (from + AT_ONCE < waiting.length) this.#checking = setTimeout(turn, TURN_MS, from + AT_ONCE).unref();
    };
    turn(0);
  }

  close(): void {
    clearTimeout(this.#checking);
    for (const same of this.#byId.values()) for (const listener of same) listener.hear('check');
  }

  #remove(listener: Listener): void {
    const same = this.#byId.get(listener.elicitationId);
    if (same?.delete(listener) !== true) return;
    if (same.size === 0) this.#byId.delete(listener.elicitationId);
    this.#size -= 1;
    if (this.#size === 0) this.#events.onLast();
  }
}

class Listener implements Listening {
  readonly elicitationId: string;
  readonly #onDispose: () => void;
  #heard: 'ended' | 'check' | undefined;
  #wake: ((heard: Heard) => void) | undefined;

  constructor(elicitationId: string, onDispose: () => void) {
    this.elicitationId = elicitationId;
    this.#onDispose = onDispose;
  }

  hear(heard: 'ended' | 'check'): void {
    if (this.#heard !== 'ended') this.#heard = heard;
    if (this.#wake !== undefined) this.#wake(heard);
  }

  async next(ms: number, signal: AbortSignal): Promise<Heard> {
    signal.throwIfAborted();
    const heard = this.#heard ?? (await this.#wait(ms, signal));
    this.#heard = undefined;
    return heard;
  }

  #wait(ms: number, signal: AbortSignal): Promise<Heard> {
    return new Promise((resolve, reject) => {
      const settle = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', abort);
        this.#wake = undefined;
      };
      const abort = () => {
        settle();
        reject(signal.reason);
      };
      this.#wake = heard => {
        settle();
        resolve(heard);
      };
      const timer = setTimeout(this.#wake, ms, 'over');
      signal.addEventListener('abort', abort, { once: true });
    });
  }

  [Symbol.dispose](): void {
    this.#onDispose();
  }
}
