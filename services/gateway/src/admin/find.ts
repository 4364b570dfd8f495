import {
  type Elicitation,
  type ElicitationId,
  type ListEntry,
  matchCodeOf,
  parseConnectionId,
  parseCredentialId,
  parseElicitationId,
  type RecordList,
  type Stores,
  type Subject,
} from '@postern/elicitation';
import type { Vault } from '@postern/vault';
import { createApiKeyAdmin } from '../mcp-servers/api-key-admin.ts';
import { apiKeyHash, isNewApiKey } from '../mcp-servers/api-keys.ts';
import type { Pseudonyms } from '../platform/audit/audit-events.ts';
import type { GatewayConfig } from '../platform/config/config-schema.ts';
import type { AuditItem, AuditSearch } from './audit-search.ts';
import { pageOf } from './shard-lists.ts';

export interface FindDeps {
  readonly config: Pick<GatewayConfig, 'mcpServers'>;
  readonly stores: Pick<
    Stores,
    'lists' | 'elicitations' | 'connections' | 'credentials' | 'payments' | 'jobs' | 'apiKeys' | 'keyAges'
  >;
  readonly vault: Vault;
  readonly pseudonym: Pseudonyms;
  readonly auditSearch: AuditSearch;
}

/** A record that the text refers to, without its person, as in the lists. */
export interface Hit {
  readonly what: 'elicitation' | 'payment' | 'connection' | 'credential' | 'job' | 'api_key';
  readonly id: string;
  /** The elicitation that it came from. */
  readonly elicitationId?: string;
  readonly mcpServerId?: string;
  readonly status?: string;
  readonly at?: string;
}

/** What the text looks like. A secret is not searched for, except that an API key leads to its id. */
export type Asked = 'request_id' | 'match_code' | 'id' | 'reference' | 'secret';

export interface FoundRecords {
  readonly asked: Asked;
  readonly hits: readonly Hit[];
  /** Lines of the audit trail with the text as a member, newest first. */
  readonly lines: readonly AuditItem[];
  /** False if there are older records or lines that the search has not read. */
  readonly isComplete: boolean;
}

const HITS = 50;
/** Pages of a list that a search reads: at most a thousand records each. */
const PAGES = 20;

const SECRET =
  /^(?:Bearer |Basic |pk_[\w-]{43}$|pa_[\w-]{60,}$|bs_|st_|vf_|rv_|whsec_|[rs]k_(?:live|test)_|eyJ[\w-]+\.)/;
const MATCH_CODE = /^[A-Z0-9]{2}-[A-Z0-9]{2}$/;
const REQUEST_ID = /^rq_[\w-]{16}$/;
const SHARDED_ID = /^(?:el|cn|cr)_[0-9a-f]{2}[\w-]{43}$/;
const JOB_ID = /^jb_[\w-]{22}$/;
const API_KEY_ID = /^ak_[\w-]{1,64}$/;
const PSEUDONYM = /^[\w-]{16}$/;

function askedBy(text: string): Asked {
  if (SECRET.test(text)) return 'secret';
  if (REQUEST_ID.test(text)) return 'request_id';
  if (MATCH_CODE.test(text)) return 'match_code';
  return [SHARDED_ID, JOB_ID, API_KEY_ID].some(form => form.test(text)) ? 'id' : 'reference';
}

const iso = (at: number): string => new Date(at).toISOString();

function elicitationHit(of: Elicitation): Hit {
  const { elicitationId, status, mcpServerId, createdAt } = of;
  return { what: 'elicitation', id: elicitationId, elicitationId, status, mcpServerId, at: iso(createdAt) };
}

/** Accepts a match code in any case, and the link of an elicitation instead of its id. */
function normalized(typed: string): string {
  const text = typed.trim();
  const [, linked] = /^https?:\/\/[^/]+\/e\/(el_[\w-]+)/.exec(text) ?? [];
  const code = text.toUpperCase();
  return linked ?? (MATCH_CODE.test(code) ? code : text);
}

/**
 * Finds records and audit lines by what a user gave an operator: the number of an error page, an id, a match code, a reference of an order
 * or of a processor, a receipt number (the id of its elicitation) or a pseudonym. The text may be a secret that was pasted by mistake, so
 * it is in no log, audit line or result.
 */
export function createFind({ config, stores, vault, pseudonym, auditSearch }: FindDeps) {
  const apiKeys = createApiKeyAdmin({ config, vault, stores });

  /** Keys of the configuration can have any form. Keys of the store are opened one by one, so only for a text with their form. */
  async function idOfKey(text: string): Promise<string | undefined> {
    const hash = apiKeyHash(text);
    const isOfFile = config.mcpServers.some(({ apiKeys: keys }) => keys.some(key => key.hash === hash));
    return isOfFile || isNewApiKey(text) ? apiKeys.idOf(text) : undefined;
  }

  /** Reads a list, newest first, up to a limit. */
  async function scan(list: RecordList, read: (entry: ListEntry) => Promise<Hit | undefined>) {
    const hits: Hit[] = [];
    let cursor: string | undefined;
    for (let pages = 0; pages < PAGES && hits.length < HITS; pages += 1) {
      const page = await pageOf(stores.lists, { list, limit: HITS, read, cursor });
      hits.push(...page.items);
      cursor = page.next;
      if (cursor === undefined) return { hits, isComplete: true };
    }
    return { hits, isComplete: false };
  }

  async function scanElicitations(matches: (id: ElicitationId) => Promise<Hit | undefined>) {
    const read = async ({ id }: ListEntry) => {
      const elicitationId = parseElicitationId(id);
      return elicitationId && matches(elicitationId);
    };
    return [await scan('open', read), await scan('ended', read)];
  }

  const isOf = (text: string) => (subject: Subject) => pseudonym(subject) === text;

  /** Of payments: the order, and all that their processors name. */
  async function referredTo(elicitationId: ElicitationId, text: string): Promise<Hit | undefined> {
    const of = await stores.elicitations.read(elicitationId);
    if (of === undefined) return undefined;
    if (isOf(text)(of.subject)) return elicitationHit(of);
    if (of.request.kind !== 'payment') return undefined;
    const charge = of.status === 'active' ? of.charge?.reference : undefined;
    const taken = await stores.payments.list(elicitationId);
    const references = taken.flatMap(({ processorReference, refunds, disputes }) => [
      processorReference,
      ...refunds.flatMap(refund => [refund.refundId, refund.processorReference]),
      ...disputes.map(dispute => dispute.processorReference),
    ]);
    return [of.request.terms.reference, charge, ...references].includes(text)
      ? { ...elicitationHit(of), what: 'payment' }
      : undefined;
  }

  /** Connections and credentials of a person. */
  const scanPerson = async (text: string) => [
    await scan('connections', async ({ id }) => {
      const connectionId = parseConnectionId(id);
      const of = connectionId && (await stores.connections.read(connectionId));
      return of && isOf(text)(of.subject) ? connectionHit(of) : undefined;
    }),
    await scan('credentials', async ({ id }) => {
      const credentialId = parseCredentialId(id);
      const of = credentialId && (await stores.credentials.read(credentialId));
      return of && isOf(text)(of.subject) ? credentialHit(of) : undefined;
    }),
  ];

  async function byId(text: string): Promise<readonly Hit[]> {
    const elicitationId = parseElicitationId(text);
    const [connectionId, credentialId] = [parseConnectionId(text), parseCredentialId(text)];
    if (elicitationId !== undefined) {
      const [of, taken] = await Promise.all([
        stores.elicitations.read(elicitationId),
        stores.payments.list(elicitationId),
      ]);
      // The records of a payment live longer than its elicitation.
      const payments = taken.map(
        ({ mcpServerId, paidAt }): Hit => ({
          what: 'payment',
          id: elicitationId,
          elicitationId,
          mcpServerId,
          at: iso(paidAt),
        }),
      );
      return [...(of === undefined ? [] : [elicitationHit(of)]), ...payments.slice(0, 1)];
    }
    if (connectionId !== undefined) {
      const of = await stores.connections.read(connectionId);
      return of === undefined ? [] : [connectionHit(of)];
    }
    if (credentialId !== undefined) {
      const of = await stores.credentials.read(credentialId);
      return of === undefined ? [] : [credentialHit(of)];
    }
    if (JOB_ID.test(text)) {
      const of = await stores.jobs.read(text);
      return of === undefined ? [] : [{ what: 'job', id: text, at: iso(of.createdAt) }];
    }
    const key = (await apiKeys.list()).find(({ apiKeyId }) => apiKeyId === text);
    return key === undefined ? [] : [{ what: 'api_key', id: text, mcpServerId: key.mcpServerId }];
  }

  async function scansOf(asked: Asked, text: string): Promise<readonly Pick<FoundRecords, 'hits' | 'isComplete'>[]> {
    if (asked === 'match_code')
      return scanElicitations(async id => {
        const of = matchCodeOf(id) === text ? await stores.elicitations.read(id) : undefined;
        return of && elicitationHit(of);
      });
    if (asked !== 'reference') return [{ hits: asked === 'id' ? await byId(text) : [], isComplete: true }];
    const named = await scanElicitations(id => referredTo(id, text));
    return PSEUDONYM.test(text) ? [...named, ...(await scanPerson(text))] : named;
  }

  return {
    /** Returns the id of an API key that was pasted instead of its id. */
    apiKeyIdOf: (text: string) => idOfKey(text.trim()),

    async find(typed: string): Promise<FoundRecords> {
      const text = normalized(typed);
      const apiKeyId = await idOfKey(text);
      if (apiKeyId !== undefined) return { asked: 'secret', hits: await byId(apiKeyId), lines: [], isComplete: true };
      const asked = askedBy(text);
      if (asked === 'secret' || text === '') return { asked, hits: [], lines: [], isComplete: true };
      const [scans, { items, next }] = await Promise.all([
        scansOf(asked, text),
        asked === 'match_code' ? { items: [], next: undefined } : auditSearch({ anyMember: text, limit: HITS }),
      ]);
      return {
        asked,
        hits: scans.flatMap(({ hits }) => hits).slice(0, HITS),
        lines: items,
        isComplete: next === undefined && scans.every(({ isComplete }) => isComplete),
      };
    },
  };
}

const connectionHit = (of: {
  readonly connectionId: string;
  readonly elicitationId: string;
  readonly lost?: unknown;
  readonly createdAt: number;
}): Hit => ({
  what: 'connection',
  id: of.connectionId,
  elicitationId: of.elicitationId,
  at: iso(of.createdAt),
  status: of.lost === undefined ? 'connected' : 'lost',
});

const credentialHit = (of: {
  readonly credentialId: string;
  readonly elicitationId: string;
  readonly updatedAt: number;
}): Hit => ({
  what: 'credential',
  id: of.credentialId,
  elicitationId: of.elicitationId,
  at: iso(of.updatedAt),
});
