import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startWorld, type World } from '../support/world.ts';

/** How long load balancers keep an idle connection to a gateway, in seconds: the default of nginx. The others close earlier. */
const IDLE_AT_BALANCER = 60;
let world: World;
beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world?.[Symbol.asyncDispose]());

const ask = (path: string) => fetch(new URL(path, world.gateways[0]?.address));

describe('S80: a gateway behind a load balancer', () => {
  it('S80: keeps idle connections open for longer than the load balancer does', async () => {
    const answer = await ask('/readyz');
    expect(answer.status).toBe(200);
    const [, seconds] = /^timeout=(\d+)$/.exec(answer.headers.get('keep-alive') ?? '') ?? [];
    expect(Number(seconds)).toBeGreaterThan(IDLE_AT_BALANCER);
  });

  it('S80: is not ready from SIGTERM on, but serves every request and ends its connection', async () => {
    const { elicitationId } = await world.ask(world.subject());
    const drained = world.gateways[0]?.drain();
    const readiness = await ask('/readyz');
    expect(readiness.status).toBe(503);
    expect(await readiness.json()).toMatchObject({ code: 'stopping' });
    const read = await world.api.read(elicitationId);
    expect(read).toMatchObject({ status: 200, body: { status: 'pending' } });
    const issued = await world.api.issue({
      kind: 'confirmation',
      subject: { issuer: world.identityProvider.issuer, subject: world.subject() },
      message: 'Still served',
      confirmation: { title: 'Go on', facts: [] },
    });
    expect(issued.status).toBe(201);
    for (const { headers } of [readiness, read, issued]) expect(headers.get('connection')).toBe('close');
    await world.gateways[0]?.close();
    await drained;
  });
});
