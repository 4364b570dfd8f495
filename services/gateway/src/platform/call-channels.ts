import type { AsyncLocalStorage } from 'node:async_hooks';
import { channel, tracingChannel } from 'node:diagnostics_channel';
import type { OutboundFetch } from '@postern/authorization';
import type { CommandObserver } from '@postern/store-redis';
import type { Logger } from 'pino';

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
  end?(call: Call, ended: Ended<Result>): void;
  /** Runs before `end`, only for a call that failed. */
  fail?(call: Call): void;
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

  /** Whether anything subscribes to the calls. */
  get isHeard(): boolean {
    return this.#events.hasSubscribers;
  }

  /** Does the work of a call, and returns what the work returns. */
  trace<T extends Result>(call: Call, work: () => Promise<T>): Promise<T> {
    // Asynchronous, because Node tells no subscriber that a call has ended if its work throws without a promise.
    return this.#events.tracePromise(async () => work(), { call, startedAt: performance.now() });
  }

  /** Begins a call that is no promise. The returned function ends it. */
  open(call: Call): (error?: unknown) => void {
    if (!this.isHeard) return () => {};
    const message: Message<Call, Result> = { call, startedAt: performance.now() };
    this.#events.start.publish(message);
    return error => {
      message.error = error;
      if (error !== undefined) this.#events.error.publish(message);
      this.#events.asyncEnd.publish(message);
    };
  }

  subscribe({ begin, end, fail }: CallSubscriber<Call, Result>): void {
    const guarded = this.#guard();
    const handlers = {
      start: ({ call }: Message<Call, Result>) => guarded(() => begin?.(call)),
      error: ({ call }: Message<Call, Result>) => guarded(() => fail?.(call)),
      asyncEnd: ({ call, result, error, startedAt }: Message<Call, Result>) =>
        guarded(() => end?.(call, { result, error, ms: performance.now() - startedAt })),
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

/**
 * Kind of the third party that an outbound request is for. Never its host, which may come from metadata. The operators' sign-in is a
 * target of its own: an identity provider of users may have any name.
 */
export type OutboundTarget =
  | 'identity_provider'
  | 'operator_sign_in'
  | 'provider'
  | 'processor'
  | 'credential_check'
  | 'webhook';

/** A request to a third party. Without path, query, headers and body, which may contain codes and tokens. */
export interface OutboundCall {
  readonly target: OutboundTarget;
  readonly method: string;
  /** With the port, unless it is the usual one. */
  readonly host: string;
  readonly hostname: string;
}

/** A command of the store, by the name of its script or command, never with its arguments. */
export interface StoreCall {
  readonly command: string;
  /** Set when it has failed. */
  fault?: { readonly kind: string; readonly code: string } | undefined;
}

/** A step of the gateway: a verb of the domain, a refresh, a revocation, an attempt of a webhook. */
export interface StepCall {
  readonly name: string;
  readonly attributes?: Readonly<Record<string, string>>;
  /** Of an issue: the kind of the request. */
  readonly kind?: string;
}

/** What a gateway publishes of its calls. Created once for a gateway, and disposed of with it. */
export interface Channels extends Disposable {
  readonly outbound: CallChannel<OutboundCall, Response>;
  readonly store: CallChannel<StoreCall>;
  readonly step: CallChannel<StepCall>;
  /** Returns a `fetch` that publishes each request. */
  readonly fetch: (fetch: OutboundFetch, target: OutboundTarget) => OutboundFetch;
  /** Publishes each command of the store. */
  readonly onCommand: CommandObserver;
}

export function createChannels(logger: Pick<Logger, 'error'>): Channels {
  const own = <Call extends object, Result = unknown>(name: string) =>
    new CallChannel<Call, Result>(name, error =>
      logger.error({ event: 'observer.failed', channel: name, error }, 'metrics, spans or log of calls failed'),
    );
  const channels = {
    outbound: own<OutboundCall, Response>('postern:outbound'),
    store: own<StoreCall>('postern:store'),
    step: own<StepCall>('postern:step'),
  };
  return {
    ...channels,
    fetch: (fetch, target) => publishedFetch(fetch, target, channels.outbound),
    onCommand: publishedCommands(channels.store),
    [Symbol.dispose]() {
      for (const channel of Object.values(channels)) channel[Symbol.dispose]();
    },
  };
}

function publishedFetch(fetch: OutboundFetch, target: OutboundTarget, outbound: Channels['outbound']): OutboundFetch {
  return wrapFetch(fetch, (url, init) => {
    const { host = '', hostname = '' } = URL.parse(String(url)) ?? {};
    return outbound.trace({ target, method: init?.method ?? 'GET', host, hostname }, () => fetch(url, init));
  });
}

const publishedCommands =
  (store: Channels['store']): CommandObserver =>
  command => {
    const call: StoreCall = { command };
    const end = store.open(call);
    return fault => {
      call.fault = fault;
      end(fault);
    };
  };

/** Replaces what `fetch` does when it is called, and keeps its other members. */
export function wrapFetch(
  { isInside, close }: OutboundFetch,
  send: (...request: Parameters<OutboundFetch>) => Promise<Response>,
): OutboundFetch {
  return Object.assign(send, { isInside, close, [Symbol.asyncDispose]: close });
}
