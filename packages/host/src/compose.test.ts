import { expect, test } from 'vitest';
import { firstOf, rateLimited, when } from './compose.ts';
import type { ElicitationHandler } from './elicitation.ts';
import { context, formOf, url } from './testing/example-requests.ts';
import { ManualClock } from './testing/manual-clock.ts';

const accepting: ElicitationHandler = async () => ({ action: 'accept' });
const declining: ElicitationHandler = async () => ({ action: 'decline' });

test('firstOf returns the first answer, and cancel without one', async () => {
  const forms = when(request => request.mode === 'form', declining);
  expect(await firstOf(forms, accepting)(formOf({}), context)).toEqual({ action: 'decline' });
  expect(await firstOf(forms, accepting)(url, context)).toEqual({ action: 'accept' });
  expect(await firstOf(forms)(url, context)).toEqual({ action: 'cancel', by: 'policy' });
});

test('rateLimited keeps a sliding window per MCP server', async () => {
  const clock = new ManualClock();
  const limited: string[] = [];
  const onLimited = ({ mcpServer }: typeof context) => void limited.push(mcpServer.id);
  const handler = rateLimited(accepting, { max: 2, perMs: 1000, clock, onLimited });
  const other = { ...context, mcpServer: { id: 'other' } };
  const ask = async (from = context) => (await handler(url, from)).action;

  expect([await ask(), await ask(), await ask()]).toEqual(['accept', 'accept', 'cancel']);
  expect(await ask(other)).toBe('accept');
  clock.advance(1000);
  expect(await ask()).toBe('accept');
  expect(limited).toEqual(['issues']);
  expect(() => rateLimited(accepting, { max: 0, perMs: 1 })).toThrow(
    expect.objectContaining({ code: 'invalid_options' }),
  );
});
