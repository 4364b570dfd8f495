import { SoftwareAuthenticator } from '@postern/payment/software-authenticator';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { paymentOf, paymentPolicy } from '../support/asks.ts';
import { answerCeremony, ceremonyOf, firstPasskeySignInOf } from '../support/passkey-ceremony.ts';
import { askPerson } from '../support/payment-person.ts';
import { ownLinksIn } from '../support/raw-browser.ts';
import { startWorld, type World } from '../support/world.ts';

let world: World;
beforeAll(async () => {
  const payment = paymentPolicy({ passkeyAbove: { EUR: 0 }, freshSignInSeconds: 3600 });
  world = await startWorld({ mcpServer: { payment } });
});
afterAll(() => world?.[Symbol.asyncDispose]());

const asked = () => askPerson(world, paymentOf({ processor: 'none' }), { ttlSeconds: 3600 });

it('an old browser session that may still approve must not add a passkey', async () => {
  const person = await asked();
  const fresh = await ceremonyOf(person.raw, person.elicitationId);
  expect(fresh.mode).toBe('register');
  world.clock.pass(301);
  const late = await person.raw.get(`${person.page}/passkey`);
  const login = firstPasskeySignInOf(person.elicitationId);
  expect(ownLinksIn(late)).toContain(login);
  const finder = new SoftwareAuthenticator(world.publicUrl);
  expect(await answerCeremony(person.raw, fresh, finder.create(fresh.options))).toMatchObject({
    location: person.page,
  });
  const signIn = new URL((await person.raw.get(login)).location ?? '');
  expect(signIn.searchParams.get('max_age')).toBe('0');
  expect((await person.read()).status).toBe('pending');
  world.clock.backToNow();
});

it('a registered passkey can be used for as long as the sign-in is valid', async () => {
  const person = await asked();
  const device = new SoftwareAuthenticator(world.publicUrl);
  const adding = await ceremonyOf(person.raw, person.elicitationId);
  await answerCeremony(person.raw, adding, device.create(adding.options));
  world.clock.pass(301);
  const using = await ceremonyOf(person.raw, person.elicitationId);
  expect(await answerCeremony(person.raw, using, device.get(using.options))).toMatchObject({ status: 303 });
  expect((await person.read()).outcome).toMatchObject({ approval: { method: 'passkey' } });
  world.clock.backToNow();
});
