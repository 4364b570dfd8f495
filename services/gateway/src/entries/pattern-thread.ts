import { setTimeout as delay } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';

/** Without a text: compile the pattern. With a text: match all of it, or any part of it as in JSON Schema. */
export type PatternJob =
  | { readonly pattern: string; readonly text?: undefined }
  | { readonly pattern: string; readonly text: string; readonly part: 'whole' | 'any' };

/**
 * The number of instructions of the compiled pattern, or whether it matches. `stuck`: no answer in time, although the thread had too
 * little processor time to blame the pattern.
 */
export type PatternAnswer = number | boolean | 'invalid' | 'too_costly' | 'stuck';

interface PatternResult {
  readonly answer: PatternAnswer;
  /** Processor time, in milliseconds. */
  readonly usedMs: number;
}

/** Compiles and matches patterns, one at a time, on a thread of its own. */
export interface PatternThread {
  /** @param limitMs of processor time of the thread */
  run(job: PatternJob, limitMs: number): Promise<PatternResult>;
  /** Ends the thread. The next job starts another. */
  end(): Promise<void>;
}

/** Maximum time for a job on the clock, in milliseconds, the start of the thread included. */
const PATIENCE_MS = 5_000;
/** An unused thread ends after this time, in milliseconds, and frees its memory. */
const IDLE_MS = 60_000;
/** The engine and a pattern of 2,000 instructions need less than 16 MiB. */
const MEMORY = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 16, stackSizeMb: 4 };

interface Message {
  /** Absent in the first message: the thread is ready. */
  readonly answer?: PatternAnswer;
  /** Processor time of the thread so far. */
  readonly usedMs: number;
}

interface Started {
  readonly worker: Worker;
  usedMs: number;
}

/** The thread starts with the first job. A job that exceeds its processor time or the memory of the thread ends it. */
export function createPatternThread(): PatternThread {
  let started: Started | undefined;
  let idle: NodeJS.Timeout | undefined;

  async function end(): Promise<void> {
    clearTimeout(idle);
    const ended = started?.worker;
    started = undefined;
    await ended?.terminate();
  }

  async function work(job: PatternJob, limitMs: number, signal: AbortSignal): Promise<PatternResult> {
    started ??= await start(signal);
    const { worker, usedMs: before } = started;
    const answered = nextMessage(worker, signal);
    worker.postMessage(job);
    const message = await Promise.race([answered, exceeds(worker, before + limitMs, signal)]);
    if (message === 'too_costly') return { answer: message, usedMs: limitMs };
    started.usedMs = message.usedMs;
    const usedMs = message.usedMs - before;
    return { answer: usedMs > limitMs ? 'too_costly' : (message.answer ?? 'invalid'), usedMs };
  }

  return {
    end,
    async run(job, limitMs) {
      clearTimeout(idle);
      const done = new AbortController();
      const patience = setTimeout(() => done.abort(), PATIENCE_MS);
      let result: PatternResult = { answer: 'stuck', usedMs: 0 };
      try {
        result = await work(job, limitMs, done.signal);
      } catch (error) {
        if (isOutOfMemory(error)) result = { answer: 'too_costly', usedMs: limitMs };
        else if (!done.signal.aborted) throw error;
      } finally {
        clearTimeout(patience);
        done.abort();
        if (result.answer === 'too_costly' || result.answer === 'stuck') await end();
        else idle = setTimeout(() => void end(), IDLE_MS).unref();
      }
      return result;
    },
  };
}

const isOutOfMemory = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY';

async function start(signal: AbortSignal): Promise<Started> {
  const worker = new Worker(new URL('pattern-worker.ts', import.meta.url), { resourceLimits: MEMORY });
  // A request keeps the process alive, the thread does not.
  worker.unref();
  // The job in progress rejects with the error. An idle thread has none to report.
  worker.on('error', () => undefined);
  try {
    const { usedMs } = await nextMessage(worker, signal);
    return { worker, usedMs };
  } catch (error) {
    await worker.terminate();
    throw error;
  }
}

/** @throws the error that ends the thread, or the reason of the signal */
function nextMessage(worker: Worker, signal: AbortSignal): Promise<Message> {
  const { promise, resolve, reject } = Promise.withResolvers<Message>();
  const onExit = () => reject(new Error('the thread for patterns ended'));
  const onAbort = () => reject(signal.reason);
  worker.once('message', resolve).once('error', reject).once('exit', onExit);
  signal.addEventListener('abort', onAbort, { once: true });
  return promise.finally(() => {
    worker.off('message', resolve).off('error', reject).off('exit', onExit);
    signal.removeEventListener('abort', onAbort);
  });
}

/** Resolves once the thread has used this much processor time. Time on the clock would blame patterns for a busy machine. */
async function exceeds(worker: Worker, limitMs: number, signal: AbortSignal): Promise<'too_costly'> {
  for (;;) {
    const leftMs = limitMs - (await usedMsOf(worker));
    if (leftMs <= 0) return 'too_costly';
    await delay(Math.max(leftMs, 5), undefined, { signal, ref: false });
  }
}

async function usedMsOf(worker: Worker): Promise<number> {
  // Before Node.js 24.6 only the thread itself knows, and its time on the clock counts.
  if (typeof worker.cpuUsage !== 'function') return Number.POSITIVE_INFINITY;
  try {
    const { user, system } = await worker.cpuUsage();
    return (user + system) / 1000;
  } catch {
    // The thread has just ended, which rejects its job.
    return 0;
  }
}
