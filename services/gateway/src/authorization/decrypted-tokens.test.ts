import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createFlowStage, sampleTokens } from '../testing/flow-stage.ts';
import { DecryptedTokens } from './access-token-flow.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function setUp() {
  const stage = createFlowStage({});
  const open = vi.spyOn(stage.tokenSets, 'open');
  const cache = new DecryptedTokens({ tokenSets: stage.tokenSets, now: Date.now });
  return { ...stage, open, opened: cache.open.bind(cache) };
}

it('opens a token once and never returns its refresh token', async () => {
  const { connect, opened, open } = setUp();
  const connection = await connect();
  expect(await opened(connection)).toEqual({ accessToken: 'access-token-1', tokenType: 'bearer' });
  expect(await opened({ ...connection })).toEqual({ accessToken: 'access-token-1', tokenType: 'bearer' });
  expect(open).toHaveBeenCalledTimes(1);
});

it('opens a token once for concurrent callers, and again after a failure, which all of them get', async () => {
  const { connect, opened, open } = setUp();
  const connection = await connect();
  open.mockRejectedValueOnce(new Error('no key service'));
  const failed = await Promise.allSettled([opened(connection), opened(connection), opened({ ...connection })]);
  expect(failed.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
  expect(open).toHaveBeenCalledTimes(1);
  const tokens = await Promise.all([opened(connection), opened(connection), opened({ ...connection })]);
  expect(tokens.map(({ accessToken }) => accessToken)).toEqual(Array(3).fill('access-token-1'));
  expect(open).toHaveBeenCalledTimes(2);
});

it('a failed opening of an older value leaves a newer one in the cache', async () => {
  const { connect, opened, open } = setUp();
  const connection = await connect();
  const { promise: later, reject } = Promise.withResolvers<never>();
  open.mockReturnValueOnce(later);
  const older = opened({ ...connection, sealedTokens: `${connection.sealedTokens}x` });
  await opened(connection);
  reject(new Error('no key service'));
  await expect(older).rejects.toThrow('no key service');
  await opened(connection);
  expect(open).toHaveBeenCalledTimes(2);
});

it('opens a new sealed value of the same connection', async () => {
  const { connect, stores, opened } = setUp();
  const connection = await connect();
  expect(await opened(connection)).toMatchObject({ accessToken: 'access-token-1' });
  await stores.connections.remove({ connectionId: connection.connectionId });
  const anew = await connect({ tokens: { accessToken: 'another' } });
  expect(anew).toMatchObject({ connectionId: connection.connectionId, generation: connection.generation });
  expect(await opened(anew)).toMatchObject({ accessToken: 'another' });
});

it('does not return a cached token for a value that does not open', async () => {
  const { connect, opened } = setUp();
  const connection = await connect();
  await opened(connection);
  const torn = { ...connection, sealedTokens: connection.sealedTokens.slice(0, -4) };
  await expect(opened(torn)).rejects.toMatchObject({ code: 'not_authentic' });
});

it('drops a token after its lifetime, also without further calls', async () => {
  const { connect, opened, open } = setUp();
  const connection = await connect();
  await opened(connection);
  // A timer runs as long as the cache has entries.
  expect(vi.getTimerCount()).toBe(1);
  await vi.advanceTimersByTimeAsync(59_999);
  await opened(connection);
  expect(open).toHaveBeenCalledTimes(1);
  await vi.advanceTimersByTimeAsync(1);
  expect(vi.getTimerCount()).toBe(0);
  await opened(connection);
  expect(open).toHaveBeenCalledTimes(2);
});

it('holds at most ten thousand tokens and drops the oldest first', async () => {
  const { connect, opened, open } = setUp();
  open.mockResolvedValue(sampleTokens);
  const connection = await connect();
  const numbered = (at: number) => ({ ...connection, connectionId: `cn_${at}` as const });
  for (let at = 0; at <= 10_000; at += 1) await opened(numbered(at));
  expect(open).toHaveBeenCalledTimes(10_001);
  await opened(numbered(1));
  await opened(numbered(10_000));
  expect(open).toHaveBeenCalledTimes(10_001);
  await opened(numbered(0));
  expect(open).toHaveBeenCalledTimes(10_002);
});
