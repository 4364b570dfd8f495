import type { CDPSession, Page } from 'playwright-core';

/** A device with passkeys, simulated by chromium (WebAuthn level 3, section 11). */
export interface Authenticator {
  readonly id: string;
  /** Whether the device verifies its user from now on. */
  recognises(isVerified: boolean): Promise<void>;
  credentials(): Promise<readonly { credentialId: string; signCount: number; rpId?: string }[]>;
}

export async function addAuthenticator(page: Page): Promise<Authenticator> {
  const session: CDPSession = await page.context().newCDPSession(page);
  await session.send('WebAuthn.enable');
  const { authenticatorId } = await session.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  return {
    id: authenticatorId,
    recognises: async isUserVerified => {
      await session.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified });
    },
    credentials: async () => (await session.send('WebAuthn.getCredentials', { authenticatorId })).credentials,
  };
}
