import { createLogger, type Gateway, type GatewayConfig, startGateway } from '@postern/gateway';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createRawBrowser, type RawBrowser } from '../support/raw-browser.ts';
import { type Stage, startStage } from '../support/stage.ts';
import { askFor, createApi, keyOf } from '../support/world.ts';

const RETURN_URL = 'https://tracker.example/done';
const stack = new AsyncDisposableStack();
let stage: Stage;

beforeAll(async () => {
  stage = stack.use(
    await startStage({
      mcpServer: { returnUrls: [RETURN_URL] },
      otherMcpServers: [{ id: 'wiki', identity: { mode: 'external', verifyUrl: 'http://localhost:1/verify' } }],
    }),
  );
});
afterAll(() => stack.disposeAsync());

/** The gateway after the operator has changed what the MCP server is registered with. */
async function changedTo(change: Partial<GatewayConfig['mcpServers'][number]>): Promise<Gateway> {
  const { config } = stage.world.gateways[0]?.deps ?? {};
  if (config === undefined) throw new Error('no gateway');
  return stack.use(
    await startGateway(
      {
        ...config,
        listen: { host: '127.0.0.1', port: 0 },
        mcpServers: config.mcpServers.map(mcpServer => ({ ...mcpServer, ...change })),
      },
      { logger: createLogger({ level: 'silent' }) },
    ),
  );
}

/** The same browser, cookies and all, at another gateway process. */
function movedTo({ address }: Gateway, { cookies }: RawBrowser): RawBrowser {
  const moved = createRawBrowser({ address, publicUrl: stage.world.publicUrl });
  for (const [name, value] of cookies) moved.cookies.set(name, value);
  return moved;
}

describe('what an MCP server is no longer allowed', () => {
  it.each([
    ['a provider', { providers: [] }],
    ['an issuer', { issuers: ['https://other.example'] }],
  ])('%s: links that are out already end, before and after the person agreed', async (_, change) => {
    const gateway = await changedTo(change);
    const user = stage.subject();
    const person = stage.raw();
    const asked = await stage.ask(user);
    await person.signIn(asked.elicitationId, user);
    const token = await person.csrfToken(asked.elicitationId);
    const callback = await person.decideAtProvider(await person.accept(asked.elicitationId), 'alice');
    stage.world.provider.clearRequests();

    const later = movedTo(gateway, person);
    expect((await later.get(`/e/${asked.elicitationId}`)).status).toBe(404);
    const form = { csrf_token: token };
    expect((await later.post(`/e/${asked.elicitationId}/accept`, { form })).status).toBe(404);
    await later.get(callback);
    expect(stage.world.provider.requests('token')).toHaveLength(0);
    expect((await stage.api.read(asked.elicitationId)).body.status).toBe('pending');
  });

  it('a provider: a code that is held for an external verification is never used', async () => {
    const gateway = await changedTo({ providers: [] });
    const user = stage.subject();
    const person = stage.raw();
    const wiki = stage.world.api({ apiKey: keyOf('wiki') });
    const { elicitationId } = (await wiki.issue(askFor(stage.world, user))).body;
    const verifyAt = ({ call }: typeof wiki, location: string | undefined) =>
      call<{ continueUrl?: string }>('POST', `/v1/elicitations/${elicitationId}/verify`, {
        verificationId: new URL(location ?? '').searchParams.get('verificationId'),
        subject: { issuer: stage.world.identityProvider.issuer, subject: user },
      });
    const opened = await verifyAt(wiki, (await person.get(`/login?e=${elicitationId}`)).location);
    await person.get(new URL(opened.body.continueUrl ?? ''));
    const callback = await person.decideAtProvider(await person.accept(elicitationId), 'alice');
    const { location } = await person.get(callback);
    stage.world.provider.clearRequests();

    expect((await verifyAt(createApi(gateway.address, keyOf('wiki')), location)).status).toBe(404);
    expect(stage.world.provider.requests('token')).toHaveLength(0);
    expect((await verifyAt(wiki, location)).status).toBe(200);
  });

  it('a return URL: the last page leads there no longer', async () => {
    const gateway = await changedTo({ returnUrls: [] });
    const user = stage.subject();
    const person = stage.raw();
    const { elicitationId } = await stage.ask(user, { returnUrl: RETURN_URL });
    await person.signIn(elicitationId, user);
    const form = { csrf_token: await person.csrfToken(elicitationId) };
    await person.post(`/e/${elicitationId}/decline`, { form });
    expect((await person.get(`/e/${elicitationId}`)).body).toContain(RETURN_URL);
    const page = await movedTo(gateway, person).get(`/e/${elicitationId}`);
    expect(page.status).toBe(200);
    expect(page.body).not.toContain(RETURN_URL);
  });
});
