import {
  type ClientCredentials,
  clientAuthenticationOf,
  clientCredentialFaults,
} from './client-authentication-config.ts';
import type { RevocationConfig } from './revocation-config.ts';
import type { TokenResponseConfig } from './token-response-config.ts';

/** The members of a provider that depend on each other. */
interface RelatedMembers extends ClientCredentials {
  readonly flow: 'redirect' | 'device';
  readonly mcpResource?: string | undefined;
  readonly issuer?: string | undefined;
  readonly discovery?: string | undefined;
  readonly authorizationEndpoint?: string | undefined;
  readonly tokenEndpoint?: string | undefined;
  readonly deviceAuthorizationEndpoint?: string | undefined;
  readonly pushedAuthorizationEndpoint?: string | undefined;
  readonly userinfoEndpoint?: string | undefined;
  readonly jwksUri?: string | undefined;
  readonly clientId?: string | undefined;
  readonly requireIss: boolean;
  readonly pkce: 'required' | 'unsupported';
  readonly pushedAuthorization: 'auto' | 'required' | 'off';
  readonly dpop: 'off' | 'required';
  readonly tokenResponse?: TokenResponseConfig | undefined;
  readonly refresh?: { readonly tokenResponse?: TokenResponseConfig | undefined } | undefined;
  readonly revocation?: RevocationConfig | undefined;
  readonly account?: { readonly from: 'id_token' | 'userinfo' | 'token_response' } | undefined;
}

export interface MemberFault {
  readonly member: string;
  readonly message: string;
}

/** What contradicts or lacks something else, by the name of the member. */
export function providerConfigFaults(config: RelatedMembers): MemberFault[] {
  const unregistered = config.clientId === undefined;
  return [
    ...endpointFaults(config),
    ...(unregistered ? unregisteredFaults(config) : clientCredentialFaults(config)),
    ...proofFaults(config),
  ];
}

function endpointFaults(config: RelatedMembers): MemberFault[] {
  const faults: MemberFault[] = [];
  const fault = (member: keyof RelatedMembers, message: string) => faults.push({ member, message });
  const { authorizationEndpoint, tokenEndpoint, deviceAuthorizationEndpoint, issuer, jwksUri, account } = config;
  const explicit = authorizationEndpoint !== undefined || tokenEndpoint !== undefined;
  const redirect = config.flow === 'redirect';

  if (explicit) {
    if (redirect && authorizationEndpoint === undefined) fault('authorizationEndpoint', 'is needed with tokenEndpoint');
    if (tokenEndpoint === undefined) fault('tokenEndpoint', 'is needed with authorizationEndpoint');
    if (!redirect && deviceAuthorizationEndpoint === undefined)
      fault('deviceAuthorizationEndpoint', 'is needed with tokenEndpoint');
    if (config.discovery !== undefined) fault('discovery', 'cannot be combined with explicit endpoints');
    if (config.mcpResource !== undefined) fault('mcpResource', 'cannot be combined with explicit endpoints');
    if (account?.from === 'id_token' && (issuer === undefined || jwksUri === undefined))
      fault('account', 'from an ID token needs issuer and jwksUri, which verify it');
    if (account?.from === 'userinfo' && config.userinfoEndpoint === undefined)
      fault('userinfoEndpoint', 'is needed for account');
    if (config.pushedAuthorization === 'required' && config.pushedAuthorizationEndpoint === undefined)
      fault('pushedAuthorizationEndpoint', 'is needed for pushedAuthorization required');
  } else {
    if (issuer === undefined && config.mcpResource === undefined)
      fault('issuer', 'is needed unless endpoints are given');
    if (jwksUri !== undefined) fault('jwksUri', 'comes from discovery');
  }
  if (config.pushedAuthorization === 'off' && config.pushedAuthorizationEndpoint !== undefined)
    fault('pushedAuthorizationEndpoint', 'is of no use with pushedAuthorization off');
  if (config.requireIss && issuer === undefined && config.mcpResource === undefined)
    fault('issuer', 'is needed for requireIss');
  // Otherwise the remote MCP server would decide who gets to see the client's secret.
  if (config.mcpResource !== undefined && config.clientId !== undefined && issuer === undefined)
    fault('issuer', 'is needed for clientId: a client is registered at one issuer');
  return faults;
}

/**
 * Postern registers itself, or not at all; credentials of a registration that is not there are a mistake. A key is none of
 * them: Postern publishes it and registers with it.
 */
function unregisteredFaults(config: RelatedMembers): MemberFault[] {
  if (config.mcpResource === undefined) return [{ member: 'clientId', message: 'is needed' }];
  return (['clientSecret', 'clientAuthentication'] as const)
    .filter(member => config[member] !== undefined)
    .map(member => ({ member, message: 'needs clientId' }));
}

function proofFaults(config: RelatedMembers): MemberFault[] {
  const faults: MemberFault[] = [];
  // An assertion names its audience, and that must be the issuer: anything else is good at somebody else's endpoint.
  const method = config.clientAuthentication ?? (config.clientKey === undefined ? undefined : 'private_key_jwt');
  const asserts = method === 'private_key_jwt' || method === 'client_secret_jwt';
  if (asserts && config.issuer === undefined && config.mcpResource === undefined)
    faults.push({ member: 'issuer', message: `is needed for clientAuthentication ${method}` });
  if (config.revocation?.authentication === 'basic' && config.clientSecret === undefined)
    faults.push({ member: 'revocation', message: 'by HTTP Basic needs a clientSecret' });
  // A code that anybody can exchange is kept from thieves by PKCE alone (RFC 7636 section 1).
  if (config.pkce === 'unsupported' && clientAuthenticationOf(config) === 'none')
    faults.push({ member: 'pkce', message: 'cannot be unsupported for a client that does not authenticate' });
  // Metadata speaks for itself, and a client that registers itself may turn out to be one that does not authenticate.
  if (config.pkce === 'unsupported' && config.tokenEndpoint === undefined)
    faults.push({ member: 'pkce', message: 'can be unsupported only with explicit endpoints' });
  for (const [member, answers] of [
    ['tokenResponse', config.tokenResponse],
    ['refresh', config.refresh?.tokenResponse],
  ] as const) {
    if (config.dpop === 'required' && answers?.tokenType !== undefined)
      faults.push({ member, message: 'cannot make a token bearer where dpop is required' });
  }
  return faults;
}
