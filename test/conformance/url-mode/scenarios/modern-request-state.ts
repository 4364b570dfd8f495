import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { type ModernAnswer, type ModernCall, modernCall, urlRequestOf } from '../../../support/modern-call.ts';
import { elicitationIdOf } from '../../../support/person-at-gateway.ts';
import type { Scenario } from '../scenario.ts';
import type { UrlModeWorld } from '../url-mode-world.ts';

const CALL = { tool: 'connect', args: { note: 'A-17' } } as const;

/** Asks once and gives back the honest retry. */
async function ask(world: UrlModeWorld, url: URL): Promise<ModernCall & { requestState: string; page: string }> {
  const subject = world.subject();
  const { key, requestState, url: page } = urlRequestOf(await modernCall(url, { ...CALL, subject }));
  return { ...CALL, subject, inputResponses: { [key]: { action: 'accept' } }, requestState, page };
}

function assertRejected(answer: ModernAnswer, requestState: string): void {
  assert.equal(answer.error?.code, -32602);
  assert.equal(answer.result, undefined);
  // The response exposes neither the reason of the rejection nor the state.
  assert.deepEqual(answer.error.data, { reason: 'invalid_request_state' });
  assert.ok(!answer.wire.includes(requestState));
}

/** One character of each dot-separated part changed, parts cut away, and what is no state at all. */
function alterations(requestState: string): string[] {
  const parts = requestState.split('.');
  const changed = parts.flatMap((part, at) =>
    part === '' ? [] : [parts.with(at, `${part.startsWith('A') ? 'B' : 'A'}${part.slice(1)}`).join('.')],
  );
  const cut = parts.map((_, at) => parts.toSpliced(at, 1).join('.'));
  return [...changed, ...cut, `${requestState}-TAMPERED`, requestState.slice(0, -1), 'x', '', '.'.repeat(4)];
}

/** `requestState` passes through the MCP client and comes back as an attacker may have made it. */
export const modernRequestState: readonly Scenario[] = [
  {
    id: 'url-mode:modern:tampered-state',
    async run(world) {
      const { url } = await world.endpoint();
      const honest = await ask(world, url);
      await world.end('completed', elicitationIdOf(honest.page), honest.subject);
      for (const requestState of alterations(honest.requestState)) {
        const answer = await modernCall(url, { ...honest, requestState });
        assert.equal(answer.error?.code, -32602, `accepted: ${requestState}`);
      }
      assert.equal((await modernCall(url, honest)).text, 'accept alice');
    },
  },
  {
    id: 'url-mode:modern:foreign-state',
    async run(world) {
      const { url } = await world.endpoint();
      const key = (bytes: Uint8Array) => ({ postern: { stateKeys: [{ kid: 'another', key: bytes }] } });
      const first = await world.endpoint(key(randomBytes(32)));
      const second = await world.endpoint(key(randomBytes(32)));
      const honest = await ask(world, first.url);
      for (const elsewhere of [url, second.url])
        assertRejected(await modernCall(elsewhere, honest), honest.requestState);
    },
  },
  {
    id: 'url-mode:modern:other-tool',
    async run(world) {
      const { url } = await world.endpoint();
      const honest = await ask(world, url);
      assertRejected(await modernCall(url, { ...honest, tool: 'connect_too' }), honest.requestState);
    },
  },
  {
    id: 'url-mode:modern:expired-state',
    async run(world) {
      const { url } = await world.endpoint();
      // Issued by a gateway whose clock is two days behind: past for the MCP server from the start.
      const honest = await world.clock.during(-2 * 86_400_000, () => ask(world, url));
      assertRejected(await modernCall(url, honest), honest.requestState);
    },
  },
  {
    id: 'url-mode:modern:replay',
    async run(world) {
      const { url } = await world.endpoint();
      const honest = await ask(world, url);
      await world.end('completed', elicitationIdOf(honest.page), honest.subject);
      const { provider } = world;
      const effects = () => ({
        grants: provider.issued.length,
        exchanges: provider.requests('token').length,
        authorizations: provider.requests('authorization').length,
      });
      const before = effects();
      for (let replay = 0; replay < 3; replay += 1) assert.equal((await modernCall(url, honest)).text, 'accept alice');
      assert.deepEqual(effects(), before);

      const declined = await ask(world, url);
      await world.end('declined', elicitationIdOf(declined.page), declined.subject);
      for (let replay = 0; replay < 3; replay += 1)
        assert.equal((await modernCall(url, declined)).text, 'decline declined');
    },
  },
];
