import { startRedis } from '@postern/testkit/redis';
import { Redis } from 'ioredis';
import { describe, expect, test } from 'vitest';
import { commandIn, startRedisMonitor } from './redis-monitor.ts';

describe('commandIn', () => {
  test('decodes quotes, line ends and non-ASCII characters in arguments', () => {
    const line = String.raw`+1795285215.917888 [0 127.0.0.1:4711] "hset" "a \"b\" \\ c" "\xc3\xa9\n" ""`;
    expect(commandIn(line)).toEqual({ args: ['hset', 'a "b" \\ c', 'é\n', ''], isFromScript: false });
  });

  test('recognizes commands of scripts, which no argument can imitate', () => {
    expect(commandIn('+1795285215.917888 [0 lua] "set" "k" "v"')).toEqual({
      args: ['set', 'k', 'v'],
      isFromScript: true,
    });
    expect(commandIn('+1795285215.917888 [0 127.0.0.1:4711] "set" "[0 lua]" "v"').isFromScript).toBe(false);
  });
});

describe('startRedisMonitor', () => {
  test('returns all commands since the last call in order, including those of scripts', async () => {
    await using server = await startRedis({ appendonly: 'no' });
    const redis = new Redis(server.url);
    try {
      await redis.ping();
      using monitor = await startRedisMonitor(server.url);
      const script = `return redis.call('SET', KEYS[1], "é\\n")`;
      await redis.set('first', '"1"');
      await redis.eval(script, 1, 'second');
      expect(await monitor.take()).toEqual([
        { args: ['set', 'first', '"1"'], isFromScript: false },
        { args: ['eval', script, '1', 'second'], isFromScript: false },
        { args: ['SET', 'second', 'é\n'], isFromScript: true },
      ]);
      expect(await monitor.take()).toEqual([]);
    } finally {
      redis.disconnect();
    }
  });

  test('rejects current and later calls after its connection is lost', async () => {
    await using server = await startRedis({ appendonly: 'no' });
    using monitor = await startRedisMonitor(server.url);
    server.suspend();
    const waiting = monitor.take();
    const lost = expect(waiting).rejects.toThrow();
    await server.kill();
    await lost;
    await expect(monitor.take()).rejects.toThrow();
  });

  test('rejects without authentication and without a Redis', async () => {
    await using server = await startRedis({ appendonly: 'no', args: ['--requirepass', 'secret'] });
    await expect(startRedisMonitor(server.url)).rejects.toThrow('NOAUTH');
    await server.kill();
    await expect(startRedisMonitor(server.url)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });
});
