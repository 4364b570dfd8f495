import { anyAnswers, FLOOD_BYTES, floods, startAnsweringMachine } from '@postern/testkit/any-answer';
import { expect, it } from 'vitest';
import { AuthorizationError } from '../authorization-error.ts';
import { createOutboundFetch } from '../outbound-fetch.ts';
import { deleteClient } from './registration-endpoint.ts';

it('deleting a client that nobody uses ends well with any answer', async () => {
  await using machine = await startAnsweringMachine();
  await using fetch = createOutboundFetch({ allowLoopback: true });
  const management = { url: `http://localhost:${machine.port}/reg/client`, accessToken: 'a-management-token' };
  for (const [name, damage] of Object.entries({ ...anyAnswers('Canary-7Q2-Canary'), ...floods })) {
    using order = machine.answer(() => true, damage);
    const outcome = await deleteClient(management, fetch).catch((error: unknown) => error);
    const isExpected = typeof outcome === 'boolean' || outcome instanceof AuthorizationError;
    expect({ name, isExpected, isAsked: order.count > 0 }).toEqual({ name, isExpected: true, isAsked: true });
    for (const sent of await order.floods())
      expect({ name, isCut: sent < FLOOD_BYTES / 2 }).toEqual({ name, isCut: true });
  }
});
