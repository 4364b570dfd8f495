import type { Clock, IdempotencyBegin, IdempotencyStore } from '@postern/elicitation';

const RETENTION_MS = 24 * 3_600_000;

interface Row {
  readonly fingerprint: string;
  readonly reservation: string;
  leaseUntil: number;
  response?: string;
  keepUntil: number;
}

export class MemoryIdempotencyStore implements IdempotencyStore {
  readonly #now: Clock;
  readonly #rows = new Map<string, Row>();

  constructor(now: Clock) {
    this.#now = now;
  }

  async begin(p: {
    readonly digest: string;
    readonly fingerprint: string;
    readonly reservation: string;
    readonly leaseMs: number;
  }): Promise<IdempotencyBegin> {
    const now = this.#now();
    const row = this.#rows.get(p.digest);
    if (row && now < row.keepUntil) {
      if (row.fingerprint !== p.fingerprint) return { result: 'mismatch' };
      if (row.response !== undefined) return { result: 'replay', response: row.response };
      if (now < row.leaseUntil && row.reservation !== p.reservation) {
        return { result: 'in_flight', retryAfterMs: row.leaseUntil - now };
      }
      row.leaseUntil = now + p.leaseMs;
      return { result: 'begun', reservation: row.reservation };
    }
    const { fingerprint, reservation } = p;
    this.#rows.set(p.digest, { fingerprint, reservation, leaseUntil: now + p.leaseMs, keepUntil: now + RETENTION_MS });
    return { result: 'begun', reservation };
  }

  async finish(p: {
    readonly digest: string;
    readonly fingerprint: string;
    readonly response: string;
    readonly retentionMs: number;
  }): Promise<void> {
    const row = this.#rows.get(p.digest);
    if (row?.fingerprint !== p.fingerprint || row.response !== undefined) return;
    row.response = p.response;
    row.keepUntil = this.#now() + Math.max(p.retentionMs, RETENTION_MS);
  }

  async abandon(p: { readonly digest: string; readonly fingerprint: string }): Promise<void> {
    const row = this.#rows.get(p.digest);
    if (row?.fingerprint === p.fingerprint && row.response === undefined) this.#rows.delete(p.digest);
  }
}
