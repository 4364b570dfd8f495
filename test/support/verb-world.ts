import { type PaymentWorld, type PaymentWorldOptions, startPaymentWorld } from './payment-world.ts';
import { createRawBrowser } from './raw-browser.ts';
import { startVerbEndpoint, type VerbEndpoint, type VerbEndpointOptions } from './verb-endpoint.ts';
import { createVerbPerson, type VerbPerson } from './verb-person.ts';
import { startVerbPlayer, type VerbPlayer, type Way } from './verb-play.ts';
import { worldUsers } from './world.ts';

/** A payment world with MCP servers that have a tool for every verb, and people enough to ask. */
export interface VerbWorld extends AsyncDisposable {
  readonly payment: PaymentWorld;
  /** Somebody whom no test has asked yet. @param replicas to which the requests of the browser go, in turn */
  person(replicas?: readonly number[]): VerbPerson;
  /** Lives as long as the world; equal options share one. */
  endpoint(options: VerbEndpointOptions): Promise<VerbEndpoint>;
  /** An MCP client of this person, until the world ends. */
  player(way: Way, person: VerbPerson, options?: { readonly fetch?: typeof fetch }): Promise<VerbPlayer>;
  /** Lets the time of an elicitation be up that may be answered for `TTL_SECONDS`. */
  expire(elicitationId: string): Promise<void>;
  /** An order that nobody has given yet; also fit to name a credential. */
  order(): string;
}

/** Less than anybody waits at the gateway, whose clock is moved past it. */
export const TTL_SECONDS = 10;
const PEOPLE = 200;
const people = Array.from({ length: PEOPLE }, (_, at) => `verb-person-${at}`);

export async function startVerbWorld(options: PaymentWorldOptions = {}): Promise<VerbWorld> {
  await using stack = new AsyncDisposableStack();
  const users = [...worldUsers, ...people.map(sub => ({ sub, name: `${sub} Example`, email: `${sub}@example.com` }))];
  const payment = stack.use(await startPaymentWorld({ ...options, identityProvider: { users } }));
  const { stage, stripe } = payment;
  const { gateways, publicUrl } = stage;
  const endpoints = new Map<string, Promise<VerbEndpoint>>();
  const endpoint = (endpointOptions: VerbEndpointOptions) => {
    const key = JSON.stringify(endpointOptions);
    const known = endpoints.get(key) ?? startVerbEndpoint(stage, endpointOptions).then(one => owned.use(one));
    endpoints.set(key, known);
    return known;
  };
  let used = 0;
  let orders = 0;
  const owned = stack.move();

  return {
    payment,
    endpoint,
    person(replicas = [0]) {
      const user = people[used++];
      if (user === undefined) throw new Error('nobody is left');
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
      return createVerbPerson({ world: stage, stripe, user, browser });
    },
    async player(way, { user }, playerOptions = {}) {
      const served = await endpoint(way.endpoint);
      return owned.use(await startVerbPlayer({ way, subject: user, endpoint: served, ...playerOptions }));
    },
    async expire(elicitationId) {
      const service = gateways[0]?.deps.service;
      payment.pass(TTL_SECONDS + 1);
      try {
        const ended = await service?.expire(elicitationId as Parameters<typeof service.expire>[0]);
        if (ended?.status !== 'expired') throw new Error(`not expired: ${ended?.status}`);
      } finally {
        payment.backToNow();
      }
    },
    order: () => `order-${orders++}`,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
