import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { createRedisTls, leaseRedis, startRedis } from './redis.ts';

test('a server answers a command with the text that redis-cli prints', async () => {
  await using redis = await leaseRedis();
  await redis.ask('HSET', 'hash', 'naïve', 'two\r\nlines');
  for (const command of [
    ['GET', 'nothing'],
    ['HGETALL', 'hash'],
    ['HLEN', 'hash'],
    ['KEYS', 'nothing'],
    ['INFO', 'replication'],
    ['NOSUCH', 'x'],
    ['EVAL', "return {1, {'a', {}, 'b'}, {}, redis.error_reply('no')}", '0'],
    ['EVAL', "return { err = 'WRONG here' }", '0'],
  ]) {
    const { stdout } = await promisify(execFile)('redis-cli', ['-p', String(redis.port), ...command]);
    expect([command, await redis.ask(...command)]).toEqual([command, stdout]);
  }
});

test('a command reaches a server with TLS and users', async () => {
  await using tls = await createRedisTls();
  const user = { name: 'app', password: 'of the app' };
  await using redis = await startRedis({ tls, access: { lines: ['user app on >of-the-app ~* +@all'], user } });
  expect(await redis.ask('ACL', 'WHOAMI')).toBe('testkit\n');
});

test('a command to a server that has ended is rejected', async () => {
  await using redis = await startRedis();
  await redis.kill();
  await expect(redis.ask('PING')).rejects.toThrow();
  await redis.restart();
  redis.suspend();
  await expect(redis.ask('PING')).rejects.toThrow('no answer');
  redis.resume();
  await expect(redis.ask('SHUTDOWN', 'NOSAVE')).rejects.toThrow('the connection ended');
});
