import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { acceptWith, issueFor, paymentPolicy, visitorFor } from '../support/asks.ts';
import { type AskedKind, askedKinds, askKind, askOfEach } from '../support/every-kind.ts';
import type { RawBrowser } from '../support/raw-browser.ts';
import { storedElicitation } from '../support/stored-elicitation.ts';
import { startWorld, type World } from '../support/world.ts';

const RETURN_URL = 'https://tracker.example/done?from=postern';

let world: World;
beforeAll(async () => {
  world = await startWorld({
    mcpServer: { payment: paymentPolicy({ freshSignInSeconds: 86_400 }), returnUrls: [RETURN_URL] },
  });
});
afterEach(() => {
  world.clock.backToNow();
});
afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
});

interface Asked {
  readonly elicitationId: string;
  readonly raw: RawBrowser;
  readonly kind: AskedKind;
  /** The form of the page that is still open. */
  readonly form: Readonly<Record<string, string>>;
}

async function asked(kind: AskedKind): Promise<Asked> {
  const user = world.subject();
  const { elicitationId } = await askKind(world, user, kind, { returnUrl: RETURN_URL, ttlSeconds: 600 });
  const raw = await visitorFor(world, user, elicitationId);
  const typed = Object.entries(askOfEach[kind].typed).map(([name, value]) => [`field.${name}`, value]);
  return { elicitationId, raw, kind, form: { ...(await raw.acceptForm(elicitationId)), ...Object.fromEntries(typed) } };
}

const accept = ({ raw, elicitationId, form }: Asked) => raw.post(`/e/${elicitationId}/accept`, { form });
const decline = ({ raw, elicitationId, form }: Asked) =>
  raw.post(`/e/${elicitationId}/decline`, { form: { csrf_token: form['csrf_token'] ?? '' } });

/** Every way in which an elicitation can end, the resulting API status, and whether its last page links back. */
const endings = {
  completed: { end: accept, leadsBack: true },
  declined: { end: decline, leadsBack: true },
  cancelled: { end: ({ elicitationId }: Asked) => world.api.cancel(elicitationId), leadsBack: false },
  expired: {
    // The first request after expiry ends it; without a request the sweep does (expiry.test.ts).
    end: async (one: Asked) => {
      world.clock.ahead = 601_000;
      await decline(one);
    },
    leadsBack: false,
  },
} as const;
type Ending = keyof typeof endings;
const names = Object.keys(endings) as Ending[];
const cases = askedKinds.flatMap(kind => names.map(ending => [kind, ending] as const));

describe('S40: completed, declined, cancelled and expired are distinct and final', () => {
  it.each(cases)('%s: %s', async (kind, ending) => {
    const one = await asked(kind);
    await endings[ending].end(one);
    const { body } = await world.api.read(one.elicitationId);
    expect(body.status).toBe(ending);
    expect(body.outcome === undefined).toBe(ending !== 'completed');
    expect(body.endedAt).toBeDefined();
    const ended = await storedElicitation(world, one.elicitationId);

    // Neither a page that is still open nor the API can change the outcome.
    await accept(one);
    await decline(one);
    const cancelled = await world.api.cancel(one.elicitationId);
    expect([cancelled.status, cancelled.body.code]).toEqual(
      ending === 'cancelled' ? [200, undefined] : [409, 'already_ended'],
    );
    expect(await storedElicitation(world, one.elicitationId)).toEqual(ended);

    const page = await one.raw.get(`/e/${one.elicitationId}`);
    expect(page.status).toBe(200);
    expect(page.body).not.toContain('action="/e/');
    expect(page.body.includes('https://tracker.example/done')).toBe(endings[ending].leadsBack);

    const redeemed = await world.api.redeem(one.elicitationId);
    expect([redeemed.status, redeemed.body.code]).toEqual(
      ending === 'completed' ? [200, undefined] : [409, 'not_redeemable'],
    );
  });

  it.each(askedKinds)('%s: the four outcomes have four different last pages', async kind => {
    const titles = new Set<string>();
    for (const ending of names) {
      const one = await asked(kind);
      await endings[ending].end(one);
      const { body } = await one.raw.get(`/e/${one.elicitationId}`);
      titles.add(/<h1>(.*?)<\/h1>/s.exec(body)?.[1] ?? '');
      world.clock.ahead = 0;
    }
    expect(titles.size).toBe(4);
  });

  it.each(askedKinds)(
    '%s: closing the page decides nothing; the elicitation stays open until it expires',
    async kind => {
      const one = await asked(kind);
      expect((await world.api.read(one.elicitationId)).body.status).toBe('pending');
      world.clock.ahead = 500_000;
      expect((await accept(one)).status).toBe(303);
      expect((await world.api.read(one.elicitationId)).body.status).toBe('completed');
    },
  );

  it.each(askedKinds)('%s: an accept half a second after expiry is refused', async kind => {
    const one = await asked(kind);
    world.clock.ahead = 600_500;
    await accept(one);
    expect((await one.raw.get(`/e/${one.elicitationId}`)).body).not.toContain('action="/e/');
    expect((await world.api.read(one.elicitationId)).body.status).toBe('expired');
  });

  it.each(askedKinds)('%s: the same ask after the end starts a new elicitation', async kind => {
    const user = world.subject();
    // Without random parts, so that it is the same ask.
    const ask = askOfEach[kind].ask();
    const first = await issueFor(world, user, ask);
    await world.api.cancel(first.elicitationId);
    expect((await issueFor(world, user, ask)).elicitationId).not.toBe(first.elicitationId);
  });
});

describe('S40: the last page', () => {
  it.each(askedKinds)('%s: links only to a registered return URL', async kind => {
    const subject = { issuer: world.identityProvider.issuer, subject: 'bob' };
    for (const returnUrl of ['https://evil.example', `${RETURN_URL}&x`, 'https://tracker.example/done'])
      expect(
        await world.api.call('POST', '/v1/elicitations', { ...askOfEach[kind].ask(), subject, returnUrl }),
      ).toMatchObject({ status: 403, body: { code: 'return_url_not_registered' } });
  });

  it.each(askedKinds)('%s: goes back by itself for a minute, unless the user stays', async kind => {
    const ask = await asked(kind);
    await decline(ask);
    const page = `/e/${ask.elicitationId}`;
    const ended = await ask.raw.get(page);
    expect(ended.headers['refresh']).toBe(`3; url=${RETURN_URL}`);
    expect(ended.body).toContain(`${page}?stay`);
    const staying = await ask.raw.get(`${page}?stay`);
    expect(staying.headers['refresh']).toBeUndefined();
    expect(staying.body).toContain('https://tracker.example/done');
    world.clock.pass(61);
    expect((await ask.raw.get(page)).headers['refresh']).toBeUndefined();
  });

  it.each(askedKinds)('%s: has no link without a return URL', async kind => {
    const user = world.subject();
    const { elicitationId } = await askKind(world, user, kind);
    const raw = await visitorFor(world, user, elicitationId);
    await acceptWith(raw, elicitationId, askOfEach[kind].typed);
    expect((await raw.get(`/e/${elicitationId}`)).body).not.toContain('https://tracker.example');
  });
});
