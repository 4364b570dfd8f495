import { endlessAnswers, floods } from '@postern/testkit/any-answer';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { outboundClients } from './outbound-clients.ts';
import { answersBy, type OutboundPlay, startOutboundPlay } from './play-outbound.ts';

/** Number of responses per client. */
const ANSWERS = Number(process.env['OUTBOUND_ANSWERS'] ?? 7);
const SEED = Number(process.env['FUZZ_SEED'] ?? 2);
const FLOODS = 1;

function rotated<T>(list: readonly T[], by: number): readonly T[] {
  const from = by % list.length;
  return [...list.slice(from), ...list.slice(0, from)];
}

const names = Object.entries(outboundClients).map(([name, client], at) => [name, at, client] as const);

describe(`an outside party sends arbitrary responses of any length (seed ${SEED})`, () => {
  let play: OutboundPlay;
  beforeAll(async () => {
    play = await startOutboundPlay();
  });
  afterAll(() => play?.[Symbol.asyncDispose]());

  const answers = answersBy(SEED);
  it.each(names)(
    '%s: the gateway reports each as an error, reads a small part of a flood, and completes with a valid response',
    { timeout: 300_000 },
    async (name, at) => {
      const unbounded = rotated(Object.entries(floods), at * FLOODS).slice(0, FLOODS);
      await play.run(name, [...unbounded, ...rotated(answers, at * ANSWERS)], FLOODS + ANSWERS);
    },
  );
});

describe('an outside party stops in the middle of its response', () => {
  let play: OutboundPlay;
  beforeAll(async () => {
    play = await startOutboundPlay({ endless: true });
  });
  afterAll(() => play?.[Symbol.asyncDispose]());

  const endless = Object.entries(endlessAnswers);
  // A background client has its own timeout, or uses only the status.
  it.each(names.filter(([, , client]) => client.isInBackground === undefined))(
    '%s: the gateway gives up after its timeout',
    { timeout: 300_000 },
    async (name, at) => {
      // A missing challenge, or an unread body, is not a failure: the result is that there was none.
      await play.run(name, rotated(endless, at), 1);
    },
  );
});
