import { SoftwareAuthenticator } from '@postern/payment/software-authenticator';
import { issueFor, paymentOf, visitorFor } from './asks.ts';
import { answerCeremony, ceremonyOf } from './passkey-ceremony.ts';
import type { RawBrowser } from './raw-browser.ts';
import type { Stage } from './stage.ts';

/** Somebody with a passkey, and a payment that waits for it. */
export interface PasskeyPerson {
  readonly user: string;
  readonly raw: RawBrowser;
  readonly authenticator: SoftwareAuthenticator;
  readonly elicitationId: string;
}

/** People with passkeys on a stage where the payments of `paymentOf` are above the threshold. */
export function createPasskeyPeople(stageOf: () => Stage) {
  const newAuthenticator = (options?: { counts?: boolean }) =>
    new SoftwareAuthenticator(stageOf().world.publicUrl, options);
  const paymentFor = async (user: string) =>
    (await issueFor(stageOf(), user, paymentOf({ processor: 'none' }))).elicitationId;

  /** @throws when it is refused */
  async function enrol(raw: RawBrowser, elicitationId: string, authenticator: SoftwareAuthenticator): Promise<void> {
    const page = await ceremonyOf(raw, elicitationId);
    const { status, location } = await answerCeremony(raw, page, authenticator.create(page.options));
    if (status !== 303 || location !== `/e/${elicitationId}/passkey`) throw new Error(`not enrolled: ${status}`);
  }

  return {
    newAuthenticator,
    paymentFor,
    enrol,

    /** Ids of the passkeys that are stored for a person. */
    async passkeysOf(user: string): Promise<readonly string[]> {
      const { world } = stageOf();
      const subject = { issuer: world.identityProvider.issuer, subject: user };
      const passkeys = (await world.gateways[0]?.deps.stores.passkeys.list(subject)) ?? [];
      return passkeys.map(({ passkeyId }) => passkeyId);
    },

    async enrolled(options?: { counts?: boolean }): Promise<PasskeyPerson> {
      const user = stageOf().subject();
      const elicitationId = await paymentFor(user);
      const raw = await visitorFor(stageOf(), user, elicitationId);
      const authenticator = newAuthenticator(options);
      await enrol(raw, elicitationId, authenticator);
      return { user, raw, authenticator, elicitationId };
    },
  };
}
