import {
  kinds,
  parseElicitationId,
  type SealedKind,
  type SealedRecord,
  type SealedRecordName,
  type SealedRecordStore,
  type SealedRecordsStep,
  StoreUnavailableError,
  UnknownRecordLayoutError,
} from '@postern/elicitation';
import type { Cluster, Redis } from 'ioredis';
import { z } from 'zod';
import { mastersOf } from './assert-safe-redis.ts';
import type { Keys } from './keys.ts';
import { decode, elicitationId, subject, text } from './record-layout.ts';
import { faultOf, storeErrorOf } from './redis-fault.ts';
import { type RedisLink, RedisPort } from './redis-link.ts';
import { isAbsent, listOf, textOf } from './script.ts';

const boundSchema = z.object({ owner: text, subject, elicitationId });
const schemas = {
  tokens: boundSchema.extend({ provider: text, resource: text.optional(), sealedTokens: text }),
  credential: boundSchema.extend({ name: text, sealedValues: text }),
  result: z.object({ mcpServerId: text, subject, kind: z.enum(kinds), sealedResult: text }),
  registration: z.object({ sealedRegistration: text }),
  apiKey: z.object({ mcpServerId: text, sealedDigest: text }),
};

/** The characters of a sealed value. None of them needs escaping in JSON. */
const SEALED = /^[A-Za-z0-9_.-]+$/;
/** Number of keys that Redis scans per step; takes far less than a millisecond. */
const KEYS_PER_STEP = 250;

/** Scans the keys of every master. */
export class RedisSealedRecords extends RedisPort implements SealedRecordStore {
  readonly #redis: Redis | Cluster;

  constructor(redis: Redis | Cluster, link: RedisLink, keys: Keys) {
    super(link, keys);
    this.#redis = redis;
  }

  async *walk(): AsyncGenerator<SealedRecordsStep, void, undefined> {
    const masters = mastersOf(this.#redis);
    // Without a reachable master, its records are unknown.
    if (masters.length === 0) throw new StoreUnavailableError();
    for (const master of masters) {
      let cursor = '0';
      do {
        // An empty Redis must not suggest that a key is no longer needed.
        await this.link.passGuard();
        const [next, found] = await this.#scan(master, cursor);
        yield await this.#read(found);
        cursor = next;
      } while (cursor !== '0');
    }
  }

  async replace(record: SealedRecordName & { readonly sealed: string }, nextSealed: string): Promise<boolean> {
    for (const value of [record.sealed, nextSealed]) {
      if (!SEALED.test(value)) throw new TypeError('Not a sealed value.');
    }
    const key = this.keys.sealedRecord(record.kind, record.id);
    const reply = await this.repeatable(
      'replaceSealed',
      { sealedRecord: key },
      { member: memberOf(record.kind, record.sealed), nextMember: memberOf(record.kind, nextSealed) },
    );
    return listOf(reply)[0] === 'replaced';
  }

  async #scan(master: Redis, cursor: string): Promise<readonly [string, readonly string[]]> {
    try {
      const reply = listOf(
        await master.call('SCAN', cursor, 'MATCH', this.keys.sealedRecords, 'COUNT', String(KEYS_PER_STEP)),
      );
      return [textOf(reply[0]), listOf(reply[1]).map(textOf)];
    } catch (error) {
      throw storeErrorOf(faultOf(error));
    }
  }

  async #read(keys: readonly string[]): Promise<SealedRecordsStep> {
    const found = await Promise.all(
      keys.map(async key => {
        const name = this.keys.parseSealedRecord(key);
        if (name === undefined) return [];
        const record = await this.link.call('hget', key, 'record');
        return isAbsent(record) ? [] : [{ name, record: parse(name, textOf(record)) }];
      }),
    );
    const read = found.flat();
    return {
      records: read.flatMap(({ record }) => record ?? []),
      unreadable: read.flatMap(({ name, record }) => (record === undefined ? [name] : [])),
    };
  }
}

const members: Record<SealedKind, string> = {
  connection: 'sealedTokens',
  revocation: 'sealedTokens',
  credential: 'sealedValues',
  result: 'sealedResult',
  registration: 'sealedRegistration',
  apiKey: 'sealedDigest',
};

/** The member as it occurs in a record. No text within the record can look like it, because its quotes would be escaped. */
const memberOf = (kind: SealedKind, sealed: string) => `"${members[kind]}":${JSON.stringify(sealed)}`;

/** Returns undefined for a record that this release cannot read. */
function parse(name: SealedRecordName, json: string): SealedRecord | undefined {
  try {
    return sealedRecordOf(name, json);
  } catch (error) {
    if (error instanceof UnknownRecordLayoutError) return undefined;
    throw error;
  }
}

function sealedRecordOf({ kind, id }: SealedRecordName, json: string): SealedRecord | undefined {
  switch (kind) {
    case 'connection':
    case 'revocation': {
      const { sealedTokens: sealed, ...bound } = decode(schemas.tokens, json);
      return { kind, id, sealed, ...bound };
    }
    case 'credential': {
      const { sealedValues: sealed, ...bound } = decode(schemas.credential, json);
      return { kind, id, sealed, ...bound };
    }
    case 'result': {
      const elicitationId = parseElicitationId(id);
      const { mcpServerId, subject, kind: asked, sealedResult: sealed } = decode(schemas.result, json);
      return elicitationId && { kind, id, elicitationId, mcpServerId, subject, request: { kind: asked }, sealed };
    }
    case 'registration':
      return { kind, id, sealed: decode(schemas.registration, json).sealedRegistration };
    case 'apiKey': {
      const { mcpServerId, sealedDigest: sealed } = decode(schemas.apiKey, json);
      return { kind, id, mcpServerId, sealed };
    }
  }
}
