import assert from 'node:assert/strict';
import type { GatedEndpoint } from '../../../support/gated-endpoint.ts';
import { connectLegacyHost, elicitationOf, type LegacyHost } from '../../../support/legacy-host.ts';
import type { Scenario } from '../scenario.ts';
import { argumentsFor, endings, endpointFor, terminalStatuses } from './modern-ending.ts';

/** Sends something harmless down the session's own stream, so that whatever was sent there before has arrived. */
async function flush(endpoint: GatedEndpoint, host: LegacyHost, count: number): Promise<void> {
  const mcpServer = endpoint.serverOf(host.sessionId ?? '');
  if (mcpServer === undefined) throw new Error('no such session');
  mcpServer.sendToolListChanged();
  await host.untilToolsChanged(count);
}

/** `notifications/elicitation/complete`, and the result of the repeated call. */
export const legacyCompletion: readonly Scenario[] = [
  {
    id: 'url-mode:legacy:completion-to-initiator-once',
    async run(world) {
      const endpoint = await world.endpoint();
      const subject = world.subject();
      await using initiator = await connectLegacyHost(endpoint.url, { subject });
      await using sameUser = await connectLegacyHost(endpoint.url, { subject });
      await using otherUser = await connectLegacyHost(endpoint.url, { subject: world.subject() });
      const { elicitationId } = elicitationOf(await initiator.call('connect'));
      // A second −32042 for the same elicitation is no second reason to notify.
      assert.equal(elicitationOf(await initiator.call('connect')).elicitationId, elicitationId);
      await world.end('completed', elicitationId, subject);
      await initiator.untilCompleted(1);
      assert.equal((await initiator.call('connect')).text, 'accept alice');
      for (const host of [initiator, sameUser, otherUser]) await flush(endpoint, host, 1);
      assert.deepEqual(initiator.completions, [elicitationId]);
      assert.deepEqual(sameUser.completions, []);
      assert.deepEqual(otherUser.completions, []);
    },
  },
  {
    id: 'url-mode:legacy:completion-for-every-end',
    async run(world) {
      for (const action of ['cancel', 'accept'] as const) {
        for (const status of terminalStatuses) {
          const endpoint = await world.endpoint(endpointFor(status));
          const subject = world.subject();
          const { promise: asked, resolve } = Promise.withResolvers<string>();
          await using host = await connectLegacyHost(endpoint.url, {
            subject,
            elicit: ({ elicitationId }) => {
              resolve(elicitationId);
              return action;
            },
          });
          const first = host.call('connect', argumentsFor(status));
          if (action === 'cancel') elicitationOf(await first);
          const elicitationId = await asked;
          await world.end(status, elicitationId, subject);
          await host.untilCompleted(1);
          assert.deepEqual(host.completions, [elicitationId]);
          const answer = action === 'accept' ? await first : await host.call('connect', argumentsFor(status));
          assert.equal(answer.text, endings[status], `${action}: ${status}`);
        }
      }
    },
  },
  {
    id: 'url-mode:legacy:not-asked-again',
    async run(world) {
      const { url } = await world.endpoint();
      const subject = world.subject();
      await using host = await connectLegacyHost(url, { subject });
      const { elicitationId } = elicitationOf(await host.call('connect'));
      await world.end('completed', elicitationId, subject);
      await host.untilCompleted(1);
      for (const tool of ['connect', 'connect', 'connect_too'])
        assert.equal((await host.call(tool)).text, 'accept alice');
      await using later = await connectLegacyHost(url, { subject });
      assert.equal((await later.call('connect')).text, 'accept alice');
    },
  },
];
