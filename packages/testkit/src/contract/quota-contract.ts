import {
  type Connection,
  type CreateElicitation,
  connectionIdOf,
  credentialIdOf,
  type Elicitation,
  newRevocationId,
  SHARDS,
  type StorageQuota,
  type Subject,
  shardIn,
  shardOf,
  systemEntropy,
} from '@postern/elicitation';
import { expect, test } from 'vitest';
import { crowd, suite } from './contract-stores.ts';
import { answer, approve, askFor, credentialFor } from './kind-samples.ts';
import {
  ask,
  cancel,
  complete,
  connectionFor,
  created,
  engage,
  from,
  MINUTE,
  type Move,
  moved,
  oneTimeFor,
  operation,
  secretDigest,
  somebody,
  TTL_MS,
} from './samples.ts';

const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** The quota that gives each shard this share. New requests may use seven eighths of it. */
const perShard = (share: StorageQuota): StorageQuota => ({
  records: share.records * SHARDS.length,
  bytes: share.bytes * SHARDS.length,
});
const FEW = perShard({ records: 16, bytes: 1e9 });
const MOST_ASKS = 14;
const overQuota = { result: 'over_quota', retryAfterMs: expect.any(Number) };

/** The quota of an MCP server for all records until they expire. */
export const describeQuota = suite('quota of an MCP server', stores => {
  /** An MCP server without stored records, and requests for one user, which are in one shard. */
  function tenant(quota = FEW, person = somebody()) {
    const mcpServerId = `tenant-${operation()}`;
    const of = (request: CreateElicitation) =>
      from(mcpServerId, { ...request, coalescingDigest: secretDigest(), quota });
    const next = () => of(ask(person));
    const make = () => created(stores.elicitations, next());
    const fill = async () => {
      const made: Elicitation[] = [];
      while (made.length < MOST_ASKS) made.push(await make());
      return made;
    };
    return { mcpServerId, of, next, make, fill, person };
  }
  const attempted = (current: Elicitation, move: Move) =>
    stores.elicitations.transition({ current, operationId: operation(), ...move });
  const nextHour = (time: number) => Math.ceil(time / HOUR) * HOUR;

  test('S73: refuses new requests at seven eighths of the share, writes nothing, and does not affect other MCP servers', async () => {
    const { fill, next, person } = tenant();
    await fill();
    const refused = next();
    const retryAfterMs = nextHour(stores.clock.now() + TTL_MS + DAY) - stores.clock.now();
    expect(await stores.elicitations.create(refused)).toEqual({ result: 'over_quota', retryAfterMs });
    expect(await stores.elicitations.read(refused.elicitation.elicitationId)).toBeUndefined();
    await tenant(FEW, person).make();
  });

  test('S73: accepts as many concurrent requests as fit the quota', async () => {
    const { next } = tenant();
    const results = await crowd(() => stores.elicitations.create(next()));
    expect(results.filter(({ result }) => result === 'created')).toHaveLength(MOST_ASKS);
  });

  test('S73: counts bytes too', async () => {
    const { of, person } = tenant(perShard({ records: 1e9, bytes: 65_536 }));
    const big = () => {
      const request = ask(person);
      return of({ ...request, elicitation: { ...request.elicitation, message: 'x'.repeat(8_192) } });
    };
    let accepted = 0;
    while ((await stores.elicitations.create(big())).result === 'created') accepted += 1;
    expect(accepted).toBeGreaterThanOrEqual(3);
    expect(accepted).toBeLessThanOrEqual(6);
  });

  test('S73: counts ended elicitations until they are removed', async () => {
    const { fill, next } = tenant();
    for (const elicitation of await fill()) await moved(stores.elicitations, elicitation, cancel);
    stores.clock.advance(DAY - HOUR);
    expect(await stores.elicitations.create(next())).toEqual(overQuota);
    stores.clock.advance(2 * HOUR);
    expect(await stores.elicitations.create(next())).toMatchObject({ result: 'created' });
  });

  test('counts an elicitation once, whatever the number of transitions', async () => {
    const { make, next } = tenant();
    let elicitation = await make();
    const retry: Move = { events: ['retry'], next: { status: 'pending', retryReason: 'provider_denied' } };
    for (let n = 0; n < 10; n += 1) elicitation = await moved(stores.elicitations, elicitation, engage, retry);
    for (let n = 1; n < MOST_ASKS; n += 1) await make();
    expect(await stores.elicitations.create(next())).toEqual(overQuota);
  });

  test('S73: a new attempt replaces the record of the former one, so that attempts do not add up', async () => {
    const { make } = tenant();
    let current = await make();
    const digests: string[] = [];
    // More than the share has records.
    for (let count = 0; count < 40; count += 1) {
      const record = oneTimeFor(current.elicitationId);
      digests.push(record.digest);
      const events = count === 0 ? (['engage'] as const) : (['retry', 'engage'] as const);
      const next = { status: 'active', attempt: record.digest } as const;
      const result = await attempted(current, { events, next, putOneTime: { record, ttlMs: MINUTE } });
      expect([count, result.result]).toEqual([count, 'applied']);
      if (result.result === 'applied') current = result.elicitation;
    }
    const shard = shardIn(current.elicitationId);
    const consume = () =>
      Promise.all(digests.map(async digest => (await stores.oneTime.consume(shard, digest)).result));
    const former = digests.slice(1);
    expect(await consume()).toEqual([...former.map(() => 'spent'), 'taken']);
    stores.clock.advance(10 * MINUTE);
    expect(new Set(await consume())).toEqual(new Set(['unknown']));
  });

  test('S73: counts one-time records, refuses those beyond the quota, and commits every end', async () => {
    const { fill } = tenant();
    const asked = await fill();
    const begin = (current: Elicitation) => {
      const record = oneTimeFor(current.elicitationId);
      return attempted(current, { ...engage, putOneTime: { record, ttlMs: MINUTE } });
    };
    const results = await Promise.all(asked.slice(0, 3).map(begin));
    expect(results.map(({ result }) => result).sort()).toEqual(['applied', 'applied', 'over_quota']);
    for (const { elicitationId } of asked) {
      const current = await stores.elicitations.read(elicitationId);
      if (current === undefined) throw new Error('Expected an elicitation.');
      expect(await attempted(current, cancel)).toMatchObject({ result: 'applied' });
    }
  });

  test('S73: refuses a result beyond the quota, and leaves its elicitation unchanged', async () => {
    const { of, person } = tenant(perShard({ records: 1e9, bytes: 65_536 }));
    const active = await moved(
      stores.elicitations,
      await created(stores.elicitations, of(askFor('form', person))),
      engage,
    );
    const answered = answer(active);
    const large = { ...answered, putResult: { sealed: 'x'.repeat(65_536) } };
    expect(await attempted(active, large)).toEqual(overQuota);
    expect(await stores.elicitations.read(active.elicitationId)).toEqual(active);
    expect(await attempted(active, answered)).toMatchObject({ result: 'applied' });
  });

  test('S73: refuses a transition whose larger record exceeds the quota', async () => {
    const { of, person } = tenant(perShard({ records: 1e9, bytes: 65_536 }));
    const pending = await created(stores.elicitations, of(askFor('confirmation', person)));
    const grown: Move = { events: ['engage'], next: { status: 'active', attempt: 'x'.repeat(65_536) } };
    expect(await attempted(pending, grown)).toEqual(overQuota);
    expect(await attempted(pending, cancel)).toMatchObject({ result: 'applied' });
  });

  test('S73: counts a payment while its outcome is unknown', async () => {
    const { of, person, next, make } = tenant(perShard({ records: 8, bytes: 1e9 }));
    const charging = await moved(
      stores.elicitations,
      await created(stores.elicitations, of(askFor('payment', person))),
      approve,
    );
    for (let n = 1; n < 7; n += 1) await make();
    stores.clock.advance(3 * DAY);
    for (let n = 1; n < 7; n += 1) await make();
    expect(await stores.elicitations.create(next())).toEqual(overQuota);
    await moved(stores.elicitations, charging, {
      events: ['fail'],
      next: { status: 'failed', failure: 'processor_refused' },
    });
    stores.clock.advance(3 * DAY);
    for (let n = 0; n < 7; n += 1) await make();
  });

  /** Stores a response under an idempotency key of the same user. */
  const putBy = ({ mcpServerId, person }: ReturnType<typeof tenant>, quota = FEW, digest = secretDigest()) =>
    stores.idempotency.put({
      digest,
      fingerprint: 'body',
      response: 'answer',
      shard: shardOf(person),
      mcpServerId,
      quota,
    });
  const withKey = (request: CreateElicitation, digest = secretDigest()) => ({
    ...request,
    idempotencyKey: { digest, fingerprint: 'body' },
  });

  test('S73: counts an idempotency key in addition to its elicitation', async () => {
    const { next } = tenant();
    for (let n = 0; n < MOST_ASKS / 2; n += 1) await created(stores.elicitations, withKey(next()));
    const refused = withKey(next());
    expect(await stores.elicitations.create(refused)).toEqual(overQuota);
    stores.clock.advance(DAY + HOUR);
    expect(await stores.elicitations.create(refused)).toMatchObject({ result: 'created' });
  });

  test('S73: refuses a request whose idempotency key exceeds the quota, and still replays repeats', async () => {
    const { make, next } = tenant();
    const first = withKey(next());
    const elicitation = await created(stores.elicitations, first);
    for (let n = 2; n < MOST_ASKS - 1; n += 1) await make();
    expect(await stores.elicitations.create(withKey(next()))).toEqual(overQuota);
    const again = withKey(next(), first.idempotencyKey.digest);
    expect(await stores.elicitations.create(again)).toEqual({ result: 'repeated', elicitation });
    await make();
  });

  /** An MCP server that says who its users are, all in one shard. Half of its quota is for eight lasting records. */
  function inventor(quota = FEW) {
    const mcpServerId = `inventor-${operation()}`;
    const shard = shardOf(somebody());
    const invent = (): Subject => {
      for (;;) {
        const person = somebody();
        if (shardOf(person) === shard) return person;
      }
    };
    const external = (request: CreateElicitation, seen: CreateElicitation['seen']) => {
      const of = from(mcpServerId, { ...request, coalescingDigest: secretDigest(), quota, seen });
      return { ...of, elicitation: { ...of.elicitation, identityMode: 'external' as const } };
    };
    const idOf = (subject: Subject) => connectionIdOf({ owner: mcpServerId, subject, provider: 'github' });
    /** Starts to connect a user, again if there is a connection, and returns what completes it. */
    async function begin(subject: Subject, sealedTokens = 'sealed-tokens', again?: Connection) {
      const request = { ...ask(subject), answeredBy: idOf(subject) };
      const issued = await stores.elicitations.create(external(request, again === undefined ? {} : { answer: again }));
      if (issued.result !== 'created') return async () => issued.result;
      const active = await moved(stores.elicitations, issued.elicitation, engage);
      const putConnection = { ...connectionFor(subject, active.elicitationId, mcpServerId), sealedTokens };
      return async () => (await attempted(active, { ...complete(active), putConnection })).result;
    }
    async function connect(subject = invent(), sealedTokens?: string): Promise<string> {
      const again = await stores.connections.read(idOf(subject));
      return (await begin(subject, sealedTokens, again))();
    }
    async function save(subject = invent()): Promise<string> {
      const credentialId = credentialIdOf({ owner: mcpServerId, subject, name: 'acme-api' });
      const again = await stores.credentials.read(credentialId);
      const request = { ...askFor('lasting', subject), answeredBy: credentialId };
      const issued = await stores.elicitations.create(external(request, again === undefined ? {} : { answer: again }));
      if (issued.result !== 'created') return issued.result;
      const putCredential = credentialFor(issued.elicitation, { owner: mcpServerId, credentialId });
      const outcome = { kind: 'credential', name: 'acme-api', credentialId } as const;
      const next = { status: 'completed', outcome } as const;
      return (await attempted(issued.elicitation, { ...answer(issued.elicitation), next, putCredential })).result;
    }
    const enrol = (subject = invent()) => {
      const passkey = { passkeyId: operation(), subject, publicKey: 'pQECAyYg', transports: [], label: 'Key' };
      const payer = { mcpServerId, quota };
      return stores.passkeys.add(
        { ...passkey, signCount: 0, backedUp: false },
        10,
        undefined,
        'later',
        undefined,
        payer,
      );
    };
    const remove = (subject: Subject) => stores.connections.remove({ connectionId: idOf(subject) });
    /** What still fits, in lasting records. Fills the rest, over as many days as that takes. */
    async function room(): Promise<number> {
      for (let added = 0; added < 60; added += 1) {
        if (added % 3 === 0) stores.clock.advance(2 * DAY);
        if ((await connect()) !== 'applied') return added;
      }
      throw new Error('Expected the quota to be full.');
    }
    return { mcpServerId, shard, invent, idOf, begin, connect, save, enrol, remove, room };
  }
  const MOST_LASTING = 8;

  test('S203: an MCP server that invents users for weeks keeps half of its quota in lasting records, and no more', async () => {
    const { connect, save, enrol, room } = inventor();
    const ways = [connect, save, enrol];
    let kept = 0;
    for (let day = 0; day < 30; day += 1) {
      const way = ways[day % ways.length] ?? connect;
      const result = await way().catch(error => error.code);
      if (result === 'applied' || result === 'added') kept += 1;
      else expect(['over_quota', 'quota_exceeded']).toContain(result);
      stores.clock.advance(DAY + HOUR);
    }
    expect(kept).toBe(MOST_LASTING);
    expect(await room()).toBe(0);
  });

  test('S203: refuses the request for a new connection before the user agrees, and serves other requests', async () => {
    const { room, mcpServerId, invent } = inventor();
    expect(await room()).toBe(MOST_LASTING);
    const issue = (request: CreateElicitation) =>
      stores.elicitations.create(from(mcpServerId, { ...request, quota: FEW }));
    expect(await issue(ask(invent()))).toEqual(overQuota);
    expect(await issue(askFor('lasting', invent()))).toEqual(overQuota);
    expect(await issue(askFor('confirmation', invent()))).toMatchObject({ result: 'created' });
    expect(await issue(askFor('once', invent()))).toMatchObject({ result: 'created' });
  });

  test('S203: a removed connection, credential or passkey makes room for exactly one', async () => {
    const { connect, save, enrol, remove, room, invent, mcpServerId } = inventor();
    const [connected, saved, enrolled] = [invent(), invent(), invent()];
    await connect(connected);
    await save(saved);
    await enrol(enrolled);
    expect(await room()).toBe(MOST_LASTING - 3);
    await remove(connected);
    await remove(connected);
    expect(await room()).toBe(1);
    const credentialId = credentialIdOf({ owner: mcpServerId, subject: saved, name: 'acme-api' });
    await stores.credentials.remove(credentialId);
    await stores.credentials.remove(credentialId);
    expect(await room()).toBe(1);
    // Facts about the passkeys stay.
    await stores.passkeys.reset(enrolled);
    expect(await room()).toBe(0);
  });

  test('S203: a user connects again at a full quota, and counts once', async () => {
    const { connect, save, remove, room, invent } = inventor();
    const [one, other] = [invent(), invent()];
    await connect(one);
    await save(other);
    expect(await room()).toBe(MOST_LASTING - 2);
    for (let day = 0; day < 20; day += 1) {
      stores.clock.advance(2 * DAY);
      expect(await connect(one, 'sealed-tokens'.padEnd(20 + day, 'x'))).toBe('applied');
      expect(await save(other)).toBe('applied');
    }
    await remove(one);
    expect(await room()).toBe(1);
  });

  test('S203: larger tokens in place of others count, up to three quarters of the quota', async () => {
    const { connect, room, invent } = inventor(perShard({ records: 1e9, bytes: 131_072 }));
    const person = invent();
    expect(await connect(person)).toBe('applied');
    expect(await connect(person, 'x'.repeat(70_000))).toBe('applied');
    stores.clock.advance(2 * DAY);
    expect(await connect(person, 'x'.repeat(98_400))).toBe('over_quota');
    expect(await connect()).toBe('over_quota');
    expect(await connect(person)).toBe('applied');
    expect(await room()).toBeGreaterThan(10);
  });

  test('S203: of many users who connect at once, as many succeed as fit', async () => {
    const { begin, connect, invent } = inventor(perShard({ records: 40, bytes: 1e9 }));
    for (let made = 0; made < 17; made += 1) {
      expect(await connect()).toBe('applied');
      stores.clock.advance(2 * DAY);
    }
    const ends = await Promise.all(Array.from({ length: 10 }, () => begin(invent())));
    const results = await Promise.all(ends.map(end => end()));
    expect(results.sort()).toEqual([...Array(3).fill('applied'), ...Array(7).fill('over_quota')]);
  });

  test('S203: connecting again while the connection is removed leaves a charge only with a connection', async () => {
    const { connect, remove, room, invent } = inventor(perShard({ records: 100, bytes: 1e9 }));
    const people = Array.from({ length: 10 }, invent);
    for (const person of people) await connect(person);
    await Promise.all(people.flatMap(person => [connect(person), remove(person), connect(person), remove(person)]));
    for (const person of people) await remove(person);
    stores.clock.advance(2 * DAY);
    expect(await room()).toBe(50);
  });

  test('S203: a removed connection counts until its grant is revoked', async () => {
    const { connect, idOf, invent, shard, mcpServerId } = inventor();
    const person = invent();
    await connect(person);
    stores.clock.advance(2 * DAY);
    const revocationId = newRevocationId(shard, systemEntropy);
    await stores.connections.remove({ connectionId: idOf(person), revocationId });
    const issue = () => stores.elicitations.create(from(mcpServerId, { ...ask(invent()), quota: FEW }));
    for (let n = 1; n < MOST_ASKS; n += 1) expect(await issue()).toMatchObject({ result: 'created' });
    expect(await issue()).toEqual(overQuota);
    const finished = { revocationId, owner: mcpServerId };
    await stores.revocations.finish(finished);
    await stores.revocations.finish(finished);
    expect(await issue()).toMatchObject({ result: 'created' });
    expect(await issue()).toEqual(overQuota);
  });

  test('S73: counts the responses to idempotent requests until they are removed', async () => {
    const owner = tenant();
    const digests = Array.from({ length: MOST_ASKS }, secretDigest);
    for (const digest of digests) expect(await putBy(owner, FEW, digest)).toEqual({ result: 'stored' });
    expect(await putBy(owner)).toEqual(overQuota);
    for (const digest of digests) expect(await putBy(owner, FEW, digest)).toEqual({ result: 'exists' });
    stores.clock.advance(DAY - HOUR);
    expect(await putBy(owner)).toEqual(overQuota);
    stores.clock.advance(2 * HOUR);
    expect(await putBy(owner)).toEqual({ result: 'stored' });
  });
});
