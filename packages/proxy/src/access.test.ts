import type { TestGateway } from '@postern/mcp/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import * as account from './testing/account-world.ts';
import {
  ACCOUNT,
  argumentsIn,
  asked,
  CREDENTIAL,
  disconnectAll,
  fromProxy,
  initialize,
  KEY,
  listFor,
  next,
  type RuleConfig,
} from './testing/account-world.ts';
import { MODERN, startGateway, type WireMessage, type WireWorld } from './testing/wire-world.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startGateway(['github', 'linear']);
});
afterAll(() => gateway[Symbol.asyncDispose]());
beforeEach(() => disconnectAll(gateway));

const startAsking = (rule: RuleConfig, holdMs?: number) => account.startAsking(gateway, rule, holdMs);

const CONFIRMED: RuleConfig = { ...ACCOUNT, confirm: true };

/** A confirmation that no call takes is for the next equal call, so each test has a title of its own. */
let title: string;
beforeEach(({ task }) => {
  title = `title ${task.id}`;
});

const create = (id: number, args: object = { title }, more: object = {}) => account.create(id, args, more);
const modern = (id: number, more: object = {}) => create(id, { title }, { _meta: MODERN, ...more });

/** Answers a call of 2026-07-28 that asks. */
async function firstRound(world: WireWorld, message: object) {
  world.client.send(message);
  await listFor(world);
  return roundOf(await world.client.next());
}

function roundOf({ result }: WireMessage) {
  expect(result.resultType).toBe('input_required');
  const { url } = result.inputRequests.postern.params;
  return { url, retry: { requestState: result.requestState, inputResponses: { postern: { action: 'accept' } } } };
}

describe('S270: a call with an account', () => {
  test('of 2025-11-25 goes upstream once, with the token, after the person has connected, and the next one asks nobody', async () => {
    await using world = await startAsking(ACCOUNT);
    await initialize(world);
    world.client.send(create(1));
    await listFor(world);
    await gateway.person.accept(await asked(world));
    const call = await world.upstream.next();
    expect(call).toMatchObject({ id: 1, method: 'tools/call' });
    const { token } = argumentsIn(call);
    expect(token).toMatch(/^github-/);
    world.upstream.send({ jsonrpc: '2.0', id: 1, result: { content: [] } });
    expect(await fromProxy(world)).toEqual({ jsonrpc: '2.0', id: 1, result: { content: [] } });
    world.client.send(create(2));
    expect(await next(world)).toMatchObject({ at: 'upstream', id: 2, params: { arguments: { title, token } } });
  });

  test('of 2025-11-25 without push gives the link, and goes upstream when it is repeated', async () => {
    await using world = await startAsking(ACCOUNT);
    await initialize(world, {});
    world.client.send(create(1));
    await listFor(world);
    const { result } = await world.client.next();
    const [url = ''] = /http:\S+/.exec(result.content[0]?.text ?? '') ?? [];
    await gateway.person.accept(url);
    world.client.send(create(2));
    expect(await next(world)).toMatchObject({ at: 'upstream', id: 2, params: { arguments: { title } } });
  });

  test('of 2026-07-28 goes upstream as it came but for the token, without what belonged to the question', async () => {
    await using world = await startAsking(ACCOUNT);
    const { url, retry } = await firstRound(world, modern(1));
    await gateway.person.accept(url);
    const text = JSON.stringify(modern(2, retry)).replace('"arguments":{', '"arguments":{"n":1.0, ');
    const first = JSON.stringify(modern(1)).replace('"arguments":{', '"arguments":{"n":1.0, ');
    // The same call has other arguments than the one that was asked about.
    world.client.send(text);
    expect(await next(world)).toMatchObject({ at: 'client', error: { code: -32602 } });
    world.client.send(first);
    const line = (await world.upstream.line()) ?? '';
    const token = argumentsIn(JSON.parse(line) as WireMessage)['token'];
    expect(line).toBe(first.replace(JSON.stringify(title), `${JSON.stringify(title)},"token":"${token}"`));
  });

  test('that the person declines goes nowhere, and the answer is final', async () => {
    await using world = await startAsking(ACCOUNT);
    await initialize(world);
    world.client.send(create(1));
    await listFor(world);
    await gateway.person.decline(await asked(world));
    const { result } = await fromProxy(world);
    expect(result).toMatchObject({
      _meta: { 'io.modelcontextprotocol/authorization': { remediation: 'unavailable' } },
    });
    world.client.send({ jsonrpc: '2.0', method: 'next' });
    expect(await world.upstream.next()).toMatchObject({ method: 'next' });
  });

  test('of an unknown provider fails with words, and nothing goes upstream', async () => {
    await using world = await startAsking({ accounts: { gitlab: { as: { argument: 'token' } } } });
    await initialize(world);
    world.client.send(create(1));
    await listFor(world);
    const { at, result } = await next(world);
    expect({ at, isError: result.isError }).toEqual({ at: 'client', isError: true });
    expect(result.content[0]?.text).toContain('Nothing was done.');
  });

  test('and an equal one at the same time are each sent once, after one question', async () => {
    await using world = await startAsking(ACCOUNT);
    await initialize(world);
    world.client.send(create(1));
    world.client.send(create(2));
    await listFor(world);
    await gateway.person.accept(await asked(world));
    const ids = [(await world.upstream.next()).id, (await world.upstream.next()).id];
    expect(ids.toSorted()).toEqual([1, 2]);
  });

  test('gets secrets of several accounts and a key, each at its place, asked for one after another', async () => {
    await using world = await startAsking({
      accounts: {
        github: { as: { argument: 'token' } },
        linear: { as: { meta: 'com.example/token' } },
      },
      credential: { ...CREDENTIAL, as: { meta: 'com.example/key' } },
    });
    await initialize(world);
    world.client.send(create(1));
    await listFor(world);
    await gateway.person.accept(await asked(world));
    await gateway.person.accept(await asked(world));
    await gateway.person.accept(await asked(world), { value: KEY });
    const { params } = await world.upstream.next();
    expect(params.arguments).toEqual({ title, token: expect.stringMatching(/^github-/) });
    expect(params._meta).toEqual({
      'com.example/token': expect.stringMatching(/^linear-/),
      'com.example/key': KEY,
    });
  });

  test('that is given up before the person has connected goes nowhere', async () => {
    await using world = await startAsking(ACCOUNT);
    await initialize(world);
    world.client.send(create(1));
    await listFor(world);
    const url = await asked(world);
    world.client.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } });
    await gateway.person.accept(url);
    world.client.send(create(2));
    expect(await next(world)).toMatchObject({ at: 'upstream', id: 2 });
  });
});

describe('S271: a confirmed call with an account', () => {
  /** Both questions of a call with id 1. The person has answered the first one. */
  async function connected(world: WireWorld): Promise<string> {
    await initialize(world);
    world.client.send(create(1));
    await listFor(world);
    await gateway.person.accept(await asked(world));
    return await asked(world);
  }

  async function pageOf(url: string): Promise<string> {
    return await (await fetch(url, { headers: { accept: 'text/html', 'sec-fetch-mode': 'navigate' } })).text();
  }

  test('asks for the account first, and its page names the account and no secret', async () => {
    await using world = await startAsking(CONFIRMED);
    const url = await connected(world);
    const page = await pageOf(url);
    expect(page).toContain(title);
    expect(page).toContain('github');
    expect(page).not.toMatch(/github-[0-9a-f]{8}|<bdi>token/);
    await gateway.person.accept(url);
    await listFor(world);
    expect(await world.upstream.next()).toMatchObject({ id: 1, params: { arguments: { title } } });
  });

  test('goes nowhere if the connection ends between the yes and the call', async () => {
    await using world = await startAsking(CONFIRMED, 0);
    const connect = await firstRound(world, modern(1));
    await gateway.person.accept(connect.url);
    const confirm = await firstRound(world, modern(2, connect.retry));
    await gateway.person.accept(confirm.url);
    await disconnectAll(gateway);
    world.client.send(modern(3, confirm.retry));
    await listFor(world);
    const { at, result } = await next(world);
    expect({ at, isError: result.isError }).toEqual({ at: 'client', isError: true });
    expect(result.content[0]?.text).toContain('Call the tool again');
    // The yes is used up, so the next call asks for both.
    const again = await firstRound(world, modern(4));
    await gateway.person.accept(again.url);
    const anew = await firstRound(world, modern(5, again.retry));
    expect(anew.url).not.toBe(confirm.url);
  });

  test('asks anew if the rule gives the server something else than when the person said yes', async () => {
    const agree = async (rule: RuleConfig) => {
      await using world = await startAsking(rule, 0);
      const { url } = await firstRound(world, modern(1));
      await gateway.person.accept(url);
    };
    await agree(ACCOUNT);
    await agree(CONFIRMED);
    await using other = await startAsking({ ...CONFIRMED, accounts: { github: { as: { meta: 'x' } } } }, 0);
    other.client.send(modern(2));
    await listFor(other);
    expect(await next(other)).toMatchObject({ at: 'client', result: { resultType: 'input_required' } });
  });

  test('that goes on for the upstream has the token again', async () => {
    await using world = await startAsking(CONFIRMED);
    const connect = await firstRound(world, modern(1));
    await gateway.person.accept(connect.url);
    const confirm = await firstRound(world, modern(2, connect.retry));
    await gateway.person.accept(confirm.url);
    world.client.send(modern(3, confirm.retry));
    await listFor(world);
    await listFor(world);
    await world.upstream.next();
    const inputRequests = { own: { method: 'roots/list' } };
    const wanted = { resultType: 'input_required', inputRequests, requestState: 'of upstream' };
    world.upstream.send({ jsonrpc: '2.0', id: 3, result: wanted });
    const { requestState } = (await world.client.next()).result;
    const round = { requestState, inputResponses: { own: { roots: [] } } };
    world.client.send(modern(4, round));
    await listFor(world);
    const { params } = await world.upstream.next();
    expect(params).toMatchObject({ arguments: { title, token: expect.any(String) }, requestState: 'of upstream' });
  });
});
