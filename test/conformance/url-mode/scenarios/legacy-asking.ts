import assert from 'node:assert/strict';
import { connectLegacyHost, elicitationOf, type UrlRequest } from '../../../support/legacy-host.ts';
import type { Scenario } from '../scenario.ts';

const undeclared: readonly Record<string, object>[] = [{ elicitation: { form: {} } }, { elicitation: {} }, {}];

/** How revision 2025-11-25 is asked, and who is not. */
export const legacyAsking: readonly Scenario[] = [
  {
    id: 'url-mode:legacy:url-required-error',
    async run(world) {
      const { url } = await world.endpoint();
      const subject = world.subject();
      await using host = await connectLegacyHost(url, { subject });
      // Parses strictly: nothing but one elicitation in `data`, nothing but the four members in it.
      const asked = elicitationOf(await host.call('connect'));
      const { body } = await world.api.read(asked.elicitationId);
      assert.equal(asked.url, body.url);
      assert.ok(asked.message.includes(body.matchCode));
    },
  },
  {
    id: 'url-mode:legacy:url-required-error-only-if-declared',
    async run(world) {
      const { url } = await world.endpoint();
      const subject = world.subject();
      for (const capabilities of undeclared) {
        await using host = await connectLegacyHost(url, { subject, capabilities });
        const answer = await host.call('connect');
        assert.equal(answer.error, undefined);
        assert.match(answer.text ?? '', /http\S+\/e\/\S+/);
      }
    },
  },
  {
    id: 'url-mode:legacy:stateless',
    async run(world) {
      const subject = world.subject();
      const initialize = {
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: 'connect', arguments: {} },
      };
      const call = async (url: URL) => {
        const response = await fetch(url, {
          method: 'POST',
          headers: {
            authorization: `Bearer ${subject}`,
            'content-type': 'application/json',
            accept: 'application/json, text/event-stream',
            'mcp-protocol-version': '2025-11-25',
          },
          body: JSON.stringify(initialize),
        });
        return await response.text();
      };
      const cautious = await world.endpoint({ legacy: 'stateless' });
      const wire = await call(cautious.url);
      assert.ok(!wire.includes('-32042'));
      assert.match(wire, /\/e\/el_/);
      const vouched = await world.endpoint({ legacy: 'stateless', postern: { assumeUrlCapability: true } });
      assert.match(await call(vouched.url), /"code":-32042/);
    },
  },
  {
    id: 'url-mode:legacy:push-shape',
    async run(world) {
      const { url } = await world.endpoint();
      const subject = world.subject();
      const { promise: asked, resolve } = Promise.withResolvers<UrlRequest>();
      await using host = await connectLegacyHost(url, {
        subject,
        elicit: request => {
          resolve(request);
          return 'cancel';
        },
      });
      await host.call('connect');
      const { elicitationId, url: page } = await asked;
      const { body } = await world.api.read(elicitationId);
      assert.equal(page, body.url);
      const pushed = host.wire.map(text => JSON.parse(text)).filter(({ method }) => method === 'elicitation/create');
      assert.equal(pushed.length, 1);
      assert.deepEqual(Object.keys(pushed[0].params).sort(), ['elicitationId', 'message', 'mode', 'url']);
      assert.equal(pushed[0].params.mode, 'url');
    },
  },
  {
    id: 'url-mode:legacy:push-only-if-declared',
    async run(world) {
      const { url } = await world.endpoint();
      const subject = world.subject();
      for (const capabilities of undeclared) {
        await using host = await connectLegacyHost(url, { subject, capabilities });
        const answer = await host.call('connect');
        assert.match(answer.text ?? '', /http\S+\/e\/\S+/);
        assert.ok(!host.wire.some(text => text.includes('elicitation/create')));
      }
    },
  },
  {
    id: 'url-mode:legacy:push-accept-is-consent-only',
    async run(world) {
      const { url, untilHolding } = await world.endpoint();
      const subject = world.subject();
      const { promise: asked, resolve } = Promise.withResolvers<UrlRequest>();
      await using host = await connectLegacyHost(url, {
        subject,
        elicit: request => {
          resolve(request);
          return 'accept';
        },
      });
      let answered = false;
      const call = host.call('connect').finally(() => {
        answered = true;
      });
      const { elicitationId } = await asked;
      await untilHolding(elicitationId);
      assert.equal((await world.api.read(elicitationId)).body.status, 'pending');
      assert.equal(answered, false);
      await world.end('completed', elicitationId, subject);
      assert.equal((await call).text, 'accept alice');
    },
  },
  {
    id: 'url-mode:legacy:push-client-refusal',
    async run(world) {
      const { url } = await world.endpoint();
      for (const [action, text] of [
        ['decline', 'decline client_declined'],
        ['cancel', undefined],
      ] as const) {
        const subject = world.subject();
        let elicitationId = '';
        await using host = await connectLegacyHost(url, {
          subject,
          elicit: request => {
            elicitationId = request.elicitationId;
            return action;
          },
        });
        const answer = await host.call('connect');
        assert.equal(answer.text, text);
        assert.equal(answer.error?.code, action === 'cancel' ? -32042 : undefined);
        assert.equal((await world.api.read(elicitationId)).body.status, 'pending');
      }
    },
  },
];
