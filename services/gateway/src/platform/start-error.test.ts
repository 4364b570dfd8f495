import { DatabaseSync } from 'node:sqlite';
import { StoreUnavailableError } from '@postern/elicitation';
import { RedisFault } from '@postern/store-redis';
import { expect, test } from 'vitest';
import { explanationOf } from './start-error.ts';

const said = (code: string) => explanationOf(new StoreUnavailableError({ cause: new RedisFault('refused', code) }));

test.each([
  'NOAUTH',
  'WRONGPASS',
  'NOPERM',
  'no_sentinel',
  'tls',
  'LOADING',
  'CLUSTERDOWN',
  'READONLY',
  'MISCONF',
  'NOREPLICAS',
  'OOM',
])('explains %s', code => {
  expect(said(code)).toBeDefined();
  expect(said(code)).not.toBe(said('connection_lost'));
});

test('names the Redis command for which the permission is missing', () => {
  const fault = new RedisFault('refused', 'NOPERM', 'acl|dryrun');
  expect(explanationOf(new StoreUnavailableError({ cause: fault }))).toContain('acl|dryrun');
  expect(said('NOPERM')).not.toContain('undefined');
});

test('names what SQLite says of the file, and no Redis', () => {
  using database = new DatabaseSync(':memory:');
  let cause: unknown;
  try {
    database.exec('SELECT');
  } catch (error) {
    cause = error;
  }
  const explained = explanationOf(new StoreUnavailableError({ cause }));
  expect(explained).toContain('SQL logic error');
  expect(explained).not.toMatch(/redis/i);
});

test('does not explain an unexpected error, whose message may contain secrets', () => {
  expect(explanationOf(new Error('redis://:password@host'))).toBeUndefined();
});
