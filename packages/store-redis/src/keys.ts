import type {
  BrowserSessionId,
  ConnectionId,
  CredentialId,
  ElicitationId,
  RevocationId,
  Shard,
  Subject,
} from '@postern/elicitation';
import { digestOf, SHARDS, shardIn, shardOfDigest } from '@postern/elicitation';

/**
 * The only place that builds key names. KEYSPACE.md describes what is behind each of them. Every key of a user carries the
 * hash tag of the user's shard, so any script about one user stays within one slot of a Redis Cluster.
 */
export type Keys = ReturnType<typeof createKeys>;

/** @throws TypeError for a prefix that could take over the hash tag or make key names ambiguous. */
export function createKeys(prefix: string) {
  if (!/^[a-z0-9][a-z0-9._-]{0,31}$/.test(prefix)) {
    throw new TypeError('A key prefix is 1 to 32 of a-z, 0-9, ".", "_" and "-".');
  }
  const key = (shard: Shard, noun: string, ...rest: string[]) =>
    [`${prefix}:{${known(shard)}}:${noun}`, ...rest].join(':');

  return {
    /** Channel of the wake-ups; not a key. */
    wake: `${prefix}:wake`,
    elicitation: (id: ElicitationId) => key(shardIn(id), 'el', secretOf(id)),
    /** Open ask (see `askOf`) → id of its elicitation. */
    open: (shard: Shard) => key(shard, 'open'),
    /** Asks that stay taken though their elicitation is over or has ended, by the time until which they do. */
    held: (shard: Shard) => key(shard, 'held'),
    /** What was typed, until its retention is over. */
    result: (id: ElicitationId) => key(shardIn(id), 'res', secretOf(id)),
    /** Ids of elicitations that have not ended, by the time they are over. */
    due: (shard: Shard) => key(shard, 'due'),
    /** Ids of a subject's elicitations that have not ended, by the time they are over. */
    openOf: (shard: Shard, subject: Subject) =>
      key(shard, 'opens', shortDigestOf(JSON.stringify([subject.issuer, subject.subject]))),
    events: (shard: Shard) => key(shard, 'events'),
    /** Which deployment the data of this shard belongs to, and since when. */
    epoch: (shard: Shard) => key(shard, 'epoch'),
    /** How far `events` has been carried. */
    cursor: (shard: Shard) => key(shard, 'cursor'),
    /** What is announced to an MCP server. */
    feed: (mcpServerId: string) => key(shardOfDigest(digestOf(mcpServerId)), 'feed', plain(mcpServerId)),
    /** How far each shard has been carried into that feed, its last position and the last one dropped. */
    feedFacts: (mcpServerId: string) => key(shardOfDigest(digestOf(mcpServerId)), 'fed', plain(mcpServerId)),
    /** Wakes those who watch that feed; not a key. */
    feedWakeUp: (mcpServerId: string) => `feed:${mcpServerId}`,
    /** Payments of an elicitation, by the processor's name for them. */
    payments: (id: ElicitationId) => key(shardIn(id), 'paid', secretOf(id)),
    /** Ids of elicitations whose charge is under way, by the time at which the processor is asked. */
    chargeChecks: (shard: Shard) => key(shard, 'charges'),
    connection: (id: ConnectionId) => key(shardIn(id), 'cn', secretOf(id)),
    /** Ids of a subject's connections, of every owner. */
    connectionsOf: (shard: Shard, subject: Subject) =>
      key(shard, 'cns', digestOf(JSON.stringify([subject.issuer, subject.subject]))),
    credential: (id: CredentialId) => key(shardIn(id), 'cr', secretOf(id)),
    /** Ids of a subject's credentials, of every owner. */
    credentialsOf: (shard: Shard, subject: Subject) =>
      key(shard, 'crs', digestOf(JSON.stringify([subject.issuer, subject.subject]))),
    /** Passkeys of a subject by their WebAuthn credential ids. */
    passkeysOf: (shard: Shard, subject: Subject) =>
      key(shard, 'pks', digestOf(JSON.stringify([subject.issuer, subject.subject]))),
    /** What is known of a subject's passkeys beside themselves: a reset, and from when on they count. */
    passkeyFactsOf: (shard: Shard, subject: Subject) =>
      key(shard, 'pkf', digestOf(JSON.stringify([subject.issuer, subject.subject]))),
    revocation: (id: RevocationId) => key(shardIn(id), 'rv', secretOf(id)),
    /** Ids of revocations, by the time they are due. */
    dueRevocations: (shard: Shard) => key(shard, 'rvs'),
    /** Counts new elicitations of one MCP server for one subject: no MCP server uses up the limit of another. */
    subjectLimit: (shard: Shard, mcpServerId: string, subject: Subject) =>
      key(shard, 'limit', shortDigestOf(JSON.stringify([mcpServerId, subject.issuer, subject.subject]))),
    /** What is stored for an MCP server in a shard, by the hour in which it expires. */
    ledger: (shard: Shard, mcpServerId: string) => key(shard, 'quota', plain(mcpServerId)),
    /** In the shard of an idempotency record. */
    idempotencyLedger: (digest: string, mcpServerId: string) => key(shardOfDigest(digest), 'quota', plain(mcpServerId)),
    oneTime: (shard: Shard, digest: string) => key(shard, 'once', digest),
    claim: (digest: string) => key(shardOfDigest(digest), 'claim', digest),
    /** The id is a bearer value and is not stored, not even in a key name. */
    browserSession: (id: BrowserSessionId) => key(shardIn(id), 'bs', digestOf(id)),
    idempotency: (digest: string) => key(shardOfDigest(digest), 'idem', digest),
    /** Pattern of the keys behind which a lasting value is sealed; `parseSealedRecord` knows for sure. */
    sealedRecords: `${prefix}:{[0-9a-f][0-9a-f]}:[cr][nrve]*:*`,
    sealedRecord: (kind: SealedKind, id: string) =>
      kind === 'registration'
        ? key(shardOfDigest(id), sealedNouns[kind], id)
        : key(id.slice(3, 5) as Shard, sealedNouns[kind], id.slice(5)),
    parseSealedRecord(name: string): { readonly kind: SealedKind; readonly id: string } | undefined {
      const [shard = '', noun = '', secret = ''] = name.startsWith(`${prefix}:`)
        ? (/^\{([0-9a-f]{2})\}:([a-z]+):(.+)$/.exec(name.slice(prefix.length + 1))?.slice(1) ?? [])
        : [];
      const kind = sealedKinds.find(kind => sealedNouns[kind] === noun);
      if (kind === undefined) return undefined;
      if (kind === 'registration') return { kind, id: secret };
      // A result goes by the id of its elicitation.
      return { kind, id: `${kind === 'result' ? 'el' : noun}_${shard}${secret}` };
    },
    clientRegistration: (digest: string) => key(shardOfDigest(digest), 'reg', digest),
    /** The audit trail, where it is wanted in Redis. */
    audit: key(shardOfDigest(digestOf('audit')), 'audit'),
    lease: (name: string) => key(shardOfDigest(name), 'lease', name),
    /** Name of a webhook endpoint, `<mcpServerId>.<endpointId>`, → what is known of it. Its queue has the same hash tag. */
    webhookEndpoint: (endpoint: string) => `${prefix}:{wh.${endpointName(endpoint)}}:endpoint`,
    /** Written to see whether writes are taken; means nothing. */
    probe: (shard: Shard) => key(shard, 'probe'),
    /** Stands in for a declared key that a call does not use. Nothing is ever stored there. */
    none: (shard: Shard) => key(shard, 'none'),
  };
}

/** What holds sealed values for longer than one interaction, and the noun of its keys. */
const sealedNouns = {
  connection: 'cn',
  revocation: 'rv',
  credential: 'cr',
  result: 'res',
  registration: 'reg',
} as const;
export type SealedKind = keyof typeof sealedNouns;
export const sealedKinds = Object.keys(sealedNouns) as SealedKind[];

/** Prefix of the keys that BullMQ makes for the deliveries of an endpoint: one queue, one slot. @throws TypeError */
export function deliveryQueuePrefix(prefix: string, endpoint: string): string {
  return `${prefix}:{wh.${endpointName(endpoint)}}`;
}

function endpointName(endpoint: string): string {
  if (!/^[a-z0-9-]{1,40}\.[a-z0-9-]{1,40}$/.test(endpoint)) throw new TypeError('Not a webhook endpoint.');
  return endpoint;
}

const shards: ReadonlySet<string> = new Set(SHARDS);

function known(shard: Shard): Shard {
  if (!shards.has(shard)) throw new TypeError('Not a shard.');
  return shard;
}

/** A name of the operator's. @throws TypeError for one that would make key names ambiguous. */
function plain(mcpServerId: string): string {
  if (!/^[A-Za-z0-9._-]{1,64}$/.test(mcpServerId)) throw new TypeError('Not the id of an MCP server.');
  return mcpServerId;
}

/** Names an ask within its shard. */
export const askOf = (coalescingDigest: string) => shortDigestOf(coalescingDigest);

/** 132 bits of a hash, for names that are stored once or twice per live elicitation and are no secrets. */
function shortDigestOf(text: string): string {
  return digestOf(text).slice(0, 22);
}

/** What follows `el_`, `cn_`, `cr_` or `rv_` and the shard; the shard is in the hash tag already. */
function secretOf(id: ElicitationId | ConnectionId | CredentialId | RevocationId): string {
  return id.slice(5);
}

/** Written before replicas are waited for (`MasterConfirmation`): a key in the slot of another. */
export function fenceBeside(key: string): string {
  return `${key.slice(0, key.indexOf('}') + 1)}:fence`;
}
