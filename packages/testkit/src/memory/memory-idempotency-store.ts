import {
  type Clock,
  type IdempotencyBegin,
  type IdempotencyStore,
  type StorageQuota,
  shardOfDigest,
} from '@postern/elicitation';
import type { MemoryLedger } from './memory-ledger.ts';

const RETENTION_MS = 24 * 3_600_000;
const RECORD_BYTES = 512;
const RESERVED_BYTES = 4_096;

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

  readonly #ledger: MemoryLedger;

  constructor(now: Clock, ledger: MemoryLedger) {
    this.#now = now;
    this.#ledger = ledger;
  }

  async begin(p: {
    readonly mcpServerId: string;
    readonly digest: string;
    readonly fingerprint: string;
    readonly reservation: string;
    readonly leaseMs: number;
    readonly quota: StorageQuota;
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
    const { digest, mcpServerId, fingerprint, reservation } = p;
    const shard = shardOfDigest(digest);
    const charge = { id: digest, endsAt: now + RETENTION_MS, bytes: RESERVED_BYTES };
    const overQuota = this.#ledger.admit(shard, mcpServerId, charge, p.quota);
    if (overQuota) return overQuota;
    this.#rows.set(p.digest, { fingerprint, reservation, leaseUntil: now + p.leaseMs, keepUntil: now + RETENTION_MS });
    return { result: 'begun', reservation };
  }

  async finish(p: {
    readonly mcpServerId: string;
    readonly digest: string;
    readonly fingerprint: string;
    readonly response: string;
    readonly retentionMs: number;
  }): Promise<void> {
    const row = this.#rows.get(p.digest);
    if (row?.fingerprint !== p.fingerprint || row.response !== undefined) return;
    row.response = p.response;
    row.keepUntil = this.#now() + Math.max(p.retentionMs, RETENTION_MS);
    const charge = { id: p.digest, endsAt: row.keepUntil, bytes: RECORD_BYTES + Buffer.byteLength(p.response) };
    this.#ledger.charge(shardOfDigest(p.digest), p.mcpServerId, [charge], false);
  }

  async abandon(p: {
    readonly mcpServerId: string;
    readonly digest: string;
    readonly fingerprint: string;
  }): Promise<void> {
    const row = this.#rows.get(p.digest);
    if (row?.fingerprint !== p.fingerprint || row.response !== undefined) return;
    this.#rows.delete(p.digest);
    this.#ledger.release(shardOfDigest(p.digest), p.mcpServerId, p.digest);
  }
}
