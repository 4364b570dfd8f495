import type { FastifyRequest } from 'fastify';
import { describe, expect, it } from 'vitest';
import { assertLoopbackHost, assertNoPrefetch, assertSameOrigin, PageError } from './page-request.ts';

const OURS = 'https://gate.example';
const requestWith = (headers: Record<string, string>) => ({ headers }) as unknown as FastifyRequest;
const isAccepted = (check: () => void): boolean => {
  try {
    check();
    return true;
  } catch (error) {
    if (error instanceof PageError && error.kind === 'forbidden') return false;
    throw error;
  }
};

describe('S26, S212: the origin of a form post', () => {
  const isSameOrigin = (headers: Record<string, string>): boolean =>
    isAccepted(() => assertSameOrigin(requestWith(headers), OURS));
  const sites = [
    undefined,
    'same-origin',
    'same-site',
    'cross-site',
    'none',
    '',
    'Same-Origin',
    'same-origin, same-origin',
  ];
  const origins = [
    undefined,
    OURS,
    'null',
    '',
    'https://evil.example',
    'https://gate.example:8443',
    'https://sub.gate.example',
    'https://gate.example.evil.example',
    'http://gate.example',
    'https://GATE.example',
    `${OURS}/`,
  ];
  const matrix = sites.flatMap(site => origins.map(origin => [site, origin] as const));

  it.each(matrix)('Sec-Fetch-Site %s with Origin %s', (site, origin) => {
    const isOurs =
      (site === 'same-origin' && (origin === undefined || origin === 'null' || origin === OURS)) ||
      (site === undefined && origin === OURS);
    const headers: Record<string, string> = {};
    if (site !== undefined) headers['sec-fetch-site'] = site;
    if (origin !== undefined) headers['origin'] = origin;
    expect(isSameOrigin(headers)).toBe(isOurs);
  });

  it('is never derived from Referer or Host', () => {
    expect(isSameOrigin({ referer: `${OURS}/e/x`, host: 'gate.example' })).toBe(false);
  });
});

describe('the Host header in loopback mode', () => {
  const isLoopback = (headers: Record<string, string>): boolean =>
    isAccepted(() => assertLoopbackHost(requestWith(headers)));

  it.each(['localhost', 'LOCALHOST:8080', '127.0.0.1', '127.1.2.3:8080', '[::1]', '[::1]:8080'])('accepts %s', host =>
    expect(isLoopback({ host })).toBe(true),
  );

  it.each([
    'attacker.example',
    'attacker.example:8080',
    'localhost.attacker.example',
    '127.0.0.1.attacker.example:8080',
    'localhost@attacker.example',
    '0.0.0.0',
    '192.168.0.1:8080',
    '[::]',
    '[fe80::1]',
    ':8080',
    '',
  ])('refuses %s', host => expect(isLoopback({ host })).toBe(false));

  it('ignores forwarding headers and Origin', () =>
    expect(isLoopback({ 'x-forwarded-host': 'localhost', origin: 'http://localhost' })).toBe(false));
});

describe('S25: prefetching', () => {
  it.each([
    [{ 'sec-purpose': 'prefetch' }, false],
    [{ 'sec-purpose': 'prefetch;prerender' }, false],
    [{ purpose: 'prefetch' }, false],
    [{ purpose: 'Preview' }, false],
    [{ 'x-moz': 'prefetch' }, false],
    [{}, true],
    [{ 'sec-purpose': '' }, true],
    [{ 'user-agent': 'prefetch' }, true],
  ])('%j is accepted: %s', (headers, expected) => {
    expect(isAccepted(() => assertNoPrefetch(requestWith(headers as Record<string, string>)))).toBe(expected);
  });
});
