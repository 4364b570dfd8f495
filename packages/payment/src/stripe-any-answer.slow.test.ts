import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { inspect } from 'node:util';
import {
  type AnsweringMachine,
  anyAnswers,
  type Damage,
  endlessAnswers,
  startAnsweringMachine,
  whole,
} from '@postern/testkit/any-answer';
import { startFakeStripe } from '@postern/testkit/stripe';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ProcessorError } from './processor.ts';
import { processorConfigSchema } from './processor-config.ts';
import { createStripeProcessor } from './stripe-processor.ts';

const CANARY = 'Canary-7Q2-Canary';
const answers = anyAnswers(CANARY);

let machine: AnsweringMachine;
beforeAll(async () => {
  machine = await startAnsweringMachine();
});
afterAll(() => machine[Symbol.asyncDispose]());

/** A processor whose requests reach a fake Stripe through the machine. */
async function startThroughMachine(timeoutMs = 20_000) {
  const stripe = await startFakeStripe({ publicPort: machine.port });
  machine.behind(stripe.port);
  const config = processorConfigSchema.parse({
    type: 'stripe',
    name: 'stripe',
    secretKey: stripe.secretKey,
    webhookSecrets: ['whsec_x'],
    apiUrl: stripe.origin,
  });
  const processor = createStripeProcessor(config, { gateway: 'gateway.example', now: Date.now, timeoutMs });
  let count = 0;
  const charge = () => {
    count += 1;
    return {
      key: `key-${count}`,
      digest: 'digest',
      elicitationId: `el_${count}`,
      mcpServerId: 'shop',
      mcpServerName: 'Shop',
      terms: { payee: { name: 'Shop' }, amount: { currency: 'EUR', minorUnits: 1050 }, reference: 'Order 7' },
      returnUrl: 'https://gateway.example/e/el_1/charge',
      cancelUrl: 'https://gateway.example/e/el_1/charge',
    };
  };
  return { stripe, processor, charge, [Symbol.asyncDispose]: () => stripe.close() };
}

type ThroughMachine = Awaited<ReturnType<typeof startThroughMachine>>;

/** The result of a call, or the code of its error. */
async function resultOf(call: Promise<unknown>): Promise<unknown> {
  try {
    return await call;
  } catch (error) {
    if (!(error instanceof ProcessorError)) throw error;
    expect(inspect(error, { depth: 9, showHidden: true })).not.toContain(CANARY);
    return error.code;
  }
}

/** Calls each method with a damaged response, then again with an intact one. */
async function play({ stripe, processor, charge }: ThroughMachine, damage: Damage) {
  const ask = charge();
  const damaged = async (call: () => Promise<unknown>) => {
    using _ = machine.answer(() => true, damage);
    return await resultOf(call());
  };
  const opening = await damaged(() => processor.open(ask));
  const opened = await processor.open(ask);
  const [found] = stripe.checkoutSessionsUnder(ask.key);
  expect(found?.id).toBe(opened.reference);
  const reading = await damaged(() => processor.status(opened.reference));
  const closing = await damaged(() => processor.close(opened.reference));
  return { opening, opened, reading, closing };
}

describe('any response of Stripe or a proxy', () => {
  test('a response that is a JSON string, number, boolean or null neither ends the process nor prints a notice', async () => {
    const bodies = [
      '"text"',
      '5',
      '0',
      '-1.5',
      'true',
      'false',
      'null',
      '[]',
      '[[]]',
      '""',
      '{"error":"text"}',
      '{"error":5}',
    ];
    let count = 0;
    using _ = machine.answer(
      () => true,
      () => whole(200, bodies[count++] ?? '', [['stripe-notice', CANARY]]),
    );
    const program = new URL('./testing/ask-stripe.ts', import.meta.url).pathname;
    const child = spawn(process.execPath, [program, `http://127.0.0.1:${machine.port}`, `${bodies.length}`]);
    const [output, errors] = [text(child.stdout), text(child.stderr)];
    const [exitCode] = await once(child, 'exit');
    expect({ exitCode, errors: await errors }).toEqual({ exitCode: 0, errors: '' });
    expect((await output).trim().split('\n')).toEqual(bodies.map(() => '"unavailable"'));
  });

  test('a damaged response leaves the status unknown, and the same key finds the charge afterwards', {
    timeout: 120_000,
  }, async () => {
    await using world = await startThroughMachine();
    for (const [name, damage] of Object.entries(answers)) {
      const { opening, opened, reading, closing } = await play(world, damage);
      const isBelieved = name.startsWith('honest, ') && opening !== 'unavailable';
      const expected = isBelieved ? [opened, { state: 'open' }, { state: 'closed' }] : Array(3).fill('unavailable');
      expect({ name, results: [opening, reading, closing] }).toEqual({ name, results: expected });
    }
  });

  test('an endless response is aborted at the deadline', async () => {
    await using world = await startThroughMachine(50);
    for (const damage of Object.values(endlessAnswers)) {
      using _ = machine.answer(() => true, damage);
      expect(await resultOf(world.processor.open(world.charge()))).toBe('unavailable');
    }
  });
});
