import { afterAll, beforeAll, describe, it } from 'vitest';
import { outboundClients } from './outbound-clients.ts';
import { answersBy, type OutboundPlay, startOutboundPlay } from './play-outbound.ts';

/** Number of responses per client. `outbound-clients.all.test.ts` sends eight others. */
const ANSWERS = Number(process.env['OUTBOUND_ANSWERS'] ?? 1);
const SEED = Number(process.env['FUZZ_SEED'] ?? 1);

let play: OutboundPlay;
beforeAll(async () => {
  play = await startOutboundPlay();
});
afterAll(() => play?.[Symbol.asyncDispose]());

describe(`an outside party sends arbitrary responses (seed ${SEED})`, () => {
  const answers = answersBy(SEED);
  it.each(Object.keys(outboundClients).map((name, at) => [name, at] as const))(
    '%s: the gateway reports an error, keeps running and completes with a valid response',
    async (name, at) => {
      const from = (at * ANSWERS) % answers.length;
      await play.run(name, [...answers.slice(from), ...answers], ANSWERS);
    },
  );
});
