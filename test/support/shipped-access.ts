import { readFileSync } from 'node:fs';
import type { RedisAccess } from '@postern/testkit/redis';

/** The users of infra/redis/users.acl, each with the same password. */
export const shippedAccess: RedisAccess = {
  lines: readFileSync(new URL('../../infra/redis/users.acl', import.meta.url), 'utf8')
    .split('\n')
    .filter(line => line.startsWith('user '))
    .map(line => line.replace(/\$\{\w+\}/, 'test-password')),
  user: { name: 'postern', password: 'test-password' },
  replica: { name: 'replica', password: 'test-password' },
  sentinel: { name: 'sentinel', password: 'test-password' },
};
