import type { AsyncLocalStorage } from 'node:async_hooks';
import { channel, tracingChannel } from 'node:diagnostics_channel';

/** How a call ended. `error` is what it threw, if it threw. */
export interface Ended<Result = unknown> {
  /** Undefined if the call threw. */
  readonly result?: Result | undefined;
  readonly error?: unknown;
  readonly ms: number;
}

/** Hears of the calls of a channel, and must not delay them. What it throws reaches no caller. */
export interface CallSubscriber<Call, Result = unknown> {
  /** Runs before the call, in its context. */
  begin?(call: Call): void;
  /** Runs after the call and before its caller continues, in its context. */
  end(call: Call, ended: Ended<Result>): void;
}

interface Message<Call, Result> {
  readonly call: Call;
  readonly startedAt: number;
  result?: Result;
  error?: unknown;
}

/**
 * Calls of one kind, which metrics, spans and logs subscribe to. It belongs to one gateway: another one in the same process has a
 * channel of the same name with subscribers of its own.
 */
export class CallChannel<Call extends object, Result = unknown> implements Disposable {
  readonly #events: ReturnType<typeof tracingChannel<Message<Call, Result>, unknown>>;
  readonly #onFault: (error: unknown) => void;
  readonly #subscriptions = new DisposableStack();

  /** @param onFault called for the first error of each subscriber */
  constructor(name: string, onFault: (error: unknown) => void) {
    const own = (event: string) => channel<Message<Call, Result>, unknown>(Symbol(`tracing:${name}:${event}`));
    this.#events = tracingChannel({
      start: own('start'),
      end: own('end'),
      asyncStart: own('asyncStart'),
      asyncEnd: own('asyncEnd'),
      error: own('error'),
    });
    this.#onFault = onFault;
  }

  /** Does the work of a call, and returns what the work returns. */
  trace<T extends Result>(call: Call, work: () => Promise<T>): Promise<T> {
    // Asynchronous, because Node tells no subscriber that a call has ended if its work throws without a promise.
    return this.#events.tracePromise(async () => work(), { call, startedAt: performance.now() });
  }

  /** Begins a call that is no promise. The returned function ends it. */
  open(call: Call): (error?: unknown) => void {
    if (!this.#events.hasSubscribers) return () => {};
    const message: Message<Call, Result> = { call, startedAt: performance.now() };
    this.#events.start.publish(message);
    return error => {
      message.error = error;
      this.#events.asyncEnd.publish(message);
    };
  }

  subscribe({ begin, end }: CallSubscriber<Call, Result>): void {
    const guarded = this.#guard();
    const handlers = {
      start: ({ call }: Message<Call, Result>) => guarded(() => begin?.(call)),
      asyncEnd: ({ call, result, error, startedAt }: Message<Call, Result>) =>
        guarded(() => end(call, { result, error, ms: performance.now() - startedAt })),
    };
    this.#events.subscribe(handlers);
    this.#subscriptions.defer(() => this.#events.unsubscribe(handlers));
  }

  /** Does the work of each call in the store that `of` returns. It is called before any subscriber. */
  bindStore<T>(storage: AsyncLocalStorage<T>, of: (call: Call) => T): void {
    const guarded = this.#guard();
    const { start } = this.#events;
    start.bindStore(storage, ({ call }) => guarded(() => of(call)) ?? storage.getStore());
    this.#subscriptions.defer(() => start.unbindStore(storage));
  }

  /** Node throws what a subscriber throws as an uncaught exception, which would end the process. */
  #guard() {
    let isBroken = false;
    return <T>(work: () => T): T | undefined => {
      try {
        return work();
      } catch (error) {
        if (!isBroken) this.#onFault(error);
        isBroken = true;
        return undefined;
      }
    };
  }

  [Symbol.dispose](): void {
    this.#subscriptions.dispose();
  }
}
