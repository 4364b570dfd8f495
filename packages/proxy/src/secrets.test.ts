import { setImmediate } from 'node:timers/promises';
import type { TestGateway } from '@postern/mcp/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as account from './testing/account-world.ts';
import {
  ACCOUNT,
  argumentsIn,
  asked,
  CREATE,
  CREDENTIAL,
  disconnectAll,
  fromProxy,
  initialize,
  KEY,
  listFor,
  MASK,
  next,
  type RuleConfig,
} from './testing/account-world.ts';
import { startGateway, type WireWorld } from './testing/wire-world.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startGateway(['github']);
});
afterAll(() => gateway[Symbol.asyncDispose]());

const title = 'A title';
const startAsking = (rule: RuleConfig) => account.startAsking(gateway, rule);
const create = (id: number, args: object = { title }) => account.create(id, args);

/** A call with id 1 that has reached the upstream. Connects the account if it is not. Returns the token. */
async function sent(world: WireWorld): Promise<string> {
  await initialize(world);
  world.client.send(create(1));
  await listFor(world);
  let message = await next(world);
  if (message.at === 'client') {
    world.client.send({ jsonrpc: '2.0', id: message.id, result: { action: 'accept' } });
    await gateway.person.accept(message.params.url);
    message = await next(world);
  }
  expect(message).toMatchObject({ at: 'upstream', id: 1, method: 'tools/call' });
  return argumentsIn(message)['token'] ?? '';
}

describe('S272: the token', () => {
  test.each([
    ['in a result', (token: string) => ({ id: 1, result: { content: [{ type: 'text', text: `used ${token}` }] } })],
    [
      'in structured content',
      (token: string) => ({ id: 1, result: { content: [], structuredContent: { a: [token] } } }),
    ],
    ['in an error', (token: string) => ({ id: 1, error: { code: -32000, message: token, data: { token } } })],
    ['in base64', (token: string) => ({ id: 1, result: { text: btoa(`user:${token}`) } })],
    [
      'split over content parts',
      (token: string) => ({
        id: 1,
        result: { content: [token.slice(0, 20), token.slice(20)].map(text => ({ type: 'text', text })) },
      }),
    ],
    ['in progress', (token: string) => ({ method: 'notifications/progress', params: { message: token } })],
    [
      'in a question of the upstream',
      (token: string) => ({ id: 9, method: 'elicitation/create', params: { message: token } }),
    ],
  ])('does not reach the MCP client %s', async (_what, echoOf) => {
    await using world = await startAsking(ACCOUNT);
    const token = await sent(world);
    world.upstream.send({ jsonrpc: '2.0', ...echoOf(token) });
    const line = JSON.stringify(await fromProxy(world));
    expect(line).toContain(MASK);
    expect(line).not.toContain(token.slice(0, 16));
    expect(line).not.toContain(token.slice(20));
    expect(world.log.join()).toContain('hidden');
    expect(world.log.join()).not.toContain(token.slice(7));
  });

  test('does not reach the MCP client after the answer, nor any log', async () => {
    await using world = await startAsking(ACCOUNT);
    const token = await sent(world);
    world.upstream.send({ jsonrpc: '2.0', id: 1, result: { content: [] } });
    await fromProxy(world);
    world.upstream.send(`using ${token}`);
    world.upstream.send({ jsonrpc: '2.0', method: 'notifications/message', params: { data: token } });
    expect(await fromProxy(world)).toMatchObject({ params: { data: MASK } });
    world.errors.send(`using ${token}`);
    expect(await world.errors.line()).toBe(`using ${MASK}`);
    expect(world.log.join()).toContain('not a message');
    expect(world.log.join()).not.toContain(token);
  });

  test.each([
    ['as it is named', { token: 'mine' }],
    ['in capitals', { TOKEN: 'mine' }],
    ['with a character that looks alike', { ｔoken: 'mine' }],
    ['with white space', { 'token ': 'mine' }],
  ])('is not for the model to fill in: an argument %s is refused', async (_what, args) => {
    await using world = await startAsking(ACCOUNT);
    await initialize(world);
    world.client.send(create(1, { title, ...args }));
    await listFor(world);
    expect(await next(world)).toMatchObject({ at: 'client', id: 1, error: { code: -32602 } });
  });

  test('is not sent to a tool that does not list the argument', async () => {
    await using world = await startAsking(ACCOUNT);
    await initialize(world);
    world.client.send(create(1));
    await listFor(world, { ...CREATE, inputSchema: { type: 'object', properties: { tokens: {} } } });
    const { at, result } = await next(world);
    expect(at).toBe('client');
    expect(result.isError).toBe(true);
    expect(result.content[0]?.text).toContain('no argument "token"');
  });
});

describe('S273: a call with a secret is repeated', () => {
  const REPEATED: RuleConfig = {
    accounts: { github: { as: { argument: 'token' }, rejected: '*bad CREDENTIALS*' } },
    idempotent: true,
  };
  const failed = (id: number, text: string, isError = true) => ({
    jsonrpc: '2.0',
    id,
    result: { content: [{ type: 'text', text }], isError },
  });

  test('once, with another token, after a tool error that the rule names', async () => {
    await using world = await startAsking(REPEATED);
    const first = await sent(world);
    world.upstream.send(failed(1, 'Error: Bad credentials (1)'));
    const call = await world.upstream.next();
    expect(argumentsIn(call)['token']).toMatch(/^github-/);
    expect(argumentsIn(call)['token']).not.toBe(first);
    world.upstream.send(failed(1, `Error: Bad credentials ${first}`));
    const answer = await fromProxy(world);
    expect(answer).toEqual(failed(1, `Error: Bad credentials ${MASK}`));
  });

  test.each([
    ['another error', REPEATED, failed(1, 'Not found')],
    ['a result with its text', REPEATED, failed(1, 'Bad credentials', false)],
    ['an error without a rule for it', ACCOUNT, failed(1, 'Bad credentials')],
  ])('not after %s', async (_what, rule, answer) => {
    await using world = await startAsking(rule);
    await sent(world);
    world.upstream.send(answer);
    expect(await next(world)).toEqual({ at: 'client', ...answer });
  });

  test('not if the MCP client gives it up meanwhile', async () => {
    await using world = await startAsking(REPEATED);
    await sent(world);
    await disconnectAll(gateway);
    world.upstream.send(failed(1, 'Bad credentials'));
    // The proxy has read it, and asks the gateway.
    await setImmediate();
    world.client.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } });
    world.client.send({ jsonrpc: '2.0', method: 'next' });
    expect(await world.upstream.next()).toMatchObject({ method: 'next' });
  });

  test('not if there is no other token: the answer of the server stands', async () => {
    await using world = await startAsking(REPEATED);
    await sent(world);
    await disconnectAll(gateway);
    world.upstream.send(failed(1, 'Bad credentials'));
    expect(await next(world)).toEqual({ at: 'client', ...failed(1, 'Bad credentials') });
  });

  test('with another key, for which the person is asked', async () => {
    await using world = await startAsking({ credential: { ...CREDENTIAL, rejected: ['*key*'] }, idempotent: true });
    await initialize(world);
    world.client.send(create(1));
    await listFor(world);
    await gateway.person.accept(await asked(world), { value: KEY });
    expect(argumentsIn(await world.upstream.next())).toEqual({ title, token: KEY });
    world.upstream.send(failed(1, 'a wrong key'));
    await gateway.person.accept(await asked(world), { value: 'another-key-42' });
    expect(argumentsIn(await world.upstream.next())).toEqual({ title, token: 'another-key-42' });
  });
});
