import { createLogger, type Gateway, type GatewayConfig, startGateway } from '@postern/gateway';
import { SoftwareAuthenticator } from '@postern/payment/software-authenticator';
import { sampled } from '@postern/testkit/run-size';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { acceptWith, apiKeyRequest, issueFor, paymentOf, visitorFor } from '../support/asks.ts';
import { type AnyKind, allKinds, approvalForm, approve, askKind } from '../support/every-kind.ts';
import { ceremonyOf } from '../support/passkey-ceremony.ts';
import { createRawBrowser, type RawBrowser } from '../support/raw-browser.ts';
import { storedElicitation } from '../support/stored-elicitation.ts';
import { askFor, createApi, keyOf, type PayingWorld, startWorld } from '../support/world.ts';

type McpServerConfig = GatewayConfig['mcpServers'][number];
type Change = Partial<McpServerConfig> | ((before: McpServerConfig) => Partial<McpServerConfig>);

const RETURN_URL = 'https://tracker.example/done';
const stack = new AsyncDisposableStack();
let world: PayingWorld;
beforeAll(async () => {
  world = stack.use(
    await startWorld({
      payment: { passkeyAbove: { JPY: 100 } },
      mcpServer: { kinds: [...allKinds], returnUrls: [RETURN_URL] },
      otherMcpServers: [{ id: 'wiki', identity: { mode: 'external', verifyUrl: 'http://localhost:1/verify' } }],
    }),
  );
});
afterAll(() => stack.disposeAsync());

/** The gateways of one test: each works in the background as long as it runs. */
let changed = new AsyncDisposableStack();
afterEach(async () => {
  await changed.disposeAsync();
  changed = new AsyncDisposableStack();
});

/** The gateway after the operator has changed the registration of the MCP server. */
async function changedTo(change: Change): Promise<Gateway> {
  const { config } = world.gateways[0]?.deps ?? {};
  if (config === undefined) throw new Error('no gateway');
  const mcpServers = config.mcpServers.map(mcpServer => ({
    ...mcpServer,
    ...(typeof change === 'function' ? change(mcpServer) : change),
  }));
  return changed.use(
    await startGateway(
      { ...config, listen: { host: '127.0.0.1', port: 0 }, mcpServers },
      { logger: createLogger({ level: 'silent' }) },
    ),
  );
}

/** The same browser, cookies and all, at another gateway process. */
function movedTo({ address }: Gateway, { cookies }: RawBrowser): RawBrowser {
  const moved = createRawBrowser({ address, publicUrl: world.publicUrl });
  for (const [name, value] of cookies) moved.cookies.set(name, value);
  return moved;
}

const withPayment =
  (change: Partial<NonNullable<McpServerConfig['payment']>>): Change =>
  ({ payment }) =>
    payment === undefined ? {} : { payment: { ...payment, ...change } };

const without = (kind: AnyKind) => allKinds.filter(other => other !== kind);

const withdrawn: readonly (readonly [string, AnyKind, Change])[] = [
  ...allKinds.map(kind => [`the kind ${kind}`, kind, { kinds: without(kind) }] as const),
  ['its provider', 'authorization', { providers: [] }],
  ['payments', 'payment', { payment: undefined, kinds: ['form'] }],
  ['the processor', 'payment', withPayment({ processors: ['stripe-main'] })],
  ['the currency', 'payment', withPayment({ maxAmount: { JPY: 100_000 } })],
  ['payments that high', 'payment', withPayment({ maxAmount: { EUR: 2489 } })],
  ['its issuer', 'form', { issuers: ['https://other.example'] }],
  ['its issuer', 'authorization', { issuers: ['https://other.example'] }],
];

describe('T30, S39: a permission withdrawn from an MCP server', () => {
  it.each(sampled(withdrawn, 2))(
    'withdrawing %s ends links of the kind %s that were issued before',
    async (_, kind, change) => {
      const gateway = await changedTo(change);
      const user = world.subject();
      const { elicitationId } = await askKind(world, user, kind);
      const raw = await visitorFor(world, user, elicitationId);
      const form = await approvalForm(raw, elicitationId, kind);
      const before = await storedElicitation(world, elicitationId);
      const later = movedTo(gateway, raw);
      expect((await later.get(`/e/${elicitationId}`)).status).toBe(404);
      expect((await later.post(`/e/${elicitationId}/accept`, { form })).status).toBe(404);
      expect(await storedElicitation(world, elicitationId)).toEqual(before);
      // At a gateway that still allows it, the same form succeeds.
      expect((await raw.post(`/e/${elicitationId}/accept`, { form })).status).toBe(303);
    },
  );

  it('a passkey that becomes required applies to open payments', async () => {
    const gateway = await changedTo(withPayment({ passkeyAbove: { EUR: 0 } }));
    const user = world.subject();
    const { elicitationId } = await askKind(world, user, 'payment');
    const raw = await visitorFor(world, user, elicitationId);
    const form = await raw.acceptForm(elicitationId);
    expect(await movedTo(gateway, raw).post(`/e/${elicitationId}/accept`, { form })).toMatchObject({
      status: 303,
      location: `/e/${elicitationId}/passkey`,
    });
    expect((await world.api.read(elicitationId)).body.status).toBe('pending');
  });

  it('a shorter maximum age of the sign-in applies to open pages', async () => {
    const gateway = await changedTo(withPayment({ freshSignInSeconds: 0 }));
    const user = world.subject();
    const { elicitationId } = await askKind(world, user, 'payment');
    const raw = await visitorFor(world, user, elicitationId);
    const form = await raw.acceptForm(elicitationId);
    expect((await movedTo(gateway, raw).post(`/e/${elicitationId}/accept`, { form })).status).toBe(403);
    expect((await world.api.read(elicitationId)).body.status).toBe('pending');
  });

  it('payments: a passkey ceremony under way approves nothing', async () => {
    const gateway = await changedTo({ kinds: ['form'] });
    const user = world.subject();
    const amount = { currency: 'JPY', minorUnits: 101 };
    const items = [{ label: 'x', unitMinorUnits: 101 }];
    const { elicitationId } = await issueFor(world, user, paymentOf({ processor: 'none', amount, items }));
    const raw = await visitorFor(world, user, elicitationId);
    const page = await ceremonyOf(raw, elicitationId);
    const created = new SoftwareAuthenticator(world.publicUrl).create(page.options);
    const form = { ...page.form, response: JSON.stringify(created) };
    expect((await movedTo(gateway, raw).post(page.action, { form })).status).toBe(404);
    expect((await ceremonyOf(raw, elicitationId)).mode).toBe('register');
  });

  it('an earlier result can still be redeemed', async () => {
    const gateway = await changedTo({ kinds: ['form'], payment: undefined });
    const user = world.subject();
    const { elicitationId } = await askKind(world, user, 'payment');
    await acceptWith(await visitorFor(world, user, elicitationId), elicitationId);
    const redeemed = await createApi(gateway.address, keyOf('tracker')).redeem(elicitationId);
    expect(redeemed).toMatchObject({ status: 200, body: { kind: 'payment' } });
  });

  it.each(['credential', 'form'] as const)('%s: earlier typed values are withheld', async kind => {
    const gateway = await changedTo({ kinds: without(kind) });
    const user = world.subject();
    const { elicitationId } = await askKind(world, user, kind);
    await approve(await visitorFor(world, user, elicitationId), elicitationId, kind);
    const later = createApi(gateway.address, keyOf('tracker'));
    expect((await later.redeem(elicitationId)).status).toBe(404);
    expect((await world.api.redeem(elicitationId)).status).toBe(200);
  });

  it('a lasting credential can no longer be read', async () => {
    const gateway = await changedTo({ kinds: without('credential') });
    const user = world.subject();
    const credential = { ...apiKeyRequest, retention: 'lasting' } as const;
    const { elicitationId } = await issueFor(world, user, { kind: 'credential', credential });
    await acceptWith(await visitorFor(world, user, elicitationId), elicitationId, { api_key: 'ak_0123456789' });
    const id = (await world.api.read(elicitationId)).body.outcome?.credentialId ?? '';
    const later = createApi(gateway.address, keyOf('tracker'));
    expect((await later.credential(id)).status).toBe(404);
    expect((await later.removeCredential(id)).status).toBe(404);
    expect((await world.api.credential(id)).status).toBe(200);
  });

  it('a credential of a former group can be neither read, listed nor deleted', async () => {
    const user = world.subject();
    const subject = { issuer: world.identityProvider.issuer, subject: user };
    const credential = { ...apiKeyRequest, retention: 'lasting' } as const;
    const { elicitationId } = await issueFor(world, user, { kind: 'credential', credential });
    await acceptWith(await visitorFor(world, user, elicitationId), elicitationId, { api_key: 'ak_0123456789' });
    const credentialId = (await world.api.read(elicitationId)).body.outcome?.credentialId ?? '';
    const moved = createApi((await changedTo({ group: 'others' })).address, keyOf('tracker'));
    expect((await moved.credential(credentialId)).status).toBe(404);
    expect((await moved.removeCredential(credentialId)).status).toBe(404);
    expect((await moved.credentials(subject)).body).toEqual({ credentials: [] });
    expect((await world.api.credential(credentialId)).status).toBe(200);
  });
});

describe('T30: an authorization whose permission was withdrawn', () => {
  it.each([
    ['a provider', { providers: [] }],
    ['an issuer', { issuers: ['https://other.example'] }],
  ])('%s: the OAuth callback sends no token request', async (_, change) => {
    const gateway = await changedTo(change);
    const user = world.subject();
    const person = world.raw();
    const asked = await world.ask(user);
    await person.signIn(asked.elicitationId, user);
    const callback = await person.decideAtProvider(await person.accept(asked.elicitationId), 'alice');
    world.provider.clearRequests();

    await movedTo(gateway, person).get(callback);
    expect(world.provider.requests('token')).toHaveLength(0);
    expect((await world.api.read(asked.elicitationId)).body.status).toBe('pending');
  });

  it('a provider: a code held for an external verification is never exchanged', async () => {
    const gateway = await changedTo({ providers: [] });
    const user = world.subject();
    const person = world.raw();
    const wiki = world.apiOf({ apiKey: keyOf('wiki') });
    const { elicitationId } = (await wiki.issue(askFor(world, user))).body;
    const verifyAt = ({ call }: typeof wiki, location: string | undefined) =>
      call<{ continueUrl?: string }>('POST', `/v1/elicitations/${elicitationId}/verify`, {
        verificationId: new URL(location ?? '').searchParams.get('verificationId'),
        subject: { issuer: world.identityProvider.issuer, subject: user },
      });
    const opened = await verifyAt(wiki, (await person.get(`/login?e=${elicitationId}`)).location);
    await person.get(new URL(opened.body.continueUrl ?? ''));
    const callback = await person.decideAtProvider(await person.accept(elicitationId), 'alice');
    const { location } = await person.get(callback);
    world.provider.clearRequests();

    expect((await verifyAt(createApi(gateway.address, keyOf('wiki')), location)).status).toBe(404);
    expect(world.provider.requests('token')).toHaveLength(0);
    expect((await verifyAt(wiki, location)).status).toBe(200);
  });

  it('a return URL: the last page no longer links to it', async () => {
    const gateway = await changedTo({ returnUrls: [] });
    const user = world.subject();
    const person = world.raw();
    const { elicitationId } = await world.ask(user, { returnUrl: RETURN_URL });
    await person.signIn(elicitationId, user);
    const form = { csrf_token: await person.csrfToken(elicitationId) };
    await person.post(`/e/${elicitationId}/decline`, { form });
    expect((await person.get(`/e/${elicitationId}`)).body).toContain(RETURN_URL);
    const page = await movedTo(gateway, person).get(`/e/${elicitationId}`);
    expect(page.status).toBe(200);
    expect(page.body).not.toContain(RETURN_URL);
  });
});
