import { setTimeout as delay } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { ProblemError } from '../platform/http/problems.ts';
import { createPatternThread, type PatternAnswer, type PatternJob, type PatternThread } from './pattern-thread.ts';

/** A text field of an MCP server's request. */
export interface PatternedText {
  /** Path of the pattern in the request. */
  readonly path: string;
  readonly pattern?: string | undefined;
  readonly maxLength: number;
}

/** Maximum processor time of a job, in milliseconds. Matching an answer compiles the pattern again, so compiling alone gets half. */
const LIMIT_MS = { compile: 25, match: 50 };
/** Maximum instructions of a compiled pattern. A counted repeat counts each time: `a{0,500}` has 1,002. */
const MAX_INSTRUCTIONS = 2_000;
/** Maximum steps to match a text: RE2 takes at most instructions × text length, of about 11 nanoseconds each. */
const MAX_STEPS = 2 ** 20;
/** Results of compiling, by pattern: MCP servers repeat their forms. */
const MAX_KNOWN = 500;

/** An MCP server whose patterns have used more milliseconds of processor time within a minute is in the slow lane. */
const QUICK_MS = 100;
const MINUTE_MS = 60_000;
/** Jobs of one MCP server that wait for their turn. */
const MAX_WAITING = 64;
/** In the slow lane, the pause after a job takes this many times as long as the job, so the lane uses a fifth of a processor. */
const PAUSES = 4;
/** Maximum time until the last job of a request begins. */
const PATIENCE_MS = 5_000;
const RETRY_MS = 1_000;

const tooMany = () => new ProblemError('too_many_concurrent_requests', { retryAfterMs: RETRY_MS });

interface Lane {
  readonly isSlow: boolean;
  readonly thread: PatternThread;
  isBusy: boolean;
}

/**
 * Compiles and matches the patterns of MCP servers on threads that start when first needed, so no pattern blocks the event loop. MCP
 * servers take turns, with one job each. Those with costly patterns have a lane of their own, where they delay only each other.
 */
export function createPatterns(
  p: {
    /** Milliseconds on a clock that is never set: a correction of the time would leave the answer of a person unchecked. */
    readonly now?: () => number;
    readonly startThread?: () => PatternThread;
  } = {},
) {
  const { now = () => performance.now(), startThread = createPatternThread } = p;
  const lanes = [false, true].map((isSlow): Lane => ({ isSlow, thread: startThread(), isBusy: false }));
  /** The next MCP server first. */
  const waiting = new Map<string, readonly ((thread: PatternThread) => Promise<void>)[]>();
  const running = new Set<string>();
  const used = new Map<string, { ms: number; readonly since: number }>();
  const known = new LRUCache<string, number | 'invalid'>({ max: MAX_KNOWN });
  /** By MCP server and pattern, so that a burst of equal forms is one job. */
  const compiling = new Map<string, Promise<PatternAnswer>>();

  function usageOf(mcpServerId: string): { ms: number } {
    const current = used.get(mcpServerId);
    if (current !== undefined && now() - current.since < MINUTE_MS) return current;
    const usage = { ms: 0, since: now() };
    used.set(mcpServerId, usage);
    return usage;
  }

  const belongsIn = ({ isSlow }: Lane, mcpServerId: string) =>
    !running.has(mcpServerId) && usageOf(mcpServerId).ms > QUICK_MS === isSlow;

  /** Works until no waiting job belongs in the lane. An MCP server may change lanes with each of its jobs. */
  async function work(lane: Lane): Promise<void> {
    if (lane.isBusy) return;
    lane.isBusy = true;
    for (;;) {
      const [mcpServerId, [task, ...rest]] = [...waiting].find(([id]) => belongsIn(lane, id)) ?? ['', []];
      if (task === undefined) break;
      waiting.set(mcpServerId, rest);
      running.add(mcpServerId);
      const begun = performance.now();
      await task(lane.thread);
      running.delete(mcpServerId);
      const left = waiting.get(mcpServerId) ?? [];
      waiting.delete(mcpServerId);
      // Behind the MCP servers that have waited meanwhile.
      if (left.length > 0) waiting.set(mcpServerId, left);
      if (lane.isSlow) await delay(PAUSES * (performance.now() - begun), undefined, { ref: false });
      wake();
    }
    lane.isBusy = false;
  }

  function wake(): void {
    for (const lane of lanes) void work(lane);
  }

  /** @throws ProblemError `too_many_concurrent_requests` */
  async function run(
    mcpServerId: string,
    job: PatternJob,
    { limitMs, until }: { readonly limitMs: number; readonly until: number },
  ): Promise<PatternAnswer> {
    const { promise, resolve, reject } = Promise.withResolvers<PatternAnswer>();
    const jobs = waiting.get(mcpServerId) ?? [];
    if (jobs.length >= MAX_WAITING) throw tooMany();
    const task = async (thread: PatternThread) => {
      if (now() > until) return reject(tooMany());
      try {
        const { answer, usedMs } = await thread.run(job, limitMs);
        // The next MCP server waits for the start of another thread.
        usageOf(mcpServerId).ms += answer === 'too_costly' ? QUICK_MS + 1 : usedMs;
        resolve(answer);
      } catch (error) {
        reject(error);
      }
    };
    waiting.set(mcpServerId, [...jobs, task]);
    wake();
    return promise;
  }

  async function compile(mcpServerId: string, pattern: string, until: number): Promise<PatternAnswer> {
    const before = known.get(pattern);
    if (before !== undefined) return before;
    const name = JSON.stringify([mcpServerId, pattern]);
    const job = compiling.get(name) ?? run(mcpServerId, { pattern }, { limitMs: LIMIT_MS.compile, until });
    compiling.set(name, job);
    const answer = await job.finally(() => compiling.delete(name));
    if (typeof answer !== 'number' && answer !== 'invalid') return answer;
    known.set(pattern, answer);
    return answer;
  }

  return {
    /**
     * Finds a pattern that is invalid or too costly.
     * @throws ProblemError `too_many_concurrent_requests`, `overloaded`
     */
    async findFault(
      mcpServerId: string,
      texts: readonly PatternedText[],
    ): Promise<{ readonly path: string; readonly message: string } | undefined> {
      const until = now() + PATIENCE_MS;
      for (const { path, pattern, maxLength } of texts) {
        if (pattern === undefined) continue;
        const size = await compile(mcpServerId, pattern, until);
        if (size === 'stuck') throw new ProblemError('overloaded', { retryAfterMs: RETRY_MS });
        if (size === 'invalid') return { path, message: 'not a pattern in RE2 syntax' };
        if (typeof size !== 'number' || size > MAX_INSTRUCTIONS)
          return { path, message: 'takes too long to compile: use smaller repeat counts and fewer classes' };
        if (size * maxLength > MAX_STEPS)
          return { path, message: 'takes too long to match: use smaller repeat counts or a smaller maxLength' };
      }
      return undefined;
    },

    /** Whether a pattern matches a text. `unchecked` if that takes too long, or other answers wait as well. */
    async matches(
      mcpServerId: string,
      match: Extract<PatternJob, { readonly text: string }>,
    ): Promise<boolean | 'unchecked'> {
      try {
        const result = await run(mcpServerId, match, { limitMs: LIMIT_MS.match, until: now() + PATIENCE_MS });
        return typeof result === 'boolean' ? result : 'unchecked';
      } catch (error) {
        if (!(error instanceof ProblemError)) throw error;
        return 'unchecked';
      }
    },

    async [Symbol.asyncDispose](): Promise<void> {
      await Promise.all(lanes.map(({ thread }) => thread.end()));
    },
  };
}

export type Patterns = Omit<ReturnType<typeof createPatterns>, keyof AsyncDisposable>;
