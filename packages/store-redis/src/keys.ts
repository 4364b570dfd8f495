import type {
  BrowserSessionId,
  ConnectionId,
  CredentialId,
  ElicitationId,
  RevocationId,
  Shard,
  Subject,
  UsedKind,
} from '@postern/elicitation';
import {
  assertJobId,
  digestOf,
  type SealedKind,
  SHARDS,
  sealedKinds,
  shardIn,
  shardOfDigest,
} from '@postern/elicitation';

/**
 * The only place that builds key names. KEYSPACE.md describes each key. Every key of a user carries the hash tag of the user's
 * shard, so any script about one user stays within one slot of a Redis Cluster.
 */
export type Keys = ReturnType<typeof createKeys>;

/** @throws TypeError for a prefix that could change the hash tag or make key names ambiguous */
export function createKeys(prefix: string) {
  if (!/^[a-z0-9][a-z0-9._-]{0,31}$/.test(prefix)) {
    throw new TypeError('A key prefix is 1 to 32 of a-z, 0-9, ".", "_" and "-".');
  }
  const key = (shard: Shard, noun: string, ...rest: string[]) =>
    [`${prefix}:{${known(shard)}}:${noun}`, ...rest].join(':');

  /** Placeholder for a declared key that a call does not use. It never exists. */
  const none = (shard: Shard) => key(shard, 'none');

  /** Stored records of an MCP server in a shard, by hour of expiry. A group (`group:<name>`) has one for what its MCP servers share. */
  const ledger = (shard: Shard, owner: string) => key(shard, 'quota', ...owner.split(/(?<=^group):/).map(plain));

  return {
    /** Channel of the wake-ups; not a key. */
    wake: `${prefix}:wake`,
    elicitation: (id: ElicitationId) => key(shardIn(id), 'el', secretOf(id)),
    /** Digest of an open request (see `askOf`) → id of its elicitation. */
    open: (shard: Shard) => key(shard, 'open'),
    /** Requests that stay assigned to their elicitation after it expired or ended, by the end of that period. */
    held: (shard: Shard) => key(shard, 'held'),
    /** Values that a user typed, until their retention ends. */
    result: (id: ElicitationId) => key(shardIn(id), 'res', secretOf(id)),
    /** Ids of elicitations that have not ended, by expiry. */
    due: (shard: Shard) => key(shard, 'due'),
    /** Ids of a subject's elicitations at one MCP server that have not ended, by expiry. */
    openOf: (shard: Shard, mcpServerId: string, subject: Subject) =>
      key(shard, 'opens', shortDigestOf(textOf(subject, mcpServerId))),
    /** MCP servers that a subject muted, with the time. */
    mutedBy: (shard: Shard, subject: Subject) => key(shard, 'muted', digestOf(textOf(subject))),
    /**
     * Ids of a subject's elicitations that the user ended, by the time of their end. Those of an application that vouches for its users
     * have a key of their own: it says who a subject is, so it could fill the list of any.
     */
    endedOf: (shard: Shard, { issuer, subject }: Subject, voucher: string | undefined) =>
      key(shard, 'ends', shortDigestOf(JSON.stringify([issuer, subject, ...(voucher === undefined ? [] : [voucher])]))),
    /** Ids of all ended elicitations, by the time of their end. */
    ended: (shard: Shard) => key(shard, 'ended'),
    /** Ids of all connections, by the time at which their user connected last. */
    connected: (shard: Shard) => key(shard, 'connected'),
    /** Ids of all credentials, by the time at which their user saved them last. */
    saved: (shard: Shard) => key(shard, 'saved'),
    events: (shard: Shard) => key(shard, 'events'),
    /** The deployment of the shard's data, and its epoch. */
    epoch: (shard: Shard) => key(shard, 'epoch'),
    /** Position up to which `events` has been carried. */
    cursor: (shard: Shard) => key(shard, 'cursor'),
    /** Events of an MCP server. */
    feed: (mcpServerId: string) => key(shardOfDigest(digestOf(mcpServerId)), 'feed', plain(mcpServerId)),
    /** The carried position of each shard, the last position in the feed and the last dropped one. */
    feedFacts: (mcpServerId: string) => key(shardOfDigest(digestOf(mcpServerId)), 'fed', plain(mcpServerId)),
    /** How many elicitations of an MCP server took each step on a day (UTC, `2026-11-23`), by hour, kind and provider. */
    counts: (mcpServerId: string, day: string) =>
      key(shardOfDigest(digestOf(mcpServerId)), 'counts', plain(mcpServerId), day),
    /** How the refreshes at a provider ended on a day (UTC, `2026-11-23`), by hour. */
    refreshes: (provider: string, day: string) =>
      key(shardOfDigest(digestOf(provider)), 'refreshes', plain(provider), day),
    /** Wake-up for readers of the feed; not a key. */
    feedWakeUp: (mcpServerId: string) => `feed:${mcpServerId}`,
    /** Payments of an elicitation, by the processor's reference, with their refunds and disputes. */
    payments: (id: ElicitationId) => key(shardIn(id), 'paid', secretOf(id)),
    /** Ids of the elicitations that a subject completed with a payment, by its time. Vouched ones as for `endedOf`. */
    paidBy: (shard: Shard, { issuer, subject }: Subject, voucher: string | undefined) =>
      key(shard, 'pays', shortDigestOf(JSON.stringify([issuer, subject, ...(voucher === undefined ? [] : [voucher])]))),
    /** A user's payments to an MCP server in one currency that count against daily limits, by elicitation. */
    countedPayments: (shard: Shard, p: { mcpServerId: string; subject: Subject; currency: string }) =>
      key(
        shard,
        'spent',
        shortDigestOf(JSON.stringify([p.mcpServerId, p.subject.issuer, p.subject.subject, p.currency])),
      ),
    /** Ids of elicitations with a pending charge, by the time of the next request to the processor. */
    chargeChecks: (shard: Shard) => key(shard, 'charges'),
    /** Ids of elicitations with pending refunds, by the time of the next request to the processor. */
    refundChecks: (shard: Shard) => key(shard, 'refunds'),
    connection: (id: ConnectionId) => key(shardIn(id), 'cn', secretOf(id)),
    /** Ids of a subject's connections, of all owners. */
    connectionsOf: (shard: Shard, subject: Subject) => key(shard, 'cns', digestOf(textOf(subject))),
    credential: (id: CredentialId) => key(shardIn(id), 'cr', secretOf(id)),
    /** Ids of a subject's credentials, of all owners. */
    credentialsOf: (shard: Shard, subject: Subject) => key(shard, 'crs', digestOf(textOf(subject))),
    /** Passkeys of a subject by their WebAuthn credential ids. */
    passkeysOf: (shard: Shard, subject: Subject) => key(shard, 'pks', digestOf(textOf(subject))),
    /** Facts about a subject's passkeys: the last reset, and the time from which passkeys count. */
    passkeyFactsOf: (shard: Shard, subject: Subject) => key(shard, 'pkf', digestOf(textOf(subject))),
    /** Passkey changes to announce to operators. */
    passkeyAnnouncements: (shard: Shard) => key(shard, 'pkn'),
    revocation: (id: RevocationId) => key(shardIn(id), 'rv', secretOf(id)),
    /** Ids of revocations, by due time. */
    dueRevocations: (shard: Shard) => key(shard, 'rvs'),
    /** Counts new elicitations per MCP server and subject, so no MCP server uses up the limit of another. */
    subjectLimit: (shard: Shard, mcpServerId: string, subject: Subject) =>
      key(shard, 'limit', shortDigestOf(textOf(subject, mcpServerId))),
    ledger,
    oneTime: (shard: Shard, digest: string) => key(shard, 'once', digest),
    claim: (digest: string) => key(shardOfDigest(digest), 'claim', digest),
    /** Self-contained one-time values of one kind that were used, by their expiry. */
    used: (kind: UsedKind, digest: string) => key(shardOfDigest(digest), 'used', plain(kind)),
    /** The id is a bearer value and is not stored, not even in a key name. */
    browserSession: (id: BrowserSessionId) => key(shardIn(id), 'bs', digestOf(id)),
    /** The browser sessions of a subject, and the times up to which they were ended together. */
    browserSessionsOf: (shard: Shard, subject: Subject) => key(shard, 'bss', shortDigestOf(textOf(subject))),
    /** A browser session by the digest of its id, for its listed entry. */
    browserSessionNamed: (shard: Shard, name: string) => key(shard, 'bs', name),
    /** The time up to which a session at an identity provider was ended, by the digest that names it. */
    loggedOut: (logoutName: string) => key(shardOfDigest(logoutName), 'slo', logoutName),
    /** Sessions of operators at the console. */
    ofOperators: {
      browserSession: (id: BrowserSessionId) => key(shardIn(id), 'os', digestOf(id)),
      browserSessionsOf: (shard: Shard, subject: Subject) => key(shard, 'oss', shortDigestOf(textOf(subject))),
      browserSessionNamed: (shard: Shard, name: string) => key(shard, 'os', name),
      loggedOut: (logoutName: string) => key(shardOfDigest(logoutName), 'oslo', logoutName),
      ledger,
      none,
    },
    idempotency: (shard: Shard, digest: string) => key(shard, 'idem', digest.slice(0, SHORT)),
    /** Matches keys of records with lasting sealed values. A match may be another key: `parseSealedRecord` decides. */
    sealedRecords: `${prefix}:{[0-9a-f][0-9a-f]}:[acr][knrve]*:*`,
    sealedRecord: (kind: SealedKind, id: string) =>
      kind === 'registration'
        ? key(shardOfDigest(id), sealedNouns[kind], id)
        : kind === 'apiKey'
          ? key(API_KEYS_SHARD, sealedNouns[kind], apiKeyNamed(id))
          : key(id.slice(3, 5) as Shard, sealedNouns[kind], id.slice(5)),
    parseSealedRecord(name: string): { readonly kind: SealedKind; readonly id: string } | undefined {
      const [shard = '', noun = '', secret = ''] = name.startsWith(`${prefix}:`)
        ? (/^\{([0-9a-f]{2})\}:([a-z]+):(.+)$/.exec(name.slice(prefix.length + 1))?.slice(1) ?? [])
        : [];
      const kind = sealedKinds.find(kind => sealedNouns[kind] === noun);
      if (kind === undefined) return undefined;
      if (kind === 'registration' || kind === 'apiKey') return { kind, id: secret };
      // A result has the id of its elicitation.
      return { kind, id: `${kind === 'result' ? 'el' : noun}_${shard}${secret}` };
    },
    clientRegistration: (digest: string) => key(shardOfDigest(digest), 'reg', digest),
    /** The audit trail, if it is kept in Redis. Both streams are in one slot. */
    audit: key(AUDIT_SHARD, 'audit'),
    /** The lines of the audit trail that only operators can cause. */
    operatorAudit: key(AUDIT_SHARD, 'oaudit'),
    /** An API key of an MCP server, or the revocation of one of the configuration. All are in one slot, with their index. */
    apiKey: (apiKeyId: string) => key(API_KEYS_SHARD, 'ak', apiKeyNamed(apiKeyId)),
    /** Ids of all API keys, and the version of the list. */
    apiKeys: key(API_KEYS_SHARD, 'aks'),
    /** Credentials of the admin API by their ids. */
    adminCredentials: key(shardOfDigest(digestOf('admin-credentials')), 'adm'),
    /** Since when the deployment has its keys, and when API keys were last used. */
    keyAges: key(shardOfDigest(digestOf('key-ages')), 'ages'),
    /** A job that an operator started. All are in one slot, with their indexes. */
    job: (jobId: string) => key(JOBS_SHARD, 'jb', jobNamed(jobId)),
    /** Ids of jobs that have not ended, by the time of their start. */
    unfinishedJobs: key(JOBS_SHARD, 'jbs'),
    /** Ids of ended jobs, by the time of their end. */
    endedJobs: key(JOBS_SHARD, 'jbe'),
    /** The replicas that run, and which of them must drain. */
    replicas: key(shardOfDigest(digestOf('replicas')), 'rps'),
    lease: (name: string) => key(shardOfDigest(name), 'lease', name),
    /** Webhook endpoint by name, `<mcpServerId>.<endpointId>` or `operator/<endpointId>`. Its queue has the same hash tag. */
    webhookEndpoint: (endpoint: string) => `${prefix}:{wh.${endpointName(endpoint)}}:endpoint`,
    /** Probe that tests whether Redis accepts writes. The value has no meaning. */
    probe: (shard: Shard) => key(shard, 'probe'),
    none,
  };
}

/** Kinds of records with lasting sealed values, and the noun of their keys. */
const sealedNouns = {
  connection: 'cn',
  revocation: 'rv',
  credential: 'cr',
  result: 'res',
  registration: 'reg',
  apiKey: 'ak',
} as const satisfies Record<SealedKind, string>;

/** Prefix of the BullMQ keys for an endpoint's deliveries: one queue, one slot. @throws TypeError */
export function deliveryQueuePrefix(prefix: string, endpoint: string): string {
  return `${prefix}:{wh.${endpointName(endpoint)}}`;
}

function endpointName(endpoint: string): string {
  if (!/^(?:[a-z0-9-]{1,40}\.|operator\/)[a-z0-9-]{1,40}$/.test(endpoint))
    throw new TypeError('Not a webhook endpoint.');
  return endpoint;
}

const AUDIT_SHARD = shardOfDigest(digestOf('audit'));

/** The list is read as a whole, so its keys share a slot. */
const API_KEYS_SHARD = shardOfDigest(digestOf('api-keys'));

/** @throws TypeError */
function apiKeyNamed(apiKeyId: string): string {
  if (!/^ak_[A-Za-z0-9_-]{1,64}$/.test(apiKeyId)) throw new TypeError('Not the id of an API key.');
  return apiKeyId;
}

const JOBS_SHARD = shardOfDigest(digestOf('jobs'));

/** @throws TypeError */
function jobNamed(jobId: string): string {
  assertJobId(jobId);
  return jobId;
}

const shards: ReadonlySet<string> = new Set(SHARDS);

function known(shard: Shard): Shard {
  if (!shards.has(shard)) throw new TypeError('Not a shard.');
  return shard;
}

/** A name chosen by the operator. @throws TypeError if it would make key names ambiguous */
function plain(name: string): string {
  if (!/^[A-Za-z0-9._-]{1,64}$/.test(name)) throw new TypeError('Not the name of an MCP server or a provider.');
  return name;
}

/** One text for a subject, and for the MCP server before it. */
const textOf = ({ issuer, subject }: Subject, ...mcpServerId: string[]) =>
  JSON.stringify([...mcpServerId, issuer, subject]);

/** Returns the name of a request within its shard. */
export const askOf = (coalescingDigest: string) => shortDigestOf(coalescingDigest);

const SHORT = 22;

/** 132 bits of a hash, for names that occur in every live elicitation and are not secret. */
function shortDigestOf(text: string): string {
  return digestOf(text).slice(0, SHORT);
}

/** Removes the prefix (`el_`, `cn_`, `cr_`, `rv_`) and the shard from an id; the shard is already in the hash tag. */
function secretOf(id: ElicitationId | ConnectionId | CredentialId | RevocationId): string {
  return id.slice(5);
}

/** Key of the fence in the slot of another key. `MasterConfirmation` writes it before it waits for replicas. */
export function fenceBeside(key: string): string {
  return `${key.slice(0, key.indexOf('}') + 1)}:fence`;
}
