import { expect, test } from 'vitest';
import { CompletionWaiters } from './completion-waiters.ts';
import { createEnvironment } from './options.ts';
import { runTool } from './run-tool.ts';
import { exampleElicitation } from './testing/example-elicitation.ts';
import type { LegacySessionCall } from './tool-call.ts';

const alice = { issuer: 'https://idp.example.com', subject: 'alice' };

test('a notice that overtook this call turns into a second run, not into a promise that cannot be kept', async () => {
  const pending = exampleElicitation();
  const declined = exampleElicitation({ status: 'declined' });
  const client = {
    // The answer left the gateway just before the user declined.
    issue: async () => pending,
    read: async () => declined,
    accessToken: () => Promise.reject(new Error('not expected')),
  };
  const notified: string[] = [];
  const session = {
    closed: new AbortController().signal,
    notifyComplete: async (id: string) => void notified.push(id),
  };
  const waiters = new CompletionWaiters({ client, limit: 9, now: () => 0, sleep: async () => {}, onError: () => {} });
  await waiters.watch(session, pending)?.ended;
  expect(notified).toEqual(['el-1']);

  const environment = createEnvironment({ url: 'https://postern.example.com', apiKey: 'k'.repeat(32) });
  const call: LegacySessionCall = {
    era: 'legacy-session',
    toolName: 'outcome',
    args: {},
    signal: new AbortController().signal,
    authInfo: undefined,
    mcpClientName: undefined,
    reportProgress: undefined,
    declaresUrl: true,
    session,
    elicitUrl: () => Promise.reject(new Error('not expected')),
  };
  const outcome = await runTool(
    { ...environment, client, waiters },
    call,
    async () => ({ ...alice, input: alice }),
    async gate => (await gate.authorize('github')).action,
  );
  expect(outcome).toEqual({ type: 'result', result: 'decline' });
  expect(notified).toEqual(['el-1']);
});
