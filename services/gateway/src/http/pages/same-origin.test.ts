import type { FastifyRequest } from 'fastify';
import { describe, expect, it } from 'vitest';
import { PageError } from './page-error.ts';
import { assertLoopbackHost, assertSameOrigin, isPrefetch } from './same-origin.ts';

const OURS = 'https://gate.example';
const requestWith = (headers: Record<string, string>) => ({ headers }) as unknown as FastifyRequest;
const isAccepted = (headers: Record<string, string>): boolean => {
  try {
    assertSameOrigin(requestWith(headers), OURS);
    return true;
  } catch (error) {
    if (error instanceof PageError && error.kind === 'forbidden') return false;
    throw error;
  }
};

describe('S26: where a form post comes from', () => {
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
      (site === 'same-origin' && (origin === undefined || origin === OURS)) || (site === undefined && origin === OURS);
    const headers = {
      ...(site === undefined ? {} : { 'sec-fetch-site': site }),
      ...(origin === undefined ? {} : { origin }),
    };
    expect(isAccepted(headers)).toBe(isOurs);
  });

  it('is never taken from the Referer or the Host', () => {
    expect(isAccepted({ referer: `${OURS}/e/x`, host: 'gate.example' })).toBe(false);
  });
});

describe('the name this machine is reached by', () => {
  const isLoopback = (headers: Record<string, string>): boolean => {
    try {
      assertLoopbackHost(requestWith(headers));
      return true;
    } catch (error) {
      if (error instanceof PageError && error.kind === 'forbidden') return false;
      throw error;
    }
  };

  it.each(['localhost', 'LOCALHOST:8080', '127.0.0.1', '127.1.2.3:8080', '[::1]', '[::1]:8080'])(
    '%s is its own',
    host => expect(isLoopback({ host })).toBe(true),
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
  ])('%s is not', host => expect(isLoopback({ host })).toBe(false));

  it('is not what a proxy or a page claims it to be', () =>
    expect(isLoopback({ 'x-forwarded-host': 'localhost', origin: 'http://localhost' })).toBe(false));
});

describe('S25: prefetching', () => {
  it.each([
    [{ 'sec-purpose': 'prefetch' }, true],
    [{ 'sec-purpose': 'prefetch;prerender' }, true],
    [{ purpose: 'prefetch' }, true],
    [{ purpose: 'Preview' }, true],
    [{ 'x-moz': 'prefetch' }, true],
    [{}, false],
    [{ 'sec-purpose': '' }, false],
    [{ 'user-agent': 'prefetch' }, false],
  ])('%j', (headers, expected) => {
    expect(isPrefetch(requestWith(headers as Record<string, string>))).toBe(expected);
  });
});
