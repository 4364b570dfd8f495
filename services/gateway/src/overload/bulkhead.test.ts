import type { OutboundFetch } from '@postern/authorization';
import { expect, it } from 'vitest';
import { withBulkhead } from './bulkhead.ts';

/** Hosts that answer when the test says so. */
function createHosts(perHost: number) {
  const asked: { url: string; answer: PromiseWithResolvers<Response> }[] = [];
  const fetch = Object.assign(
    (url: string | URL) => {
      const answer = Promise.withResolvers<Response>();
      asked.push({ url: String(url), answer });
      return answer.promise;
    },
    { isInside: () => false, close: async () => undefined, [Symbol.asyncDispose]: async () => undefined },
  ) satisfies OutboundFetch;
  let full = 0;
  const limited = withBulkhead(fetch, {
    perHost,
    onFull: () => {
      full += 1;
    },
  });
  return { asked, limited, timesFull: () => full };
}
const unreachable = { name: 'OutboundError', code: 'outbound_unreachable', host: 'slow.example' };

it('sends no more to one host than may be under way, and leaves the others alone', async () => {
  const { asked, limited, timesFull } = createHosts(2);
  const slow = [limited('https://slow.example/token'), limited('https://slow.example/other')];
  const tooMany = limited('https://slow.example/token');
  expect(asked).toHaveLength(2);
  await expect(tooMany).rejects.toMatchObject(unreachable);
  const other = limited(new URL('https://other.example/'));
  expect(asked.map(({ url }) => url)).toEqual([
    'https://slow.example/token',
    'https://slow.example/other',
    'https://other.example/',
  ]);
  expect(timesFull()).toBe(1);
  for (const { answer } of asked) answer.resolve(new Response(null, { status: 204 }));
  for (const answer of [...slow, other]) expect((await answer).status).toBe(204);
});

it('has room again after each end, also after a failure', async () => {
  const { asked, limited } = createHosts(1);
  for (let at = 0; at < 3; at += 1) {
    const first = limited('https://slow.example/');
    await expect(limited('https://slow.example/')).rejects.toMatchObject(unreachable);
    asked[at]?.answer.reject(new TypeError('reset'));
    await expect(first).rejects.toThrow(TypeError);
  }
  expect(asked).toHaveLength(3);
});

it('takes the same host on another port as another one', async () => {
  const { asked, limited } = createHosts(1);
  const answers = [limited('https://slow.example/'), limited('https://slow.example:8443/')];
  for (const { answer } of asked) answer.resolve(new Response(null, { status: 204 }));
  expect(await Promise.all(answers)).toHaveLength(2);
});
