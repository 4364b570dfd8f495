import assert from 'node:assert/strict';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { type ModernAnswer, modernCall, urlRequestOf } from '../../../support/modern-call.ts';
import { elicitationIdOf } from '../../../support/person-at-gateway.ts';
import type { Scenario } from '../scenario.ts';

const NO_HOLD = { postern: { holdMs: 0 } };

/** The members of the retry after `answer`, whose user agreed to open the URL. */
function retryAfter(answer: ModernAnswer) {
  const { key, requestState, url } = urlRequestOf(answer);
  return {
    retry: { inputResponses: { [key]: { action: 'accept' } }, requestState },
    elicitationId: elicitationIdOf(url),
  };
}

/** How a retry of revision 2026-07-28 waits for the user. */
export const modernWaiting: readonly Scenario[] = [
  {
    id: 'url-mode:modern:held-retry',
    async run(world) {
      const { url, untilHolding } = await world.endpoint();
      const subject = world.subject();
      const { retry, elicitationId } = retryAfter(await modernCall(url, { tool: 'connect', subject }));
      const retried = modernCall(url, { tool: 'connect', subject, ...retry, progressToken: 7 });
      await untilHolding(elicitationId);
      await world.end('completed', elicitationId, subject);
      const answer = await retried;
      assert.equal(answer.result?.resultType, 'complete');
      assert.equal(answer.text, 'accept alice');
      const [progress] = answer.notifications;
      assert.equal(progress?.method, 'notifications/progress');
      assert.equal(progress?.params?.['progressToken'], 7);
    },
  },
  {
    id: 'url-mode:modern:state-only-round',
    async run(world) {
      const { url } = await world.endpoint(NO_HOLD);
      const subject = world.subject();
      const first = await modernCall(url, { tool: 'connect', subject });
      const { retry, elicitationId } = retryAfter(first);
      const waiting = await modernCall(url, { tool: 'connect', subject, ...retry });
      assert.equal(waiting.result?.resultType, 'input_required');
      assert.equal(waiting.result.inputRequests, undefined);
      const { requestState } = waiting.result;
      assert.ok(requestState !== undefined && requestState !== retry.requestState);
      await world.end('completed', elicitationId, subject);
      const answer = await modernCall(url, { tool: 'connect', subject, requestState });
      assert.equal(answer.text, 'accept alice');
    },
  },
  {
    id: 'url-mode:modern:round-cap',
    async run(world) {
      const maxRounds = 3;
      const { url } = await world.endpoint({ postern: { holdMs: 0, maxRounds } });
      const subject = world.subject();
      const first = await modernCall(url, { tool: 'connect', subject });
      const { elicitationId, retry } = retryAfter(first);
      let answer = await modernCall(url, { tool: 'connect', subject, ...retry });
      for (let round = 3; round <= maxRounds; round += 1) {
        assert.equal(answer.result?.resultType, 'input_required');
        answer = await modernCall(url, { tool: 'connect', subject, requestState: answer.result.requestState });
      }
      assert.equal(answer.result?.resultType, 'input_required');
      const last = await modernCall(url, { tool: 'connect', subject, requestState: answer.result.requestState });
      assert.equal(last.result?.resultType, 'complete');
      assert.equal(last.result.isError, true);
      assert.ok(last.text?.includes(`/e/${elicitationId}`));
      await world.end('completed', elicitationId, subject);
      assert.equal((await modernCall(url, { tool: 'connect', subject })).text, 'accept alice');
    },
  },
  {
    id: 'url-mode:modern:accept-is-consent-only',
    async run(world) {
      const { url } = await world.endpoint(NO_HOLD);
      const subject = world.subject();
      const { retry, elicitationId } = retryAfter(await modernCall(url, { tool: 'connect', subject }));
      for (const content of [undefined, {}, { status: 'completed' }]) {
        const [key = ''] = Object.keys(retry.inputResponses);
        const inputResponses = { [key]: { action: 'accept', content } };
        const answer = await modernCall(url, { tool: 'connect', subject, ...retry, inputResponses });
        assert.equal(answer.result?.resultType, 'input_required');
      }
      assert.equal((await world.api.read(elicitationId)).body.status, 'pending');
    },
  },
  {
    id: 'url-mode:modern:disconnect',
    async run(world) {
      const { url, untilHolding } = await world.endpoint();
      const subject = world.subject();
      const { retry, elicitationId } = retryAfter(await modernCall(url, { tool: 'connect', subject }));
      const line = new AbortController();
      const dropped = modernCall(url, { tool: 'connect', subject, ...retry, signal: line.signal });
      await untilHolding(elicitationId);
      line.abort();
      await assert.rejects(dropped);
      assert.equal((await world.api.read(elicitationId)).body.status, 'pending');
      await world.end('completed', elicitationId, subject);
      assert.equal((await modernCall(url, { tool: 'connect', subject, ...retry })).text, 'accept alice');
    },
  },
  {
    id: 'url-mode:modern:not-asked-again',
    async run(world) {
      const { url } = await world.endpoint();
      const subject = world.subject();
      const { retry, elicitationId } = retryAfter(await modernCall(url, { tool: 'connect', subject }));
      await world.end('completed', elicitationId, subject);
      for (const call of [retry, {}]) {
        const answer = await modernCall(url, { tool: 'connect', subject, ...call });
        assert.equal(answer.result?.resultType, 'complete');
        assert.equal(answer.text, 'accept alice');
      }
    },
  },
  {
    id: 'url-mode:modern:official-client',
    async run(world) {
      const { url, untilHolding } = await world.endpoint();
      const subject = world.subject();
      const client = new Client(
        { name: 'Conformance Host', version: '1.0.0' },
        { capabilities: { elicitation: { form: {}, url: {} } }, versionNegotiation: { mode: { pin: '2026-07-28' } } },
      );
      const { promise: asked, resolve } = Promise.withResolvers<string>();
      let questions = 0;
      client.setRequestHandler('elicitation/create', ({ params }) => {
        if (params.mode !== 'url') return { action: 'cancel' };
        questions += 1;
        resolve(elicitationIdOf(params.url));
        return { action: 'accept' };
      });
      // The answer goes out at consent; the user is done when the retry is already being held.
      const finish = async () => {
        const elicitationId = await asked;
        await untilHolding(elicitationId);
        await world.end('completed', elicitationId, subject);
      };
      await client.connect(
        new StreamableHTTPClientTransport(url, { requestInit: { headers: { authorization: `Bearer ${subject}` } } }),
      );
      try {
        const [{ content }] = await Promise.all([client.callTool({ name: 'connect', arguments: {} }), finish()]);
        assert.deepEqual(content, [{ type: 'text', text: 'accept alice' }]);
        assert.equal(questions, 1);
      } finally {
        await client.close();
      }
    },
  },
];
