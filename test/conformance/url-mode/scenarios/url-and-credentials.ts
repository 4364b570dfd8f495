import assert from 'node:assert/strict';
import { connectLegacyHost, elicitationOf } from '../../../support/legacy-host.ts';
import { modernCall, urlRequestOf } from '../../../support/modern-call.ts';
import { connectAccount, elicitationIdOf } from '../../../support/person-at-gateway.ts';
import { watchWrites } from '../../../support/redis-writes.ts';
import { keyOf } from '../../../support/world.ts';
import type { Scenario } from '../scenario.ts';

/** What the URL is, who may do what with it, and what never travels beside it. */
export const urlAndCredentials: readonly Scenario[] = [
  {
    id: 'url-mode:url:opaque',
    async run(world) {
      const { url } = await world.endpoint();
      const [first, second] = [world.subject(), world.subject()];
      await using host = await connectLegacyHost(url, { subject: second });
      const args = { note: 'invoice A-17' };
      const pages = [
        urlRequestOf(await modernCall(url, { tool: 'connect', subject: first, args })).url,
        elicitationOf(await host.call('connect', args)).url,
      ];
      // 256 random bits after the shard.
      for (const page of pages)
        assert.match(page.slice(world.publicUrl.length), /^\/e\/el_[0-9a-f]{2}[A-Za-z0-9_-]{43}$/);
      assert.notEqual(pages[0], pages[1]);
    },
  },
  {
    id: 'url-mode:url:get-changes-nothing',
    async run(world) {
      const { url } = await world.endpoint({ postern: { holdMs: 0 } });
      const subject = world.subject();
      const asked = urlRequestOf(await modernCall(url, { tool: 'connect', subject }));
      const page = new URL(asked.url);
      const elicitationId = elicitationIdOf(asked.url);
      const [stranger, person] = [world.raw(), world.raw()];
      using writes = await watchWrites(world.redis.url);
      await person.signIn(elicitationId, subject);
      assert.notDeepEqual(await writes.take(), []);
      for (const browser of [stranger, person]) {
        for (const method of ['GET', 'HEAD']) assert.equal((await browser.request(method, page)).status, 200);
        for (const action of ['accept', 'decline'])
          assert.equal((await browser.get(`${page.pathname}/${action}`)).status, 303);
      }
      assert.deepEqual(await writes.take(), []);
      assert.equal((await world.api.read(elicitationId)).body.status, 'pending');
    },
  },
  {
    id: 'url-mode:url:same-person',
    async run(world) {
      const { url } = await world.endpoint({ postern: { holdMs: 0 } });
      const [subject, stranger] = [world.subject(), world.subject()];
      const asked = urlRequestOf(await modernCall(url, { tool: 'connect', subject }));
      const elicitationId = elicitationIdOf(asked.url);
      const { body } = await world.api.read(elicitationId);
      const browser = world.raw();
      await browser.signIn(elicitationId, stranger);
      const page = await browser.get(new URL(asked.url));
      assert.equal(page.status, 403);
      for (const fact of ['Code Forge', body.matchCode]) assert.ok(!page.body.includes(fact));
      // The form that the right person would have, with the stranger's own synchronizer token.
      const [, token = ''] = /name="csrf_token" value="([^"]+)"/.exec(page.body) ?? [];
      for (const action of ['accept', 'decline']) {
        const answer = await browser.post(`/e/${elicitationId}/${action}`, { form: { csrf_token: token } });
        assert.equal(answer.status, 403);
      }
      assert.equal((await world.api.read(elicitationId)).body.status, 'pending');
      await world.end('completed', elicitationId, subject);
      const inputResponses = { [asked.key]: { action: 'accept' } };
      const retry = { tool: 'connect', subject, inputResponses, requestState: asked.requestState };
      assert.equal((await modernCall(url, retry)).text, 'accept alice');
    },
  },
  {
    id: 'url-mode:credentials:stay-out',
    async run(world) {
      const { url } = await world.endpoint();
      const [first, second] = [world.subject(), world.subject()];
      const frames: string[] = [];

      const asked = await modernCall(url, { tool: 'connect', subject: first });
      const { key, requestState, url: page } = urlRequestOf(asked);
      await connectAccount(world.raw(), elicitationIdOf(page), first);
      const inputResponses = { [key]: { action: 'accept' } };
      const done = await modernCall(url, { tool: 'connect', subject: first, inputResponses, requestState });
      frames.push(asked.wire, done.wire);

      await using host = await connectLegacyHost(url, { subject: second });
      const { elicitationId } = elicitationOf(await host.call('connect'));
      await connectAccount(world.raw(), elicitationId, second);
      await host.untilCompleted(1);
      assert.equal((await host.call('connect')).text, 'accept alice');
      frames.push(...host.wire);

      const secrets = [keyOf('tracker'), 'forge-client-secret', 'postern-login-secret'];
      for (const id of [elicitationIdOf(page), elicitationId]) {
        const { body } = await world.api.read(id);
        const token = await world.api.accessToken(body.outcome?.connectionId ?? '');
        assert.equal(token.status, 200);
        secrets.push(token.body.accessToken, body.outcome?.connectionId ?? '');
      }
      for (const secret of secrets) {
        assert.notEqual(secret, '');
        assert.ok(!frames.some(frame => frame.includes(secret)));
      }
    },
  },
];
