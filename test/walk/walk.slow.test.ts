import { beforeAll, describe, expect, it } from 'vitest';
import { ways } from '../../scripts/ratchets.ts';
import { measureWalks, roomOf } from './walk.ts';

let walked: ReadonlyMap<string, readonly string[]>;
beforeAll(async () => {
  walked = new Map((await measureWalks()).map(({ request, modules }) => [request, modules]));
});
const modulesOf = (request: string) => walked.get(request) ?? [];
const roomsOf = (request: string) => new Set(modulesOf(request).map(roomOf));

describe('the modules of a request', () => {
  it.each([
    ['POST elicitations', 'services/gateway/src/elicitations/', 'packages/store-redis/'],
    ['OAuth callback', 'services/gateway/src/authorization/oauth-callback', 'packages/vault/'],
    ['Stripe approval', 'services/gateway/src/payments/', 'packages/payment/src/stripe'],
    ['GET ?wait=, woken', 'packages/elicitation/src/reading', 'packages/store-redis/src/wake-up'],
    ['authorize(), connected', 'packages/mcp/src/ask/authorize', 'packages/mcp/src/gateway/client'],
    ['authorize(), asked', 'packages/mcp/src/eras/modern', 'packages/api/'],
  ])('of %s include %s and %s', (request, ...expected) => {
    const modules = modulesOf(request);
    expect(expected.filter(start => !modules.some(path => path.startsWith(start)))).toEqual([]);
  });

  /** On a busy machine, the timers of the gateway fall into most runs of a request: each adds the modules that it runs. */
  const ofTimers = 4;
  it.each(Object.entries(ways))('of %s are at most %i, and those of timers', (request, most) => {
    expect(modulesOf(request).length).toBeLessThanOrEqual(most + ofTimers);
    expect(modulesOf(request)).not.toEqual([]);
  });

  it('exclude modules that only ran before the request', () => {
    expect(roomsOf('OAuth callback')).not.toContain('gateway/elicitations');
    expect(roomsOf('GET ?wait=, woken')).not.toContain('gateway/authorization');
  });

  it('exclude the gateway when the request is a call in the MCP server', () => {
    expect(roomsOf('authorize(), asked')).toEqual(new Set(['packages/api', 'packages/mcp']));
  });

  it('exclude tests and test support', () => {
    expect([...walked.values()].flat().filter(path => /\.test\.ts$|testkit|\/testing\/|^test\//.test(path))).toEqual(
      [],
    );
  });
});
