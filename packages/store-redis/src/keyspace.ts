/**
 * Every key of Redis, and who pays for it: what a tenant or a stranger can cause to be stored counts in a quota, is part of something that
 * does, or has a fixed bound. KEYSPACE.md has this table (`node packages/store-redis/src/write-keyspace.ts`).
 */
interface KeyRow {
  /** Patterns, in Markdown. `{s}` and the like are a shard, `<…>` is any text. */
  readonly key: string;
  readonly type: string;
  readonly lifetime: string;
  readonly writtenBy: string;
  readonly paidBy: string;
}

/** Key, type, lifetime, written by, paid by. */
// biome-ignore format: a row for each line
const rows = [
  ["`{s}:el:<name>`", "hash", "to `expiresAt` + retention; none while charging; once ended, retention", "create, transition, redeem", "quota of its MCP server"],
  ["`{s}:res:<name>`", "hash", "retention, from the end of its elicitation", "transition, replace", "quota of its MCP server"],
  ["`{s}:open`", "hash: request digest → elicitation id", "entry goes when its elicitation ends or its result is redeemed", "create, transition, redeem, due", "its elicitation"],
  ["`{s}:held`", "sorted set: `<request digest> <elicitation id>` by the time until which a repeated request returns it", "entry goes when its elicitation ends, returns or is redeemed, or at its time", "transition, redeem, due", "its elicitation"],
  ["`{s}:due`", "sorted set: elicitation id by `expiresAt`", "entry goes when its elicitation ends", "create, transition, postpone, due", "its elicitation"],
  ["`{s}:opens:<digest>`", "sorted set: elicitation id by `expiresAt`", "to the last `expiresAt`", "create, transition", "its elicitation"],
  ["`{s}:ends:<digest>`", "sorted set: elicitation id by the time of its end; the newest 100", "retention, from the last end", "transition", "its elicitation"],
  ["`{s}:ended`", "sorted set: elicitation id by the time of its end", "retention, from the last end", "transition", "its elicitation"],
  ["`{s}:connected`", "sorted set: connection id by the time at which its user connected last", "entry goes with its connection", "transition, remove", "its connection"],
  ["`{s}:saved`", "sorted set: credential id by the time at which its user saved it last", "entry goes with its credential", "transition, remove", "its credential"],
  ["`{h}:counts:<server>:<day>`", "hash", "`retention.countDays`, 90 days by default, from its last event", "carry", "fixed: MCP servers and days"],
  ["`{h}:refreshes:<provider>:<day>`", "hash", "`retention.countDays`, from its last refresh", "count refreshes", "fixed: providers and days"],
  ["`{s}:events`", "stream", "until relayed, and 64 to about 200 more; about 4096 at most (`eventsPerShard`)", "create, transition, move cursor", "fixed: 4,096 per shard"],
  ["`{s}:epoch`", "string `<deployment> <epoch>`", "stays", "first start (`SET NX`), `postern redis accept-loss`", "fixed"],
  ["`{s}:cursor`", "string: position in `events`", "stays", "move cursor", "fixed"],
  ["`{h}:feed:<server>`", "stream", "7 days; about the newest 10,000 (`feed`)", "carry", "quota of its MCP server, which counts it as full"],
  ["`{h}:fed:<server>`", "hash", "28 days from the last event", "carry", "fixed: MCP servers"],
  ["`{k}:ak:<id>`", "hash", "stays; a revoked key of the store 90 days", "API key scripts, replace", "operators"],
  ["`{k}:aks`", "hash: id of an API key → `valid`, `revoked <until>` or, of a key of the configuration, `revoked`; `version`", "stays; a revoked key of the store 90 days, the newest 1,000", "API key scripts", "operators"],
  ["`{h}:ages`", "hash: `began`, `key <name>` and `used <id>`, each a time", "stays", "note keys, `HSET`", "fixed: keys of the deployment"],
  ["`{h}:adm`", "hash: id of a credential of the admin API → JSON: `layout`, `name`, `scopes`, `mac`, `createdAt`, `by`, `reason`", "entry goes when it is revoked", "`HSETNX`, `HDEL`", "operators"],
  ["`{j}:jb:<id>`", "hash", "until it ends, then 30 days", "job scripts", "operators"],
  ["`{j}:jbs`", "sorted set: id of an unfinished job by the time of its start", "entry goes when its job ends", "start job, end job", "operators"],
  ["`{j}:jbe`", "sorted set: id of an ended job by the time of its end", "30 days from the last end", "end job", "operators"],
  ["`{h}:rps`", "hash: id of a replica → `<end of its time> <1 if it must drain> <record>`", "10 seconds after the last announcement; a field goes with the next one", "replica scripts, `HDEL`", "fixed: replicas"],
  ["`{a}:audit`", "stream: `line`", "about the newest 100,000 (`audit.retained`), and 90 days (`retention.auditDays`); empty without `audit.stream`", "audit", "fixed: `audit.retained`"],
  ["`{a}:oaudit`", "stream: `line`", "about the newest 100,000, and 400 days (`retention.operatorAuditDays`)", "audit", "fixed; only operators write"],
  ["`{s}:quota:<server>`, `{s}:quota:group:<group>`", "hash", "to the last expiry that it counts; stays once it has counted a lasting record", "create, transition, put idempotency, put payment, finish refresh; scripts of browser sessions, removals, revocations and passkeys", "fixed: hours"],
  ["`{s}:probe`", "empty string", "1 minute", "`SET`, every ten seconds on one key of each master", "fixed"],
  ["`{s}:muted:<digest>`", "hash: MCP server id → time", "until undone", "set mute, `DEL`", "fixed: MCP servers, per person of an identity provider"],
  ["`{s}:limit:<digest>`", "string `<window end> <count>`", "to the end of the window", "create", "its elicitation"],
  ["`{s}:paid:<name>`", "hash: the payments of an elicitation", "`payment.retentionDays`, 400 days by default, from the last change; at least a day longer than `retention.endedHours`", "transition, note payment, put payment", "quota of its MCP server"],
  ["`{s}:pays:<digest>`", "sorted set: id of a paid elicitation by its time; the newest 1,000", "`payment.retentionDays`, from the last payment; the user's deletion of all data", "transition, `DEL`", "fixed: 1,000 per person, who paid each"],
  ["`{s}:spent:<digest>`", "hash: elicitation id → `<approved at> <minor units>`", "24 hours from the last approval", "transition", "quota of its MCP server"],
  ["`{s}:charges`", "sorted set: elicitation id by the time of the next request to its processor", "entry goes when its payment is no longer charging", "check charge (`ZREM`)", "its payment"],
  ["`{s}:refunds`", "sorted set: elicitation id by the time of the next request about its refunds", "entry goes when no refund is pending", "put payment, check charge, drop refund check", "its payment"],
  ["`{s}:cn:<name>`", "hash", "until removed", "transition, refresh scripts, lost, use, remove, replace", "quota of its owner"],
  ["`{s}:cns:<digest>`", "set of connection ids", "as its connections", "transition, remove", "its connections"],
  ["`{s}:cr:<name>`", "hash", "until removed", "transition, use, remove, replace", "quota of its owner"],
  ["`{s}:crs:<digest>`", "set of credential ids", "as its credentials", "transition, remove", "its credentials"],
  ["`{s}:pks:<digest>`", "hash: WebAuthn credential id → passkey", "as its passkeys", "passkey scripts", "quota of the MCP server that says who the person is; else fixed: 10 per person"],
  ["`{s}:pkf:<digest>`", "hash: facts about the passkeys of a person", "stays", "passkey scripts", "quota of the MCP server that says who the person is; else fixed: one per person"],
  ["`{s}:pkn`", "sorted set: `<id> <pseudonym> <change of passkeys>` by its time", "until announced; 30 days from the last one, the newest 1,000; only with `operatorWebhooks`", "passkey scripts, `ZREM`", "fixed: 1,000 per shard"],
  ["`{s}:rv:<name>`", "hash", "until done; 8 days at most", "remove, revocation scripts, replace", "quota of its owner"],
  ["`{s}:rvs`", "sorted set: revocation id by its due time", "entry goes with its revocation", "remove, revocation scripts", "its revocation"],
  ["`{s}:reg:<digest>`", "hash", "until removed", "registration scripts, replace", "fixed: redirect URIs"],
  ["`{s}:once:<digest>`", "hash", "own lifetime; at least ten minutes after it was taken", "transition, consume", "quota of its MCP server"],
  ["`{s}:claim:<digest>`", "empty string", "own lifetime", "claim (`SET NX PX`)", "its elicitation"],
  ["`{h}:used:<kind>`", "sorted set: digest of a used one-time value by its expiry; `floor`", "to the last expiry; the newest 512", "spend one-time", "fixed: 512 per kind and shard"],
  ["`{s}:bs:<digest>`", "hash", "idle time, never beyond `endsAt`", "browser session scripts", "quota of the MCP server that vouched; else fixed: 20 per person"],
  ["`{h}:slo:<digest>`", "hash", "to the last possible end of the sessions that it ends", "end browser sessions", "identity provider"],
  ["`{s}:bss:<digest>`", "hash", "to the last possible end of the sessions it lists", "browser session scripts", "quota of the MCP server that vouched; else fixed: 20 per person"],
  ["`{s}:os:<digest>`, `{s}:oss:<digest>`", "as `bs` and `bss`", "as `bs` and `bss`; only with `console`", "browser session scripts", "fixed: 20 per operator"],
  ["`{h}:oslo:<digest>`", "as `slo`", "as `slo`; only with `console`", "end browser sessions", "identity provider"],
  ["`{s}:idem:<digest>`", "string `<fingerprint> <kept until> <answer>`", "24 hours", "create, put idempotency", "quota of its MCP server"],
  ["`{s}:lease:<name>`", "string `<end> <holder>`", "to its end", "lease scripts", "fixed"],
  ["`{wh.<server>.<endpoint>}:endpoint`, `{wh.operator/<endpoint>}:endpoint`", "hash", "stays", "move webhook cursor, `HSETNX`, `HDEL`", "fixed: endpoints"],
  ["`{wh.<server>.<endpoint>}:deliveries:*`", "the queue of that endpoint, by BullMQ", "done 1 hour, dead 30 days (at most 1,000 and 10,000); the rest until delivered", "BullMQ", "fixed: 100,000 per endpoint"],
  ["`{s}:fence`", "empty string", "a minute; only in profile `ha`", "before waiting for replicas (`SET`), also `{wh.…}:fence`", "fixed"],
  ["`{s}:none`", "never exists", "", "placeholder for a declared key that a call does not use", "—"],
] as const;

const keyspace: readonly KeyRow[] = rows.map(([key, type, lifetime, writtenBy, paidBy]) => ({
  key,
  type,
  lifetime,
  writtenBy,
  paidBy,
}));

const HEAD = ['key', 'type', 'lifetime', 'written by', 'paid by'];

/** The table as it is in KEYSPACE.md. */
function keyspaceTable(): string {
  const lines = [HEAD, HEAD.map(() => '---'), ...rows];
  return lines.map(cells => `| ${cells.join(' | ')} |`).join('\n');
}

/** Replaces the table in the text of KEYSPACE.md. */
export function withKeyspaceTable(markdown: string): string {
  const [begin, end] = [markdown.indexOf('| key |'), markdown.indexOf('\n\nRetention is')];
  return `${markdown.slice(0, begin)}${keyspaceTable()}${markdown.slice(end)}`;
}

/** Returns the row of a key; undefined for a key that no row describes. @internal */
export function keyRowOf(prefix: string, key: string): KeyRow | undefined {
  if (!key.startsWith(`${prefix}:`)) return undefined;
  const name = key.slice(prefix.length + 1);
  return keyspace.find(row => patternsOf(row).some(pattern => pattern.test(name)));
}

function patternsOf({ key }: KeyRow): readonly RegExp[] {
  return [...key.matchAll(/`([^`]+)`/g)].map(([, name = '']) => {
    const [, tag = '', rest = ''] = /^\{([^}]+)\}:(.+)$/.exec(name) ?? [];
    const slot = tag.startsWith('wh.') ? 'wh\\.[a-z0-9./-]+' : '[0-9a-f]{2}';
    return new RegExp(`^\\{${slot}\\}:${rest.replace(/<[^<>]+>|\*/g, '.+')}$`);
  });
}
