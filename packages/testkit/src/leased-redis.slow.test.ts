import { expect, it } from 'vitest';
import { leaseRedis } from './leased-redis.ts';

it('leases a returned server to the next user, empty', async () => {
  const first = await leaseRedis();
  await first.ask('SET', 'left', 'behind');
  const { pid } = first;
  await first[Symbol.asyncDispose]();
  await using second = await leaseRedis();
  expect(second.pid).toBe(pid);
  expect(await second.ask('DBSIZE')).toBe('0\n');
});

it('never leases one server to two users at the same time', async () => {
  await using first = await leaseRedis();
  await using second = await leaseRedis();
  expect(second.port).not.toBe(first.port);
});

it.each([
  ['killed', async server => server.kill()],
  ['killed and restarted', async server => server.kill().then(server.restart)],
  ['suspended', async server => server.suspend()],
  ['configured', async server => server.ask('CONFIG', 'SET', 'maxmemory', '100mb')],
  ['given users', async server => server.ask('ACL', 'SETUSER', 'guest', 'on', 'nopass')],
] satisfies [string, (server: Awaited<ReturnType<typeof leaseRedis>>) => Promise<unknown>][])(
  'ends a server that was %s',
  async (_what, spoil) => {
    const first = await leaseRedis();
    const { pid } = first;
    await spoil(first);
    await first[Symbol.asyncDispose]();
    await using second = await leaseRedis();
    expect(second.pid).not.toBe(pid);
    expect(await second.ask('CONFIG', 'GET', 'maxmemory')).toBe(`maxmemory\n${16 * 1024 ** 3}\n`);
  },
);
