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
  /** What the open page would have sent. */
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

/** Every way in which an ask can end, what the API then says, and whether its last page leads back. */
const endings = {
  completed: { end: accept, leadsBack: true },
  declined: { end: decline, leadsBack: true },
  cancelled: { end: ({ elicitationId }: Asked) => world.api.cancel(elicitationId), leadsBack: false },
  expired: {
    // The first to come too late ends it; where nobody comes, the sweeper does (expiry.test.ts).
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

describe('S40: yes, no, taken back and too late are told apart, and final', () => {
  it.each(cases)('%s: %s', async (kind, ending) => {
    const one = await asked(kind);
    await endings[ending].end(one);
    const { body } = await world.api.read(one.elicitationId);
    expect(body.status).toBe(ending);
    expect(body.outcome === undefined).toBe(ending !== 'completed');
    expect(body.endedAt).toBeDefined();
    const ended = await storedElicitation(world, one.elicitationId);

    // Whoever still has the page open, presses again, goes back, or asks the API: it stays as it is.
    await accept(one);
    await decline(one);
    const cancelled = await world.api.cancel(one.elicitationId);
    expect([cancelled.status, cancelled.body.code]).toEqual(
      ending === 'cancelled' ? [200, undefined] : [409, 'already_ended'],
    );
    expect(await storedElicitation(world, one.elicitationId)).toEqual(ended);

    const page = await one.raw.get(`/e/${one.elicitationId}`);
    expect(page.status).toBe(200);
    expect(page.body).not.toContain('<form');
    expect(page.body.includes('https://tracker.example/done')).toBe(endings[ending].leadsBack);

    const redeemed = await world.api.redeem(one.elicitationId);
    expect([redeemed.status, redeemed.body.code]).toEqual(
      ending === 'completed' ? [200, undefined] : [409, 'not_redeemable'],
    );
  });

  it.each(askedKinds)('%s: the four last pages are four different ones', async kind => {
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

  it.each(askedKinds)('%s: closing the page decides nothing; the ask stays open until its time', async kind => {
    const one = await asked(kind);
    expect((await world.api.read(one.elicitationId)).body.status).toBe('pending');
    world.clock.ahead = 500_000;
    expect((await accept(one)).status).toBe(303);
    expect((await world.api.read(one.elicitationId)).body.status).toBe('completed');
  });

  it.each(askedKinds)('%s: a moment too late is too late, whoever has the page open', async kind => {
    const one = await asked(kind);
    world.clock.ahead = 600_500;
    await accept(one);
    expect((await one.raw.get(`/e/${one.elicitationId}`)).body).not.toContain('<form');
    expect((await world.api.read(one.elicitationId)).body.status).toBe('expired');
  });

  it.each(askedKinds)('%s: asked again after the end, it is a new ask', async kind => {
    const user = world.subject();
    // With nothing chosen at random, so that it is the same ask.
    const ask = askOfEach[kind].ask();
    const first = await issueFor(world, user, ask);
    await world.api.cancel(first.elicitationId);
    expect((await issueFor(world, user, ask)).elicitationId).not.toBe(first.elicitationId);
  });
});

describe('S40: where the last page leads', () => {
  it.each(askedKinds)('%s: to no address that is not registered', async kind => {
    const subject = { issuer: world.identityProvider.issuer, subject: 'bob' };
    for (const returnUrl of ['https://evil.example', `${RETURN_URL}&x`, 'https://tracker.example/done'])
      expect(
        await world.api.call('POST', '/v1/elicitations', { ...askOfEach[kind].ask(), subject, returnUrl }),
      ).toMatchObject({ status: 403, body: { code: 'return_url_not_registered' } });
  });

  it.each(askedKinds)('%s: nowhere, without one', async kind => {
    const user = world.subject();
    const { elicitationId } = await askKind(world, user, kind);
    const raw = await visitorFor(world, user, elicitationId);
    await acceptWith(raw, elicitationId, askOfEach[kind].typed);
    expect((await raw.get(`/e/${elicitationId}`)).body).not.toContain('https://tracker.example');
  });
});
