import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { type Chance, slices, type Toxic } from './toxics.ts';

/** One direction of one connection. Forwards data in order, subject to the toxics. */
export interface Lane {
  push(data: Buffer): void;
  /** Resolves when all pushed data is sent or dropped. Then half-closes the other side. */
  finish(): Promise<void>;
  /** Applies changed toxics. */
  changed(): void;
}

export interface LaneOptions {
  readonly from: Socket;
  readonly to: Socket;
  readonly toxics: () => readonly Toxic[];
  readonly chance: Chance;
  /** Ends the whole connection. */
  readonly end: (how: 'destroy' | 'reset') => void;
  readonly closing: AbortSignal;
}

/** Buffered bytes above which the lane stops reading from the sender. */
const QUEUED_BYTES = 1 << 20;

export function createLane({ from, to, toxics, chance, end, closing }: LaneOptions): Lane {
  const queue: { readonly data: Buffer; readonly at: number }[] = [];
  const stricken = new Map<Toxic, boolean>();
  const timed = new Set<Toxic>();
  let queued = 0;
  let passed = 0;
  let pumping: Promise<void> | undefined;

  /** Decided once for each connection and toxic. */
  function active<T extends Toxic['type']>(type: T): Extract<Toxic, { type: T }>[] {
    return toxics().filter((toxic): toxic is Extract<Toxic, { type: T }> => {
      if (toxic.type !== type) return false;
      const known = stricken.get(toxic) ?? chance() < (toxic.toxicity ?? 1);
      stricken.set(toxic, known);
      return known;
    });
  }

  const pause = async (ms: number) => {
    if (ms > 0) await delay(ms, undefined, { signal: closing, ref: false }).catch(() => undefined);
  };

  function strike(): void {
    for (const toxic of [...active('reset_peer'), ...active('timeout')]) {
      if (timed.has(toxic) || (toxic.type === 'timeout' && toxic.timeoutMs === 0)) continue;
      timed.add(toxic);
      const how = toxic.type === 'reset_peer' ? 'reset' : 'destroy';
      void pause(toxic.timeoutMs).then(() => {
        if (toxics().includes(toxic)) end(how);
      });
    }
  }

  async function send(data: Buffer): Promise<void> {
    if (closing.aborted || to.destroyed) return;
    passed += data.byteLength;
    if (!to.write(data)) {
      const { promise, resolve } = Promise.withResolvers<void>();
      to.once('drain', resolve);
      to.once('close', resolve);
      await promise;
      to.off('drain', resolve);
      to.off('close', resolve);
    }
  }

  async function pass(data: Buffer): Promise<void> {
    for (const { bytesPerSecond } of active('bandwidth')) await pause((data.byteLength / bytesPerSecond) * 1000);
    await send(data);
  }

  async function carry(data: Buffer, at: number): Promise<void> {
    for (const { latencyMs, jitterMs = 0 } of active('latency'))
      await pause(at + latencyMs + (chance() * 2 - 1) * jitterMs - performance.now());
    strike();
    // Checks after the wait: data in transit does not arrive when the link fails.
    if (active('timeout').length > 0) return;
    const limits = active('limit_data').map(({ bytes }) => bytes - passed);
    const allowed = Math.max(Math.min(data.byteLength, ...limits), 0);
    const [slicer] = active('slicer');
    let begin = 0;
    for (const size of slicer === undefined ? [allowed] : slices(allowed, slicer, chance)) {
      if (begin > 0) await pause(slicer?.delayMs ?? 0);
      if (size > 0) await pass(data.subarray(begin, begin + size));
      begin += size;
    }
    if (allowed < data.byteLength || limits.some(limit => limit <= allowed)) end('destroy');
  }

  async function pump(): Promise<void> {
    for (let next = queue.shift(); next !== undefined && !closing.aborted; next = queue.shift()) {
      await carry(next.data, next.at);
      queued -= next.data.byteLength;
      if (queued < QUEUED_BYTES) from.resume();
    }
    pumping = undefined;
  }

  return {
    push(data) {
      queue.push({ data, at: performance.now() });
      queued += data.byteLength;
      if (queued >= QUEUED_BYTES) from.pause();
      pumping ??= pump();
    },
    async finish() {
      while (pumping !== undefined) await pumping;
      for (const { delayMs } of active('slow_close')) await pause(delayMs);
      if (active('timeout').some(({ timeoutMs }) => timeoutMs === 0)) return;
      to.end();
    },
    changed: strike,
  };
}
