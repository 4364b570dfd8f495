import { GatewayError } from '../errors.ts';
import { Listeners, type Listening } from './listeners.ts';
import type { OpenEvents } from './open-events.ts';
import { createEventReader } from './server-sent-events.ts';
import { afterEnd, afterFailure, afterRefusal, type Pause, rest, StreamRefusal, unavailable } from './stream-pause.ts';

export interface EventBusOptions {
  readonly open: OpenEvents;
  /** Told once that events do not come although the stream is open. */
  readonly onError: (error: Error) => void;
  /** In [0, 1). */
  readonly random: () => number;
}

/**
 * - `off`: nobody listens, or the stream cannot be had now.
 * - `proving`: it is open, and nothing has shown yet that what it carries comes when it is sent. Whoever waits does not rely on it.
 * - `live`: what ends is told here.
 * - `resuming`: it broke a moment ago and goes on where it was.
 */
export type BusPhase = 'off' | 'proving' | 'live' | 'resuming';

/** The gateway says where it stands as soon as it is asked. */
const FIRST_WORD_MS = 10_000;
/** It speaks every 15 seconds. */
const SECOND_WORD_MS = 30_000;
const SILENCE_MS = 40_000;
/** Between the answer to a waiting read and the event of the same end. */
const ON_TIME_MS = 1_000;
/** How long those who wait may rely on a stream that is being resumed, beyond the pause that it was given. */
const RESUME_MS = 2_000;
const LONGEST_RESUME_MS = 5_000;
/** After the last one has stopped listening. */
const IDLE_MS = 60_000;
const LOOK_MS = 1_000;
/** A stream that broke after that long did not break because of what it is. */
const LASTING_MS = 30_000;
/** What comes without an event, and so was waited for by nothing on the way. */
const ALONE = /^(?::[^\n]*\n\n|id: \S+\n\n)+$/;

/**
 * One stream of the gateway's events for all that waits in this process: MCP sessions, held calls, pushed questions. An event is
 * a hint that something has ended, never what has become of it.
 *
 * Something on the way may hold back what it should pass on. A stream is relied on only after a heartbeat has come by itself,
 * or an event when a waiting read told the same; and no longer than something comes on it.
 */
export class EventBus {
  readonly #options: EventBusOptions;
  readonly #listeners = new Listeners({ onFirst: () => this.#wanted(), onLast: () => this.#unwanted() });
  readonly #closing = new AbortController();
  #phase: BusPhase = 'off';
  #isRunning = false;
  /** Ends the connection that is open. */
  #connection: AbortController | undefined;
  #idle: NodeJS.Timeout | undefined;
  #resumption: NodeJS.Timeout | undefined;
  #liveSince = 0;
  #position: string | undefined;
  #retryMs: number | undefined;
  #lastWordAt = 0;
  #words = 0;
  /** This way to the gateway has shown that it passes on what comes. */
  #isTrusted = false;
  #distrustedUntil = 0;
  #distrusts = 0;
  #expected: { readonly elicitationId: string; readonly until: number } | undefined;
  #failures = 0;
  #hasReported = false;

  constructor(options: EventBusOptions) {
    this.#options = options;
  }

  get phase(): BusPhase {
    return this.#phase;
  }

  /** Whether what ends is told here in time. */
  get isLive(): boolean {
    return this.#phase === 'live' || this.#phase === 'resuming';
  }

  /** The stream is open as long as somebody listens, and a little longer. */
  listen(elicitationId: string): Listening {
    return this.#listeners.add(elicitationId);
  }

  /** Whether the end of an elicitation that was open at that moment (of `performance.now()`) cannot have been missed. */
  covers(since: number): boolean {
    return this.isLive && this.#liveSince <= since && this.#listeners.remembers(since);
  }

  /**
   * A waiting read found the end of an elicitation that is listened for. If the event came as fast, the stream can be relied on.
   */
  foundEnded(elicitationId: string): void {
    if (this.#phase !== 'proving') return;
    if (this.#listeners.hasHeard(elicitationId)) this.#trust();
    else this.#expected = { elicitationId, until: performance.now() + ON_TIME_MS };
  }

  /** A read found the end of what was listened for and not told: for a while nobody relies on the stream. */
  missed(): void {
    if (!this.isLive) return;
    this.#distrusts += 1;
    this.#distrustedUntil = performance.now() + Math.min(30, 2 ** (this.#distrusts - 1)) * 60_000;
    this.#lose('proving');
  }

  close(): void {
    this.#closing.abort();
    this.#connection?.abort();
    clearTimeout(this.#idle);
    clearTimeout(this.#resumption);
    this.#phase = 'off';
    this.#listeners.close();
  }

  #wanted(): void {
    clearTimeout(this.#idle);
    this.#idle = undefined;
    if (this.#isRunning || this.#closing.signal.aborted) return;
    this.#isRunning = true;
    void this.#run();
  }

  #unwanted(): void {
    if (this.#closing.signal.aborted) return;
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => {
      this.#idle = undefined;
      this.#connection?.abort();
    }, IDLE_MS).unref();
  }

  /** Rejects only when `onError` throws. */
  async #run(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted && this.#listeners.size > 0) {
      const pause = await this.#connect();
      await this.#rest(pause, signal);
    }
    // In the same turn as the last look at who listens.
    this.#isRunning = false;
    this.#phase = 'off';
    // Whatever ends while nobody listens is nobody's.
    this.#position = undefined;
  }

  /** Those who wait rely on the stream for a moment longer where it is about to go on. */
  async #rest({ pauseMs, isOver }: Pause, signal: AbortSignal): Promise<void> {
    const graceMs = pauseMs + RESUME_MS;
    if (this.#phase === 'live' && !isOver && graceMs <= LONGEST_RESUME_MS) {
      this.#phase = 'resuming';
      this.#resumption = setTimeout(() => this.#lose('off'), graceMs).unref();
    } else if (this.#phase !== 'resuming' || isOver) this.#lose('off');
    if (pauseMs > 0 && this.#listeners.size > 0) await rest(pauseMs, signal);
  }

  /** One connection, from its beginning to its end. */
  async #connect(): Promise<Pause> {
    const connection = new AbortController();
    this.#connection = connection;
    this.#words = -1;
    this.#retryMs = undefined;
    const startedAt = performance.now();
    this.#lastWordAt = startedAt;
    const looking = setInterval(() => this.#look(connection), LOOK_MS).unref();
    try {
      const answer = await this.#options.open(this.#position, connection.signal);
      if (answer.status !== 200 || answer.header('content-type')?.startsWith('text/event-stream') !== true)
        throw new StreamRefusal(answer);
      this.#lastWordAt = performance.now();
      this.#words = 0;
      await this.#read(answer.chunks);
      if (this.#retryMs === undefined) return this.#broke(startedAt);
      // It ended as it should, and says when to come back.
      this.#failures = 0;
      return afterEnd(this.#retryMs);
    } catch (error) {
      if (error instanceof StreamRefusal) return this.#refused(error);
      if (connection.signal.reason instanceof SilenceError) return this.#silenced();
      return this.#broke(startedAt);
    } finally {
      clearInterval(looking);
      connection.abort();
    }
  }

  /** One that never lasts is as good as one that cannot be had. */
  #broke(startedAt: number): Pause {
    this.#failures = performance.now() - startedAt >= LASTING_MS ? 1 : this.#failures + 1;
    return afterFailure(this.#failures, this.#options.random);
  }

  #refused(refusal: StreamRefusal): Pause {
    this.#failures += 1;
    if (refusal.isAboutPosition && this.#position !== undefined) {
      // Begins anew where the feed is now; then everybody looks.
      this.#position = undefined;
      return { pauseMs: 0, isOver: false };
    }
    return afterRefusal(refusal, this.#failures, this.#options.random);
  }

  #silenced(): Pause {
    this.#isTrusted = false;
    this.#failures += 1;
    const silence = new GatewayError(
      'timeout',
      'The events of the gateway are held back on their way: it is asked instead.',
    );
    if (!this.#hasReported) this.#options.onError(silence);
    this.#hasReported = true;
    return unavailable(this.#failures, this.#options.random);
  }

  async #read(chunks: AsyncIterable<string>): Promise<void> {
    const reader = createEventReader({
      onData: data => this.#hear(data),
      onId: id => {
        this.#position = id;
      },
      onRetry: retryMs => {
        this.#retryMs = retryMs;
      },
    });
    for await (const chunk of chunks) {
      this.#lastWordAt = performance.now();
      this.#words += 1;
      reader(chunk);
      if (this.#words === 1) this.#opened();
      else if (this.#phase === 'proving' && ALONE.test(chunk)) this.#trust();
    }
  }

  #opened(): void {
    // Beyond the greeting, `retry` comes only with the end.
    this.#retryMs = undefined;
    clearTimeout(this.#resumption);
    this.#phase = 'proving';
    if (!this.#isTrusted) return;
    this.#trust();
    // What ended between the streams, or on a feed that has lost something, is found by looking.
    this.#listeners.checkAll();
  }

  #hear(data: string): void {
    const elicitationId = elicitationIdIn(data);
    if (elicitationId === undefined) return;
    this.#listeners.hear(elicitationId);
    if (this.#expected?.elicitationId === elicitationId && performance.now() <= this.#expected.until) this.#trust();
  }

  #trust(): void {
    this.#expected = undefined;
    if (this.#phase !== 'proving' || performance.now() < this.#distrustedUntil) return;
    this.#isTrusted = true;
    this.#phase = 'live';
    this.#liveSince = performance.now();
  }

  #lose(phase: 'off' | 'proving'): void {
    const wasLive = this.isLive;
    clearTimeout(this.#resumption);
    this.#phase = phase;
    if (phase === 'proving') this.#isTrusted = false;
    if (wasLive) this.#listeners.checkAll();
  }

  #look(connection: AbortController): void {
    // The head has a time limit of its own.
    const mayBeSilentMs = [FIRST_WORD_MS, SECOND_WORD_MS][this.#words] ?? SILENCE_MS;
    if (performance.now() - this.#lastWordAt > mayBeSilentMs) connection.abort(new SilenceError());
  }
}

class SilenceError extends Error {}

/** An event of a later release may have members that this one does not know, and another form: that is no event for it. */
function elicitationIdIn(data: string): string | undefined {
  try {
    const { elicitationId } = JSON.parse(data) as { elicitationId?: unknown };
    return typeof elicitationId === 'string' ? elicitationId : undefined;
  } catch {
    return undefined;
  }
}
