import { createHash } from 'node:crypto';
import { closeSync, mkdirSync, openSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import type { HistoryEntry, Observation } from './history-entry.ts';

/** Everything observed from outside in one run, in order. Contains facts and ids, never a secret. */
export interface History extends Disposable {
  readonly entries: readonly HistoryEntry[];
  /** Path of the JSON lines file. */
  readonly path: string | undefined;
  record(observation: Observation): void;
  /** Returns a number for a request; its response carries the same number. */
  nextCall(): number;
  /** Registers a secret. From now on no observation and no text passed to `scan` may contain it. */
  secret(kind: string, value: string): void;
  /** Searches a response, log line or stored value for secrets. Does not keep the text. */
  scan(where: string, text: string): void;
  /** Searches a line of process output for secrets and keeps it, outside the history, for analysis. */
  log(source: string, line: string): void;
  /** Process output by source. */
  readonly logs: ReadonlyMap<string, readonly string[]>;
  /** Declares documented losses of these invariants: they are reported and do not fail the run. */
  tolerate(invariants: readonly string[], reason: string): void;
}

/** Shorter values would produce false matches. */
const MIN_SECRET = 12;

/**
 * Finds secrets in text without comparing each secret with each position. Most secrets are runs of the URL-safe alphabet and are
 * looked up as whole runs. Planted secrets carry a mark and are also found inside longer runs.
 */
const RUNS = /[A-Za-z0-9_~-]{12,}/g;
const PLANTED = /canary-[0-9a-f]{24}/g;

/** Returns a planted secret that can be found anywhere. Deterministic for seed and name. */
export function canaryOf(seed: number, name: string): string {
  return `canary-${createHash('sha256').update(`${seed} ${name}`).digest('hex').slice(0, 24)}`;
}

export function openHistory(options: { readonly path?: string; readonly now?: () => number } = {}): History {
  const { path, now = () => performance.now() } = options;
  const entries: HistoryEntry[] = [];
  const logs = new Map<string, string[]>();
  const secrets = new Map<string, string>();
  const began = now();
  let calls = 0;
  let file: number | undefined;
  if (path !== undefined) {
    mkdirSync(dirname(path), { recursive: true });
    file = openSync(path, 'w', 0o600);
  }

  function add(observation: Observation): void {
    const entry = { at: Math.round((now() - began) * 1000) / 1000, ...observation } as HistoryEntry;
    entries.push(entry);
    if (file !== undefined) writeSync(file, `${JSON.stringify(entry)}\n`);
  }

  function secretsIn(text: string): Set<string> {
    const found = new Set<string>();
    for (const pattern of [RUNS, PLANTED])
      for (const [value] of text.matchAll(pattern)) {
        const kind = secrets.get(value);
        if (kind !== undefined) found.add(kind);
      }
    return found;
  }

  const history: History = {
    entries,
    path,
    logs,
    log(source, line) {
      const lines = logs.get(source) ?? [];
      logs.set(source, lines);
      lines.push(line);
      history.scan(`log of ${source}`, line);
    },
    nextCall() {
      calls += 1;
      return calls;
    },
    record(observation) {
      const found = secretsIn(JSON.stringify(observation));
      if (found.size === 0) return add(observation);
      // Record the leak without the entry that contains the secret.
      for (const secret of found) add({ who: observation.who, what: 'leak', where: observation.what, secret });
    },
    secret(kind, value) {
      if (value.length >= MIN_SECRET && !secrets.has(value)) secrets.set(value, kind);
    },
    scan(where, text) {
      for (const secret of secretsIn(text)) add({ who: 'harness', what: 'leak', where, secret });
    },
    tolerate(invariants, reason) {
      add({ who: 'harness', what: 'tolerated', invariants: [...invariants], reason });
    },
    [Symbol.dispose]() {
      if (file !== undefined) closeSync(file);
      file = undefined;
    },
  };
  return history;
}
