import assert from 'node:assert/strict';
import { modernCall, urlRequestOf } from '../../../support/modern-call.ts';
import { elicitationIdOf } from '../../../support/person-at-gateway.ts';
import type { Scenario } from '../scenario.ts';
import { PORTAL, type TerminalStatus } from '../url-mode-world.ts';

/** The result for the tool, by terminal status. */
export const endings: Readonly<Record<TerminalStatus, string>> = {
  completed: 'accept alice',
  declined: 'decline declined',
  cancelled: 'cancel cancelled',
  expired: 'cancel expired',
  failed: 'error wrong_person',
};

export const terminalStatuses = Object.keys(endings) as TerminalStatus[];

/** The MCP server whose elicitations can end in this way. */
export const endpointFor = (status: TerminalStatus) => (status === 'failed' ? { mcpServerId: PORTAL } : {});

/**
 * Arguments of the call that is to end in this way. Time is made to be up by moving the gateway's clock, and that must be
 * less than anybody waits there, or the waiting would be up as well.
 */
export const argumentsFor = (status: TerminalStatus) => (status === 'expired' ? { ttlSeconds: 10 } : {});

/** How an elicitation ends, by the user, by time or by the MCP client's word. */
export const modernEnding: readonly Scenario[] = [
  {
    id: 'url-mode:modern:outcomes',
    async run(world) {
      for (const status of terminalStatuses) {
        const { url, untilHolding } = await world.endpoint(endpointFor(status));
        const subject = world.subject();
        const call = { tool: 'connect', subject, args: argumentsFor(status) };
        const asked = urlRequestOf(await modernCall(url, call));
        const elicitationId = elicitationIdOf(asked.url);
        const inputResponses = { [asked.key]: { action: 'accept' } };
        const retry = { ...call, inputResponses, requestState: asked.requestState };
        const retried = modernCall(url, retry);
        await untilHolding(elicitationId);
        await world.end(status, elicitationId, subject);
        assert.equal((await retried).text, endings[status], status);
        assert.equal((await modernCall(url, retry)).text, endings[status], `${status}, read again`);
      }
    },
  },
  {
    id: 'url-mode:modern:client-refusal',
    async run(world) {
      const { url } = await world.endpoint();
      for (const [action, text] of [
        ['decline', 'decline client_declined'],
        ['cancel', 'cancel client_cancelled'],
      ] as const) {
        const subject = world.subject();
        const asked = urlRequestOf(await modernCall(url, { tool: 'connect', subject }));
        const answer = await modernCall(url, {
          tool: 'connect',
          subject,
          inputResponses: { [asked.key]: { action } },
          requestState: asked.requestState,
        });
        assert.equal(answer.text, text);
        const elicitationId = elicitationIdOf(asked.url);
        assert.equal((await world.api.read(elicitationId)).body.status, 'pending');
        // The link in the user's hands still works.
        await world.end('completed', elicitationId, subject);
      }
    },
  },
  {
    id: 'url-mode:modern:stored-status-wins',
    async run(world) {
      const { url } = await world.endpoint();
      for (const action of ['decline', 'cancel']) {
        const subject = world.subject();
        const asked = urlRequestOf(await modernCall(url, { tool: 'connect', subject }));
        await world.end('completed', elicitationIdOf(asked.url), subject);
        const answer = await modernCall(url, {
          tool: 'connect',
          subject,
          inputResponses: { [asked.key]: { action } },
          requestState: asked.requestState,
        });
        assert.equal(answer.text, 'accept alice');
      }
    },
  },
];
