import { createLogger, type Gateway, type GatewayConfig, startGateway } from '@postern/gateway';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { acceptWith, apiKeyRequest, issueFor, paymentConfig, paymentOf, visitorFor } from '../support/asks.ts';
import { type AskedKind, askedKinds, askKind, askOfEach } from '../support/every-kind.ts';
import { createRawBrowser, type RawBrowser } from '../support/raw-browser.ts';
import { type Stage, startStage } from '../support/stage.ts';
import { createApi, keyOf } from '../support/world.ts';

const stack = new AsyncDisposableStack();
const { payment } = paymentConfig();
let stage: Stage;
beforeAll(async () => {
  stage = stack.use(await startStage({ mcpServer: { payment } }));
});
afterAll(() => stack.disposeAsync());

type McpServer = GatewayConfig['mcpServers'][number];

/** The gateway after the operator has changed what the MCP server is registered with. */
async function changedTo(change: Partial<McpServer>): Promise<Gateway> {
  const { config } = stage.world.gateways[0]?.deps ?? {};
  if (config === undefined) throw new Error('no gateway');
  const mcpServers = config.mcpServers.map(mcpServer => ({ ...mcpServer, ...change }));
  const listen = { host: '127.0.0.1', port: 0 };
  const logger = createLogger({ level: 'silent' });
  return stack.use(await startGateway({ ...config, listen, mcpServers }, { logger }));
}

/** The same browser, cookies and all, at another gateway process. */
function movedTo({ address }: Gateway, { cookies }: RawBrowser): RawBrowser {
  const moved = createRawBrowser({ address, publicUrl: stage.world.publicUrl });
  for (const [name, value] of cookies) moved.cookies.set(name, value);
  return moved;
}

const policy = { passkeyAbove: {}, freshSignInSeconds: 300 };
const others = (kind: AskedKind) => askedKinds.filter(other => other !== kind);

describe('what an MCP server may no longer ask', () => {
  it.each<[string, AskedKind, Partial<McpServer>]>([
    ...askedKinds.map((kind): [string, AskedKind, Partial<McpServer>] => [
      `the kind ${kind}`,
      kind,
      { kinds: others(kind) },
    ]),
    ['its processor', 'payment', { payment: { ...policy, processors: ['other'], maxAmount: { EUR: 100_000 } } }],
    ['payments this high', 'payment', { payment: { ...policy, processors: ['none'], maxAmount: { EUR: 100 } } }],
    ['payments in this currency', 'payment', { payment: { ...policy, processors: ['none'], maxAmount: { JPY: 1 } } }],
    ['people of this issuer', 'form', { issuers: ['https://other.example'] }],
  ])('%s: a link that is out already leads nowhere, and its form is worth nothing', async (_, kind, change) => {
    const gateway = await changedTo(change);
    const user = stage.subject();
    const { elicitationId } = await askKind(stage, user, kind);
    const raw = await visitorFor(stage, user, elicitationId);
    const form = await raw.acceptForm(elicitationId);
    const later = movedTo(gateway, raw);
    expect((await later.get(`/e/${elicitationId}`)).status).toBe(404);
    const typed = Object.fromEntries(
      Object.entries(askOfEach[kind].typed).map(([name, value]) => [`field.${name}`, value]),
    );
    expect((await later.post(`/e/${elicitationId}/accept`, { form: { ...form, ...typed } })).status).toBe(404);
    expect((await stage.api.read(elicitationId)).body.status).toBe('pending');
  });

  it.each(['credential', 'form'] as const)('%s: what was typed before is kept from it', async kind => {
    const gateway = await changedTo({ kinds: others(kind) });
    const user = stage.subject();
    const { elicitationId } = await askKind(stage, user, kind);
    await acceptWith(await visitorFor(stage, user, elicitationId), elicitationId, askOfEach[kind].typed);
    const later = createApi(gateway.address, keyOf('tracker'));
    expect((await later.redeem(elicitationId)).status).toBe(404);
    expect((await stage.api.redeem(elicitationId)).status).toBe(200);
  });

  it('a lasting credential can be read no longer', async () => {
    const gateway = await changedTo({ kinds: others('credential') });
    const user = stage.subject();
    const credential = { ...apiKeyRequest, retention: 'lasting' } as const;
    const { elicitationId } = await issueFor(stage, user, { kind: 'credential', credential });
    await acceptWith(await visitorFor(stage, user, elicitationId), elicitationId, askOfEach.credential.typed);
    const id = (await stage.api.read(elicitationId)).body.outcome?.credentialId ?? '';
    const later = createApi(gateway.address, keyOf('tracker'));
    expect((await later.credential(id)).status).toBe(404);
    expect((await later.removeCredential(id)).status).toBe(404);
    expect((await stage.api.credential(id)).status).toBe(200);
  });

  it('the receipt of what was approved stays due', async () => {
    const gateway = await changedTo({ kinds: ['form'] });
    const user = stage.subject();
    const { elicitationId } = await issueFor(stage, user, paymentOf({ processor: 'none' }));
    await acceptWith(await visitorFor(stage, user, elicitationId), elicitationId);
    const later = createApi(gateway.address, keyOf('tracker'));
    expect((await later.redeem(elicitationId)).body).toMatchObject({ kind: 'payment' });
  });
});
