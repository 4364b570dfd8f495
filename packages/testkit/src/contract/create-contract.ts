import { type Connection, eventOf, type Subject } from '@postern/elicitation';
import { expect, test } from 'vitest';
import { crowd, eventsOf, suite } from './contract-stores.ts';
import {
  ask,
  cancel,
  complete,
  connectionIdFor,
  created,
  engage,
  from,
  MINUTE,
  moved,
  operation,
  secretDigest,
  somebody,
  TTL_MS,
} from './samples.ts';

/** ElicitationStore.create: repeated requests share one open elicitation. */
export const describeCreate = suite('create', stores => {
  /** Returns the connection that answers the request of a user. */
  async function connected(person: Subject): Promise<Connection> {
    const connection = await stores.connections.read(connectionIdFor(person));
    if (connection === undefined) throw new Error('nothing is connected');
    return connection;
  }

  test('creates a pending elicitation in version 1 on the clock of the store', async () => {
    const request = ask(somebody());
    const elicitation = await created(stores.elicitations, request);
    expect(elicitation).toEqual({
      ...request.elicitation,
      version: 1,
      status: 'pending',
      createdAt: stores.clock.now(),
      expiresAt: stores.clock.now() + TTL_MS,
    });
    expect(await stores.elicitations.read(elicitation.elicitationId)).toEqual(elicitation);
  });

  test('keeps all optional members', async () => {
    const plain = ask(somebody());
    const request = {
      ...plain,
      elicitation: {
        ...plain.elicitation,
        request: {
          kind: 'authorization' as const,
          provider: 'github',
          scopes: ['repo'],
          resource: 'https://api.example.com',
          expectedAccount: '583231',
        },
        message: 'Grüße 👩‍👩‍👧 "quoted" \\ {brace}',
        requestedBy: { mcpClient: 'Example', tool: 'create_issue' },
        returnUrl: 'https://tracker.example.com/done',
        traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
      },
    };
    const elicitation = await created(stores.elicitations, request);
    expect(elicitation).toMatchObject(request.elicitation);
    expect(await stores.elicitations.read(elicitation.elicitationId)).toEqual(elicitation);
  });

  test('a repeat under the same operation returns the first elicitation, and announces nothing', async () => {
    const request = ask(somebody());
    const first = await created(stores.elicitations, request);
    expect(await stores.elicitations.create(request)).toEqual({ result: 'created', elicitation: first });
    const engaged = await moved(stores.elicitations, first, engage);
    expect(await stores.elicitations.create(request)).toEqual({ result: 'created', elicitation: engaged });
    const ids = (await eventsOf(stores, first)).map(event => event.eventId);
    expect(ids).toEqual([eventOf(first).eventId, eventOf(engaged).eventId]);
  });

  test('refuses the id of another operation', async () => {
    const request = ask(somebody());
    await created(stores.elicitations, request);
    const other = { ...request, operationId: operation(), coalescingDigest: secretDigest() };
    await expect(stores.elicitations.create(other)).rejects.toMatchObject({ code: 'contention' });
  });

  test('returns the open elicitation for a repeated request', async () => {
    const person = somebody();
    const first = await created(stores.elicitations, ask(person));
    expect(await stores.elicitations.create(ask(person))).toEqual({
      result: 'open',
      elicitationId: first.elicitationId,
    });
    await moved(stores.elicitations, first, engage);
    expect(await stores.elicitations.create(ask(person))).toMatchObject({ result: 'open' });
  });

  test('creates another elicitation for another request to the same user', async () => {
    const person = somebody();
    await created(stores.elicitations, ask(person));
    const other = await stores.elicitations.create(ask(person, { coalescingDigest: secretDigest() }));
    expect(other.result).toBe('created');
  });

  test('replaces an open elicitation that the caller rejects; its end does not free the request', async () => {
    const person = somebody();
    const first = await created(stores.elicitations, ask(person));
    const second = await created(stores.elicitations, ask(person, { seen: { openId: first.elicitationId } }));
    const third = ask(person, { seen: { openId: first.elicitationId } });
    expect(await stores.elicitations.create(third)).toEqual({ result: 'open', elicitationId: second.elicitationId });
    await moved(stores.elicitations, first, cancel);
    expect(await stores.elicitations.create(third)).toEqual({ result: 'open', elicitationId: second.elicitationId });
  });

  test('does not return an elicitation that has ended', async () => {
    const person = somebody();
    const first = await created(stores.elicitations, ask(person));
    await moved(stores.elicitations, first, cancel);
    expect(await stores.elicitations.create(ask(person))).toMatchObject({ result: 'created' });
  });

  test('does not return an expired elicitation, even before the sweep ends it', async () => {
    const person = somebody();
    await created(stores.elicitations, ask(person));
    stores.clock.advance(TTL_MS - 1);
    expect(await stores.elicitations.create(ask(person))).toMatchObject({ result: 'open' });
    stores.clock.advance(1);
    expect(await stores.elicitations.create(ask(person))).toMatchObject({ result: 'created' });
  });

  test('reports an existing connection that no record has reported yet, instead of creating a record', async () => {
    const person = somebody();
    const first = await moved(stores.elicitations, await created(stores.elicitations, ask(person)), engage);
    await moved(stores.elicitations, first, complete(first));
    const result = await stores.elicitations.create(ask(person));
    expect(result).toEqual({ result: 'existing_connection', connection: await connected(person) });
  });

  test('reports an unreported connection rather than an open elicitation', async () => {
    const person = somebody();
    const first = await moved(stores.elicitations, await created(stores.elicitations, ask(person)), engage);
    await moved(stores.elicitations, first, complete(first));
    const seen = { answer: await connected(person) };
    const open = await created(stores.elicitations, ask(person, { seen }));
    expect(await stores.elicitations.create(ask(person))).toMatchObject({ result: 'existing_connection' });
    expect(await stores.elicitations.create(ask(person, { seen }))).toEqual({
      result: 'open',
      elicitationId: open.elicitationId,
    });
  });

  test('ignores a connection that the caller has seen, until it changes', async () => {
    const person = somebody();
    const first = await moved(stores.elicitations, await created(stores.elicitations, ask(person)), engage);
    await moved(stores.elicitations, first, complete(first));
    const seen = { answer: await connected(person) };
    const second = await moved(stores.elicitations, await created(stores.elicitations, ask(person, { seen })), engage);
    await moved(stores.elicitations, second, complete(second));
    expect(await stores.elicitations.create(ask(person, { seen }))).toMatchObject({
      result: 'existing_connection',
      connection: { generation: 2 },
    });
  });

  test('returns a connection that replaced the one that the caller has seen', async () => {
    const person = somebody();
    const make = async (change = {}) => {
      const active = await moved(stores.elicitations, await created(stores.elicitations, ask(person, change)), engage);
      await moved(stores.elicitations, active, complete(active));
    };
    await make();
    const seen = { answer: await connected(person) };
    await stores.connections.remove({ connectionId: connectionIdFor(person) });
    stores.clock.advance(1_000);
    await make();
    expect(await stores.elicitations.create(ask(person, { seen }))).toMatchObject({
      result: 'existing_connection',
      connection: { generation: 1 },
    });
  });

  test('limits a subject per MCP server and window, and a refusal writes nothing', async () => {
    const person = somebody();
    const limited = () => ask(person, { coalescingDigest: secretDigest(), subjectLimit: { max: 2, windowMs: MINUTE } });
    await created(stores.elicitations, limited());
    stores.clock.advance(MINUTE / 4);
    await created(stores.elicitations, limited());

    const refused = limited();
    const refusal = { result: 'limited', retryAfterMs: (MINUTE * 3) / 4 };
    expect(await stores.elicitations.create(refused)).toEqual(refusal);
    expect(await stores.elicitations.read(refused.elicitation.elicitationId)).toBeUndefined();
    expect(await eventsOf(stores, refused.elicitation)).toEqual([]);

    expect(await stores.elicitations.create(from('calendar', limited()))).toMatchObject({ result: 'created' });
    stores.clock.advance((MINUTE * 3) / 4 - 1);
    expect(await stores.elicitations.create(refused)).toEqual({ result: 'limited', retryAfterMs: 1 });
    stores.clock.advance(1);
    expect(await stores.elicitations.create(refused)).toMatchObject({ result: 'created' });
  });

  test('creates exactly one elicitation for many concurrent identical requests', async () => {
    const person = somebody();
    const results = await crowd(() => stores.elicitations.create(ask(person)));
    const winners = results.filter(result => result.result === 'created');
    expect(winners).toHaveLength(1);
    const openIds = results.filter(result => result.result === 'open').map(result => result.elicitationId);
    expect(openIds).toHaveLength(results.length - 1);
    expect(new Set(openIds)).toEqual(new Set(winners.map(({ elicitation }) => elicitation.elicitationId)));
  });

  test('creates once for many concurrent repeats of one operation', async () => {
    const request = ask(somebody());
    const results = await crowd(() => stores.elicitations.create(request));
    expect(new Set(results.map(result => result.result))).toEqual(new Set(['created']));
    expect(await eventsOf(stores, request.elicitation)).toHaveLength(1);
  });

  test('returns undefined for an unknown id', async () => {
    expect(await stores.elicitations.read(ask(somebody()).elicitation.elicitationId)).toBeUndefined();
  });
});
