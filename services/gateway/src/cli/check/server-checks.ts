import {
  type IdentityProviderConfig,
  inspectIdentityProvider,
  inspectProvider,
  type OutboundFetch,
  type ProviderConfig,
  type ServerInspection,
} from '@postern/authorization';
import type { GatewayConfig } from '../../platform/config/config-schema.ts';
import { redirectUriOf, signInRedirectUriOf } from '../../platform/http/public-urls.ts';
import { type OutboundFailureCode, outboundFailureOf } from '../../platform/outbound/outbound-failure.ts';
import { type Finding, failed, ok, warning } from './findings.ts';

type Config = Pick<GatewayConfig, 'publicUrl' | 'mcpServers'>;

/** The first step for each failure. docs/failures.md explains them all. */
const firstSteps: Readonly<Partial<Record<OutboundFailureCode, string>>> = {
  unknown_host: 'DNS does not know the host: check the URL.',
  untrusted_certificate: 'Its certificate is not trusted: see outbound.caFile.',
  blocked:
    'The outbound policy refuses the address: https is required, and private hosts belong into outbound.privateHosts.',
  redirected: 'It redirects: configure the target.',
  connection_refused: 'Nothing listens there.',
  timeout: 'It does not respond in time: check firewalls and outbound.proxy.',
  unavailable: 'It answers with a server error: try again later.',
  unusable_metadata: 'Its metadata is missing or unusable: check the issuer.',
  client_refused: 'It refuses the credentials of the gateway.',
};

/** Explains an error of an outbound request. @throws an error that is not about the other side */
export function outsideFault(error: unknown): string {
  const failure = outboundFailureOf(error);
  if (failure === undefined) throw error;
  const { code, cause } = failure;
  if (cause === 'metadata_mismatch')
    return 'Its metadata names another issuer. Copy the issuer from the metadata, and set metadataUrl if the metadata is elsewhere.';
  if (cause === 'pkce_unsupported')
    return 'Its metadata does not list PKCE with S256. If it supports PKCE, set allowMissingPkceMetadata.';
  return `${firstSteps[code] ?? 'See docs/failures.md.'} (${code}, ${cause})`;
}

/**
 * Checks an identity provider as the first sign-in would, and names the redirect URI to register.
 * @param p.publicUrl origin of the pages on which these people sign in
 */
export async function checkIdentityProvider(
  identityProvider: IdentityProviderConfig,
  p: {
    readonly publicUrl: string;
    readonly of: 'users' | 'operators';
    readonly fetch: OutboundFetch;
    readonly now: () => number;
  },
): Promise<readonly Finding[]> {
  const check = p.of === 'users' ? `identityProvider.${identityProvider.name}` : 'console.identityProvider';
  const redirectUri = signInRedirectUriOf(p.publicUrl, identityProvider.name).href;
  let found: ServerInspection;
  try {
    found = await inspectIdentityProvider(identityProvider, p);
  } catch (error) {
    const who = p.of === 'users' ? 'Users' : 'Operators';
    return [failed(check, `${who} cannot sign in at ${identityProvider.issuer}. ${outsideFault(error)}`)];
  }
  if (found.usableKeys === 0) return [failed(check, 'It publishes no key that can verify signatures (jwks_uri).')];
  const subject = identityProvider.subjectClaim;
  return [
    ok(check, `Discovery, PKCE and ${found.usableKeys} keys are usable. The claim ${subject} identifies ${p.of}.`),
    ok(`${check}.redirectUri`, `Register there: ${redirectUri}`),
    // Operators sign in at one client only.
    ...(found.hasPairwiseSubjects && subject === 'sub' && p.of === 'users'
      ? [
          warning(
            check,
            'Its claim sub differs per application, so MCP servers may name other users than those who sign in. Set subjectClaim, at Entra ID to tid+oid.',
          ),
        ]
      : []),
    ...contradictions(check, found),
  ];
}

/** Checks a provider as the first authorization would, and names the redirect URIs to register. */
export async function checkProvider(
  provider: ProviderConfig,
  { config, fetch, now }: { readonly config: Config; readonly fetch: OutboundFetch; readonly now: () => number },
): Promise<readonly Finding[]> {
  const check = `provider.${provider.name}`;
  const users = config.mcpServers.filter(({ providers }) => providers.includes(provider.name));
  const unused = users.length === 0 ? [warning(check, 'No MCP server lists it in providers.')] : [];
  // A client that registers itself sends its redirect URIs, and the device flow has none.
  const isRegisteredByHand = provider.clientId !== undefined && provider.flow === 'redirect';
  const redirectUris = users.map(({ id }) => redirectUriOf(config.publicUrl, id, provider.name).href);
  const toRegister = isRegisteredByHand
    ? redirectUris.map(uri => ok(`${check}.redirectUri`, `Register there: ${uri}`))
    : [];
  try {
    const found = await inspectProvider(provider, { fetch, now });
    const what = provider.tokenEndpoint === undefined ? 'Its metadata is usable.' : 'Its token endpoint responds.';
    return [ok(check, what), ...toRegister, ...contradictions(check, found), ...unused];
  } catch (error) {
    return [failed(check, `Users cannot connect accounts. ${outsideFault(error)}`), ...toRegister, ...unused];
  }
}

function contradictions(check: string, { otherClientAuthentication, unlistedScopes }: ServerInspection): Finding[] {
  const findings: Finding[] = [];
  if (otherClientAuthentication !== undefined)
    findings.push(
      warning(
        check,
        `Its metadata offers other clientAuthentication: ${otherClientAuthentication.slice(0, 10).join(', ')}.`,
      ),
    );
  if (unlistedScopes.length > 0)
    findings.push(warning(check, `Its metadata does not list these scopes: ${unlistedScopes.join(', ')}.`));
  return findings;
}
