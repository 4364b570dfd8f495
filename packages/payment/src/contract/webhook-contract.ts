import type { Charge } from '@postern/elicitation';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { chargeOf, type MakeProcessorWorld, type ProcessorWorld, type WebhookDelivery } from './processor-world.ts';

export function describeWebhook(name: string, makeWorld: MakeProcessorWorld): void {
  describe(`${name}: webhooks`, () => {
    let world: ProcessorWorld;
    let charge: Charge;
    let elicitationId: string;
    beforeAll(async () => {
      world = await makeWorld();
    });
    afterAll(() => world[Symbol.asyncDispose]());
    beforeEach(async () => {
      const ask = chargeOf(world.amounts[0] ?? world.impossible);
      charge = await world.processor.open(ask);
      elicitationId = ask.elicitationId;
      await world.pay(charge);
    });

    const refused = { name: 'ProcessorError', code: 'signature_invalid' };

    test('a webhook names its charge, however often it is repeated and on every replica', async () => {
      const delivery = world.webhook(charge);
      const event = { reference: charge.reference, elicitationId, namesGateway: true };
      expect(await world.processor.webhook(delivery)).toEqual(event);
      expect(await world.processor.webhook(delivery)).toEqual(event);
      expect(await world.replica.webhook(delivery)).toEqual(event);
    });

    test.each(['current', 'previous', 'both'] as const)(
      'a webhook with the %s signature is accepted during rotation',
      async signedBy => {
        expect(await world.processor.webhook(world.webhook(charge, { signedBy }))).toMatchObject({ elicitationId });
      },
    );

    test('a webhook with the signature of another key is refused', async () => {
      const delivery = world.webhook(charge, { signedBy: 'stranger' });
      await expect(world.processor.webhook(delivery)).rejects.toMatchObject(refused);
    });

    test('a webhook with an old signature is refused', async () => {
      expect(await world.processor.webhook(world.webhook(charge, { ageSeconds: 200 }))).toMatchObject({
        elicitationId,
      });
      const old = world.webhook(charge, { ageSeconds: 3600 });
      await expect(world.processor.webhook(old)).rejects.toMatchObject(refused);
    });

    test('a webhook with any changed byte is refused', async () => {
      const { body, headers }: WebhookDelivery = world.webhook(charge);
      for (const at of [0, Math.floor(body.length / 2), body.length - 1]) {
        const changed = Uint8Array.from(body);
        changed[at] = (changed[at] ?? 0) ^ 1;
        await expect(world.processor.webhook({ body: changed, headers })).rejects.toMatchObject(refused);
      }
    });

    test('a webhook without a signature is refused', async () => {
      const { body } = world.webhook(charge);
      await expect(world.processor.webhook({ body, headers: {} })).rejects.toMatchObject(refused);
      await expect(world.processor.webhook({ body: new Uint8Array(), headers: {} })).rejects.toMatchObject(refused);
    });

    test('S68: a webhook about a charge of another gateway on the same account is ignored', async () => {
      const delivery = world.webhook(charge);
      expect(await world.otherGateway.webhook(delivery)).toBeUndefined();
      const foreign = await world.otherGateway.open(chargeOf(world.amounts[0] ?? world.impossible));
      await world.pay(foreign);
      expect(await world.processor.webhook(world.webhook(foreign))).toBeUndefined();
      expect(await world.otherGateway.webhook(world.webhook(foreign))).toMatchObject({ reference: foreign.reference });
    });

    test('a webhook about anything else is ignored', async () => {
      expect(await world.processor.webhook(world.foreignWebhook())).toBeUndefined();
    });
  });
}
