import { randomUUID } from 'node:crypto';
import { expect, test, vi } from 'vitest';
import type { GateContext } from '../ask/verbs.ts';
import { CompletionWaiters } from '../eras/completion-notices.ts';
import { GatewayError } from '../errors.ts';
import type { GatewayClient } from '../gateway/client.ts';
import { WaitingReads } from '../gateway/waiting-reads.ts';
import { digest, RecentCalls } from '../run/ask-log.ts';
import type { RequestStateBinding } from '../run/request-state.ts';
import type { SessionReplica } from '../run/tool-call.ts';
import { handlerId, type LegacySessionCall, type ModernCall } from '../run/tool-call.ts';
import { exampleElicitation } from '../testing/example-elicitation.ts';
import { runGated } from './create-gate.ts';
import { createEnvironment } from './environment.ts';

const alice = { issuer: 'https://idp.example.com', subject: 'alice' };

const environment = createEnvironment({ url: 'https://postern.example.com', apiKey: 'k'.repeat(32) });
const refuse = () => Promise.reject(new Error('not expected'));

function world(client: Pick<GatewayClient, 'issue' | 'read'>, sessionReplica?: SessionReplica) {
  const notified: string[] = [];
  const whole = {
    ...client,
    accessToken: refuse,
    connections: async () => ({ connections: [] }),
    redeem: refuse,
    credentials: refuse,
    readCredential: refuse,
    removeCredential: refuse,
    cancel: refuse,
    refund: refuse,
  };
  const session = {
    sessionId: undefined,
    closed: new AbortController().signal,
    notifyComplete: async (id: string) => void notified.push(id),
  };
  const recentCalls = new RecentCalls(9, () => Date.now());
  const pauses = { limit: 9, sleep: async () => {}, random: () => 1 };
  const completionNotices = new CompletionWaiters({
    client: whole,
    waitingReads: new WaitingReads(pauses),
    ...pauses,
    now: () => 0,
    onError: () => {},
  });
  const outcome = (
    elicitUrl: LegacySessionCall['elicitUrl'],
    handler = async (gate: GateContext): Promise<string> => (await gate.try.authorize('github')).action,
  ) => {
    const call: LegacySessionCall = {
      era: 'legacy-session',
      toolName: 'outcome',
      args: {},
      signal: new AbortController().signal,
      authInfo: undefined,
      mcpClientName: undefined,
      reportProgress: undefined,
      declaresUrl: true,
      declaresForm: false,
      session,
      elicitUrl,
      elicitForm: refuse,
    };
    return runGated(
      { ...environment, client: whole, completionNotices, sessionReplica, recentCalls, now: () => Date.now() },
      call,
      async () => ({ ...alice, input: alice }),
      handler,
    );
  };
  return { completionNotices, session, notified, outcome };
}

test('runs the handler again if the notice was sent before the response', async () => {
  const pending = exampleElicitation();
  // The response to `issue` left the gateway just before the user declined.
  const { completionNotices, session, notified, outcome } = world(
    { issue: async () => pending, read: async () => exampleElicitation({ status: 'declined' }) },
    // Of sessions that move nothing is pushed.
    { promise: async () => {}, resume: async () => {} },
  );
  await completionNotices.watch(session, pending)?.ended;
  expect(notified).toEqual(['el-1']);
  expect(await outcome(refuse)).toEqual({ type: 'result', result: 'decline' });
  expect(notified).toEqual(['el-1']);
});

test("the stored status takes precedence over an MCP client's refusal", async () => {
  const completed = { kind: 'authorization' as const, connectionId: 'co-1', provider: 'github', scopes: [] };
  const { outcome } = world({
    issue: async () => exampleElicitation(),
    read: async (_id, wait) =>
      wait > 0
        ? await new Promise<never>(() => undefined)
        : exampleElicitation({ status: 'completed', outcome: completed }),
  });
  expect(await outcome(async () => 'decline')).toEqual({ type: 'result', result: 'accept' });
});

test('−32042 follows 20 seconds after a push without an answer, and a repeated call gets it at once', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
  try {
    const pending = exampleElicitation({ expiresAt: new Date(Date.now() + 600_000).toISOString() });
    const { outcome } = world({
      issue: async () => pending,
      read: (_id, wait) => (wait > 0 ? new Promise<never>(() => undefined) : Promise.resolve(pending)),
    });
    const never = vi.fn(() => new Promise<never>(() => undefined));
    let settled = 0;
    const ask = () => outcome(never).finally(() => (settled += 1));
    const begun = Date.now();
    const first = ask();
    await vi.advanceTimersByTimeAsync(19_999);
    expect(settled).toBe(0);
    await vi.advanceTimersByTimeAsync(1);
    await expect.poll(() => settled).toBe(1);
    // Polling moves this clock on.
    expect(Date.now() - begun).toBeLessThan(25_000);
    expect(await first).toMatchObject({ type: 'url_elicitation_required' });
    const second = ask();
    await expect.poll(() => settled).toBe(2);
    expect(await second).toMatchObject({ type: 'url_elicitation_required' });
    expect(never).toHaveBeenCalledTimes(1);
  } finally {
    vi.useRealTimers();
  }
});

test.each([
  { change: { subject: 'bob' }, reason: 'other_subject' },
  { change: { issuer: 'https://other.example.com' }, reason: 'other_subject' },
  { change: { tool: handlerId('tool', 'delete_all') }, reason: 'other_tool' },
  { change: { tool: handlerId('prompt', 'outcome') }, reason: 'other_tool' },
  { change: { args: digest({ repository: 'other' }) }, reason: 'other_arguments' },
])('S12: refuses a requestState that was sealed for another call, before the handler runs: $change', async p => {
  const args = { repository: 'postern' };
  const state = {
    ...alice,
    tool: handlerId('tool', 'outcome'),
    args: digest(args),
    call: { id: randomUUID(), startedAt: 0 },
    asks: [],
    open: 'step',
    phase: 'ask',
    round: 1,
  } as const;
  const exp = Math.floor(Date.now() / 1000) + 600;
  let runs = 0;
  const run = async (change: Partial<RequestStateBinding>) => {
    const call: ModernCall = {
      era: 'modern',
      toolName: 'outcome',
      args,
      declaresUrl: true,
      declaresForm: false,
      clientAnswer: undefined,
      signal: new AbortController().signal,
      authInfo: undefined,
      mcpClientName: undefined,
      reportProgress: undefined,
      requestState: await environment.codec.seal({ ...state, asks: [], exp, ...change }),
    };
    return runGated(
      environment,
      call,
      async () => ({ ...alice, input: alice }),
      () => ++runs,
    );
  };
  await expect(run(p.change)).rejects.toMatchObject({ reason: p.reason });
  expect(runs).toBe(0);
  expect(await run({})).toEqual({ type: 'result', result: 1 });
});

test('a muted ask ends the call with a text that names the page for undoing it, unless the handler catches the error', async () => {
  const undoUrl = 'https://postern.example.com/me';
  const muted = new GatewayError('muted', 'The user muted this MCP server.', { httpStatus: 403, undoUrl });
  const { outcome } = world({ issue: () => Promise.reject(muted), read: refuse });
  const ended = await outcome(refuse);
  expect(ended).toMatchObject({ type: 'plain', result: { content: [{ type: 'text' }] } });
  expect(ended).not.toMatchObject({ result: { isError: true } });
  expect(JSON.stringify(ended)).toContain(undoUrl);
  const wentOn = await outcome(refuse, async gate => {
    const failed = await gate.try.authorize('github').catch((error: unknown) => error);
    return failed instanceof GatewayError ? failed.code : 'asked';
  });
  expect(wentOn).toEqual({ type: 'result', result: 'muted' });
});
