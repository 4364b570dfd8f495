import type { World } from './world.ts';

/** Expires an elicitation. @throws if it is not expired afterwards */
export async function expireElicitation(world: World, elicitationId: string): Promise<void> {
  const { body } = await world.api.read(elicitationId);
  const service = world.gateways[0]?.deps.service;
  const ahead = Date.parse(body.expiresAt) - Date.now() + 1000;
  const ended = await world.clock.during(ahead, async () =>
    service?.expire(body.elicitationId as Parameters<typeof service.expire>[0]),
  );
  if (ended?.status !== 'expired') throw new Error(`not expired: ${ended?.status}`);
}
