import { expect, test, vi } from 'vitest';
import { createCiHandler } from '../ci-handler.ts';
import { Completions } from '../completions.ts';
import { type HostOptions, parseHostOptions } from '../host-options.ts';
import { accept, decline, urlElicitationRequiredError } from '../requests.ts';
import { ManualClock } from '../testing/manual-clock.ts';
import { type Leg, runCall } from './run-call.ts';

const page = { mode: 'url', message: 'Open it', url: 'https://gate.example/e/1', elicitationId: 'el-1' } as const;
const asking = (params: object) => ({ method: 'elicitation/create', params });

function run(leg: Leg<string>, options: Partial<HostOptions> = {}) {
  const handler = vi.fn(async () => accept());
  const {
    identity,
    capabilities: _,
    ...host
  } = parseHostOptions({
    handler,
    mcpServer: { id: 'issues' },
    clock: new ManualClock(),
    ...options,
  });
  const completions = new Completions();
  completions.finish('el-1');
  const facts = { mcpServer: identity(undefined), toolName: 'greet', completions, signal: undefined };
  return { handler, result: runCall({ leg, ...host, ...facts }) };
}

test('supports a timeout beyond the longest timer of Node.js', async () => {
  const leg = vi.fn<Leg<string>>(async () => ({ result: 'done' }));
  await expect(run(leg, { limits: { totalMs: 2 ** 40 } }).result).resolves.toBe('done');
  expect(leg.mock.calls[0]?.[0].timeoutMs).toBe(2 ** 31 - 1);
});

test.each<[string, Leg<string>]>([
  ['2026-07-28', async () => ({ inputRequired: { inputRequests: { gate: asking(page) } } })],
  ['2025-11-25', async () => Promise.reject(urlElicitationRequiredError([page]))],
])('refuses a mode that was not declared, without calling the handler: %s', async (_revision, leg) => {
  const { handler, result } = run(leg, { modes: ['form'] });
  await expect(result).rejects.toMatchObject({ code: 'invalid_request' });
  expect(handler).not.toHaveBeenCalled();
});

test.each<[string, HostOptions['handler'], object]>([
  ['a policy', createCiHandler({ configuration: {}, log: () => undefined }), { action: 'decline', by: 'policy' }],
  ['the user', async () => decline(), { action: 'decline', by: 'user' }],
])('a refused −32042 says who refused: %s', async (_, handler, expected) => {
  const leg = async () => Promise.reject(urlElicitationRequiredError([page]));
  await expect(run(leg, { handler }).result).rejects.toMatchObject({ code: 'elicitation_refused', ...expected });
});

test('the MCP server does not learn that a policy refused', async () => {
  const answers: unknown[] = [];
  const leg: Leg<string> = async ({ answer }) => {
    answers.push(answer.inputResponses);
    return answer.inputResponses === undefined
      ? { inputRequired: { inputRequests: { gate: asking(page) } } }
      : { result: 'done' };
  };
  const handler = createCiHandler({ configuration: {}, log: () => undefined });
  await run(leg, { handler }).result;
  expect(answers).toEqual([undefined, { gate: { action: 'decline' } }]);
});

test('refuses more than 20 input requests in one round, without calling the handler', async () => {
  const entries = Array.from({ length: 21 }, (_, at) => [`k${at}`, asking({ ...page, url: `${page.url}${at}` })]);
  const { handler, result } = run(async () => ({ inputRequired: { inputRequests: Object.fromEntries(entries) } }));
  await expect(result).rejects.toMatchObject({ code: 'too_many_rounds' });
  expect(handler).not.toHaveBeenCalled();
});
