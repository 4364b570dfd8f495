import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startWorld, type World } from '../support/world.ts';

let world: World;
beforeAll(async () => {
  world = await startWorld({ mcpServer: { identity: { mode: 'loopback' } } });
});
afterAll(() => world?.[Symbol.asyncDispose]());

/**
 * The request of a page at a foreign name after that name resolves to this machine. For the browser it is same-origin.
 */
const rebound = (host: string) => ({ headers: { host, 'sec-fetch-site': 'same-origin' } });

describe('identity mode loopback: a foreign name that resolves to this machine', () => {
  it.each(['attacker.example', 'attacker.example:8080', 'localhost.attacker.example', '127.0.0.1.attacker.example'])(
    'S59: reads nothing as %j',
    async host => {
      const { elicitationId } = await world.ask(world.subject());
      for (const path of [`/e/${elicitationId}`, `/e/${elicitationId}/leaving`, '/login', '/callback/tracker/forge']) {
        const answer = await world.raw().get(path, rebound(host));
        expect(answer.status).toBe(403);
        expect(answer.body).not.toContain('csrf_token');
        expect(answer.setCookies).toEqual([]);
      }
    },
  );

  it.each(['localhost', 'localhost:1', '127.0.0.1:8080', '[::1]:8080'])(
    'serves requests to this machine as %s',
    async host => {
      const { elicitationId } = await world.ask(world.subject());
      const answer = await world.raw().get(`/e/${elicitationId}`, rebound(host));
      expect(answer.status).toBe(200);
      expect(answer.body).toContain('csrf_token');
    },
  );

  it('the API, which requires a credential, responds under any name', async () => {
    const { elicitationId } = await world.ask(world.subject());
    expect((await world.raw().get(`/v1/elicitations/${elicitationId}`, rebound('postern:8080'))).status).toBe(401);
  });
});
