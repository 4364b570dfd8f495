import { once } from 'node:events';
import { request } from 'node:http';
import { type AnsweringMachine, endlessAnswers, startAnsweringMachine } from '@postern/testkit/any-answer';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createExportAgent } from './export-agent.ts';

const TIMEOUT_MS = 5_000;
let machine: AnsweringMachine;
beforeEach(async () => {
  machine = await startAnsweringMachine();
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
});
afterEach(async () => {
  vi.useRealTimers();
  await machine[Symbol.asyncDispose]();
});

function exporter() {
  const agent = createExportAgent('http:', TIMEOUT_MS);
  const send = async () => {
    const outgoing = request({ port: machine.port, host: '127.0.0.1', method: 'POST', agent });
    const closed = new Promise<void>(resolve => outgoing.once('close', () => resolve()));
    outgoing.on('error', () => undefined).end();
    const [response] = await once(outgoing, 'response');
    response.on('error', () => undefined).resume();
    return { closed };
  };
  return { send, [Symbol.dispose]: () => agent.destroy() };
}

describe('createExportAgent()', () => {
  it('closes a connection whose response is not complete in time', async () => {
    using exports = exporter();
    const endless = endlessAnswers['a body in drips'];
    if (endless === undefined) throw new TypeError('no such answer');
    using _ = machine.answer(() => true, endless);
    await exports.send();
    vi.advanceTimersByTime(TIMEOUT_MS - 1);
    expect(machine.connections).toBe(1);
    vi.advanceTimersByTime(1);
    vi.useRealTimers();
    await expect.poll(() => machine.connections).toBe(0);
  });

  it('reuses a connection after a long idle time', async () => {
    using exports = exporter();
    for (let at = 0; at < 3; at += 1) {
      await (await exports.send()).closed;
      vi.advanceTimersByTime(10 * TIMEOUT_MS);
    }
    expect([machine.requests.length, machine.connections]).toEqual([3, 1]);
  });
});
