import {
  type Clock,
  type Elicitation,
  IDEMPOTENCY_RETENTION_MS,
  type IdempotencyKey,
  type IdempotencyStore,
} from '@postern/elicitation';
import type { Charge, MemoryLedger } from './memory-ledger.ts';

const RECORD_BYTES = 256;

/** A stored response, or an elicitation in its initial state. */
type Answer = string | Elicitation;

interface Row {
  readonly fingerprint: string;
  readonly answer: Answer;
  readonly keepUntil: number;
}

export class MemoryIdempotencyStore implements IdempotencyStore {
  readonly #now: Clock;
  readonly #ledger: MemoryLedger;
  readonly #rows = new Map<string, Row>();

  constructor(now: Clock, ledger: MemoryLedger) {
    this.#now = now;
    this.#ledger = ledger;
  }

  async put(p: Parameters<IdempotencyStore['put']>[0]): ReturnType<IdempotencyStore['put']> {
    if (this.find(p)) return { result: 'exists' };
    const overQuota = this.#ledger.admit(p.shard, p.mcpServerId, [this.chargeFor(p, p.response)], p.quota);
    if (overQuota) return overQuota;
    this.set(p, p.response);
    return { result: 'stored' };
  }

  find({ digest }: IdempotencyKey): Row | undefined {
    const row = this.#rows.get(digest);
    return row && this.#now() < row.keepUntil ? row : undefined;
  }

  set({ digest, fingerprint }: IdempotencyKey, answer: Answer): void {
    this.#rows.set(digest, { fingerprint, answer, keepUntil: this.#now() + IDEMPOTENCY_RETENTION_MS });
  }

  chargeFor({ digest }: IdempotencyKey, response = ''): Charge {
    const bytes = RECORD_BYTES + Buffer.byteLength(response);
    return { id: digest, endsAt: this.#now() + IDEMPOTENCY_RETENTION_MS, bytes };
  }
}
