import {
  type Connection,
  type Credential,
  type Elicitation,
  kinds,
  parseElicitationId,
  StoreUnavailableError,
} from '@postern/elicitation';
import type { Cluster, Redis } from 'ioredis';
import { z } from 'zod';
import { mastersOf } from './assert-safe-redis.ts';
import type { Keys, SealedKind } from './keys.ts';
import { elicitationId, layout, subject, text } from './records/record-layout.ts';
import { faultOf, storeErrorOf } from './redis-fault.ts';
import type { RedisLink } from './redis-link.ts';
import { isAbsent, listOf, textOf } from './reply.ts';

/** A stored value that the vault has sealed for longer than one interaction, with what it is bound to. */
export type SealedRecord = SealedTokens | SealedCredential | SealedResult | SealedRegistration;

interface SealedTokens extends Pick<Connection, 'owner' | 'subject' | 'provider' | 'resource' | 'elicitationId'> {
  readonly kind: 'connection' | 'revocation';
  /** Connection id or revocation id. */
  readonly id: string;
  readonly sealed: string;
}

/** The values of a lasting credential. */
interface SealedCredential extends Pick<Credential, 'owner' | 'subject' | 'name' | 'elicitationId'> {
  readonly kind: 'credential';
  /** Credential id. */
  readonly id: string;
  readonly sealed: string;
}

/** What was typed, to be redeemed. It lives for the retention only, and a key can be retired on any day. */
interface SealedResult extends Pick<Elicitation, 'elicitationId' | 'mcpServerId' | 'subject'> {
  readonly kind: 'result';
  /** Elicitation id. */
  readonly id: string;
  readonly request: Pick<Elicitation['request'], 'kind'>;
  readonly sealed: string;
}

/** Of the gateway itself, at an authorization server. */
interface SealedRegistration {
  readonly kind: 'registration';
  /** The digest it is stored under, which is all it is bound to. */
  readonly id: string;
  readonly sealed: string;
}

/** What one step of a walk came upon; often nothing. */
export interface SealedRecordsStep {
  readonly records: readonly SealedRecord[];
  /** Records of a layout this release cannot read. Their values are sealed under who knows which key. */
  readonly unreadable: readonly SealedRecordName[];
}

interface SealedRecordName {
  readonly kind: SealedKind;
  readonly id: string;
}

const boundSchema = z.object({ layout, owner: text, subject, elicitationId });
const schemas = {
  tokens: boundSchema.extend({ provider: text, resource: text.exactOptional(), sealedTokens: text }),
  credential: boundSchema.extend({ name: text, sealedValues: text }),
  result: z.object({ layout, mcpServerId: text, subject, kind: z.enum(kinds), sealedResult: text }),
  registration: z.object({ layout, sealedRegistration: text }),
};

/** What a sealed value consists of: it can stand in JSON as it is. */
const SEALED = /^[A-Za-z0-9_.-]+$/;
/** Keys that Redis looks at in one step: far below a millisecond. */
const KEYS_PER_STEP = 250;

/** The lasting sealed values of everybody, for those who must look at each: rotation of keys. */
export class SealedRecords {
  readonly #redis: Redis | Cluster;
  readonly #link: RedisLink;
  readonly #keys: Keys;

  constructor(redis: Redis | Cluster, link: RedisLink, keys: Keys) {
    this.#redis = redis;
    this.#link = link;
    this.#keys = keys;
  }

  /**
   * Walks over all of them in small steps, on every master. A record that is there from the beginning to the end is met at
   * least once; one that comes, goes or moves meanwhile may be missed, and one may be met twice.
   * @throws StoreUnavailableError
   */
  async *walk(): AsyncGenerator<SealedRecordsStep, void, undefined> {
    const masters = mastersOf(this.#redis);
    // Nobody to ask is not the same as nothing there.
    if (masters.length === 0) throw new StoreUnavailableError();
    for (const master of masters) {
      let cursor = '0';
      do {
        // An empty Redis must not look as if nothing were sealed under a key that is still needed.
        await this.#link.passGuard();
        const [next, found] = await this.#scan(master, cursor);
        yield await this.#read(found);
        cursor = next;
      } while (cursor !== '0');
    }
  }

  /**
   * Stores another sealed value in the place of this one, unless the record is gone or holds another one by now. Nothing else
   * of the record changes. True also when an earlier attempt did it.
   * @throws StoreUnavailableError
   */
  async replace(record: SealedRecordName & { readonly sealed: string }, nextSealed: string): Promise<boolean> {
    for (const value of [record.sealed, nextSealed]) {
      if (!SEALED.test(value)) throw new TypeError('Not a sealed value.');
    }
    const key = this.#keys.sealedRecord(record.kind, record.id);
    const values = [memberOf(record.kind, record.sealed), memberOf(record.kind, nextSealed)];
    const reply = await this.#link.run('replaceSealed', [key], values, { repeatable: true });
    return listOf(reply)[0] === 'replaced';
  }

  async #scan(master: Redis, cursor: string): Promise<readonly [string, readonly string[]]> {
    try {
      const reply = listOf(
        await master.call('SCAN', cursor, 'MATCH', this.#keys.sealedRecords, 'COUNT', String(KEYS_PER_STEP)),
      );
      return [textOf(reply[0]), listOf(reply[1]).map(textOf)];
    } catch (error) {
      throw storeErrorOf(faultOf(error));
    }
  }

  async #read(keys: readonly string[]): Promise<SealedRecordsStep> {
    const found = await Promise.all(
      keys.map(async key => {
        const name = this.#keys.parseSealedRecord(key);
        if (name === undefined) return [];
        const record = await this.#link.call('hget', key, 'record');
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
};

/** As it stands in a record; no text within the record can look like it, because its quotes would be escaped. */
const memberOf = (kind: SealedKind, sealed: string) => `"${members[kind]}":${JSON.stringify(sealed)}`;

function parse({ kind, id }: SealedRecordName, json: string): SealedRecord | undefined {
  let record: unknown;
  try {
    record = JSON.parse(json);
  } catch {
    return undefined;
  }
  switch (kind) {
    case 'connection':
    case 'revocation': {
      const { data } = schemas.tokens.safeParse(record);
      if (data === undefined) return undefined;
      const { layout: _, sealedTokens: sealed, ...bound } = data;
      return { kind, id, sealed, ...bound };
    }
    case 'credential': {
      const { data } = schemas.credential.safeParse(record);
      if (data === undefined) return undefined;
      const { layout: _, sealedValues: sealed, ...bound } = data;
      return { kind, id, sealed, ...bound };
    }
    case 'result': {
      const { data } = schemas.result.safeParse(record);
      const elicitationId = parseElicitationId(id);
      if (data === undefined || elicitationId === undefined) return undefined;
      const { mcpServerId, subject, kind: asked, sealedResult: sealed } = data;
      return { kind, id, elicitationId, mcpServerId, subject, request: { kind: asked }, sealed };
    }
    case 'registration': {
      const { data } = schemas.registration.safeParse(record);
      return data && { kind, id, sealed: data.sealedRegistration };
    }
  }
}
