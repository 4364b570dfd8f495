import { type RedisServer, startRedis } from '@postern/testkit/redis';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { orphanKeys } from './scenarios/load/orphan-keys.ts';

let redis: RedisServer;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis[Symbol.asyncDispose]());

/** One key of each kind that is allowed. */
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
  await redis.ask('ZADD', 'postern:{7f}:connected', '1', 'cn_7fQx0');
  await redis.ask('HSET', 'postern:{82}:counts:tracker:2026-11-23', '00 issued form ', '1');
  await redis.ask('PEXPIRE', 'postern:{82}:counts:tracker:2026-11-23', '60000');
  await redis.ask('HSET', 'postern:{7f}:muted:digest', 'issue-tracker', '1');
  await redis.ask('ZADD', 'postern:{7f}:ends:digest', '1', 'el_7fGone');
  await redis.ask('PEXPIRE', 'postern:{7f}:ends:digest', '60000');
  await redis.ask('HSET', 'postern:{7f}:bss:digest', 'since', '1');
  await redis.ask('PEXPIRE', 'postern:{7f}:bss:digest', '60000');
  await redis.ask('HSET', 'postern:{wh.tracker.main}:endpoint', 'cursor', '0-0');
  await redis.ask('HSET', 'postern:{wh.tracker.main}:deliveries:meta', 'version', '1');
});

it('reports no orphan among valid keys', async () => {
  expect(await orphanKeys(redis.url)).toEqual([]);
});

it.each([
  { left: 'a key with an unknown name', command: ['SET', 'postern:{7f}:oops', '1'], key: 'postern:{7f}:oops' },
  { left: 'a key outside any slot', command: ['SET', 'postern:oops', '1'], key: 'postern:oops' },
  {
    left: 'an endpoint key with an unknown name',
    command: ['SET', 'postern:{wh.tracker.main}:oops', '1'],
    key: 'postern:{wh.tracker.main}:oops',
  },
  {
    left: 'an elicitation without a lifetime',
    command: ['PERSIST', 'postern:{7f}:el:Vn3'],
    key: 'postern:{7f}:el:Vn3',
  },
  {
    left: 'a history of ended elicitations without a lifetime',
    command: ['PERSIST', 'postern:{7f}:ends:digest'],
    key: 'postern:{7f}:ends:digest',
  },
  {
    left: 'a list of browser sessions without a lifetime',
    command: ['PERSIST', 'postern:{7f}:bss:digest'],
    key: 'postern:{7f}:bss:digest',
  },
  {
    left: 'the record of an ended charge',
    command: ['ZREM', 'postern:{7f}:held', 'ask2 el_7fPa1d'],
    key: 'postern:{7f}:el:Pa1d',
  },
  {
    left: 'an open entry without its elicitation',
    command: ['HSET', 'postern:{7f}:open', 'ask3', 'el_7fGone'],
    key: 'el_7fGone',
  },
  {
    left: 'a due entry without its elicitation',
    command: ['ZADD', 'postern:{7f}:due', '1', 'el_7fGone'],
    key: 'el_7fGone',
  },
  {
    left: 'a held entry without its elicitation',
    command: ['ZADD', 'postern:{7f}:held', '1', 'ask3 el_7fGone'],
    key: 'el_7fGone',
  },
  {
    left: 'a list entry of a deleted connection',
    command: ['ZADD', 'postern:{7f}:connected', '1', 'cn_7fGone'],
    key: 'cn_7fGone',
  },
  {
    left: 'a list of ended elicitations without a lifetime',
    command: ['ZADD', 'postern:{7f}:ended', '1', 'el_7fVn3'],
    key: 'postern:{7f}:ended',
  },
  {
    left: 'an index entry of a deleted connection',
    command: ['SADD', 'postern:{7f}:cns:digest', 'cn_7fGone'],
    key: 'cn_7fGone',
  },
])('reports $left', async ({ command, key }) => {
  await redis.ask(...command);
  const [orphan, ...others] = await orphanKeys(redis.url);
  expect(orphan).toContain(key);
  expect(others).toEqual([]);
});
