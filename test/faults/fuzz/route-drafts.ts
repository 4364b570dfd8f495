import fc from 'fast-check';
import { oddHeader, oddJson, oddText } from '../../support/hostile-values.ts';
import type { RawBrowser } from '../../support/raw-browser.ts';
import { acceptFormIn } from '../../support/raw-browser.ts';
import type { RegisteredRoute } from '../../support/registered-routes.ts';
import { keyOf } from '../../support/world.ts';
import { completeAsks, isValidAsk } from './complete-asks.ts';
import { withHeader, withInvalidQuery } from './damage.ts';
import { type Draft, type DraftBody, encodePairs } from './draft.ts';
import { DAY_S, type FuzzWorld } from './fuzz-world.ts';

/** Valid input of a route, as far as it is described here. */
type Part = Partial<Omit<Draft, 'method' | 'path' | 'answeredBy'>> & {
  /** Path parameters in their order. */
  readonly params?: readonly string[];
};

const bearer = (mcpServerId = 'tracker') => ({ authorization: `Bearer ${keyOf(mcpServerId)}` });
const jsonBody = (value: unknown): DraftBody => ({ type: 'json', json: JSON.stringify(value) });

/**
 * Returns valid requests for a route that refer to existing records. A route without a description here gets parameters, credentials
 * and cookies that are valid elsewhere, so every new route is fuzzed from its first day.
 */
export async function draftsFor(route: RegisteredRoute, world: FuzzWorld): Promise<readonly Draft[]> {
  const described = await (
    describedParts[`${route.method === 'HEAD' ? 'GET' : route.method} ${route.path}`] ?? undescribed
  )(world, route);
  return described.map(({ params = [], ...part }) => {
    const left = [...params];
    const path = route.path
      .slice(1)
      .split('/')
      .map(segment => (segment.startsWith(':') ? (left.shift() ?? 'x') : segment));
    return { method: route.method, path, query: [], headers: {}, cookies: [], body: { type: 'none' }, ...part };
  });
}

const cookiesOf = (raw: RawBrowser): Draft['cookies'] => [...raw.cookies];
const asBrowser = ({ publicUrl }: FuzzWorld, raw: RawBrowser) => ({
  headers: { origin: publicUrl, 'sec-fetch-site': 'same-origin', accept: 'text/html' },
  cookies: cookiesOf(raw),
});

/** The decision forms of the pages, as their user would submit them. */
async function forms(world: FuzzWorld): Promise<Part[]> {
  const { person, asks } = world.standing;
  const typed: Record<string, Record<string, string>> = {
    credential: { 'field.api_key': 'ak_0123456789abcdef' },
    form: { 'field.name': 'Alice', 'field.parcels': '2' },
  };
  return Promise.all(
    [...asks].map(async ([kind, { elicitationId }]) => {
      const page = await person.get(`/e/${elicitationId}`);
      const token = /name="csrf_token" value="([^"]+)"/.exec(page.body)?.[1] ?? '';
      const form = page.body.includes('/accept"') ? acceptFormIn(page) : { csrf_token: token };
      const fields = encodePairs({ ...form, ...typed[kind] });
      return { params: [elicitationId], ...asBrowser(world, person), body: { type: 'form', fields } as const };
    }),
  );
}

/** A form with only its CSRF token. */
async function plainForm(world: FuzzWorld, raw: RawBrowser, page: string, params: readonly string[]): Promise<Part[]> {
  const token = /name="csrf_token" value="([^"]+)"/.exec((await raw.get(page)).body)?.[1] ?? '';
  return [
    { params, ...asBrowser(world, raw), body: { type: 'form', fields: encodePairs({ csrf_token: token }) } as const },
  ];
}

const pages = async (world: FuzzWorld): Promise<Part[]> => {
  const { person, asks, ended, device } = world.standing;
  const ids = [...[...asks.values()].map(({ elicitationId }) => elicitationId), ended, device];
  return ids.map(id => ({ params: [id], ...asBrowser(world, person) }));
};

const ceremonies = (world: FuzzWorld): Promise<Part[]> =>
  ceremoniesAt(world, `/e/${world.standing.passkey.elicitationId}/passkey`, [world.standing.passkey.elicitationId]);

/** An invented authenticator response to a ceremony of that page. */
async function ceremoniesAt(world: FuzzWorld, path: string, params: readonly string[]): Promise<Part[]> {
  const { raw } = world.standing.passkey;
  const page = await raw.get(path);
  const inputs = [...page.body.matchAll(/name="(csrf_token|shown|ceremony)" value="([^"]*)"/g)];
  const fields = Object.fromEntries(inputs.map(([, name = '', value = '']) => [name, value]));
  const response = JSON.stringify({
    id: 'AAAA',
    rawId: 'AAAA',
    type: 'public-key',
    clientExtensionResults: {},
    response: { clientDataJSON: 'e30', authenticatorData: 'AAAA', signature: 'AAAA', attestationObject: 'oA' },
  });
  return [
    {
      params,
      ...asBrowser(world, raw),
      body: { type: 'form', fields: encodePairs({ ...fields, response }) },
    },
  ];
}

/** A Stripe event with an invalid signature, for any of our addresses. */
const unsigned = fc
  .tuple(
    fc.oneof(oddText, oddJson),
    fc.constantFrom(
      '',
      't=1,v1=x',
      `t=${Math.floor(Date.now() / 1000)},v1=${'a'.repeat(64)}`,
      't=,v1=',
      't=1,,v1=,0af',
    ),
    fc.constantFrom('stripe-main', 'none', 'x', '__proto__'),
  )
  .map(
    ([text, signature, processor]) =>
      (draft: Draft): Draft => ({
        ...draft,
        path: draft.path.with(-1, processor),
        headers: { ...draft.headers, 'stripe-signature': signature },
        body: { type: 'text', text: text.toWellFormed() },
      }),
  );

/** Stream positions that were never assigned. */
const badPosition = fc.oneof(
  oddHeader.map(text => `x${text}`),
  fc.tuple(fc.maxSafeNat(), fc.maxSafeNat()).map(([time, count]) => `${time}-${count}x`),
  fc.tuple(fc.bigInt({ min: 10n ** 15n, max: 10n ** 60n }), fc.nat()).map(([time, count]) => `${time}-${count}`),
);

function signedByStripe({ stripe, standing }: FuzzWorld): Part[] {
  const metadata = { elicitationId: standing.ended };
  // No Checkout Session id: the gateway would ask the processor and return 503 if it cannot respond.
  const objects = [{ object: 'charge', id: 'ch_1', metadata }, null, ['x'], 'x'.repeat(1000)];
  return objects.flatMap(object =>
    ['checkout.session.completed', 'checkout.session.expired', '__proto__'].map(type => {
      const event = { id: 'evt_1', object: 'event', type, created: 1, livemode: false, data: { object } };
      const { body, headers } = stripe.signed(event as unknown as Parameters<typeof stripe.signed>[0]);
      return {
        params: ['stripe-main'],
        headers: { ...headers },
        body: { type: 'text', text: Buffer.from(body).toString() } as const,
        refusedBy: unsigned,
      };
    }),
  );
}

const describedParts: Readonly<Record<string, (world: FuzzWorld) => Promise<readonly Part[]> | readonly Part[]>> = {
  'POST /v1/elicitations': ({ standing }) =>
    completeAsks.map(ask => ({
      headers: bearer(),
      body: jsonBody({ ...ask, subject: standing.asks.get('form')?.body.subject, ttlSeconds: DAY_S }),
      // No damage to this request makes another valid one.
      ...(ask.kind === 'authorization' ? {} : { isValidJson: isValidAsk }),
    })),
  'GET /v1/elicitations/:elicitationId': ({ standing }) => [
    { params: [standing.ended], headers: bearer(), query: [['wait', '0']], refusedBy: withInvalidQuery('wait', 'x') },
    { params: [standing.external.elicitationId], headers: bearer() },
  ],
  'POST /v1/elicitations/:elicitationId/cancel': ({ standing }) =>
    [...standing.asks.values()].map(({ elicitationId }) => ({
      params: [elicitationId],
      headers: bearer(),
      body: jsonBody({}),
    })),
  'POST /v1/elicitations/:elicitationId/redeem': ({ standing }) => [
    { params: [standing.ended], headers: bearer(), body: jsonBody({ sealed: { alg: 'ECDH-ES' } }) },
    { params: [standing.asks.get('form')?.elicitationId ?? ''], headers: bearer(), body: jsonBody({}) },
  ],
  'POST /v1/elicitations/:elicitationId/verify': ({ standing, identityProvider }) => [
    {
      params: [standing.external.elicitationId],
      headers: bearer('app'),
      body: jsonBody({
        verificationId: standing.external.verificationId,
        subject: { issuer: identityProvider.issuer, subject: 'unknown' },
        authTime: 1,
      }),
    },
  ],
  'GET /v1/events': () => [
    {
      headers: bearer(),
      query: [
        ['kind', 'payment'],
        ['status', 'completed'],
        ['after', 'x'],
      ],
      refusedBy: withInvalidQuery('after', 'x'),
    },
    { headers: { ...bearer(), 'last-event-id': 'x-1' }, refusedBy: withHeader('last-event-id', badPosition) },
  ],
  'GET /v1/connections': subjects,
  'GET /v1/credentials': subjects,
  'DELETE /v1/connections/:connectionId': ({ standing }) => [
    { params: [standing.connectionId], headers: bearer(), body: jsonBody({}) },
  ],
  'POST /v1/connections/:connectionId/access-token': ({ standing }) => [
    { params: [standing.connectionId], headers: bearer(), body: jsonBody({ sealed: true, minimumValiditySeconds: 1 }) },
  ],
  'DELETE /v1/credentials/:credentialId': ({ standing }) => [
    { params: [standing.credentialId], headers: bearer(), body: jsonBody({}) },
  ],
  'POST /v1/credentials/:credentialId/values': ({ standing }) => [
    { params: [standing.credentialId], headers: bearer(), body: jsonBody({ sealed: true }) },
  ],
  'POST /webhooks/:processor': signedByStripe,
  'GET /oauth/clients/:mcpServerId/:provider': registered,
  'GET /oauth/keys/:mcpServerId/:provider': registered,
  'GET /login': ({ standing }) => [
    { query: [['e', standing.asks.get('form')?.elicitationId ?? '']], cookies: cookiesOf(standing.signIn.raw) },
    {
      query: [
        ['to', 'me'],
        ['idp', 'example-id'],
        ['fresh', '1'],
        ['switch', '1'],
      ],
    },
    { query: [['e', standing.external.elicitationId]], cookies: cookiesOf(standing.external.raw) },
  ],
  'POST /login/back-channel-logout/:identityProvider': () => [
    { params: ['example-id'], body: { type: 'form', fields: [['logout_token', 'a.b.c']] } },
  ],
  'GET /login/callback/:identityProvider': ({ standing: { signIn }, identityProvider }) => [
    {
      params: ['example-id'],
      query: [
        ['code', 'a-code'],
        ['state', signIn.state],
        ['iss', encodeURIComponent(identityProvider.issuer)],
      ],
      cookies: cookiesOf(signIn.raw),
      spends: 'state',
    },
    {
      params: ['example-id'],
      query: [
        ['error', 'access_denied'],
        ['state', signIn.state],
      ],
      cookies: cookiesOf(signIn.raw),
      spends: 'state',
    },
  ],
  'GET /login/continue': ({ standing }) => [
    { query: [['ticket', 'a-ticket']], cookies: cookiesOf(standing.external.raw), spends: 'ticket' },
  ],
  'POST /logout': async world =>
    (await plainForm(world, world.standing.person, '/me', [])).map(part => ({ ...part, isForAnyone: true })),
  'GET /logout/callback/:identityProvider': ({ standing }) => [
    { params: ['example-id'], query: [['state', 'a-state']], cookies: cookiesOf(standing.signIn.raw) },
  ],
  'GET /signed-out': ({ standing }) => [{ cookies: cookiesOf(standing.person) }, {}],
  'GET /callback/:mcpServerId/:provider': ({ standing, provider }) => [
    {
      params: ['tracker', 'forge'],
      query: [
        ['code', 'a-code'],
        ['state', standing.callbackState],
        ['iss', encodeURIComponent(provider.issuer)],
      ],
      cookies: cookiesOf(standing.person),
      spends: 'state',
    },
    {
      params: ['app', 'forge'],
      query: [
        ['error', 'access_denied'],
        ['state', standing.callbackState],
      ],
      cookies: cookiesOf(standing.person),
      spends: 'state',
    },
  ],
  'GET /e/:elicitationId': pages,
  'GET /e/:elicitationId/leaving': pages,
  'GET /e/:elicitationId/device': pages,
  'GET /e/:elicitationId/passkey': async world => [
    ...(await pages(world)),
    { params: [world.standing.passkey.elicitationId], ...asBrowser(world, world.standing.passkey.raw) },
  ],
  'GET /e/:elicitationId/charge': pages,
  'GET /e/:elicitationId/receipt': pages,
  'GET /e/:elicitationId/receipt.json': pages,
  'POST /e/:elicitationId/accept': forms,
  'POST /e/:elicitationId/decline': forms,
  'POST /e/:elicitationId/charge': forms,
  'POST /e/:elicitationId/device': async world => {
    const { person, device } = world.standing;
    return [...(await forms(world)), ...(await plainForm(world, person, `/e/${device}/device`, [device]))];
  },
  'POST /e/:elicitationId/passkey': ceremonies,
  'POST /e/:elicitationId/passkey/new': ceremonies,
  'GET /me': ofPerson,
  'GET /me/connections/:connectionId/disconnect': ofPerson,
  'GET /me/credentials/:credentialId/delete': ofPerson,
  'GET /me/passkeys/:name/remove': ofPerson,
  'GET /me/passkeys/:name/rename': ofPerson,
  'GET /me/history': ofPerson,
  'GET /me/browsers': ofPerson,
  'GET /me/data': ofPerson,
  'GET /me/data/disconnect': ofPerson,
  'GET /me/data/erase': ofPerson,
  'POST /me/browsers/end': async world =>
    (await plainForm(world, world.standing.person, '/me', [])).map(part => ({ ...part, isForAnyone: true })),
  'POST /me/data/export': world => plainForm(world, world.standing.person, '/me', []),
  'POST /me/data/disconnect': world => plainForm(world, world.standing.person, '/me', []),
  'POST /me/data/erase': world => plainForm(world, world.standing.person, '/me', []),
  'POST /me/passkeys/:name/rename': world =>
    plainForm(world, world.standing.passkey.raw, '/me', [world.standing.passkey.name]),
  'POST /me/connections/:connectionId/disconnect': world =>
    plainForm(world, world.standing.person, '/me', [world.standing.connectionId]),
  'POST /me/credentials/:credentialId/delete': world =>
    plainForm(world, world.standing.person, '/me', [world.standing.credentialId]),
  'GET /me/passkeys/add': world => [asBrowser(world, world.standing.passkey.raw)],
  'POST /me/passkeys/:name/remove': world =>
    ceremoniesAt(world, `/me/passkeys/${world.standing.passkey.name}/remove`, [world.standing.passkey.name]),
  'POST /me/passkeys/add': world => ceremoniesAt(world, '/me/passkeys/add', []),
  'POST /me/passkeys/new': world => ceremoniesAt(world, '/me/passkeys/add', []),
};

function subjects({ identityProvider, standing }: FuzzWorld): Part[] {
  const issuer = encodeURIComponent(identityProvider.issuer);
  const subject = standing.asks.get('form')?.body.subject;
  const named = subject !== undefined && 'subject' in subject ? subject.subject : 'x';
  return [
    {
      headers: bearer(),
      query: [
        ['issuer', issuer],
        ['subject', named],
        ['provider', 'forge'],
        ['name', 'x'],
      ],
      refusedBy: withInvalidQuery('issuer', '%00'),
    },
  ];
}

function registered(): Part[] {
  return [{ params: ['tracker', 'forge'] }, { params: ['tracker', '__proto__'] }];
}

function ofPerson(world: FuzzWorld): Part[] {
  const { person, passkey, connectionId, credentialId } = world.standing;
  return [
    ...[connectionId, credentialId, passkey.name].map(id => ({ params: [id], ...asBrowser(world, person) })),
    { params: [passkey.name], ...asBrowser(world, passkey.raw) },
  ];
}

function undescribed(world: FuzzWorld, { path, method }: RegisteredRoute): Part[] {
  const { person, asks, connectionId } = world.standing;
  const ids = [asks.get('confirmation')?.elicitationId ?? 'x', connectionId, 'tracker'];
  const body: DraftBody = ['GET', 'HEAD'].includes(method)
    ? { type: 'none' }
    : path.startsWith('/v1/')
      ? jsonBody({ kind: 'confirmation' })
      : { type: 'form', fields: encodePairs({ csrf_token: 'x' }) };
  return path.startsWith('/v1/')
    ? ids.map(id => ({ params: [id, id], headers: bearer(), body }))
    : ids.map(id => ({ params: [id, id], ...asBrowser(world, person), body }));
}
