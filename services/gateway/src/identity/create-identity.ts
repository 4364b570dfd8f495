import { defaultText } from '@postern/api';
import {
  createAccessTokenVerifier,
  createLogoutTokenVerifier,
  createSignIn,
  type IdentityProviderConfig,
} from '@postern/authorization';
import type { Clock, ElicitationService, Entropy, Stores, Subject } from '@postern/elicitation';
import { createPasskeys } from '@postern/payment';
import type { Vault } from '@postern/vault';
import type { OAuthCallback } from '../authorization/oauth-callback.ts';
import type { RegisteredMcpServer } from '../mcp-servers/registered-mcp-server.ts';
import type { AuditLog } from '../platform/audit/audit-events.ts';
import type { GatewayConfig } from '../platform/config/config-schema.ts';
import { identityProviderAt, type OutboundLog } from '../platform/outbound/outbound-log.ts';
import { signInThrough, type UpstreamOf, verifyThrough } from '../platform/overload/upstream.ts';
import type { LogoutIssuer } from './back-channel-logout.ts';
import { createExternalVerification } from './external-verification.ts';
import { PasskeyCeremonies } from './passkeys/passkey-ceremony.ts';
import { PasskeyChangeFlow } from './passkeys/passkey-change-flow.ts';
import { createSignInFlow, type IdentityProvider, parseReturnTo } from './sign-in-flow.ts';
import { createSignInMethods } from './sign-in-methods.ts';
import { createSignInPolicy } from './sign-in-policy.ts';

/** Creates the services of this folder: sign-in, external verification, verification of access tokens, passkeys. */
export function createIdentity(p: {
  config: Pick<GatewayConfig, 'publicUrl' | 'branding' | 'browserSession' | 'identityProviders'>;
  mcpServers: ReadonlyMap<string, RegisteredMcpServer>;
  stores: Stores;
  service: ElicitationService;
  vault: Vault;
  auditLog: AuditLog;
  /** See `announcementsOf`. */
  announcedAs: (subject: Subject) => string | undefined;
  oauthCallback: Pick<OAuthCallback, 'finishVerified'>;
  upstreamOf: UpstreamOf;
  outboundLog: OutboundLog;
  /** Equal on all replicas. */
  sharedSecret: Uint8Array;
  now: Clock;
  entropy: Entropy;
}) {
  const { config, outboundLog, now } = p;
  const upstreamOf = (name: string) => p.upstreamOf('identity_provider', name);
  const identityProviders = config.identityProviders.map(each => createIdentityProvider(p, each));
  const passkeys = createPasskeys({
    rpId: new URL(config.publicUrl).hostname,
    rpName: defaultText(config.branding.name),
    origin: config.publicUrl,
  });
  const ceremonies = new PasskeyCeremonies({ ...p, passkeys });
  return {
    identityProviders,
    ceremonies,
    accessTokens: createAccessTokenVerifier({
      identityProviders: config.identityProviders,
      fetchFor: ({ name }) => upstreamOf(name).fetch,
      now,
      around: (identityProvider, work) =>
        verifyThrough(upstreamOf(identityProvider.name), identityProvider.name, () =>
          outboundLog.run(identityProviderAt(identityProvider), work),
        ),
    }),
    signInFlow: createSignInFlow({ ...p, identityProviders, parseReturnTo }),
    signInMethods: createSignInMethods({ ...p, identityProviders, secret: p.sharedSecret }),
    signInPolicy: createSignInPolicy(p),
    externalVerification: createExternalVerification(p),
    passkeyChangeFlow: new PasskeyChangeFlow({ ...p, ceremonies }),
  };
}

/**
 * Creates the sign-in at one identity provider, and the verification of its logout tokens, behind its bulkhead.
 * @param operators the sign-in of operators, and the claim of the ID token whose values it returns
 */
export function createIdentityProvider(
  p: { upstreamOf: UpstreamOf; outboundLog: OutboundLog; now: Clock },
  config: IdentityProviderConfig,
  operators?: { readonly groupsClaim: string },
): IdentityProvider & LogoutIssuer {
  const target = operators === undefined ? 'identity_provider' : 'operator_sign_in';
  const upstream = p.upstreamOf(target, config.name);
  const { fetch } = upstream;
  const onProfileError = p.outboundLog.ignored;
  const signIn = createSignIn({ identityProvider: config, fetch, now: p.now, onProfileError, ...operators });
  const logoutTokens = createLogoutTokenVerifier({ identityProvider: config, fetch, now: p.now });
  const whose = identityProviderAt(config, target);
  return {
    config,
    signIn: signInThrough(upstream, p.outboundLog.operationsOf(whose), signIn),
    verifyLogout: token =>
      verifyThrough(upstream, config.name, () => p.outboundLog.run(whose, () => logoutTokens.verify(token))),
  };
}

export type Identity = ReturnType<typeof createIdentity>;
