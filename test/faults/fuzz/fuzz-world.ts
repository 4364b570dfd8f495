import type { Gateway, GatewayConfigInput } from '@postern/gateway';
import { acceptWith, apiKeyRequest, issueFor, paymentPolicy, visitorFor } from '../../support/asks.ts';
import { askedKinds, askOfEach } from '../../support/every-kind.ts';
import { startExternalApplication } from '../../support/external-application.ts';
import { createPasskeyPeople } from '../../support/passkey-person.ts';
import { connectAccount } from '../../support/person-at-gateway.ts';
import type { RawBrowser } from '../../support/raw-browser.ts';
import { askFor, keyOf, type PayingWorld, startWorld, type World } from '../../support/world.ts';
import { completeAsks } from './complete-asks.ts';
import { type Dump, dumpQuickly } from './dump.ts';

type Ask = Parameters<World['api']['issue']>[0];

/** A gateway with every optional route configured, and a user with records of every kind. */
export interface FuzzWorld extends PayingWorld {
  readonly gateway: Gateway;
  /** Records that valid requests refer to. `refresh` renews those that fuzzing has used up. */
  readonly standing: Standing;
  refresh(): Promise<void>;
  /** Keys of a user without any request. They must not change. */
  readonly bystander: Dump;
}

export interface Standing {
  person: RawBrowser;
  /** Open elicitations of the person, by kind, for `tracker`. */
  readonly asks: Map<Ask['kind'], { readonly elicitationId: string; readonly body: Ask }>;
  /** An ended elicitation: a waiting read returns at once. */
  ended: string;
  connectionId: string;
  credentialId: string;
  /** A passkey of the person at `/me`. */
  passkey: { readonly raw: RawBrowser; readonly name: string; readonly elicitationId: string };
  /** An authorization that waits for its device code, started in the person's browser. */
  device: string;
  /** An elicitation of the MCP server `app`, and the browser that its application would verify. */
  readonly external: { readonly elicitationId: string; readonly verificationId: string; readonly raw: RawBrowser };
  /** The `state` that a provider would return, in the person's browser. */
  callbackState: string;
  /** The `state` that the identity provider would return, and the browser with its cookies. */
  signIn: { readonly raw: RawBrowser; readonly state: string };
}

/** Longer than any run, so that no record expires between two dumps. */
export const DAY_S = 86_400;

export async function startFuzzWorld(): Promise<FuzzWorld> {
  await using stack = new AsyncDisposableStack();
  const application = stack.use(await startExternalApplication());
  const payment = paymentPolicy({ processors: ['stripe-main', 'none'], passkeyAbove: { EUR: 100 } });
  const limits = {
    requestsPerMinute: 1_000_000_000,
    elicitationsPerSubject: 1_000_000,
    openElicitationsPerSubject: 1000,
  };
  const providers = ['forge', 'panel'];
  const world = stack.use(
    await startWorld({
      logLevel: 'warn',
      provider: { deviceFlow: true },
      config: ({ base }) => ({
        limits: { pageRequestsPerMinute: 1_000_000_000 },
        providers: withPanel(base.providers),
      }),
      payment,
      mcpServer: { providers, limits },
      otherMcpServers: [
        { id: 'app', identity: { mode: 'external', verifyUrl: application.verifyUrl }, limits },
        { id: 'local', identity: { mode: 'loopback' }, payment, limits },
        { id: 'bystander', payment, limits },
      ],
    }),
  );
  const [gateway] = world.gateways;
  if (gateway === undefined) throw new TypeError('the world has no gateway');

  const before = await dumpQuickly(world.redis.url);
  await keepBystander(world);
  const after = await dumpQuickly(world.redis.url);
  // The relay counts later. The lists belong to the whole shard, and one in 256 subjects shares the shard of the person.
  const bystander = new Map(
    [...after].filter(
      ([key]) =>
        !before.has(key) &&
        !/:(lease|bs|cursor|feed|fed|events|counts|due|open|held|ended|connected|saved|rps|ages|refreshes|used)\b/.test(
          key,
        ),
    ),
  );

  const user = world.subject();
  const standing = await prepare(world, user);
  const owned = stack.move();
  return {
    ...world,
    gateway,
    standing,
    bystander,
    refresh: () => refresh(world, user, standing),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** The same provider, configured without a redirect. */
function withPanel(providers: GatewayConfigInput['providers']): GatewayConfigInput['providers'] {
  const panel = { name: 'panel', displayName: 'Panel', flow: 'device' };
  return providers?.flatMap(forge => [forge, Object.assign({}, forge, panel)]);
}

async function keepBystander(world: World): Promise<void> {
  const api = world.apiOf({ apiKey: keyOf('bystander') });
  const subject = { issuer: world.identityProvider.issuer, subject: world.subject() };
  for (const kind of askedKinds) {
    const issued = await api.issue({ ...askOfEach[kind].ask(), subject, ttlSeconds: DAY_S } as Ask);
    if (issued.status !== 201) throw new Error(`not issued: ${issued.status}`);
  }
  const { body } = await api.issue(askFor(world, subject.subject));
  await connectAccount(world.raw(), body.elicitationId, subject.subject);
}

async function prepare(world: World, user: string): Promise<Standing> {
  const first = await world.ask(user);
  await connectAccount(world.raw(), first.elicitationId, user);
  const connectionId = (await world.api.read(first.elicitationId)).body.outcome?.connectionId ?? '';
  const standing: Standing = {
    person: await visitorFor(world, user, first.elicitationId),
    asks: new Map(),
    ended: first.elicitationId,
    connectionId,
    credentialId: await keepCredential(world, user),
    passkey: await enrol(world),
    device: '',
    external: await openExternally(world),
    callbackState: '',
    signIn: { raw: world.raw(), state: '' },
  };
  await refresh(world, user, standing);
  // Accepted without damage, so each refusal is caused by the damage.
  const subject = { issuer: world.identityProvider.issuer, subject: world.subject() };
  for (const ask of completeAsks) await openFor(world, { ...ask, subject, ttlSeconds: DAY_S } as Ask);
  return standing;
}

/** @throws if the elicitation is not open */
async function openFor(world: World, body: Ask): Promise<string> {
  const { status, body: issued } = await world.api.issue(body);
  if (status > 201 || !['pending', 'active'].includes(issued.status))
    throw new Error(`not issued: ${body.kind} ${status} ${issued.status}`);
  return issued.elicitationId;
}

/** A request under an unused name or title. */
function unheardOf(kind: keyof typeof askOfEach): object {
  const name = crypto.randomUUID().slice(0, 8);
  switch (kind) {
    case 'payment':
      return askOfEach.payment.ask();
    case 'confirmation':
      return { kind, confirmation: { ...askOfEach.confirmation.ask().confirmation, title: `Delete ${name}` } };
    case 'credential':
      return { kind, credential: { ...askOfEach.credential.ask().credential, name: `acme-${name}` } };
    case 'form':
      return { kind, form: { ...askOfEach.form.ask().form, title: `Delivery ${name}` } };
  }
}

/** Replaces used-up records. */
async function refresh(world: World, user: string, standing: Standing): Promise<void> {
  const isOpen = async (elicitationId: string) =>
    ['pending', 'active'].includes((await world.api.read(elicitationId)).body.status);
  const issuer = world.identityProvider.issuer;

  if ((await standing.person.get('/me')).body.includes('/login?'))
    standing.person = await visitorFor(world, user, standing.ended);
  for (const kind of askedKinds) {
    const known = standing.asks.get(kind);
    if (known !== undefined && (await isOpen(known.elicitationId))) continue;
    // A new text, so that the request does not match an earlier elicitation.
    const body = { ...unheardOf(kind), subject: { issuer, subject: user }, ttlSeconds: DAY_S } as Ask;
    const elicitationId = await openFor(world, body);
    standing.asks.set(kind, { elicitationId, body });
  }
  const authorization = standing.asks.get('authorization');
  if (authorization === undefined || !(await isOpen(authorization.elicitationId))) {
    const scopes = ['issues'];
    const body = askFor(world, user, { ttlSeconds: DAY_S, authorization: { provider: 'forge', scopes } });
    standing.asks.set('authorization', { elicitationId: await openFor(world, body), body });
  }
  if ((await world.api.accessToken(standing.connectionId)).status !== 200) {
    const again = await world.ask(user);
    await connectAccount(world.raw(), again.elicitationId, user);
    standing.ended = again.elicitationId;
    standing.connectionId = (await world.api.read(again.elicitationId)).body.outcome?.connectionId ?? '';
  }
  if ((await world.api.credential(standing.credentialId)).status !== 200)
    standing.credentialId = await keepCredential(world, user);
  if (standing.device === '' || !(await isOpen(standing.device))) {
    const authorization = { provider: 'panel', scopes: ['repo'] };
    standing.device = await openFor(world, askFor(world, user, { ttlSeconds: DAY_S, authorization }));
    const form = await standing.person.acceptForm(standing.device);
    await standing.person.post(`/e/${standing.device}/accept`, { form });
  }
  const { elicitationId } = standing.asks.get('authorization') ?? raise();
  standing.callbackState = (await standing.person.accept(elicitationId)).searchParams.get('state') ?? '';
  const signIn = world.raw();
  const { location = '' } = await signIn.get(`/login?e=${elicitationId}`);
  standing.signIn = { raw: signIn, state: new URL(location).searchParams.get('state') ?? '' };
  const { raw, name } = standing.passkey;
  if (!(await raw.get('/me')).body.includes(name)) standing.passkey = await enrol(world);
}

async function enrol(world: World): Promise<Standing['passkey']> {
  const people = createPasskeyPeople(() => world);
  const { raw, elicitationId } = await people.enrolled();
  const removal = /\/me\/passkeys\/([^/]+)\/remove/.exec((await raw.get('/me')).body);
  return { raw, name: removal?.[1] ?? '', elicitationId };
}

async function keepCredential(world: World, user: string): Promise<string> {
  const name = `kept-${crypto.randomUUID().slice(0, 8)}`;
  const credential = { ...apiKeyRequest, name, retention: 'lasting' } as const;
  const { elicitationId } = await issueFor(world, user, { kind: 'credential', credential });
  const raw = await visitorFor(world, user, elicitationId);
  await acceptWith(raw, elicitationId, { api_key: 'ak_0123456789' });
  return (await world.api.read(elicitationId)).body.outcome?.credentialId ?? '';
}

async function openExternally(world: World): Promise<Standing['external']> {
  const api = world.apiOf({ apiKey: keyOf('app') });
  const { body } = await api.issue(askFor(world, world.subject(), { ttlSeconds: DAY_S }));
  const raw = world.raw();
  const { location = '' } = await raw.get(`/login?e=${body.elicitationId}`);
  const verificationId = new URL(location).searchParams.get('verificationId') ?? '';
  return { elicitationId: body.elicitationId, verificationId, raw };
}

function raise(): never {
  throw new TypeError('the world is not prepared');
}
