import assert from 'node:assert/strict';
import { modernCall, urlRequestOf } from '../../../support/modern-call.ts';
import { elicitationIdOf } from '../../../support/person-at-gateway.ts';
import type { Scenario } from '../scenario.ts';

/** How revision 2026-07-28 is asked, and who is not. */
export const modernAsking: readonly Scenario[] = [
  {
    id: 'url-mode:modern:request-shape',
    async run(world) {
      const { url } = await world.endpoint();
      const subject = world.subject();
      const answer = await modernCall(url, { tool: 'connect', subject });
      assert.equal(answer.httpStatus, 200);
      assert.equal(answer.result?.resultType, 'input_required');
      assert.deepEqual(
        Object.values(answer.result?.inputRequests ?? {}).map(({ method }) => method),
        ['elicitation/create'],
      );
      const { params, url: page } = urlRequestOf(answer);
      assert.deepEqual(Object.keys(params).sort(), ['message', 'mode', 'url']);
      assert.equal(params['mode'], 'url');
      const { body } = await world.api.read(elicitationIdOf(page));
      assert.equal(page, body.url);
      assert.ok(String(params['message']).includes(body.matchCode));
    },
  },
  {
    id: 'url-mode:modern:no-url-required-error',
    async run(world) {
      const subject = world.subject();
      for (const missingCapability of ['plain', 'error'] as const) {
        const { url } = await world.endpoint({ postern: { missingCapability, assumeUrlCapability: true } });
        for (const elicitation of [{ form: {}, url: {} }, { form: {} }, {}, undefined]) {
          const { error } = await modernCall(url, { tool: 'connect', subject, elicitation });
          assert.notEqual(error?.code, -32042);
        }
      }
    },
  },
  {
    id: 'url-mode:modern:capability-plain',
    async run(world) {
      const { url } = await world.endpoint();
      const subject = world.subject();
      for (const elicitation of [{ form: {} }, {}, undefined]) {
        const answer = await modernCall(url, { tool: 'connect', subject, elicitation });
        assert.equal(answer.result?.resultType, 'complete');
        assert.equal(answer.result.isError, true);
        assert.equal(answer.result.inputRequests, undefined);
        const hint = answer.result._meta?.['dev.postern/elicitation'] as { url: string; matchCode: string };
        assert.ok(answer.text?.includes(hint.url) && answer.text.includes(hint.matchCode));
      }
      // The user can finish all the same, and the call that is made again reads it.
      const { text = '' } = await modernCall(url, { tool: 'connect', subject, elicitation: undefined });
      const [link = ''] = /http\S+\/e\/\S+/.exec(text) ?? [];
      await world.end('completed', elicitationIdOf(link), subject);
      const again = await modernCall(url, { tool: 'connect', subject, elicitation: undefined });
      assert.equal(again.text, 'accept alice');
    },
  },
  {
    id: 'url-mode:modern:capability-error',
    async run(world) {
      const { url } = await world.endpoint({ postern: { missingCapability: 'error' } });
      const subject = world.subject();
      for (const elicitation of [{ form: {} }, {}, undefined]) {
        const answer = await modernCall(url, { tool: 'connect', subject, elicitation });
        assert.equal(answer.httpStatus, 400);
        assert.equal(answer.error?.code, -32021);
        assert.deepEqual(answer.error.data?.['requiredCapabilities'], { elicitation: { url: {} } });
      }
    },
  },
  {
    id: 'url-mode:modern:parallel-calls',
    async run(world) {
      const { url } = await world.endpoint();
      const subject = world.subject();
      const asked = await Promise.all(
        ['connect', 'connect_too', 'connect'].map((tool, at) =>
          modernCall(url, { tool, subject, args: { note: `call ${at}` } }),
        ),
      );
      assert.equal(new Set(asked.map(answer => urlRequestOf(answer).url)).size, 1);
    },
  },
];
