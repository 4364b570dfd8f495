import type { FastifyRequest } from 'fastify';
import { describe, expect, it } from 'vitest';
import { PageError } from './page-error.ts';
import { assertSameOrigin, isPrefetch } from './same-origin.ts';

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
