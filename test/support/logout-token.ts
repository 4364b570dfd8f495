import { randomUUID } from 'node:crypto';
import type { World } from './world.ts';

/** What oidc-provider signs a logout token with; its types do not show it. */
interface LogoutToken {
  mask: Record<string, null>;
  set(claim: string, value: unknown): void;
  issue(p: { use: 'logout' }): Promise<string>;
}
export interface LogoutIssuer {
  readonly IdToken: new (claims: { sub: string }, p: { client: unknown; ctx: undefined }) => LogoutToken;
  readonly Client: {
    find(id: string): Promise<{ backchannelLogoutUri?: string; backchannelLogoutSessionRequired?: boolean }>;
  };
}

export const logoutIssuerOf = ({ identityProvider }: Pick<World, 'identityProvider'>): LogoutIssuer =>
  identityProvider.provider as unknown as LogoutIssuer;

/** Returns the logout token that the provider would send (its host refuses to call a loopback address). */
export async function logoutToken(
  world: Pick<World, 'identityProvider'>,
  p: { readonly client: string; readonly sub: string; readonly sid?: string | undefined },
): Promise<string> {
  const issuer = logoutIssuerOf(world);
  const token = new issuer.IdToken({ sub: p.sub }, { client: await issuer.Client.find(p.client), ctx: undefined });
  token.mask = { sub: null };
  token.set('events', { 'http://schemas.openid.net/event/backchannel-logout': {} });
  token.set('jti', randomUUID());
  if (p.sid !== undefined) token.set('sid', p.sid);
  return token.issue({ use: 'logout' });
}
