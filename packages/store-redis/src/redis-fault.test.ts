import { inspect } from 'node:util';
import { StoreUnavailableError } from '@postern/elicitation';
import { ReplyError } from 'ioredis';
import { describe, expect, test } from 'vitest';
import { faultOf, RedisFault, storeErrorOf } from './redis-fault.ts';

/** In the format of ioredis, with the whole command attached. */
function replyError(message: string): Error {
  return Object.assign(new ReplyError(message), { command: { name: 'evalsha', args: ['a-secret'] } });
}

describe('faults', () => {
  test.each([
    ['OOM command not allowed when used memory', 'OOM'],
    ["READONLY You can't write against a read only replica.", 'READONLY'],
    ['LOADING Redis is loading the dataset in memory', 'LOADING'],
    ['MISCONF Errors writing to the AOF file: No space left on device', 'MISCONF'],
    ['CLUSTERDOWN The cluster is down', 'CLUSTERDOWN'],
    ['TRYAGAIN Multiple keys request during rehashing of slot', 'TRYAGAIN'],
    ['MOVED 1234 127.0.0.1:7000', 'MOVED'],
    ['NOSCRIPT No matching script.', 'NOSCRIPT'],
    ['WRONGPASS invalid username-password pair', 'WRONGPASS'],
  ])('%s is refused: Redis executed nothing', (message, code) => {
    const fault = faultOf(replyError(message));
    expect(fault).toMatchObject({ kind: 'refused', code });
    expect(storeErrorOf(fault)).toBeInstanceOf(StoreUnavailableError);
  });

  test.each([
    ["NOPERM User postern has no permissions to run the 'acl|dryrun' command", 'acl|dryrun'],
    ["NOPERM this user has no permissions to run the 'info' command", 'info'],
    ['NOPERM No permissions to access a key', undefined],
    ["WRONGPASS 'info' command", undefined],
  ])('%s names the command %s', (message, command) => {
    expect(faultOf(replyError(message)).command).toBe(command);
  });

  test.each([
    ['Command timed out', 'timeout'],
    ['Connection is closed.', 'connection_lost'],
    ['Reached the max retries per request limit (which is 0).', 'connection_lost'],
    ['read ECONNRESET', 'connection_lost'],
    ["Socket timeout. Expecting data, but didn't receive any in 1500ms.", 'connection_lost'],
  ])('%s is ambiguous: Redis may have executed the command', (message, code) => {
    const fault = faultOf(new Error(message));
    expect(fault).toMatchObject({ kind: 'ambiguous', code });
    expect(storeErrorOf(fault)).toBeInstanceOf(StoreUnavailableError);
  });

  test.each([
    "Stream isn't writeable and enableOfflineQueue options is false",
    "Cluster isn't ready and enableOfflineQueue options is false",
  ])('%s is refused: ioredis sent nothing', message => {
    expect(faultOf(new Error(message))).toMatchObject({ kind: 'refused', code: 'not_connected' });
  });

  test.each([
    ["ERR unknown command 'x', with args beginning with: 'a-secret'", 'ERR'],
    ['WRONGTYPE Operation against a key holding the wrong kind of value', 'WRONGTYPE'],
    ["CROSSSLOT Keys in request don't hash to the same slot", 'CROSSSLOT'],
    ['something else', 'ERR'],
  ])('%s is misuse, not an outage', (message, code) => {
    const error = storeErrorOf(faultOf(replyError(message)));
    expect(error).toBeInstanceOf(RedisFault);
    expect(error).toMatchObject({ kind: 'misuse', code });
  });

  test('a fault contains no argument of its command', () => {
    for (const message of ['OOM', "ERR with args beginning with: 'a-secret'"]) {
      const error = storeErrorOf(faultOf(replyError(message)));
      expect(inspect(error, { depth: 10, showHidden: true })).not.toContain('a-secret');
    }
  });
});
