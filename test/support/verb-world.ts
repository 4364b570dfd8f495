import { expireElicitation } from './expire-elicitation.ts';
import { oncePerOptions } from './once-per-options.ts';
import { createRawBrowser } from './raw-browser.ts';
import { startVerbEndpoint, type VerbEndpoint, type VerbEndpointOptions } from './verb-endpoint.ts';
import { createVerbPerson, type VerbPerson } from './verb-person.ts';
import { startVerbPlayer, type VerbPlayer, type Way } from './verb-play.ts';
import { type PayingWorld, startWorld, type WorldOptions } from './world.ts';

/** A world with payments, MCP servers with a tool for every verb, and enough users. */
export interface VerbWorld extends PayingWorld {
  /** Returns a new user. @param replicas that get the browser's requests, in turn */
  person(replicas?: readonly number[]): VerbPerson;
  /** Lives as long as the world. Equal options share one. */
  endpoint(options: VerbEndpointOptions): Promise<VerbEndpoint>;
  /** An MCP client of this user, until the world ends. */
  player(way: Way, person: VerbPerson, options?: { readonly fetch?: typeof fetch }): Promise<VerbPlayer>;
  /** Expires an elicitation. */
  expire(elicitationId: string): Promise<void>;
  /** Returns an unused order, which can also name a credential. */
  order(): string;
}

/** Shorter than any waiting read at the gateway. */
export const TTL_SECONDS = 10;

export async function startVerbWorld(options: WorldOptions = {}): Promise<VerbWorld> {
  const world = await startWorld({ payment: {}, people: 280, ...options });
  const { gateways, publicUrl, stripe } = world;
  const owned = new AsyncDisposableStack();
  owned.use(world);
  const endpoint = oncePerOptions(owned, (endpointOptions: VerbEndpointOptions) =>
    startVerbEndpoint(world, endpointOptions),
  );
  let orders = 0;

  return {
    ...world,
    endpoint,
    person(replicas = [0]) {
      const user = world.subject();
      const addresses = replicas.map(replica => gateways[replica]?.address ?? publicUrl);
      const browsers = addresses.map(address => createRawBrowser({ address, publicUrl }));
      let requests = 0;
      const browser = () => {
        const before = browsers[requests % browsers.length];
        const next = browsers[++requests % browsers.length];
        if (before === undefined || next === undefined) throw new Error('there is no replica');
        if (before !== next) {
          next.cookies.clear();
          for (const [name, value] of before.cookies) next.cookies.set(name, value);
        }
        return next;
      };
      return createVerbPerson({ world, stripe, user, browser });
    },
    async player(way, { user }, playerOptions = {}) {
      const served = await endpoint(way.endpoint);
      return owned.use(await startVerbPlayer({ way, subject: user, endpoint: served, ...playerOptions }));
    },
    expire: elicitationId => expireElicitation(world, elicitationId),
    order: () => `order-${orders++}`,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
