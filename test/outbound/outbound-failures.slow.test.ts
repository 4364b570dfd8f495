import { type Damage, whole } from '@postern/testkit/any-answer';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type OutboundClient, outboundClients } from './outbound-clients.ts';
import { type OutboundWorld, startOutboundWorld } from './outbound-world.ts';

let world: OutboundWorld;
beforeAll(async () => {
  world = await startOutboundWorld();
});
afterAll(() => world?.[Symbol.asyncDispose]());

const targets = ['identity_provider', 'provider', 'processor', 'credential_check', 'webhook'];

/** Uses a client whose server sends this response, and returns what is logged of it. */
async function loggedOf(client: OutboundClient, damage: Damage): Promise<readonly Record<string, unknown>[]> {
  const use = await client.prepare(world);
  const before = world.stage.log().length;
  using _order = world.machines[client.machine].answer(client.matches, damage);
  await use.damaged();
  return vi.waitFor(() => {
    const logged = world.stage.log().slice(before).split('\n');
    const found = logged.filter(line => line.includes('"outbound.failed"'));
    expect(found).not.toEqual([]);
    return found.map(line => JSON.parse(line) as Record<string, unknown>);
  }, 30_000);
}

describe('S78: every failed outbound request is logged with its owner, host and cause', () => {
  // Trace export belongs to no request.
  const clients = Object.entries(outboundClients).filter(([name]) => name !== 'trace export');
  it.each(clients)('%s answers 503', { timeout: 60_000 }, async (_name, client) => {
    const lines = await loggedOf(client, () => whole(503, '{}'));
    expect(lines[0]).toMatchObject({
      host: expect.stringMatching(`^(localhost|127\\.0\\.0\\.1):${world.machines[client.machine].port}$`),
      name: expect.stringMatching(/\w/),
      // Errors of Stripe have another format.
      cause: client.machine === 'stripe' ? 'invalid_answer' : 'http_503',
      code: 'unavailable',
      status: 503,
      ms: expect.any(Number),
    });
    expect(targets).toContain(lines[0]?.['target']);
    // The operation may have continued: its later responses do not explain the failure.
    expect(lines.filter(({ cause }) => cause === 'provider_unavailable')).toEqual([]);
    if (client.isInBackground === undefined) expect(lines[0]).toHaveProperty('requestId');
  });

  it.each([
    [401, { code: 'request_refused', cause: 'http_401', status: 401 }],
    [200, { code: 'invalid_answer', cause: 'invalid_userinfo', status: 200 }],
  ])('userinfo of a sign-in, which goes on without it, answers %s with HTML', async (status, expected) => {
    const client = outboundClients['userinfo of an identity provider'];
    if (client === undefined) throw new TypeError('no such client');
    const lines = await loggedOf(client, () => whole(status, '<p>'));
    expect(lines).toEqual([expect.objectContaining({ target: 'identity_provider', ...expected })]);
  });
});
