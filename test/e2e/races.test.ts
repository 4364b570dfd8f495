import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { destinationIn, type RawAnswer, type RawBrowser } from '../support/raw-browser.ts';
import { type Answer, askFor, type ElicitationAnswer, keyOf, startWorld, type World } from '../support/world.ts';

const AT_ONCE = 50;
/** Sign-ins of one address that may be under way or refused within a minute. */
const SIGN_INS = 30;
let world: World;

beforeAll(async () => {
  world = await startWorld({
    replicas: 2,
    otherMcpServers: [
      { id: 'embedded', identity: { mode: 'external', verifyUrl: 'https://application.example/verify' } },
    ],
  });
});
afterEach(() => world.provider.clearRequests());
afterAll(() => world?.[Symbol.asyncDispose]());

const all = <T>(act: (n: number) => Promise<T>, times = AT_ONCE): Promise<T[]> =>
  Promise.all(Array.from({ length: times }, (_, n) => act(n)));
const count = (answers: readonly { status: number }[]): Record<number, number> => {
  const counted: Record<number, number> = {};
  for (const { status } of answers) counted[status] = (counted[status] ?? 0) + 1;
  return counted;
};
const replica = (n: number) => world.apiOf({ replica: n % 2 });
const read = async (elicitationId: string) => (await world.api.read(elicitationId)).body;
const tokenRequests = () => world.provider.requests('token').length;

async function signedIn(): Promise<{ user: string; raw: RawBrowser; elicitationId: string }> {
  const user = world.subject();
  const { elicitationId } = await world.ask(user);
  const raw = world.raw();
  await raw.signIn(elicitationId, user);
  return { user, raw, elicitationId };
}
const decide = (
  raw: RawBrowser,
  elicitationId: string,
  verb: 'accept' | 'decline',
  form: Readonly<Record<string, string>>,
) => raw.post(`/e/${elicitationId}/${verb}`, { form });
const eventsOf = (elicitationId: string, event: string) =>
  world
    .log()
    .split('\n')
    .filter(line => line.includes(`"${event}"`) && line.includes(elicitationId)).length;

describe('concurrent use of one-time values', () => {
  it('S37: fifty concurrent callbacks make one token request and one completion, and all show the page', async () => {
    const { raw, elicitationId } = await signedIn();
    const callback = await raw.decideAtProvider(await raw.accept(elicitationId), 'alice');
    world.provider.clearRequests();
    const answers = await all(() => raw.get(callback));
    expect(count(answers)).toEqual({ 303: AT_ONCE });
    expect(new Set(answers.map(({ location }) => location))).toEqual(new Set([`/e/${elicitationId}`]));
    expect(tokenRequests()).toBe(1);
    expect(await read(elicitationId)).toMatchObject({ status: 'completed' });
    expect(eventsOf(elicitationId, 'elicitation.completed')).toBe(1);
  });

  it('S04: concurrent callbacks in the right and in foreign browsers make at most one token request and one outcome', async () => {
    const { raw, elicitationId } = await signedIn();
    const callback = await raw.decideAtProvider(await raw.accept(elicitationId), 'alice');
    world.provider.clearRequests();
    const strangers = Array.from({ length: AT_ONCE }, () => world.raw());
    const answers = await all(n => (n % 2 === 0 ? raw : (strangers[n] ?? raw)).get(callback));
    expect(answers.filter((_, n) => n % 2 === 1).every(({ status }) => status === 400)).toBe(true);
    expect(answers.filter((_, n) => n % 2 === 0).every(({ status }) => status === 303)).toBe(true);
    expect(tokenRequests()).toBeLessThanOrEqual(1);
    const { status } = await read(elicitationId);
    expect(status).toBe(tokenRequests() === 1 ? 'completed' : 'active');
  });

  it('accept: attempts start in turn, and the callback of the last one completes', async () => {
    const { raw, elicitationId } = await signedIn();
    const form = await raw.acceptForm(elicitationId);
    const answers = await all(() => decide(raw, elicitationId, 'accept', form));
    for (const answer of answers) expectClear(answer);
    expect(answers.some(({ location }) => location === `/e/${elicitationId}/leaving`)).toBe(true);
    expect((await read(elicitationId)).status).toBe('active');
    const destination = await raw.get(`/e/${elicitationId}/leaving`);
    expect(destination.status).toBe(200);
    await raw.get(await raw.decideAtProvider(await raw.accept(elicitationId), 'alice'));
    expect((await read(elicitationId)).status).toBe('completed');
    expect(tokenRequests()).toBe(1);
  });

  it('decline: concurrent requests have one outcome and all redirect to it', async () => {
    const { raw, elicitationId } = await signedIn();
    const form = { csrf_token: await raw.csrfToken(elicitationId) };
    const answers = await all(() => decide(raw, elicitationId, 'decline', form));
    expect(count(answers)).toEqual({ 303: AT_ONCE });
    expect(await read(elicitationId)).toMatchObject({ status: 'declined' });
  });

  it('accept against decline: one of them wins, and a decline is never undone', async () => {
    const { raw, elicitationId } = await signedIn();
    const form = await raw.acceptForm(elicitationId);
    const answers = await all(n => decide(raw, elicitationId, n % 2 === 0 ? 'accept' : 'decline', form));
    for (const answer of answers) expectClear(answer);
    const ended = await read(elicitationId);
    expect(ended.status).toBe('declined');
    await decide(raw, elicitationId, 'accept', form);
    expect(await read(elicitationId)).toEqual(ended);
  });

  it('S08: concurrent sign-in callbacks create one browser session', async () => {
    const user = world.subject();
    const { elicitationId } = await world.ask(user);
    const raw = world.raw();
    const answer = await raw.signInAnswer(elicitationId, user);
    world.identityProvider.clearRequests();
    const answers = await all(() => raw.get(answer), SIGN_INS);
    expect(count(answers)).toEqual({ 303: 1, 400: SIGN_INS - 1 });
    expect(world.identityProvider.requests('token')).toHaveLength(1);
    const sessions = answers
      .flatMap(({ setCookies }) => setCookies)
      .filter(line => line.startsWith('postern_session=bs_'));
    expect(sessions).toHaveLength(1);
  });

  it('concurrent uses of an application’s ticket create one browser session', async () => {
    const { raw, continueUrl } = await openedExternally();
    const answers = await all(() => raw.get(continueUrl));
    expect(count(answers)).toEqual({ 303: 1, 400: AT_ONCE - 1 });
  });

  it('concurrent verify requests over two replicas make one token request and have one success', async () => {
    const { raw, continueUrl, elicitationId, subject } = await openedExternally();
    await raw.get(continueUrl);
    const callback = await raw.decideAtProvider(await raw.accept(elicitationId), 'alice');
    const question = new URL((await raw.get(callback)).location ?? '').searchParams;
    world.provider.clearRequests();
    const answers = await all(n =>
      world
        .apiOf({ replica: n % 2, apiKey: keyOf('embedded') })
        .call<ElicitationAnswer>('POST', `/v1/elicitations/${elicitationId}/verify`, {
          verificationId: question.get('verificationId'),
          subject,
        }),
    );
    expect(count(answers)).toEqual({ 200: 1, 409: AT_ONCE - 1 });
    for (const { status, body } of answers)
      if (status === 409) expect(['verification_unknown', 'already_ended']).toContain(body.code);
    expect(tokenRequests()).toBe(1);
    expect((await world.apiOf({ apiKey: keyOf('embedded') }).read(elicitationId)).body.status).toBe('completed');
  });

  it('concurrent identical asks over two replicas issue one elicitation', async () => {
    const user = world.subject();
    const answers = await all(n => replica(n).issue(askFor(world, user)));
    expect(count(answers)).toEqual({ 200: AT_ONCE - 1, 201: 1 });
    expect(new Set(answers.map(({ body }) => body.elicitationId)).size).toBe(1);
  });

  it('concurrent asks for different scopes over two replicas issue one elicitation for all scopes', async () => {
    const user = world.subject();
    const asked = [['repo'], ['issues'], ['issues', 'repo']];
    const answers = await all(n =>
      replica(n).issue(
        askFor(world, user, { authorization: { provider: 'forge', scopes: asked[n % asked.length] ?? [] } }),
      ),
    );
    expect(count(answers)).toEqual({ 200: AT_ONCE - 1, 201: 1 });
    const [elicitationId = '', ...others] = new Set(answers.map(({ body }) => body.elicitationId));
    expect(others).toEqual([]);
    const raw = world.raw();
    await raw.signIn(elicitationId, user);
    const destination = await raw.accept(elicitationId);
    expect(destination.searchParams.get('scope')?.split(' ').sort()).toEqual(['issues', 'openid', 'profile', 'repo']);
  });

  it('accept against an ask for more scopes: no redirect requests fewer scopes than the elicitation', async () => {
    const { user, raw, elicitationId } = await signedIn();
    const form = await raw.acceptForm(elicitationId);
    const more = askFor(world, user, { authorization: { provider: 'forge', scopes: ['issues', 'repo'] } });
    const [accepted, asked] = await Promise.all([decide(raw, elicitationId, 'accept', form), replica(1).issue(more)]);
    if (asked.status === 200) {
      // The elicitation was widened first, so the consent no longer covers it.
      expect(asked.body.elicitationId).toBe(elicitationId);
      expect(accepted.status).toBe(409);
      expect((await read(elicitationId)).status).toBe('pending');
    } else {
      expect(asked.status).toBe(201);
      expect(asked.body.elicitationId).not.toBe(elicitationId);
      expect(accepted).toMatchObject({ status: 303, location: `/e/${elicitationId}/leaving` });
      const leaving = destinationIn(await raw.get(`/e/${elicitationId}/leaving`));
      expect(leaving.searchParams.get('scope')?.split(' ').sort()).toEqual(['openid', 'profile', 'repo']);
    }
  });

  it('S43: concurrent requests with one Idempotency-Key get the same elicitation', async () => {
    const user = world.subject();
    const headers = { 'idempotency-key': `race-${user}` };
    const answers = await all(n => replica(n).issue(askFor(world, user), headers));
    const [first] = answers;
    for (const { status, body } of answers) expect({ status, body }).toEqual({ status: 201, body: first?.body });
    expect(eventsOf(first?.body.elicitationId ?? '', 'elicitation.issued')).toBe(1);
  });

  it('cancel against the callback: one outcome for all readers', async () => {
    const { raw, elicitationId } = await signedIn();
    const callback = await raw.decideAtProvider(await raw.accept(elicitationId), 'alice');
    world.provider.clearRequests();
    const answers: (RawAnswer | Answer<ElicitationAnswer>)[] = await all<RawAnswer | Answer<ElicitationAnswer>>(n =>
      n % 2 === 0 ? raw.get(callback) : replica(n).cancel(elicitationId),
    );
    const ended = await read(elicitationId);
    expect(['completed', 'cancelled']).toContain(ended.status);
    expect(answers.filter((_, n) => n % 2 === 0).every(({ status }) => status === 303)).toBe(true);
    const cancels = answers.filter((_, n) => n % 2 === 1) as Answer<ElicitationAnswer>[];
    expect(count(cancels)).toEqual(ended.status === 'cancelled' ? { 200: AT_ONCE / 2 } : { 409: AT_ONCE / 2 });
    expect(tokenRequests()).toBeLessThanOrEqual(1);
    expect((await world.api.accessToken(ended.outcome?.connectionId ?? 'cn_none')).status).toBe(
      ended.status === 'completed' ? 200 : 404,
    );
    expect(await read(elicitationId)).toEqual(ended);
  });

  it('cancel against decline: one outcome that both sides get', async () => {
    const { raw, elicitationId } = await signedIn();
    const form = { csrf_token: await raw.csrfToken(elicitationId) };
    const waiting = Promise.all([replica(0).read(elicitationId, 50), replica(1).read(elicitationId, 50)]);
    const answers = await all<{ status: number }>(n =>
      n % 2 === 0 ? decide(raw, elicitationId, 'decline', form) : replica(n).cancel(elicitationId),
    );
    expect(Object.keys(count(answers)).filter(status => !['200', '303', '409'].includes(status))).toEqual([]);
    const ended = await read(elicitationId);
    expect(['declined', 'cancelled']).toContain(ended.status);
    for (const { body } of await waiting) expect(body).toEqual(ended);
  });

  async function openedExternally() {
    const api = world.apiOf({ apiKey: keyOf('embedded') });
    const ask = askFor(world, world.subject());
    const { elicitationId } = (await api.issue(ask)).body;
    const raw = world.raw();
    const opening = new URL((await raw.get(`/login?e=${elicitationId}`)).location ?? '').searchParams;
    const { body } = await api.call<{ continueUrl: string }>('POST', `/v1/elicitations/${elicitationId}/verify`, {
      verificationId: opening.get('verificationId'),
      subject: ask.subject,
    });
    return { raw, elicitationId, subject: ask.subject, continueUrl: new URL(body.continueUrl) };
  }
});

/**
 * A redirect to the decision page or the last page, or, after too many concurrent changes, a page that asks the user to
 * retry.
 */
function expectClear({ status, headers }: RawAnswer): void {
  if (status === 503) expect(headers['retry-after']).toMatch(/^\d+$/);
  else expect(status).toBe(303);
}
