import { z } from 'zod';

/** A capability that a part of the demo needs, as `GET /v1/me` of the gateway names it. */
export type Capability = 'identity_login';

/** Whether the gateway offers a capability. Without Redis it is for one person, without a sign-in. */
export type Offers = (capability: Capability) => boolean;

const callerSchema = z.object({ gateway: z.object({ notOffered: z.array(z.string()).default([]) }) });

/** Asks the gateway what it does not offer. */
export async function readOffers({ url, apiKey }: { url: string; apiKey: string }): Promise<Offers> {
  const response = await fetch(`${url}/v1/me`, { headers: { authorization: `Bearer ${apiKey}` } });
  const { notOffered } = callerSchema.parse(await response.json()).gateway;
  return capability => !notOffered.includes(capability);
}
