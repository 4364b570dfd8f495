import { expireElicitation } from '../../support/expire-elicitation.ts';
import { type GatedEndpoint, type GatedEndpointOptions, startGatedEndpoint } from '../../support/gated-endpoint.ts';
import { oncePerOptions } from '../../support/once-per-options.ts';
import { connectAccount, declineOnPage } from '../../support/person-at-gateway.ts';
import type { RawBrowser } from '../../support/raw-browser.ts';
import { startVerbWorld, type VerbWorld } from '../../support/verb-world.ts';
import { keyOf, startWorld, type World } from '../../support/world.ts';

export type TerminalStatus = 'completed' | 'declined' | 'cancelled' | 'expired' | 'failed';

/** What the scenarios need: a gateway with Redis and OpenID providers, and MCP servers built with `@postern/mcp`. */
export interface UrlModeWorld extends World {
  /** The MCP endpoint with these options, which lives as long as the world; equal options share one. */
  endpoint(options?: GatedEndpointOptions): Promise<GatedEndpoint>;
  /** Another gateway, with payments, and MCP servers with a tool for every kind; started when first asked for. */
  verbs(): Promise<VerbWorld>;
  /** Brings an elicitation of `user` to this end, in the way it really gets there. */
  end(status: TerminalStatus, elicitationId: string, user: string): Promise<void>;
}

/** The MCP server whose application says who is there; only its elicitations can end as `failed` on demand. */
export const PORTAL = 'portal';

export async function startUrlModeWorld(): Promise<UrlModeWorld> {
  const world = await startWorld({
    otherMcpServers: [{ id: PORTAL, identity: { mode: 'external', verifyUrl: 'http://localhost:7002/verify' } }],
  });
  const owned = new AsyncDisposableStack();
  owned.use(world);
  const endpoint = oncePerOptions(owned, (options: GatedEndpointOptions) => startGatedEndpoint(world, options));
  const verbs = oncePerOptions(owned, startVerbWorld);

  async function cancel(elicitationId: string): Promise<void> {
    const { status } = await world.api.cancel(elicitationId);
    if (status !== 200) throw new Error(`not cancelled: ${status}`);
  }

  return {
    ...world,
    endpoint: (options = {}) => endpoint(options),
    verbs: () => verbs({}),
    async end(status, elicitationId, user) {
      switch (status) {
        case 'completed':
          return connectAccount(world.raw(), elicitationId, user);
        case 'declined':
          return declineOnPage(world.raw(), elicitationId, user);
        case 'cancelled':
          return cancel(elicitationId);
        case 'expired':
          return expireElicitation(world, elicitationId);
        case 'failed':
          return failAtPortal(world, world.raw(), elicitationId, user);
      }
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** The application vouches for the right person when the link is opened and for somebody else when the answer is there. */
async function failAtPortal(world: World, browser: RawBrowser, elicitationId: string, user: string): Promise<void> {
  const portal = world.apiOf({ apiKey: keyOf(PORTAL) });
  const verify = async (location: string | undefined, subject: string) => {
    const verificationId = new URL(location ?? '').searchParams.get('verificationId') ?? '';
    return await portal.call<{ continueUrl?: string; code?: string }>(
      'POST',
      `/v1/elicitations/${elicitationId}/verify`,
      { verificationId, subject: { issuer: world.identityProvider.issuer, subject } },
    );
  };
  const opening = await browser.get(`/login?e=${elicitationId}`);
  const opened = await verify(opening.location, user);
  await browser.get(new URL(opened.body.continueUrl ?? ''));
  const callback = await browser.decideAtProvider(await browser.accept(elicitationId), 'alice');
  const answer = await browser.get(callback);
  const refused = await verify(answer.location, 'somebody-else');
  if (refused.body.code !== 'wrong_person') throw new Error(`not refused: ${refused.status} ${refused.body.code}`);
}
