import { digestOf, type NewBrowserSession, SHARDS, type Subject, shardOf } from '@postern/elicitation';
import { expect, test } from 'vitest';
import { crowd, suite } from './contract-stores.ts';
import { AMPLE, browserSessionIdOf, MINUTE, operation, somebody } from './samples.ts';

const LIFETIME = { idleMs: 30 * MINUTE, absoluteMs: 100 * MINUTE };

export const describeBrowserSessionStore = suite('browser sessions', stores => {
  function signIn(subject: Subject = somebody()): NewBrowserSession {
    const origin = { identityProvider: 'example' };
    return { id: browserSessionIdOf(subject), subject, origin, displayName: 'Alice' };
  }

  test('a session is read as it was created', async () => {
    for (const session of [
      signIn(),
      {
        ...signIn(),
        origin: { vouchedBy: 'issue-tracker' },
        detail: 'alice@example.com',
        authTime: 1_700_000_000_000,
        browser: 'Firefox, Windows',
      },
    ]) {
      const created = await start(session);
      const createdAt = stores.clock.now();
      expect(created).toEqual({ ...session, createdAt, endsAt: createdAt + LIFETIME.absoluteMs });
      expect(await stores.browserSessions.read(session.id)).toEqual(created);
    }
  });

  test('expires after the idle time; reading does not extend it', async () => {
    const { id } = await stores.browserSessions.create(signIn(), LIFETIME);
    stores.clock.advance(LIFETIME.idleMs - 1);
    expect(await stores.browserSessions.read(id)).toBeDefined();
    stores.clock.advance(1);
    expect(await stores.browserSessions.read(id)).toBeUndefined();
    await stores.browserSessions.touch(id);
    expect(await stores.browserSessions.read(id)).toBeUndefined();
  });

  test('touching restarts the idle time, up to the absolute expiry', async () => {
    const { id, endsAt } = await stores.browserSessions.create(signIn(), LIFETIME);
    for (let nth = 0; nth < 4; nth += 1) {
      stores.clock.advance(LIFETIME.idleMs - 10 * MINUTE);
      await stores.browserSessions.touch(id);
      expect(await stores.browserSessions.read(id)).toMatchObject({ endsAt });
    }
    // Not the last millisecond: Redis expires keys on the real clock.
    stores.clock.set(endsAt - MINUTE);
    await stores.browserSessions.touch(id);
    expect(await stores.browserSessions.read(id)).toBeDefined();
    stores.clock.set(endsAt);
    expect(await stores.browserSessions.read(id)).toBeUndefined();
  });

  test('an ended session is not found, and ending it again is harmless', async () => {
    const { id } = await stores.browserSessions.create(signIn(), LIFETIME);
    await stores.browserSessions.end(id);
    await stores.browserSessions.end(id);
    expect(await stores.browserSessions.read(id)).toBeUndefined();
  });

  test('sessions of users and of operators are apart', async () => {
    const { id, subject } = await stores.browserSessions.create({ ...signIn(), logoutName: operation() }, LIFETIME);
    const owner = { subject, origin: { identityProvider: 'example' } };
    expect(await stores.operatorSessions.read(id)).toBeUndefined();
    expect(await stores.operatorSessions.list(owner)).toEqual([]);
    const target = { subject, identityProvider: 'example' };
    const report = { token: operation(), rememberMs: MINUTE, absoluteMs: LIFETIME.absoluteMs };
    expect(await stores.operatorSessions.logOut(target, report)).toBe(true);
    await stores.operatorSessions.endAll(owner, LIFETIME.absoluteMs);
    expect(await stores.browserSessions.read(id)).toBeDefined();
    expect(await stores.browserSessions.logOut(target, report)).toBe(true);
    expect(await stores.browserSessions.read(id)).toBeUndefined();
  });

  const vouchedBy = (mcpServerId: string, subject: Subject) => ({
    ...signIn(subject),
    origin: { vouchedBy: mcpServerId },
  });
  const start = (session: NewBrowserSession, quota = AMPLE) =>
    stores.browserSessions.create(session, LIFETIME, 'vouchedBy' in session.origin ? quota : undefined);
  const namesFor = async (owner: NewBrowserSession) =>
    (await stores.browserSessions.list(owner)).map(({ name }) => name);

  test('lists the sessions of one user, newest first, without their ids', async () => {
    const subject = somebody();
    const first = await start({ ...signIn(subject), browser: 'Safari, iOS' });
    stores.clock.advance(1);
    const second = await start(signIn(subject));
    await start(signIn());
    const { id: _, ...listed } = first;
    const list = await stores.browserSessions.list(second);
    expect(list.map(({ name }) => name)).toEqual([digestOf(second.id), digestOf(first.id)]);
    expect(list[1]).toEqual({ ...listed, name: digestOf(first.id) });
    expect(JSON.stringify(list)).not.toContain(first.id);
    await stores.browserSessions.end(first.id);
    expect(await namesFor(second)).toEqual([digestOf(second.id)]);
    stores.clock.advance(LIFETIME.idleMs);
    expect(await namesFor(second)).toEqual([]);
  });

  test('S207: a user has at most twenty sessions: of more, the oldest end, and an ended one counts no more', async () => {
    const subject = somebody();
    const made = [];
    for (let nth = 0; nth < 23; nth += 1) {
      made.push(await start(signIn(subject)));
      stores.clock.advance(1);
    }
    const [owner = signIn(subject)] = made;
    const alive = made.slice(3).reverse();
    expect(await namesFor(owner)).toEqual(alive.map(({ id }) => digestOf(id)));
    for (const { id } of made.slice(0, 3)) expect(await stores.browserSessions.read(id)).toBeUndefined();
    const [newest] = alive;
    if (newest !== undefined) await stores.browserSessions.end(newest.id);
    await start(signIn(subject));
    for (const { id } of alive.slice(1)) expect(await stores.browserSessions.read(id)).toBeDefined();
  });

  test('S207: many sessions that begin at once leave twenty', async () => {
    const subject = somebody();
    const made = await crowd(() => start(signIn(subject)));
    const alive = await Promise.all(made.map(({ id }) => stores.browserSessions.read(id)));
    expect(alive.filter(session => session !== undefined)).toHaveLength(20);
  });

  test('S207: an MCP server pays for the sessions that its application vouched for, of whatever users', async () => {
    const mcpServerId = `tenant-${operation()}`;
    const few = { records: 8 * SHARDS.length, bytes: 1e9 };
    const person = somebody();
    function inventedInOneShard(): NewBrowserSession {
      for (;;) {
        const invented = somebody();
        if (shardOf(invented) === shardOf(person)) return vouchedBy(mcpServerId, invented);
      }
    }
    for (let nth = 0; nth < 8; nth += 1) await start(inventedInOneShard(), few);
    const refused = inventedInOneShard();
    await expect(start(refused, few)).rejects.toMatchObject({ code: 'quota_exceeded', mcpServerId });
    expect(await stores.browserSessions.read(refused.id)).toBeUndefined();
    expect(await namesFor(refused)).toEqual([]);
    await start(vouchedBy(`${mcpServerId}-2`, person), few);
    await start(signIn(person));
    stores.clock.advance(LIFETIME.absoluteMs + 60 * MINUTE);
    await start(refused, few);
  });

  test('S207: a session that ends for a newer one is paid for no more', async () => {
    const mcpServerId = `tenant-${operation()}`;
    const subject = somebody();
    const few = { records: 24 * SHARDS.length, bytes: 1e9 };
    const sessions = Array.from({ length: 50 }, () => vouchedBy(mcpServerId, subject));
    for (const session of sessions) await expect(start(session, few)).resolves.toMatchObject({ id: session.id });
  });

  test('S207: a session that its user ends is paid for no more', async () => {
    const [mcpServerId, subject] = [`tenant-${operation()}`, somebody()];
    const few = { records: SHARDS.length, bytes: 1e9 };
    for (let nth = 0; nth < 5; nth += 1) {
      const session = vouchedBy(mcpServerId, subject);
      await expect(start(session, few)).resolves.toMatchObject({ id: session.id });
      await stores.browserSessions.end(session.id);
      await stores.browserSessions.end(session.id);
    }
    await start(vouchedBy(mcpServerId, subject), few);
    await expect(start(vouchedBy(mcpServerId, subject), few)).rejects.toMatchObject({ code: 'quota_exceeded' });
  });

  test('S112: an application cannot end other sessions by creating its own', async () => {
    const subject = somebody();
    const own = await start(signIn(subject));
    const desk = await start(vouchedBy('desk', subject));
    for (let nth = 0; nth < 25; nth += 1) {
      stores.clock.advance(1);
      await start(vouchedBy('embedded', subject));
    }
    expect(await namesFor(own)).toEqual(expect.arrayContaining([own, desk].map(({ id }) => digestOf(id))));
    expect(await namesFor(own)).toHaveLength(22);
    for (const { id } of [own, desk]) expect(await stores.browserSessions.read(id)).toBeDefined();
    expect(await namesFor(desk)).toEqual([digestOf(desk.id)]);
  });

  test('S101: ends all sessions of a user in one step, and none that follows', async () => {
    const subject = somebody();
    const made = await crowd(() => start(signIn(subject)));
    const app = await start(vouchedBy('embedded', subject));
    const other = await start(signIn());
    const [owner = app] = made;
    await stores.browserSessions.endAll(owner, LIFETIME.absoluteMs);
    for (const { id } of [...made, app]) expect(await stores.browserSessions.read(id)).toBeUndefined();
    expect(await namesFor(owner)).toEqual([]);
    expect(await stores.browserSessions.read(other.id)).toBeDefined();
    stores.clock.advance(1);
    const next = await start(signIn(subject));
    expect(await stores.browserSessions.read(next.id)).toEqual(next);
    expect(await namesFor(owner)).toEqual([digestOf(next.id)]);
  });

  test('S101: an application sees and ends only the sessions that it vouched for', async () => {
    const subject = somebody();
    const own = await start(signIn(subject));
    const embedded = await start(vouchedBy('embedded', subject));
    const desk = await start(vouchedBy('desk', subject));
    expect(await namesFor(embedded)).toEqual([digestOf(embedded.id)]);
    expect(await namesFor(own)).toHaveLength(3);
    await stores.browserSessions.endAll(embedded, LIFETIME.absoluteMs);
    expect(await stores.browserSessions.read(embedded.id)).toBeUndefined();
    expect((await namesFor(own)).sort()).toEqual([own, desk].map(({ id }) => digestOf(id)).sort());
  });

  const report = { rememberMs: 5 * MINUTE, absoluteMs: LIFETIME.absoluteMs };
  test('S133: a logout ends the sessions of one session at the identity provider, and a repeat nothing', async () => {
    const subject = somebody();
    const logoutName = digestOf(`sid of ${subject.subject}`);
    const [first, second] = [await start({ ...signIn(subject), logoutName }), await start({ ...signIn(), logoutName })];
    const others = [await start(signIn(subject)), await start({ ...signIn(subject), logoutName: digestOf('other') })];
    const token = digestOf(`token of ${subject.subject}`);
    expect(await stores.browserSessions.logOut({ logoutName }, { ...report, token })).toBe(true);
    for (const { id } of [first, second]) expect(await stores.browserSessions.read(id)).toBeUndefined();
    for (const { id } of others) expect(await stores.browserSessions.read(id)).toBeDefined();
    stores.clock.advance(1);
    const next = await start({ ...signIn(subject), logoutName });
    expect(await stores.browserSessions.logOut({ logoutName }, { ...report, token })).toBe(false);
    expect(await stores.browserSessions.read(next.id)).toEqual(next);
  });

  test('S133: a logout of a user ends what this identity provider signed in, and nothing else', async () => {
    const subject = somebody();
    const meant = [await start(signIn(subject)), await start(signIn(subject))];
    const others = [
      await start({ ...signIn(subject), origin: { identityProvider: 'other' } }),
      await start(vouchedBy('embedded', subject)),
      await start(signIn()),
    ];
    const target = { subject, identityProvider: 'example' };
    const token = digestOf(`report of ${subject.subject}`);
    expect(await stores.browserSessions.logOut(target, { ...report, token })).toBe(true);
    for (const { id } of meant) expect(await stores.browserSessions.read(id)).toBeUndefined();
    for (const { id } of others) expect(await stores.browserSessions.read(id)).toBeDefined();
    expect(await stores.browserSessions.logOut(target, { ...report, token })).toBe(false);
  });

  test('returns undefined for an unknown id', async () => {
    expect(await stores.browserSessions.read(browserSessionIdOf(somebody()))).toBeUndefined();
  });
});
