import { accept, createCiHandler, decline, type ElicitationRequest, type HostOptions } from '@postern/host';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { elicitationIdOf } from '../support/person-at-gateway.ts';
import { connectAttachedHost } from '../support/verb-attached-host.ts';
import { filledDelivery, type Way, wayNamed, ways } from '../support/verb-play.ts';
import { oneQuestion, type VerbTool } from '../support/verb-tools.ts';
import { startVerbWorld, type VerbWorld } from '../support/verb-world.ts';

let world: VerbWorld;
beforeAll(async () => {
  world = await startVerbWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

const asking = ways.filter(({ url }) => url !== 'plain').map(way => [way.name, way] as const);

/** A host whose handler consents to every page, and the actions of its user on the page. */
async function hostOf(way: Way, user: string, atPage: (elicitationId: string) => Promise<void>) {
  const endpoint = await world.endpoint(way.endpoint);
  const requests: ElicitationRequest[] = [];
  const acted: Promise<void>[] = [];
  async function act(elicitationId: string): Promise<void> {
    if (way.url === 'elicitation/create') await endpoint.untilHolding(elicitationId);
    await atPage(elicitationId);
  }
  const options = {
    async handler(request) {
      requests.push(request);
      if (request.mode === 'form') return accept(filledDelivery.content);
      acted.push(act(elicitationIdOf(request.url)));
      return accept();
    },
    // Without a completion notice, the user reports when the page is done.
    ...(way.url === '-32042' && !way.hearsOfEnd
      ? { completionPrompt: async () => await Promise.all(acted).then(() => 'done' as const) }
      : {}),
  } satisfies Omit<HostOptions, 'mcpServer'>;
  const host = await connectAttachedHost({ way, url: endpoint.url, subject: user, options });
  return {
    requests,
    endpoint,
    async call(tool: VerbTool, order: string) {
      const text = await host.call(tool, { order });
      await Promise.all(acted);
      return text;
    },
    [Symbol.asyncDispose]: () => host[Symbol.asyncDispose](),
  };
}

describe.each(asking)('%s', (_name, way) => {
  it.each(oneQuestion)('%s: one call, one elicitation, one result', async tool => {
    const person = world.person();
    await using host = await hostOf(way, person.user, person.accept);
    const order = world.order();
    expect(await host.call(tool, order)).toBe('accept');
    expect(host.requests.map(({ mode }) => mode)).toEqual([tool === 'form' && way.showsForms ? 'form' : 'url']);
    expect(host.endpoint.given.filter(one => one.order === order)).toHaveLength(1);
  });

  it('three elicitations in one call', async () => {
    const person = world.person();
    await using host = await hostOf(way, person.user, person.accept);
    const order = world.order();
    expect(await host.call('steps', order)).toBe('accept');
    expect(host.requests.map(({ mode }) => mode)).toEqual(['url', 'url', way.showsForms ? 'form' : 'url']);
    expect(host.endpoint.given.filter(one => one.order === order)).toHaveLength(1);
    const paid = host.requests.flatMap(request => (request.mode === 'url' ? [elicitationIdOf(request.url)] : []));
    expect(paid.flatMap(id => world.stripe.chargesOf(id))).toHaveLength(1);
  });

  it('a decline on the page becomes the result of the tool', async () => {
    const person = world.person();
    await using host = await hostOf(way, person.user, person.decline);
    for (const tool of oneQuestion.filter(name => name !== 'form'))
      expect(await host.call(tool, world.order()), tool).toBe('decline declined');
  });

  it('a decline by the host reaches the tool, or the caller if the tool call is over', async () => {
    const { user } = world.person();
    const { url } = await world.endpoint(way.endpoint);
    const options = { handler: async () => decline() };
    await using host = await connectAttachedHost({ way, url, subject: user, options });
    for (const tool of ['pay_stripe', 'confirm', 'credential', 'form_secret'] as const) {
      const call = host.call(tool, { order: world.order() });
      if (way.url === '-32042') await expect(call).rejects.toMatchObject({ code: 'elicitation_refused' });
      else expect(await call).toBe('decline client_declined');
    }
    const form = host.call('form', { order: world.order() });
    if (way.showsForms) expect(await form).toBe('decline declined');
    else await expect(form).rejects.toMatchObject({ code: 'elicitation_refused' });
  });
});

describe('a host in CI without a user', () => {
  it.each(['2026-07-28 url and form', '2025-11-25 session, push, v2', '2025-11-25 session, push, v1'])(
    '%s: fills in configured values and declines elicitations that need a user',
    async name => {
      const way = wayNamed(name);
      const { user } = world.person();
      const { url, given } = await world.endpoint(way.endpoint);
      const fields = { name: 'Nightly', parcels: 1, size: 'small' };
      const handler = createCiHandler({ configuration: { rules: [{ fields, useDefaults: true }] } });
      await using host = await connectAttachedHost({ way, url, subject: user, options: { handler } });
      const order = world.order();
      expect(await host.call('form', { order })).toBe('accept');
      expect(given.filter(one => one.order === order)).toMatchObject([
        { what: { by: 'mcp-client', content: { ...fields, express: false } } },
      ]);
      for (const tool of ['pay_none', 'confirm', 'credential', 'form_secret'] as const)
        expect(await host.call(tool, { order: world.order() }), tool).toBe('decline client_declined');
    },
  );
});
