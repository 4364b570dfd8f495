import { type GatedEndpoint, type GatedEndpointOptions, startGatedEndpoint } from '../../support/gated-endpoint.ts';
import { connectAccount, declineOnPage } from '../../support/person-at-gateway.ts';
import { createRawBrowser, type RawBrowser } from '../../support/raw-browser.ts';
import { startVerbWorld, type VerbWorld } from '../../support/verb-world.ts';
import { type Api, keyOf, startWorld, type World } from '../../support/world.ts';

export type TerminalStatus = 'completed' | 'declined' | 'cancelled' | 'expired' | 'failed';

/** What the scenarios play on: a real gateway with Redis and OpenID providers, and MCP servers built with `@postern/mcp`. */
export interface UrlModeStage extends AsyncDisposable {
  readonly world: World;
  /** API of the MCP server `tracker`. */
  readonly api: Api;
  /** A user whom no scenario has used yet. */
  subject(): string;
  browser(): RawBrowser;
  /** The MCP endpoint with these options, which lives as long as the stage; equal options share one. */
  endpoint(options?: GatedEndpointOptions): Promise<GatedEndpoint>;
  /** Another gateway, with payments, and MCP servers with a tool for every kind; started when first asked for. */
  verbs(): Promise<VerbWorld>;
  /** Brings an elicitation of `user` to this end, in the way it really gets there. */
  end(status: TerminalStatus, elicitationId: string, user: string): Promise<void>;
  /** Runs `action` while the gateway's clock is wrong by `offsetMs`. */
  withClock<T>(offsetMs: number, action: () => Promise<T>): Promise<T>;
}

/** The MCP server whose application says who is there; only its elicitations can end as `failed` on demand. */
export const PORTAL = 'portal';

export async function startUrlModeStage(): Promise<UrlModeStage> {
  await using stack = new AsyncDisposableStack();
  let offset = 0;
  const world = stack.use(
    await startWorld({
      now: () => Date.now() + offset,
      otherMcpServers: [{ id: PORTAL, identity: { mode: 'external', verifyUrl: 'http://localhost:7002/verify' } }],
    }),
  );
  const browser = () =>
    createRawBrowser({ address: world.gateways[0]?.address ?? world.publicUrl, publicUrl: world.publicUrl });

  async function withClock<T>(offsetMs: number, action: () => Promise<T>): Promise<T> {
    offset = offsetMs;
    try {
      return await action();
    } finally {
      offset = 0;
    }
  }

  async function expire(elicitationId: string): Promise<void> {
    const { body } = await world.api.read(elicitationId);
    const gateway = world.gateways[0];
    if (gateway === undefined) throw new Error('no gateway');
    const ended = await withClock(Date.parse(body.expiresAt) - Date.now() + 1000, () =>
      gateway.deps.service.expire(body.elicitationId as Parameters<typeof gateway.deps.service.expire>[0]),
    );
    if (ended?.status !== 'expired') throw new Error(`not expired: ${ended?.status}`);
  }

  async function cancel(elicitationId: string): Promise<void> {
    const { status } = await world.api.cancel(elicitationId);
    if (status !== 200) throw new Error(`not cancelled: ${status}`);
  }

  let verbs: Promise<VerbWorld> | undefined;
  const endpoints = new Map<string, Promise<GatedEndpoint>>();
  const owned = stack.move();
  return {
    world,
    api: world.api,
    subject: world.subject,
    browser,
    withClock,
    verbs: () => (verbs ??= startVerbWorld().then(started => owned.use(started))),
    endpoint(options = {}) {
      const key = JSON.stringify(options);
      const endpoint = endpoints.get(key) ?? startGatedEndpoint(world, options).then(started => owned.use(started));
      endpoints.set(key, endpoint);
      return endpoint;
    },
    async end(status, elicitationId, user) {
      switch (status) {
        case 'completed':
          return connectAccount(browser(), elicitationId, user);
        case 'declined':
          return declineOnPage(browser(), elicitationId, user);
        case 'cancelled':
          return cancel(elicitationId);
        case 'expired':
          return expire(elicitationId);
        case 'failed':
          return failAtPortal(world, browser(), elicitationId, user);
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
