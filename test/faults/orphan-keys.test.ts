import { type RedisServer, startRedis } from '@postern/testkit/redis';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { orphanKeys } from './scenarios/load/orphan-keys.ts';

let redis: RedisServer;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis[Symbol.asyncDispose]());

/** One of everything that may be there. */
beforeEach(async () => {
  await redis.ask('FLUSHALL');
  await redis.ask('HSET', 'postern:{7f}:el:Vn3', 'status', 'pending');
  await redis.ask('PEXPIRE', 'postern:{7f}:el:Vn3', '60000');
  await redis.ask('HSET', 'postern:{7f}:open', 'ask', 'el_7fVn3');
  await redis.ask('ZADD', 'postern:{7f}:due', '1', 'el_7fVn3');
  await redis.ask('HSET', 'postern:{7f}:el:Pa1d', 'status', 'active');
  await redis.ask('ZADD', 'postern:{7f}:held', '+inf', 'ask2 el_7fPa1d');
  await redis.ask('HSET', 'postern:{7f}:cn:Qx0', 'generation', '1');
  await redis.ask('SADD', 'postern:{7f}:cns:digest', 'cn_7fQx0');
  await redis.ask('HSET', 'postern:{wh.tracker.main}:endpoint', 'cursor', '0-0');
  await redis.ask('HSET', 'postern:{wh.tracker.main}:deliveries:meta', 'version', '1');
});

it('takes nothing for an orphan that is in its place', async () => {
  expect(await orphanKeys(redis.url)).toEqual([]);
});

it.each([
  { left: 'a name that nobody knows', command: ['SET', 'postern:{7f}:oops', '1'], key: 'postern:{7f}:oops' },
  { left: 'a key outside any slot', command: ['SET', 'postern:oops', '1'], key: 'postern:oops' },
  {
    left: 'a name that no endpoint has',
    command: ['SET', 'postern:{wh.tracker.main}:oops', '1'],
    key: 'postern:{wh.tracker.main}:oops',
  },
  {
    left: 'an elicitation without a lifetime',
    command: ['PERSIST', 'postern:{7f}:el:Vn3'],
    key: 'postern:{7f}:el:Vn3',
  },
  {
    left: 'one that was charging',
    command: ['ZREM', 'postern:{7f}:held', 'ask2 el_7fPa1d'],
    key: 'postern:{7f}:el:Pa1d',
  },
  {
    left: 'an ask without its elicitation',
    command: ['HSET', 'postern:{7f}:open', 'ask3', 'el_7fGone'],
    key: 'el_7fGone',
  },
  { left: 'an end that is due of nothing', command: ['ZADD', 'postern:{7f}:due', '1', 'el_7fGone'], key: 'el_7fGone' },
  {
    left: 'a hold on nothing',
    command: ['ZADD', 'postern:{7f}:held', '1', 'ask3 el_7fGone'],
    key: 'el_7fGone',
  },
  { left: 'a connection that is gone', command: ['DEL', 'postern:{7f}:cn:Qx0'], key: 'cn_7fQx0' },
])('tells of $left', async ({ command, key }) => {
  await redis.ask(...command);
  const [orphan, ...others] = await orphanKeys(redis.url);
  expect(orphan).toContain(key);
  expect(others).toEqual([]);
});
