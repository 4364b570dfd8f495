import { AuthorizationError, OutboundError } from '@postern/authorization';
import { expect, it } from 'vitest';
import { type Channels, createChannels } from '../call-channels.ts';
import { createOutboundLog } from './outbound-log.ts';

const HOST = 'as.example';
const whose = { target: 'provider', name: 'forge' } as const;
const unavailable = new AuthorizationError('provider_unavailable', { status: 503 });
const stopped = new OutboundError('outbound_unreachable', HOST, 'CIRCUIT_OPEN');
const unreachable = new OutboundError('outbound_unreachable', HOST, 'ECONNRESET');

const answering = (answers: readonly (number | OutboundError)[], { outbound }: Channels) => {
  const rest = [...answers];
  const send = async () => {
    const next = rest.shift();
    if (typeof next !== 'number') throw next;
    return new Response(null, { status: next });
  };
  return () => outbound.trace({ target: 'provider', method: 'GET', host: HOST, hostname: HOST }, send);
};

/** Runs an operation that sends these requests whatever happens, and returns what is logged of it. */
async function loggedOf(p: {
  readonly answers: readonly (number | OutboundError)[];
  readonly ends?: AuthorizationError;
  readonly ignores?: AuthorizationError;
  readonly isFailure?: true;
}) {
  const lines: unknown[] = [];
  using channels = createChannels({ error: expect.fail });
  const log = createOutboundLog({ warn: (line: unknown) => void lines.push(line) }, channels.outbound);
  const fetch = answering(p.answers, channels);
  const work = async () => {
    for (const _ of p.answers) await fetch().catch(() => undefined);
    if (p.ignores !== undefined) log.ignored(p.ignores);
    if (p.ends !== undefined) throw p.ends;
  };
  const done = p.isFailure ? log.run(whose, work, () => true) : log.operationsOf(whose)(work);
  await done.catch((error: unknown) => expect(error).toBe(p.ends));
  return lines;
}

const line = (more: object) => ({ event: 'outbound.failed', ...whose, host: HOST, ms: expect.any(Number), ...more });
const http503 = line({ code: 'unavailable', cause: 'http_503', status: 503 });
const reset = line({ code: 'unreachable', cause: 'ECONNRESET' });

it.each([
  ['the operation fails for it, not for a later response', { answers: [503, 200], ends: unavailable }, [http503]],
  ['the operation fails for it, not for a later 404', { answers: [503, 404], ends: unavailable }, [http503]],
  ['the operation succeeds without it', { answers: [200, 503] }, [http503]],
  ['the next one succeeds', { answers: [503, 200] }, [http503]],
  ['the next one fails too', { answers: [503, unreachable] }, [http503, reset]],
  [
    'the operation fails for no response at first',
    {
      answers: [unreachable, 404],
      ends: new AuthorizationError('provider_unavailable', { outbound: unreachable }),
    },
    [reset],
  ],
  [
    'the operation fails for a later one',
    { answers: [503, 200], ends: new AuthorizationError('invalid_token_response') },
    [http503, line({ code: 'invalid_answer', cause: 'invalid_token_response', status: 200 })],
  ],
  ['the operation fails for its user', { answers: [503], ends: new AuthorizationError('access_denied') }, [http503]],
  [
    'the request was stopped, and the one before it was answered',
    { answers: [200], ends: new AuthorizationError('provider_unavailable', { outbound: stopped }) },
    [line({ code: 'unreachable', cause: 'CIRCUIT_OPEN' })],
  ],
  [
    'the operation ignores what it answers',
    { answers: [200], ignores: new AuthorizationError('invalid_userinfo') },
    [line({ code: 'invalid_answer', cause: 'invalid_userinfo', status: 200 })],
  ],
  ['the operation ignores it', { answers: [503], ignores: new AuthorizationError('provider_unavailable') }, [http503]],
  ['its result is a failure', { answers: [503], isFailure: true }, [http503]],
] as const)('S78: each failed request is one line with its own status if %s', async (_, operation, lines) => {
  expect(await loggedOf(operation)).toEqual(lines);
});

it('a request that is answered is no failure by itself, whatever its status', async () => {
  expect(await loggedOf({ answers: [200, 302, 401, 404] })).toEqual([]);
});
