import { expect, expectTypeOf, test } from 'vitest';
import type { GatedContext } from '../index.ts';
import { legacyWorld } from '../testing/legacy-world.ts';
import { accepted, modernWorld, textOf } from '../testing/modern-world.ts';
import { ProviderApi } from '../testing/provider-api.ts';
import type { AccessTokenOptions, AuthorizationAccepted, GatedContext as GatedContextV1 } from '../v1/index.ts';

test('both entry points return the same account', () => {
  expectTypeOf<GatedContextV1['gate']>().toEqualTypeOf<GatedContext['gate']>();
  expectTypeOf<AuthorizationAccepted['accessToken']>().toEqualTypeOf<
    (options?: AccessTokenOptions) => Promise<string>
  >();
  expectTypeOf<AuthorizationAccepted['fetch']>().toExtend<typeof fetch>();
});

test.each(['v1', 'v2'] as const)('a session, SDK %s: refreshes while possible, then asks the user again', async sdk => {
  await using world = await legacyWorld(sdk);
  const { connections } = world.gateway;
  await using api = await new ProviderApi(() => connections.renewals === 1).listen();
  const host = await world.connect('v2');
  expect((await host.call(api.url)).error?.code).toBe(-32042);
  world.gateway.end('completed');
  await host.untilCompleted(1);
  expect((await host.call(api.url)).text).toBe('200');
  expect(api.statuses).toEqual([401, 200]);

  connections.refreshable = false;
  const rejected = connections.current('co-el-1');
  api.accepts = token => token !== rejected && connections.isCurrent(token);
  const again = await host.call(api.url);
  expect(again.error).toMatchObject({ code: -32042, data: { elicitations: [{ url: expect.any(String) }] } });
  expect(JSON.stringify(again)).not.toContain('canary');
  world.gateway.end('completed');
  await host.untilCompleted(2);
  expect((await host.call(api.url)).text).toBe('200');
});

test('revision 2026-07-28: a token rejected during a call leads to another round of the call', async () => {
  await using world = await modernWorld({ holdMs: 0 });
  const { connections } = world.gateway;
  connections.refreshable = false;
  await using api = await new ProviderApi(token => token.includes('co-el-2') && connections.isCurrent(token)).listen();
  const args = { title: api.url };
  const first = await world.call({ name: 'outcome', args });
  world.gateway.end('completed');
  const second = await world.call({
    name: 'outcome',
    args,
    inputResponses: accepted,
    requestState: first.result.requestState,
  });
  expect(second.result.resultType).toBe('input_required');
  expect(api.statuses).toEqual([401]);
  world.gateway.end('completed');
  const third = await world.call({
    name: 'outcome',
    args,
    inputResponses: accepted,
    requestState: second.result.requestState,
  });
  expect(textOf(third)).toBe('200');
  expect(connections.tools).toEqual(['outcome', 'outcome']);
});
