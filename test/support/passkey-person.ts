import { SoftwareAuthenticator } from '@postern/payment/software-authenticator';
import { issueFor, paymentOf, visitorFor } from './asks.ts';
import { answerCeremony, ceremonyOf } from './passkey-ceremony.ts';
import type { RawBrowser } from './raw-browser.ts';
import type { World } from './world.ts';

/** A user with a passkey, and a payment that waits for it. */
export interface PasskeyPerson {
  readonly user: string;
  readonly raw: RawBrowser;
  readonly authenticator: SoftwareAuthenticator;
  readonly elicitationId: string;
}

/** Users with passkeys, in a world where the payments of `paymentOf` exceed the threshold. */
export function createPasskeyPeople(worldOf: () => World) {
  const newAuthenticator = (options?: { counts?: boolean }) => new SoftwareAuthenticator(worldOf().publicUrl, options);
  const paymentFor = async (user: string) =>
    (await issueFor(worldOf(), user, paymentOf({ processor: 'none' }))).elicitationId;

  /** @throws if it is refused */
  async function enrol(raw: RawBrowser, elicitationId: string, authenticator: SoftwareAuthenticator): Promise<void> {
    const page = await ceremonyOf(raw, elicitationId);
    const { status, location } = await answerCeremony(raw, page, authenticator.create(page.options));
    if (status !== 303 || location !== `/e/${elicitationId}/passkey`) throw new Error(`not enrolled: ${status}`);
  }

  return {
    newAuthenticator,
    paymentFor,
    enrol,

    /** Ids of a user's stored passkeys. */
    async passkeysOf(user: string): Promise<readonly string[]> {
      const world = worldOf();
      const subject = { issuer: world.identityProvider.issuer, subject: user };
      const passkeys = (await world.gateways[0]?.deps.stores.passkeys.list(subject)) ?? [];
      return passkeys.map(({ passkeyId }) => passkeyId);
    },

    async enrolled(options?: { counts?: boolean }): Promise<PasskeyPerson> {
      const user = worldOf().subject();
      const elicitationId = await paymentFor(user);
      const raw = await visitorFor(worldOf(), user, elicitationId);
      const authenticator = newAuthenticator(options);
      await enrol(raw, elicitationId, authenticator);
      return { user, raw, authenticator, elicitationId };
    },
  };
}
