import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { describe, expect, test } from 'vitest';
import { AUTHORIZATION_META_KEY, ELICITATION_META_KEY } from '../index.ts';
import { ACCESS_TOKEN } from '../testing/contract-connections.ts';
import { API_KEY } from '../testing/contract-gateway.ts';
import { accepted, modernWorld, textOf } from '../testing/modern-world.ts';

describe('the SDK client', () => {
  test('asks the user once, holds the retry, and continues when the user has finished', async () => {
    await using world = await modernWorld();
    const asked: (string | undefined)[] = [];
    const client = new Client(
      { name: 'host', version: '1.0.0' },
      { versionNegotiation: { mode: 'auto' }, capabilities: { elicitation: { form: {}, url: {} } } },
    );
    client.setRequestHandler('elicitation/create', ({ params }) => {
      asked.push('url' in params ? params.url : undefined, params.message);
      void world.gateway.untilWaiting().then(() => world.gateway.end('completed'));
      return { action: 'accept' };
    });
    await client.connect(
      new StreamableHTTPClientTransport(world.mcp.url, { requestInit: { headers: { authorization: 'Bearer alice' } } }),
    );
    const result = await client.callTool({ name: 'create_issue', arguments: { title: 'Broken' } });
    await client.close();

    expect(result.content).toEqual([{ type: 'text', text: 'created Broken with true' }]);
    expect(asked).toHaveLength(2);
    expect(asked[0]).toBe(world.gateway.elicitations[0]?.url);
    expect(asked[1]).toContain(world.gateway.elicitations[0]?.matchCode);
    expect(world.gateway.issueCount).toBe(1);
  });
});

describe('asking', () => {
  test('an existing connection answers immediately', async () => {
    await using world = await modernWorld({ holdMs: 0 });
    await world.call({ name: 'create_issue' });
    world.gateway.end('completed');
    expect(textOf(await world.call({ name: 'create_issue' }))).toBe('created Broken with true');
  });

  test('sends the requester and the user to the gateway', async () => {
    await using world = await modernWorld();
    await world.call({ name: 'create_issue' });
    expect(world.gateway.requests[0]?.body).toEqual({
      kind: 'authorization',
      subject: { issuer: 'https://idp.example.com', subject: 'alice' },
      requestedBy: { tool: 'create_issue', mcpClient: 'host' },
      authorization: { provider: 'github', scopes: ['repo'] },
    });
  });

  test('parallel calls share one elicitation and its outcome', async () => {
    await using world = await modernWorld();
    const first = await Promise.all([1, 2, 3].map(() => world.call({ name: 'create_issue' })));
    expect(new Set(first.map(({ result }) => result.inputRequests?.['gate']?.params.url)).size).toBe(1);
    const retries = first.map(({ result }) =>
      world.call({ name: 'create_issue', inputResponses: accepted, requestState: result.requestState }),
    );
    await world.gateway.untilWaiting();
    world.gateway.end('completed');
    expect((await Promise.all(retries)).map(textOf)).toEqual(Array(3).fill('created Broken with true'));
    expect(world.gateway.elicitations).toHaveLength(1);
  });

  test('a handler may ask twice in sequence', async () => {
    await using world = await modernWorld({ holdMs: 0 });
    const first = await world.call({ name: 'two_accounts' });
    world.gateway.end('completed');
    const second = await world.call({
      name: 'two_accounts',
      inputResponses: accepted,
      requestState: first.result.requestState,
    });
    expect(second.result.inputRequests?.['gate']?.params.url).toBe(world.gateway.elicitations.at(-1)?.url);
    expect(second.result.inputRequests).not.toEqual(first.result.inputRequests);
    world.gateway.end('completed', 'el-2');
    const third = await world.call({
      name: 'two_accounts',
      inputResponses: accepted,
      requestState: second.result.requestState,
    });
    expect(textOf(third)).toBe('accept accept');
  });

  test('does not ask without a verified user', async () => {
    await using world = await modernWorld();
    const answer = await world.call({ name: 'outcome', subject: null });
    expect(textOf(answer)).toBe('error: subject_unavailable');
    expect(world.gateway.requests).toHaveLength(0);
  });

  test('asks again for a connection that the provider ended', async () => {
    await using world = await modernWorld({ holdMs: 0 });
    const first = await world.call({ name: 'create_issue' });
    world.gateway.end('completed');
    world.gateway.connections.lose('co-el-1');
    const second = await world.call({
      name: 'create_issue',
      inputResponses: accepted,
      requestState: first.result.requestState,
    });
    expect(second.result.resultType).toBe('input_required');
    world.gateway.end('completed');
    const third = await world.call({
      name: 'create_issue',
      inputResponses: accepted,
      requestState: second.result.requestState,
    });
    expect(textOf(third)).toBe('created Broken with true');
  });
});

describe('how it ends', () => {
  test.each([
    ['completed', 'accept'],
    ['declined', 'decline: declined'],
    ['cancelled', 'cancel: cancelled'],
    ['expired', 'cancel: expired'],
    ['failed', 'error: provider_refused'],
  ] as const)('%s reaches the handler', async (status, said) => {
    await using world = await modernWorld();
    const { result } = await world.call({ name: 'outcome' });
    const retry = world.call({ name: 'outcome', inputResponses: accepted, requestState: result.requestState });
    await world.gateway.untilWaiting();
    world.gateway.end(status);
    expect(textOf(await retry)).toBe(said);
  });

  test.each([
    ['decline', 'decline: client_declined'],
    ['cancel', 'cancel: client_cancelled'],
  ])('a %s of the MCP client ends this attempt only', async (action, said) => {
    await using world = await modernWorld();
    const { result } = await world.call({ name: 'outcome' });
    const inputResponses = { gate: { action } };
    const retry = await world.call({ name: 'outcome', inputResponses, requestState: result.requestState });
    expect(textOf(retry)).toBe(said);
    expect(world.gateway.elicitations[0]?.status).toBe('pending');
    world.gateway.end('completed');
    const again = await world.call({ name: 'outcome', inputResponses, requestState: result.requestState });
    expect(textOf(again)).toBe('accept');
  });

  test('a refusal of a tool with an output schema is a plain error result', async () => {
    await using world = await modernWorld({ holdMs: 0 });
    const { result } = await world.call({ name: 'structured' });
    world.gateway.end('declined');
    const retry = await world.call({
      name: 'structured',
      inputResponses: accepted,
      requestState: result.requestState,
    });
    expect(retry.error).toBeUndefined();
    expect(retry.result.isError).toBe(true);
    expect(textOf(retry)).toContain('declined');
  });
});

test('a result that asks for a URL says that the URL is the remedy; a round that waits says nothing', async () => {
  await using world = await modernWorld({ holdMs: 0 });
  const { result } = await world.call({ name: 'outcome' });
  expect(result._meta?.[AUTHORIZATION_META_KEY]).toEqual({
    reason: 'insufficient_authorization',
    remediation: 'available',
    remediationHints: [{ type: 'url' }],
  });
  const wait = await world.call({ name: 'outcome', inputResponses: accepted, requestState: result.requestState });
  expect(wait.result._meta).not.toHaveProperty([AUTHORIZATION_META_KEY]);
});

describe('rounds', () => {
  test('held retries become state-only rounds, then a plain result, and the next call reports the true status', async () => {
    await using world = await modernWorld({ maxRounds: 3 });
    world.gateway.answersAtOnce = true;
    const first = await world.call({ name: 'outcome' });
    const second = await world.call({
      name: 'outcome',
      inputResponses: accepted,
      requestState: first.result.requestState,
    });
    const third = await world.call({ name: 'outcome', requestState: second.result.requestState });
    for (const { result } of [second, third]) {
      expect(result.resultType).toBe('input_required');
      expect(result.inputRequests).toBeUndefined();
    }
    const last = await world.call({ name: 'outcome', requestState: third.result.requestState });
    const elicitation = world.gateway.elicitations[0];
    expect(last.result.isError).toBe(true);
    expect(last.result._meta?.[ELICITATION_META_KEY]).toEqual({
      url: elicitation?.url,
      matchCode: elicitation?.matchCode,
      expiresAt: elicitation?.expiresAt,
    });
    expect(textOf(last)).toContain(elicitation?.url);
    expect(textOf(last)).toContain(elicitation?.matchCode);

    world.gateway.end('declined');
    expect(textOf(await world.call({ name: 'outcome' }))).toBe('decline: declined');
    expect((await world.call({ name: 'outcome' })).result.resultType).toBe('input_required');
    expect(world.gateway.elicitations).toHaveLength(2);
  });

  test('holdMs 0 never waits', async () => {
    await using world = await modernWorld({ holdMs: 0 });
    const { result } = await world.call({ name: 'outcome' });
    const retry = await world.call({ name: 'outcome', inputResponses: accepted, requestState: result.requestState });
    expect(retry.result.resultType).toBe('input_required');
    expect(world.gateway.waiting).toBe(0);
  });

  test.each([undefined, {}, { gate: { wrong: 1 } }, { other: { action: 'accept' } }])(
    'a retry without an answer is asked again: %j',
    async inputResponses => {
      await using world = await modernWorld();
      const first = await world.call({ name: 'outcome' });
      const retry = await world.call({
        name: 'outcome',
        requestState: first.result.requestState,
        inputResponses,
      });
      expect(retry.result.inputRequests).toEqual(first.result.inputRequests);
    },
  );

  test('reports progress while a retry is held', async () => {
    await using world = await modernWorld({ holdMs: 20_000 });
    const { result } = await world.call({ name: 'outcome' });
    const retry = world.call({
      name: 'outcome',
      inputResponses: accepted,
      requestState: result.requestState,
      progressToken: 7,
    });
    await world.gateway.untilWaiting();
    world.gateway.timeIsOver();
    await world.gateway.untilWaiting();
    world.gateway.end('completed');
    const answer = await retry;
    expect(textOf(answer)).toBe('accept');
    expect(answer.notifications.map(({ method, params }) => [method, params])).toEqual([
      ['notifications/progress', expect.objectContaining({ progressToken: 7, progress: 1 })],
      ['notifications/progress', expect.objectContaining({ progressToken: 7, progress: 2 })],
    ]);
  });

  test('S84: reports no progress after the user has finished', async () => {
    await using world = await modernWorld({ holdMs: 20_000 });
    const { result } = await world.call({ name: 'outcome' });
    world.gateway.end('completed');
    const { requestState } = result;
    const answer = await world.call({ name: 'outcome', inputResponses: accepted, requestState, progressToken: 7 });
    expect(textOf(answer)).toBe('accept');
    expect(answer.notifications).toEqual([]);
  });

  test('an aborted request stops waiting, and the elicitation stays open', async () => {
    await using world = await modernWorld();
    const { result } = await world.call({ name: 'outcome' });
    const abort = new AbortController();
    const retry = world.call({
      name: 'outcome',
      inputResponses: accepted,
      requestState: result.requestState,
      signal: abort.signal,
    });
    await world.gateway.untilWaiting();
    abort.abort();
    await expect(retry).rejects.toThrow();
    await world.gateway.untilIdle();
    expect(world.gateway.elicitations[0]?.status).toBe('pending');
    world.gateway.end('completed');
    expect(textOf(await world.call({ name: 'outcome' }))).toBe('accept');
  });
});

describe('an MCP client without URL mode', () => {
  test.each([{ form: {} }, {}, null])('gets the link in a plain result: %j', async elicitation => {
    await using world = await modernWorld();
    const answer = await world.call({ name: 'outcome', elicitation });
    expect(answer.httpStatus).toBe(200);
    expect(answer.result.resultType).toBe('complete');
    expect(textOf(answer)).toContain(world.gateway.elicitations[0]?.url);
    world.gateway.end('expired');
    expect(textOf(await world.call({ name: 'outcome', elicitation }))).toBe('cancel: expired');
    expect(textOf(await world.call({ name: 'outcome', elicitation }))).toContain(world.gateway.elicitations[1]?.url);
  });

  test('gets −32021 if configured', async () => {
    await using world = await modernWorld({ missingCapability: 'error' });
    const answer = await world.call({ name: 'outcome', elicitation: { form: {} } });
    expect(answer.httpStatus).toBe(400);
    expect(answer.error?.code).toBe(-32021);
    expect(answer.error?.data).toEqual({ requiredCapabilities: { elicitation: { url: {} } } });
  });
});

describe('requestState', () => {
  const rejected = { code: -32602, data: { reason: 'invalid_request_state' } };

  test('a state is refused for another user, tool or arguments, and if altered', async () => {
    await using world = await modernWorld();
    const { result } = await world.call({ name: 'outcome' });
    const requestState = result.requestState ?? '';
    const [header, ...parts] = requestState.split('.');
    const altered = [header, ...parts.slice(0, -1), 'A'.repeat(22)].join('.');
    const issued = world.gateway.requests.length;
    const attempts = await Promise.all([
      world.call({ name: 'outcome', inputResponses: accepted, requestState, subject: 'mallory' }),
      world.call({ name: 'create_issue', inputResponses: accepted, requestState }),
      world.call({ name: 'outcome', args: { title: 'Other' }, inputResponses: accepted, requestState }),
      world.call({ name: 'outcome', inputResponses: accepted, requestState: altered }),
      world.call({ name: 'outcome', inputResponses: accepted, requestState: 'v1.made-up' }),
    ]);
    for (const { error } of attempts) expect(error).toMatchObject(rejected);
    expect(world.gateway.requests).toHaveLength(issued);
  });

  test('S229: the hook of the MCP server accepts no state of ours for a tool that is not wrapped', async () => {
    await using world = await modernWorld();
    const mine = await world.call({ name: 'not_wrapped' });
    const goOn = (requestState: string | undefined) => world.call({ name: 'not_wrapped', requestState });
    expect(textOf(await goOn(mine.result.requestState))).toBe('price 100');
    const genuine = await world.call({ name: 'outcome' });
    const header = Buffer.from('{"typ":"postern-request-state","price":1}').toString('base64url');
    const attempts = [genuine.result.requestState, `${header}.x.y`, `${header}.x.y.z.0`].map(goOn);
    for (const { error } of await Promise.all(attempts)) expect(error).toMatchObject(rejected);
  });

  test('another replica with the same API key opens the state', async () => {
    await using one = await modernWorld();
    await using other = await modernWorld({ holdMs: 0, fetch: redirectTo(() => one.gateway.url) });
    const { result } = await one.call({ name: 'outcome' });
    one.gateway.end('declined');
    const retry = await other.call({ name: 'outcome', inputResponses: accepted, requestState: result.requestState });
    expect(textOf(retry)).toBe('decline: declined');
  });

  test('a replay reads the stored status', async () => {
    await using world = await modernWorld();
    const { result } = await world.call({ name: 'outcome' });
    world.gateway.end('completed');
    for (let replay = 0; replay < 3; replay += 1) {
      const retry = await world.call({ name: 'outcome', inputResponses: accepted, requestState: result.requestState });
      expect(textOf(retry)).toBe('accept');
    }
    expect(world.gateway.issueCount).toBe(1);
  });
});

describe('a handler that catches broadly', () => {
  test('a handler that swallows the suspension gets suspension_swallowed', async () => {
    await using world = await modernWorld();
    const answer = await world.call({ name: 'swallows' });
    expect(answer.result.isError).toBe(true);
    expect(textOf(answer)).toContain('isElicitationPending');
  });

  test('a handler may wrap the suspension as a cause', async () => {
    await using world = await modernWorld();
    expect((await world.call({ name: 'wraps' })).result.resultType).toBe('input_required');
  });
});

test('no MCP frame carries a credential, and the sealed state hides its contents', async () => {
  await using world = await modernWorld({ holdMs: 0 });
  const first = await world.call({ name: 'create_issue' });
  const waiting = await world.call({
    name: 'create_issue',
    inputResponses: accepted,
    requestState: first.result.requestState,
  });
  world.gateway.end('completed');
  const done = await world.call({ name: 'create_issue', requestState: waiting.result.requestState });
  expect(textOf(done)).toBe('created Broken with true');
  for (const { frames } of [first, waiting, done]) {
    expect(frames).not.toContain(ACCESS_TOKEN);
    expect(frames).not.toContain(API_KEY);
  }
  const opened = (first.result.requestState ?? '').split('.').map(part => Buffer.from(part, 'base64url').toString());
  for (const secret of ['alice', 'el-1']) expect(opened.join()).not.toContain(secret);
});

/** Redirects the gateway client of one world to the gateway of another. */
function redirectTo(target: () => string): typeof fetch {
  return (input, init) => {
    const url = new URL(input instanceof Request ? input.url : input);
    return fetch(new URL(`${url.pathname}${url.search}`, target()), init);
  };
}
