import { IDEMPOTENCY_RETENTION_MS, type IdempotencyKey, type Subject, shardOf } from '@postern/elicitation';
import { expect, test } from 'vitest';
import { CROWD, crowd, eventsOf, suite } from './contract-stores.ts';
import { AMPLE, ask, cancel, created, moved, secretDigest, somebody } from './samples.ts';

const newKey = (): IdempotencyKey => ({ digest: secretDigest(), fingerprint: 'body-1' });

/** The Idempotency-Key contract (draft-ietf-httpapi-idempotency-key-header-07 section 2). */
export const describeIdempotencyStore = suite('idempotency', stores => {
  const askWith = (subject: Subject, idempotencyKey: IdempotencyKey) =>
    ask(subject, { idempotencyKey, coalescingDigest: secretDigest() });
  const put = (subject: Subject, key: IdempotencyKey, response: string) =>
    stores.idempotency.put({ ...key, shard: shardOf(subject), mcpServerId: 'issue-tracker', response, quota: AMPLE });

  test('a repeat returns the elicitation as the first request created it, and announces nothing', async () => {
    const [person, key] = [somebody(), newKey()];
    const first = await created(stores.elicitations, askWith(person, key));
    const repeated = { result: 'repeated', elicitation: first };
    expect(await stores.elicitations.create(askWith(person, key))).toEqual(repeated);
    await moved(stores.elicitations, first, cancel);
    expect(await stores.elicitations.create(askWith(person, key))).toEqual(repeated);
    expect(await eventsOf(stores, first)).toHaveLength(2);
  });

  test('the same operation returns the elicitation that it created', async () => {
    const request = askWith(somebody(), newKey());
    const elicitation = await created(stores.elicitations, request);
    expect(await stores.elicitations.create(request)).toEqual({ result: 'created', elicitation });
  });

  test('a repeat takes precedence over the open elicitation of the same request, and over the limit', async () => {
    const [person, key] = [somebody(), newKey()];
    const request = ask(person, { idempotencyKey: key, subjectLimit: { max: 1, windowMs: 60_000 } });
    const elicitation = await created(stores.elicitations, request);
    const again = { ...ask(person), idempotencyKey: key, subjectLimit: request.subjectLimit };
    expect(await stores.elicitations.create(again)).toEqual({ result: 'repeated', elicitation });
  });

  test('refuses another body under the same key, and writes nothing', async () => {
    const [person, key] = [somebody(), newKey()];
    const { elicitationId } = await created(stores.elicitations, askWith(person, key));
    const other = askWith(person, { ...key, fingerprint: 'body-2' });
    expect(await stores.elicitations.create(other)).toEqual({ result: 'key_reused' });
    expect(await stores.elicitations.read(other.elicitation.elicitationId)).toBeUndefined();
    expect(await put(person, { ...key, fingerprint: 'body-2' }, 'forged')).toEqual({ result: 'exists' });
    expect(await stores.elicitations.create(askWith(person, key))).toMatchObject({ elicitation: { elicitationId } });
  });

  test('a request that created nothing leaves its key free', async () => {
    const [person, key] = [somebody(), newKey()];
    const { elicitationId } = await created(stores.elicitations, ask(person));
    const open = { result: 'open', elicitationId };
    expect(await stores.elicitations.create(ask(person, { idempotencyKey: key }))).toEqual(open);
    const limited = { ...askWith(person, key), subjectLimit: { max: 1, windowMs: 60_000 } };
    expect(await stores.elicitations.create(limited)).toMatchObject({ result: 'limited' });
    const other = askWith(person, { ...key, fingerprint: 'body-2' });
    expect(await stores.elicitations.create(other)).toMatchObject({ result: 'created' });
  });

  test('a stored response is replayed, and the first one stays', async () => {
    const [person, key] = [somebody(), newKey()];
    const response = JSON.stringify({ status: 200, body: { message: 'Grüße "quoted" \n' } });
    expect(await put(person, key, response)).toEqual({ result: 'stored' });
    expect(await put(person, key, 'second')).toEqual({ result: 'exists' });
    expect(await stores.elicitations.create(askWith(person, key))).toEqual({ result: 'replayed', response });
    const other = askWith(person, { ...key, fingerprint: 'body-2' });
    expect(await stores.elicitations.create(other)).toEqual({ result: 'key_reused' });
  });

  test('a response never replaces the elicitation that a request under the key created', async () => {
    const [person, key] = [somebody(), newKey()];
    const elicitation = await created(stores.elicitations, askWith(person, key));
    expect(await put(person, key, 'response')).toEqual({ result: 'exists' });
    expect(await stores.elicitations.create(askWith(person, key))).toEqual({ result: 'repeated', elicitation });
  });

  test('stores a response for a day', async () => {
    const [person, creating, answering] = [somebody(), newKey(), newKey()];
    await created(stores.elicitations, askWith(person, creating));
    await put(person, answering, 'response');
    stores.clock.advance(IDEMPOTENCY_RETENTION_MS - 1);
    expect(await stores.elicitations.create(askWith(person, creating))).toMatchObject({ result: 'repeated' });
    expect(await stores.elicitations.create(askWith(person, answering))).toMatchObject({ result: 'replayed' });
    stores.clock.advance(1);
    for (const key of [creating, answering])
      expect(await stores.elicitations.create(askWith(person, key))).toMatchObject({ result: 'created' });
  });

  test('one of many concurrent requests creates, and the others get its elicitation', async () => {
    const [person, key] = [somebody(), newKey()];
    const results = await crowd(() => stores.elicitations.create(askWith(person, key)));
    const [first, ...others] = results.filter(({ result }) => result === 'created');
    expect(others).toEqual([]);
    const repeated = results.filter(({ result }) => result === 'repeated');
    expect(repeated).toEqual(Array.from({ length: CROWD - 1 }, () => ({ ...first, result: 'repeated' })));
  });

  test('stores exactly one of many concurrent responses', async () => {
    const [person, key] = [somebody(), newKey()];
    const results = await crowd(nth => put(person, key, `response ${nth}`));
    expect(results.filter(({ result }) => result === 'stored')).toHaveLength(1);
  });
});
