import { anyAnswers, startAnsweringMachine } from '@postern/testkit/any-answer';
import { expect, test } from 'vitest';
import { NotSentError, OutcomeUnknownError } from '../call.ts';
import { HttpUpstream } from './http-upstream.ts';

const CANARY = 'secret-of-another-program';
const headers = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' };
const body = Buffer.from('{"jsonrpc":"2.0","id":"1","method":"tools/call","params":{"name":"a"}}');

test('S260: whatever answers a call, its end is known or said to be unknown, and nothing else is taken for an answer', async () => {
  await using machine = await startAnsweringMachine();
  for (const [name, damage] of Object.entries(anyAnswers(CANARY))) {
    using order = machine.answer(() => true, damage);
    const upstream = new HttpUpstream({ url: new URL(`http://127.0.0.1:${machine.port}/mcp`), headers: {} });
    const asked = upstream.ask('"1"', { method: 'POST', headers, body }, async () => {});
    const error = await asked.then(
      () => 'an answer',
      (thrown: Error) => thrown,
    );
    await upstream.close();
    const isKnown = error instanceof NotSentError || error instanceof OutcomeUnknownError;
    expect({ name, isKnown, asked: order.count }).toEqual({ name, isKnown: true, asked: 1 });
    expect(String(error)).not.toContain(CANARY);
  }
});
