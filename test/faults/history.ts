import { createHash } from 'node:crypto';
import { closeSync, mkdirSync, openSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import type { HistoryEntry, Observation } from './history-entry.ts';

/** Everything seen from outside in one run, in the order in which it was seen. Holds facts and ids, never a secret. */
export interface History extends Disposable {
  readonly entries: readonly HistoryEntry[];
  /** Where it lies as JSON lines. */
  readonly path: string | undefined;
  record(observation: Observation): void;
  /** Names a request; its response carries the same number. */
  nextCall(): number;
  /** From now on this value must not be seen in an observation or in anything handed to `scan`. */
  secret(kind: string, value: string): void;
  /** Looks for secrets in what was shown, logged or stored. The text itself is not kept. */
  scan(where: string, text: string): void;
  /** A line that a process printed: looked through, and kept apart from the history for whoever has to find out why. */
  log(source: string, line: string): void;
  /** By source. */
  readonly logs: ReadonlyMap<string, readonly string[]>;
  /** Losses of these invariants are documented for what this run does; they are reported and do not fail it. */
  tolerate(invariants: readonly string[], reason: string): void;
}

/** Shorter values would be found by chance. */
const MIN_SECRET = 12;

/**
 * Secrets in running text, without comparing each with each. Most are runs of the URL-safe alphabet and are looked up as such; the
 * planted ones carry a mark, and are found inside longer runs as well.
 */
const RUNS = /[A-Za-z0-9_~-]{12,}/g;
const PLANTED = /canary-[0-9a-f]{24}/g;

/** A value that stands for a secret, and is found wherever it stands. The same for the same seed and name. */
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
      // What would repeat the secret is left out; that it was there stays.
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
