/** Checks the assumptions of the shipped load balancer configurations about the gateway. test/balancers runs them. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { waitQuerySchema } from '../packages/api/src/elicitations.ts';
import { root } from '../scripts/child.ts';
import { stopConfigSchema } from '../services/gateway/src/platform/config/overload-config.ts';

const nginx = readFileSync(join(root, 'infra/nginx/postern.conf'), 'utf8');
const haproxy = readFileSync(join(root, 'infra/haproxy/postern.cfg'), 'utf8');

/** Returns the seconds in the only matching line of a file. @throws if no line or several lines match */
function secondsIn(text: string, line: RegExp): number {
  const [found, ...others] = [...text.matchAll(new RegExp(line, 'gm'))];
  if (found === undefined || others.length > 0) throw new Error(`not exactly once: ${line}`);
  return Number(found[1]);
}

describe('S80: the shipped configurations of load balancers', () => {
  test('S80: HAProxy notices a stopping replica before it stops serving', () => {
    const [, interval, failures] = /^ +default-server check inter (\d+)s fall (\d+) /m.exec(haproxy) ?? [];
    expect(Number(interval) * Number(failures)).toBeLessThan(stopConfigSchema.parse({}).drainSeconds);
  });

  test.each([
    ['nginx', nginx, /^ +proxy_read_timeout (\d+)s;/],
    ['HAProxy, of servers', haproxy, /^ +timeout server (\d+)s/],
    ['HAProxy, of clients', haproxy, /^ +timeout client (\d+)s/],
  ])('S80: the timeout of %s is longer than the longest waiting read', (_name, text, line) => {
    const seconds = secondsIn(text, line);
    expect(waitQuerySchema.safeParse({ wait: String(seconds) }).success).toBe(false);
  });

  test('S80: both close idle connections before the gateway does', () => {
    expect(nginx).toMatch(/^ +proxy_set_header Connection close;$/m);
    expect(secondsIn(haproxy, /^ +timeout http-keep-alive (\d+)s/)).toBeLessThanOrEqual(60);
  });

  test('S200: both hold requests of slow senders back, for a limited time', () => {
    expect(haproxy).toMatch(/^ +option http-buffer-request$/m);
    expect(secondsIn(haproxy, /^ +timeout http-request (\d+)s/)).toBeLessThanOrEqual(15);
    expect(nginx).not.toMatch(/proxy_request_buffering +off/);
    expect(secondsIn(nginx, /^ +client_body_timeout (\d+)s;/)).toBeLessThanOrEqual(15);
  });

  test('S80: nginx uses a replica that is ready again before the next one stops listening', () => {
    const skipped = [...nginx.matchAll(/^ +server .* fail_timeout=(\d+)s;$/gm)].map(([, seconds]) => Number(seconds));
    expect(skipped).toHaveLength(3);
    for (const seconds of skipped) expect(seconds).toBeLessThan(stopConfigSchema.parse({}).drainSeconds);
  });
});
