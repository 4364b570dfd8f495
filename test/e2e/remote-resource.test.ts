import { listenHttp } from '@postern/testkit/providers';
import { expect, it } from 'vitest';
import { connectionIdOf } from '../support/connections.ts';
import { startWorld } from '../support/world.ts';

it('S85: the page names the host of a remote MCP resource, and an unlisted resource is refused', async () => {
  let issuer = '';
  await using stack = new AsyncDisposableStack();
  const resource = await listenHttp((request, response) => {
    const path = request.url?.split('/.well-known/oauth-protected-resource')[1];
    if (path === undefined) response.writeHead(404).end();
    else response.end(JSON.stringify({ resource: `${origin}${path}`, authorization_servers: [issuer] }));
  });
  stack.defer(() => resource.close());
  const origin = `http://localhost:${resource.port}`;
  const mcpResource = `${origin}/mcp`;
  const world = stack.use(
    await startWorld({
      provider: { registration: 'open', protectedResources: [mcpResource] },
      mcpServer: { providers: ['tools', 'unlisted'] },
      config: ({ base, provider }) => {
        issuer = provider.issuer;
        const remote = { displayName: 'Tools', baseScopes: ['openid'] };
        const tools = { ...remote, name: 'tools', mcpResource };
        const unlisted = { ...remote, name: 'unlisted', mcpResource: `${origin}/unlisted` };
        return { providers: [...(base.providers ?? []), tools, unlisted] };
      },
    }),
  );
  const user = world.subject();
  const raw = world.raw();
  const asked = await world.ask(user, { authorization: { provider: 'tools', scopes: ['repo'] } });
  await raw.signIn(asked.elicitationId, user);
  const { body } = await raw.get(`/e/${asked.elicitationId}`);
  for (const host of [`localhost:${resource.port}`, new URL(issuer).host]) expect(body).toContain(`<bdi>${host}</bdi>`);
  await raw.get(await raw.decideAtProvider(await raw.accept(asked.elicitationId), 'alice'));
  const connectionId = await connectionIdOf(world.api, asked.elicitationId);
  const { accessToken } = (await world.api.accessToken(connectionId)).body;
  expect(world.provider.tokens.accessToken(accessToken)?.audience).toEqual([mcpResource]);

  world.provider.clearRequests();
  const { elicitationId } = await world.ask(user, { authorization: { provider: 'unlisted', scopes: ['repo'] } });
  const form = await raw.acceptForm(elicitationId);
  expect((await raw.post(`/e/${elicitationId}/accept`, { form })).status).toBe(502);
  expect(world.log()).toMatch(/"event":"outbound\.failed".*"resource_not_listed"/);
  expect(new Set(world.provider.requests().map(({ endpoint }) => endpoint))).toEqual(new Set(['metadata']));
});
