import { FLOOD_BYTES, floods, startAnsweringMachine } from '@postern/testkit/any-answer';
import { expect, it } from 'vitest';
import { createOutboundFetch } from './outbound-fetch.ts';

/** A number of bytes that the buffers of both sockets explain. */
const smallPart: unknown = expect.toSatisfy((sent: number) => sent < FLOOD_BYTES / 2);

it.each([false, true])('S55: reads a small part of every flood, then leaves (discardBody: %s)', async discardBody => {
  await using machine = await startAnsweringMachine();
  await using fetch = createOutboundFetch({ allowLoopback: true });
  for (const [name, damage] of Object.entries(floods)) {
    using order = machine.answer(() => true, damage);
    const outcome = await fetch(`http://localhost:${machine.port}`, { discardBody }).then(
      () => 'read',
      (error: { code?: string }) => error.code,
    );
    expect({ name, outcome }).toEqual({
      name,
      outcome: expect.stringMatching(
        discardBody ? /^(read|outbound_\w+)$/ : /^outbound_(too_large|redirect|unreachable)$/,
      ),
    });
    expect({ name, sent: await order.floods() }).toEqual({ name, sent: [smallPart] });
  }
});

it('counts the bytes of each response anew on a connection that is used again', async () => {
  await using machine = await startAnsweringMachine();
  await using fetch = createOutboundFetch({ allowLoopback: true, maxBytes: 100_000 });
  machine.behind(() => ({ status: 200, headers: {}, body: Buffer.alloc(90_000, 0x20) }));
  for (let at = 0; at < 20; at += 1) {
    const outcome = await fetch(`http://localhost:${machine.port}`).then(
      async response => (await response.text()).length,
      (error: { code?: string }) => error.code,
    );
    expect(outcome).toBe(90_000);
  }
  expect(machine.connections).toBeLessThan(5);
});
