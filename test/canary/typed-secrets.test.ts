import { inspect } from 'node:util';
import { SoftwareAuthenticator } from '@postern/payment/software-authenticator';
import type { FakeStripe } from '@postern/testkit/stripe';
import { beforeAll, describe, expect, it } from 'vitest';
import { type ApiToCheck, startApiToCheck } from '../support/api-to-check.ts';
import { acceptWith, apiKeyRequest, deletion, issueFor, paymentOf } from '../support/asks.ts';
import { answerCeremony, ceremonyOf } from '../support/passkey-ceremony.ts';
import type { RawBrowser } from '../support/raw-browser.ts';
import { dumpRedis, joinedRecords } from '../support/redis-dump.ts';
import { appendOnlyFile, snapshot, watchCommands } from '../support/redis-files.ts';
import { createSecretRecorder, findLeaks, type SecretRecorder } from '../support/secret-recorder.ts';
import { watchServedText } from '../support/served-text.ts';
import { startWorld, type World } from '../support/world.ts';

interface Story {
  readonly recorder: SecretRecorder;
  readonly sinks: Readonly<Record<string, string>>;
}

/** Secrets that users type, proofs of their identity, and keys that the operator shares with a processor. */
const secret = (kind: string) => `canary-${kind}-${crypto.randomUUID()}`;

async function runStory(isSealed: boolean): Promise<Story> {
  await using stack = new AsyncDisposableStack();
  const recorder = stack.use(createSecretRecorder());
  const api = stack.use(await startApiToCheck());
  const world = stack.use(
    await startWorld({
      plantsLeaks: true,
      payment: { passkeyAbove: { JPY: 100 } },
      mcpServer: { credentialChecks: { checked: { url: api.url, bearer: 'api_key' } } },
    }),
  );
  const { stripe } = world;
  const [gateway] = world.gateways;
  if (gateway === undefined) throw new Error('there is no gateway');
  // With a vault that does not encrypt, the scan must find every secret that it otherwise does not find.
  if (!isSealed)
    Object.assign(gateway.deps.vault, { seal: async (text: string) => text, open: async (text: string) => text });
  recorder.note('Stripe key', stripe.secretKey);
  for (const webhookSecret of stripe.webhookSecrets) recorder.note('webhook secret', webhookSecret);
  using commands = await watchCommands(world.redis.url);
  const answers: string[] = [];
  using served = watchServedText(gateway.address);
  let pages = '';
  const onPages = () => {
    pages = served.text();
  };
  await play({ world, stripe, api, recorder, answers, onPages });

  const { url } = world.redis;
  const dump = await dumpRedis(url);
  return {
    recorder,
    sinks: {
      log: world.log(),
      'Redis keys and values': JSON.stringify(dump),
      'Redis records, joined': joinedRecords(dump),
      'append-only file': await appendOnlyFile(url),
      'RDB snapshot': await snapshot(url),
      MONITOR: commands.text(),
      'event streams': JSON.stringify(Object.entries(dump).filter(([name]) => name.endsWith(':events'))),
      'pages and addresses': pages,
      'answers of the API': answers.join('\n'),
      'requests to Stripe': inspect(stripe.requests(), { depth: 10 }),
    },
  };
}

async function play(p: {
  world: World;
  stripe: FakeStripe;
  api: ApiToCheck;
  recorder: SecretRecorder;
  answers: string[];
  /** Look before the MCP server redeems the values over the same connection. */
  onPages: () => void;
}): Promise<void> {
  const { world, stripe, api, recorder, answers } = p;
  const typed = (kind: string): string => {
    const value = secret(kind);
    recorder.note(kind, value);
    return value;
  };
  const ask = async (user: string, body: Parameters<typeof issueFor>[2]) =>
    (await issueFor(world, user, body)).elicitationId;
  const signedIn = async (elicitationId: string, user: string): Promise<RawBrowser> => {
    const raw = world.raw();
    await raw.signIn(elicitationId, user);
    recorder.note('cookie postern_session', raw.cookies.get('postern_session'));
    return raw;
  };
  const ended: string[] = [];
  const look = async (raw: RawBrowser, elicitationId: string) => {
    await raw.get(`/e/${elicitationId}`);
    await raw.get('/me');
    answers.push(inspect((await world.api.read(elicitationId)).body, { depth: 10 }));
    ended.push(elicitationId);
  };

  // A payment with a passkey, paid at the processor; a refused answer; a webhook, forged and true.
  const user = world.subject();
  const yen = { amount: { currency: 'JPY', minorUnits: 5000 }, items: [{ label: 'x', unitMinorUnits: 5000 }] };
  const payment = await ask(user, paymentOf(yen));
  const raw = await signedIn(payment, user);
  const authenticator = new SoftwareAuthenticator(world.publicUrl);
  const adding = await ceremonyOf(raw, payment);
  await answerCeremony(raw, adding, authenticator.create(adding.options));
  const failing = await ceremonyOf(raw, payment);
  const refused = authenticator.get(failing.options, { verified: false });
  recorder.note('passkey signature', refused.response.signature);
  await answerCeremony(raw, failing, refused);
  const approving = await ceremonyOf(raw, payment);
  const assertion = authenticator.get(approving.options);
  recorder.note('passkey signature', assertion.response.signature);
  await answerCeremony(raw, approving, assertion);
  const [session] = stripe.checkoutSessionsOf(payment);
  stripe.pay(session?.id ?? '');
  const [event] = stripe.eventsOf(session?.id ?? '');
  if (event === undefined) throw new Error('nothing happened at Stripe');
  const webhook = `${world.gateways[0]?.address}/webhooks/stripe-main`;
  const forged = stripe.signed(event, { secrets: [typed('forged webhook secret')] });
  await fetch(webhook, { method: 'POST', body: forged.body, headers: forged.headers });
  await stripe.deliver(webhook, event);
  await raw.get(`/e/${payment}/charge`);
  await look(raw, payment);

  // Credentials: a fault, a failed check, a check without a response, then success; and a lasting credential.
  const checked = {
    ...apiKeyRequest,
    name: 'checked',
    fields: [{ name: 'api_key', label: 'API key', pattern: 'canary.*' }],
  };
  const once = await ask(user, { kind: 'credential', credential: checked });
  await acceptWith(raw, once, { api_key: `no-${typed('key with a fault')}` });
  await acceptWith(raw, once, { api_key: typed('key that is refused') });
  api.answerNext(500, 'break');
  await acceptWith(raw, once, { api_key: typed('key that cannot be checked') });
  await acceptWith(raw, once, { api_key: typed('key that meets a broken check') });
  const good = typed('key that works');
  api.accepts = `Bearer ${good}`;
  await acceptWith(raw, once, { api_key: good });
  await look(raw, once);
  const lasting = {
    ...apiKeyRequest,
    name: 'kept',
    retention: 'lasting',
    fields: [{ name: 'pem', label: 'Key', multiline: true }],
  } as const;
  const kept = await ask(user, { kind: 'credential', credential: { ...lasting, fields: [...lasting.fields] } });
  await acceptWith(raw, kept, { pem: `-----BEGIN-----\n${typed('private key')}\n-----END-----` });
  await look(raw, kept);

  // A form with a secret, with a fault first; a digest that does not match; a confirmation.
  const properties = { pin: { type: 'string', minLength: 8 }, n: { type: 'integer' } } as const;
  const form = await ask(user, {
    kind: 'form',
    form: { requestedSchema: { type: 'object', properties }, secretFields: ['pin'] },
  });
  await acceptWith(raw, form, { pin: typed('PIN beside a fault'), n: 'seven' });
  const stale = {
    ...(await raw.acceptForm(form)),
    shown: 'A'.repeat(43),
    'field.pin': typed('PIN for other terms'),
    'field.n': '7',
  };
  await raw.post(`/e/${form}/accept`, { form: stale });
  await acceptWith(raw, form, { pin: typed('PIN'), n: '7' });
  await look(raw, form);
  const yes = await ask(user, { kind: 'confirmation', confirmation: { ...deletion, danger: 'normal' } });
  await acceptWith(raw, yes);
  await look(raw, yes);

  // Another user submits values.
  const foreign = await ask(world.subject(), { kind: 'credential', credential: apiKeyRequest });
  const page = await raw.get(`/e/${foreign}`);
  const csrf_token = /name="csrf_token" value="([^"]+)"/.exec(page.body)?.[1] ?? '';
  await raw.post(`/e/${foreign}/accept`, { form: { csrf_token, 'field.api_key': typed('key of the wrong person') } });
  await world.raw().post(`/e/${foreign}/accept`, { form: { 'field.api_key': typed('key without a session') } });
  await raw.get(`/e/${foreign}?field.api_key=x`);
  p.onPages();

  for (const elicitationId of ended) {
    const { body, status } = await world.api.redeem(elicitationId);
    if (status !== 200 || body.receipt !== undefined) continue;
    // A second redemption under another key gets an error without the values.
    answers.push(inspect((await world.api.redeem(elicitationId)).body));
  }
  const subject = { issuer: world.identityProvider.issuer, subject: user };
  const { credentials } = (await world.api.credentials(subject)).body;
  answers.push(inspect(credentials));
  for (const { credentialId } of credentials) await world.api.credential(credentialId, { tool: 'tool' });
  answers.push(
    inspect(
      (await world.api.issue({ kind: 'credential', subject, credential: { ...lasting, fields: [...lasting.fields] } }))
        .body,
    ),
  );
}

describe('S13, S35, S49, S53: payments, passkeys, credentials and forms', () => {
  let story: Story;
  beforeAll(async () => {
    story = await runStory(true);
  });

  it('every secret was typed and no sink is empty', () => {
    const kinds = new Set(story.recorder.secrets().map(({ kind }) => kind));
    expect([...kinds]).toEqual(
      expect.arrayContaining([
        'Stripe key',
        'webhook secret',
        'forged webhook secret',
        'passkey signature',
        'key that is refused',
        'key that works',
        'private key',
        'PIN',
        'key of the wrong person',
      ]),
    );
    for (const [sink, text] of Object.entries(story.sinks)) expect(text.length, sink).toBeGreaterThan(500);
    for (const event of [
      'credential.checked',
      'credential.read',
      'passkey.added',
      'passkey.refused',
      'payment.webhook_refused',
    ])
      expect(story.sinks['log']).toContain(event);
    expect(story.sinks['log']).toMatch(/"event":"elicitation\.wrong_person"/);
    expect(story.sinks['Redis keys and values']).toMatch(/\}:cr:[\s\S]*\}:res:|\}:res:[\s\S]*\}:cr:/);
    expect(story.sinks['answers of the API']).toContain('already_redeemed');
    expect(story.sinks['answers of the API']).toContain("kind: 'payment'");
  });

  it('no sink contains a secret', () => {
    expect(findLeaks(story.sinks, story.recorder.secrets())).toEqual([]);
  });
});

describe('S49: without the vault', () => {
  let story: Story;
  beforeAll(async () => {
    story = await runStory(false);
  });

  it.each(['key that works', 'private key', 'PIN'])(
    'without sealing, the scan finds the %s in commands and data of Redis',
    kind => {
      const leaks = findLeaks(story.sinks, story.recorder.secrets());
      for (const sink of ['append-only file', 'MONITOR', 'Redis keys and values', 'RDB snapshot'])
        expect(leaks).toContainEqual({ sink, kind });
    },
  );

  it.each([
    'key that is refused',
    'key that cannot be checked',
    'key with a fault',
    'PIN beside a fault',
    'key of the wrong person',
  ])('even then the scan does not find %s, which was never stored', kind => {
    expect(findLeaks(story.sinks, story.recorder.secrets()).filter(leak => leak.kind === kind)).toEqual([]);
  });
});
