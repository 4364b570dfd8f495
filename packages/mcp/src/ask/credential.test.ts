import { generateKeyPairSync } from 'node:crypto';
import type { JWK } from 'jose';
import { describe, expect, test } from 'vitest';
import type { PosternOptions } from '../index.ts';
import { TYPED_SECRET } from '../testing/contract-results.ts';
import { callOutcome as call, modernWorld, textOf } from '../testing/modern-world.ts';

type World = Awaited<ReturnType<typeof modernWorld>>;

const lastAsk = (world: World) => world.gateway.requests.findLast(({ path }) => path === '/v1/elicitations')?.body;

describe('a lasting credential', () => {
  test('a lasting credential is asked for once, and read from then on', async () => {
    await using world = await modernWorld({ holdMs: 0 });
    const first = await call(world, 'lasting');
    world.gateway.end('completed');
    expect(textOf(await call(world, 'lasting', first))).toBe(`accept ${TYPED_SECRET}-key`);
    expect(textOf(await call(world, 'lasting'))).toBe(`accept ${TYPED_SECRET}-key`);
    expect(world.gateway.results.redemptions).toEqual([]);
    expect(world.gateway.credentials.tools).toEqual(['outcome', 'outcome']);
  });

  test('a rejected credential is asked for again, by its generation; the next run finds the new one', async () => {
    await using world = await modernWorld({ holdMs: 0 });
    const first = await call(world, 'lasting_rejected');
    world.gateway.end('completed');
    const second = await call(world, 'lasting_rejected', first);
    expect(second.result.inputRequests?.['gate']?.params.url).toBe(world.gateway.elicitations.at(-1)?.url);
    expect(lastAsk(world)).toMatchObject({ credential: { rejectedGeneration: 1 } });
    const waiting = await call(world, 'lasting_rejected', second);
    expect(waiting.result.inputRequests).toBeUndefined();
    world.gateway.end('completed', undefined, { key: 'good' });
    expect(textOf(await call(world, 'lasting_rejected', waiting))).toBe('accept good');
    expect(textOf(await call(world, 'lasting_rejected'))).toBe('accept good');
  });

  test('a declined replacement is reported as declined', async () => {
    await using world = await modernWorld({ holdMs: 0 });
    const first = await call(world, 'lasting_rejected');
    world.gateway.end('completed');
    const second = await call(world, 'lasting_rejected', first);
    world.gateway.end('declined');
    expect(textOf(await call(world, 'lasting_rejected', second))).toBe('declined');
  });

  test('a credential replaced meanwhile is read without asking the user', async () => {
    await using world = await modernWorld({ holdMs: 0 });
    const first = await call(world, 'lasting');
    world.gateway.end('completed');
    await call(world, 'lasting', first);
    const waiting = await call(world, 'lasting_rejected');
    world.gateway.end('completed', undefined, { key: 'good' });
    // The other handler still holds the first values; the gateway has newer ones.
    expect(waiting.result.resultType).toBe('input_required');
    expect(textOf(await call(world, 'lasting_rejected', waiting))).toBe('accept good');
  });

  test('a deleted credential is asked for again', async () => {
    await using world = await modernWorld({ holdMs: 0 });
    const first = await call(world, 'lasting');
    world.gateway.end('completed');
    world.gateway.credentials.remove();
    const second = await call(world, 'lasting', first);
    expect(second.result.inputRequests?.['gate']?.params.url).toBe(world.gateway.elicitations.at(-1)?.url);
    expect(world.gateway.elicitations).toHaveLength(2);
  });

  test('the handler can remove the credential, and a second removal succeeds', async () => {
    await using world = await modernWorld({ holdMs: 0 });
    const first = await call(world, 'lasting');
    world.gateway.end('completed');
    expect(textOf(await call(world, 'lasting_removed', undefined))).toBe('error: not_found');
    expect(textOf(await call(world, 'lasting', first))).toBeUndefined();
  });

  test('finds a credential entered on another replica despite an earlier refusal', async () => {
    await using world = await modernWorld();
    const plain = { name: 'outcome', args: { title: 'lasting' }, elicitation: null };
    await world.call(plain);
    world.gateway.end('declined');
    await fetch(`${world.gateway.url}/v1/elicitations`, {
      method: 'POST',
      headers: { authorization: world.gateway.requests[0]?.authorization ?? '' },
      body: JSON.stringify(world.gateway.requests[0]?.body),
    });
    world.gateway.end('completed');
    expect(textOf(await world.call(plain))).toBe(`accept ${TYPED_SECRET}-key`);
  });
});

describe('sealed delivery', () => {
  const keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const decryptionKey: JWK = keys.privateKey.export({ format: 'jwk' });

  async function sealedWorld(options: Partial<PosternOptions<object>> = { decryptionKey }) {
    const world = await modernWorld({ holdMs: 0, ...options });
    world.gateway.connections.encryptionKey = keys.publicKey.export({ format: 'jwk' });
    return world;
  }

  test.each([
    ['credential', 'accept true'],
    ['lasting', `accept ${TYPED_SECRET}-key`],
    ['secret_form', 'accept by page'],
  ])('delivers typed values sealed: %s', async (title, said) => {
    await using world = await sealedWorld();
    const first = await call(world, title);
    world.gateway.end('completed');
    expect(textOf(await call(world, title, first))).toBe(said);
    const taken = world.gateway.requests.findLast(({ path }) => /redeem|values/.test(path));
    expect(taken?.body).toMatchObject({ sealed: true });
  });

  test('refuses sealed values of an older generation', async () => {
    await using world = await sealedWorld();
    const first = await call(world, 'lasting');
    world.gateway.end('completed');
    world.gateway.credentials.tamper = answer => ({ ...answer, generation: answer.generation + 1 });
    expect(textOf(await call(world, 'lasting', first))).toBe('error: invalid_response');
  });

  test('requests no sealing for results without typed values', async () => {
    await using world = await sealedWorld();
    const first = await call(world, 'pay');
    world.gateway.end('completed');
    expect(textOf(await call(world, 'pay', first))).toContain('receipt-of-el-1');
    expect(world.gateway.requests.at(-1)?.body).toEqual({});
  });

  test('refuses unsealed input and input sealed for another elicitation', async () => {
    await using world = await sealedWorld();
    const first = await call(world, 'credential');
    world.gateway.end('completed');
    const { results } = world.gateway;
    let sealed = '';
    results.tamper = answer => {
      if ('sealedResult' in answer) sealed = answer.sealedResult;
      const { elicitationId, redeemedAt } = answer;
      return { elicitationId, redeemedAt, kind: 'credential', values: { key: 'k' } };
    };
    expect(textOf(await call(world, 'credential', first))).toBe('error: invalid_response');
    const other = await call(world, 'credential');
    world.gateway.end('completed', 'el-2');
    results.tamper = ({ elicitationId, redeemedAt }) => ({
      elicitationId,
      redeemedAt,
      kind: 'credential',
      sealedResult: sealed,
    });
    expect(textOf(await call(world, 'credential', other))).toBe('error: invalid_response');
  });

  test('refuses the result of another kind, elicitation or field', async () => {
    await using world = await modernWorld({ holdMs: 0 });
    const first = await call(world, 'credential');
    world.gateway.end('completed');
    const { results } = world.gateway;
    for (const wrong of [{ kind: 'form', content: {} }, { elicitationId: 'el-9' }, { values: { other: 'x' } }]) {
      results.tamper = answer => ({ ...answer, ...wrong }) as typeof answer;
      expect(textOf(await call(world, 'credential', first))).toBe('error: invalid_response');
    }
  });
});
