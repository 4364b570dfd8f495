import { createProviderRegistry, providerConfigSchema } from '@postern/authorization';
import { type Connection, generationNumber, type Subject } from '@postern/elicitation';
import { samples } from '@postern/testkit/contract';
import { describe, expect, it } from 'vitest';
import { createFlowStage, ofAuthorization, sampleTokens } from '../testing/flow-stage.ts';
import { AccessTokenFlow } from './access-token-flow.ts';
import { createProviderAnswers } from './provider-answers.ts';

// Thirty days at a provider, on a fake clock that no wait advances: a caller that waited would get no response.

const HOUR = 60 * 60_000;
const DAYS = 30;
const never = () => new AbortController().signal;

interface ConnectionOf {
  readonly user?: Subject;
  readonly owner?: 'calendar';
  readonly clientId?: string;
}

interface Answer {
  readonly status: number;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}
const json = (status: number, body: unknown, headers = {}): Answer => ({ status, body: JSON.stringify(body), headers });

/** The real token client at a provider whose token endpoint gives this answer; without one it refreshes. */
function setUp(answers: { now: (refreshToken: string) => Answer | undefined } = { now: () => undefined }) {
  const config = providerConfigSchema.parse({
    name: 'github',
    displayName: 'GitHub',
    clientId: 'postern',
    clientSecret: 'secret',
    authorizationEndpoint: 'https://github.example/authorize',
    tokenEndpoint: 'https://github.example/token',
  });
  const sent: string[] = [];
  async function answer(_url: string | URL, init?: { body?: unknown }): Promise<Response> {
    const refreshToken = new URLSearchParams(String(init?.body)).get('refresh_token') ?? '';
    sent.push(refreshToken);
    const tokens = { access_token: `access-token-${sent.length + 1}`, token_type: 'bearer', expires_in: 3_600 };
    const { status, body, headers } = answers.now(refreshToken) ?? json(200, tokens);
    return new Response(body, { status, headers: { 'content-type': 'application/json', ...headers } });
  }
  const registry = createProviderRegistry({
    providers: [config],
    now: () => stage.clock.now(),
    fetch: Object.assign(answer, {
      isInside: () => false,
      close: async () => {},
      [Symbol.asyncDispose]: async () => {},
    }),
  });
  const provider = registry.get('github');
  if (provider === undefined) throw new TypeError('not configured');
  const stage = createFlowStage(provider);
  const flow = new AccessTokenFlow({
    ...stage,
    upstreamOf: () => ({ ask: work => work(), pausedMs: 0 }),
  });
  return {
    ...stage,
    sent,
    answers,
    connectHere: (refreshToken = 'refresh-token-1', expires = true, of: ConnectionOf = {}) =>
      stage.connect({
        user: of.user ?? samples.somebody(),
        owner: of.owner,
        tokens: { ...sampleTokens, refreshToken, issuer: undefined, clientId: of.clientId ?? 'postern' },
        ...(expires ? { accessTokenExpiresAt: stage.clock.now() + HOUR } : {}),
      }),
    /** A user without a connection authorizes. */
    async authorize(): Promise<void> {
      const pending = await samples.created(stage.stores.elicitations, samples.ask(samples.somebody()));
      const elicitation = ofAuthorization(await samples.moved(stage.stores.elicitations, pending, samples.engage));
      const origin = { issuer: undefined, clientId: 'postern' };
      const grant = {
        accessToken: 'granted',
        refreshToken: 'r',
        tokenType: 'bearer',
        scopes: ['repo'],
        ...origin,
      } as const;
      const stored = await stage.storeGrant(elicitation, 'attempt-1', { ...grant, scopes: [...grant.scopes] });
      expect(stored.result).toBe('completed');
    },
    /** Asks for a token, and returns the code of the error, or `ok`. */
    code: ({ connectionId, owner }: Connection, rejectedGeneration?: number, waiting = never): Promise<string> =>
      flow
        .getAccessToken(
          stage.caller(owner === 'calendar' ? owner : 'issue-tracker'),
          connectionId,
          rejectedGeneration === undefined ? {} : { rejectedGeneration },
          waiting,
        )
        .then(
          () => 'ok',
          (error: unknown) => (error as { code: string }).code,
        ),
    generationOf: async ({ connectionId }: Connection): Promise<number> =>
      (await flow.getAccessToken(stage.caller(), connectionId, {}, never)).generation,
  };
}

// Sources: dev.twitch.tv/docs/authentication/refresh-tokens; Supabase error codes; github.com/dreeveapp/dreeve/issues/1449 (Strava);
// github.com/lukasolson/fitbit-node/issues/14 (Fitbit).
const ended: readonly [string, Answer][] = [
  ['Twitch', json(400, { status: 400, message: 'Invalid refresh token' })],
  ['Twitch with an error', json(400, { error: 'Bad Request', status: 400, message: 'Invalid refresh token' })],
  ['Supabase', json(400, { code: 400, error_code: 'refresh_token_not_found', msg: 'Invalid Refresh Token' })],
  [
    'Strava',
    json(400, {
      message: 'Bad Request',
      errors: [{ resource: 'RefreshToken', field: 'refresh_token', code: 'invalid' }],
    }),
  ],
  [
    'Fitbit',
    json(400, { errors: [{ errorType: 'invalid_grant', message: 'Refresh token invalid: x.' }], success: false }),
  ],
  ['X', json(400, { error: 'invalid_request', error_description: 'Value passed for the token was invalid.' })],
  ['200 with an error', json(200, { error: 'invalid_grant' })],
  ['an array', json(400, [{ error: 'expired' }])],
  ['a nested object', json(400, { error: { code: 'TOKEN_REVOKED', details: { reason: 'revoked' } } })],
  ['403', json(403, { message: 'The authorization was withdrawn' })],
  ['401 that names the grant', json(401, { errors: [{ type: 'invalid_grant' }] })],
];

/** A repeat may succeed: no fault of anybody, and no word of the response counts. */
const passing: readonly [string, Answer][] = [
  // docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api
  ['403 with Retry-After', json(403, { message: 'You have exceeded a rate limit.' }, { 'retry-after': '60' })],
  ['invalid_grant with Retry-After', json(400, { error: 'invalid_grant' }, { 'retry-after': '60' })],
  ...[408, 425, 429, 503].map((status): [string, Answer] => [`${status}`, json(status, { error: 'invalid_grant' })]),
];

const operators: readonly [string, Answer, 'operator' | 'provider'][] = [
  ['invalid_client', json(401, { error: 'invalid_client' }), 'operator'],
  ['unauthorized_client', json(400, { error: 'unauthorized_client' }), 'operator'],
  ['a nested invalid_client', json(401, { errors: [{ errorType: 'invalid_client' }] }), 'operator'],
  [
    'Strava’s client',
    json(400, { errors: [{ resource: 'Application', field: 'client_id', code: 'invalid' }] }),
    'operator',
  ],
  ['Twitch’s secret', json(403, { status: 403, message: 'invalid client secret' }), 'operator'],
  ['200 with invalid_client', json(200, { error: 'invalid_client' }), 'operator'],
  ['a bare 401', { status: 401, body: '' }, 'operator'],
  ['a 401 without a code', json(401, { message: 'Unauthorized' }), 'operator'],
  ['a page of a firewall', { status: 403, body: '<html>invalid_grant</html>' }, 'provider'],
  ['no body', { status: 400, body: '' }, 'provider'],
  ['405', json(405, { message: 'Method Not Allowed' }), 'operator'],
  ['451', json(451, { error: 'blocked' }), 'operator'],
  ['403 of a rate limit', json(403, { error: { errors: [{ reason: 'userRateLimitExceeded' }] } }), 'provider'],
];

describe('S188: a grant that has ended', () => {
  it.each(ended)('is lost with the report of the API, at the first refusal: %s', async (_, answer) => {
    const stage = setUp({ now: () => answer });
    const connection = await stage.connectHere('refresh-token-1', false);
    const generation = await stage.generationOf(connection);
    expect(await stage.code(connection, generation)).toBe('reauthorization_required');
    expect((await stage.stored(connection.connectionId)).lost).toMatchObject({ reason: 'refused' });
    expect(stage.sent).toHaveLength(1);
    expect(stage.eventsNamed('connection.lost')).toHaveLength(1);
    expect(stage.eventsNamed('provider.refreshes_fail')).toEqual([]);
  });

  it.each(ended)(
    'is lost without a report after three refusals over two hours, within thirty days: %s',
    async (_, answer) => {
      const stage = setUp({ now: () => answer });
      const connection = await stage.connectHere();
      stage.clock.advance(2 * HOUR);
      const codes: string[] = [];
      for (let call = 0; call < DAYS * 2; call += 1) {
        codes.push(await stage.code(connection));
        stage.clock.advance(12 * HOUR);
      }
      expect(codes.slice(0, 3)).toEqual(['upstream_unavailable', 'upstream_unavailable', 'reauthorization_required']);
      expect(new Set(codes.slice(3))).toEqual(new Set(['reauthorization_required']));
      expect(stage.sent).toHaveLength(3);
    },
  );

  it('is not lost by refusals within two hours, of which other callers learn at once, with Retry-After', async () => {
    let answer: Answer | undefined = json(400, { message: 'Invalid refresh token' });
    const stage = setUp({ now: () => answer });
    const connection = await stage.connectHere();
    stage.clock.advance(HOUR);
    const started = stage.clock.now();
    while (stage.clock.now() < started + 1.9 * HOUR) {
      expect(await stage.code(connection)).toBe('upstream_unavailable');
      stage.clock.advance(60_000);
    }
    // A call each minute; pauses grow to a quarter of an hour.
    expect(stage.sent.length).toBeLessThan(20);
    answer = undefined;
    stage.clock.advance(HOUR / 4);
    expect(await stage.code(connection)).toBe('ok');
  });

  it('is lost by a report that comes after the refusal, without another request', async () => {
    const stage = setUp({ now: () => json(400, { message: 'Invalid refresh token' }) });
    const connection = await stage.connectHere();
    const generation = await stage.generationOf(connection);
    stage.clock.advance(56 * 60_000);
    expect(await stage.code(connection)).toBe('ok');
    const reports = await Promise.all([1, 2, 3].map(() => stage.code(connection, generation)));
    expect(new Set(reports)).toEqual(new Set(['reauthorization_required']));
    expect(stage.sent).toHaveLength(1);
    expect(stage.eventsNamed('connection.lost')).toHaveLength(1);
  });

  it('P9: is lost at the first refusal after a refresh whose response is lost with its replica', async () => {
    const stage = setUp({ now: () => json(400, { message: 'Invalid refresh token' }) });
    const connection = await stage.connectHere();
    stage.clock.advance(HOUR);
    const { leaseMs } = stage.tokenRefresh;
    await stage.stores.connections.beginRefresh({ current: connection, holder: 'rp_dead 1', leaseMs });
    stage.clock.advance(leaseMs);
    expect(await stage.code(connection)).toBe('reauthorization_required');
    expect(stage.sent).toHaveLength(1);
  });
});

describe('S189: a fault of the operator or the provider keeps every grant and raises an alarm', () => {
  it.each(operators)('for thirty days, despite reports of the API: %s', async (_, answer, fault) => {
    let now: Answer | undefined = answer;
    const stage = setUp({ now: () => now });
    const connection = await stage.connectHere('refresh-token-1', false);
    const generation = await stage.generationOf(connection);
    // A page instead of an answer may be gone in a second, for which the caller would wait.
    const waiting = fault === 'operator' ? never : () => AbortSignal.abort();
    for (let call = 0; call < DAYS * 2; call += 1) {
      stage.clock.advance(12 * HOUR);
      expect(await stage.code(connection, generation, waiting)).toBe('upstream_unavailable');
    }
    expect((await stage.stored(connection.connectionId)).lost).toBeUndefined();
    const alarms = stage.eventsNamed('provider.refreshes_fail');
    expect(alarms).toHaveLength(DAYS * 2);
    expect(alarms[0]).toMatchObject({ provider: 'github', fault });
    now = undefined;
    stage.clock.advance(HOUR);
    expect(await stage.code(connection, generation)).toBe('ok');
  });

  it.each(passing)('S226: a failure that may pass does so without an alarm: %s', async (_, answer) => {
    const stage = setUp({ now: () => answer });
    const connection = await stage.connectHere('refresh-token-1', false);
    const generation = await stage.generationOf(connection);
    for (let call = 0; call < 4; call += 1) {
      stage.clock.advance(12 * HOUR);
      expect(await stage.code(connection, generation, () => AbortSignal.abort())).toBe('upstream_unavailable');
    }
    expect((await stage.stored(connection.connectionId)).lost).toBeUndefined();
    expect(stage.eventsNamed('provider.refreshes_fail')).toEqual([]);
  });

  it('a provider that refuses three users in a row, and none of the others', async () => {
    const stage = setUp({ now: () => json(400, { message: 'Something' }) });
    const connections: Connection[] = [];
    for (let nth = 0; nth < 20; nth += 1) connections.push(await stage.connectHere(`refresh-token-${nth}`, false));
    const codes: string[] = [];
    for (const connection of connections) {
      codes.push(await stage.code(connection, generationNumber(connection)));
    }
    expect(codes.slice(0, 2)).toEqual(['reauthorization_required', 'reauthorization_required']);
    expect(new Set(codes.slice(2))).toEqual(new Set(['upstream_unavailable']));
    expect(stage.eventsNamed('provider.refreshes_fail')).toMatchObject([{ fault: 'provider' }]);
  });

  it('a provider that refuses refreshes while it exchanges codes, which say nothing about refreshes', async () => {
    const stage = setUp({ now: () => json(400, { message: 'Something' }) });
    const codes: string[] = [];
    for (let nth = 0; nth < 12; nth += 1) {
      const connection = await stage.connectHere(`refresh-token-${nth}`, false);
      codes.push(await stage.code(connection, generationNumber(connection)));
      await stage.authorize();
      await stage.authorize();
      stage.clock.advance(60_000);
    }
    expect(codes.filter(code => code === 'reauthorization_required')).toHaveLength(2);
    expect(stage.eventsNamed('provider.refreshes_fail')).toMatchObject([{ fault: 'provider' }]);
  });

  it('another client in the configuration, by mistake or not, until its connections are removed', async () => {
    const stage = setUp();
    const connection = await stage.connectHere('refresh-token-1', false, { clientId: 'postern-before' });
    const generation = await stage.generationOf(connection);
    for (let call = 0; call < 4; call += 1) {
      stage.clock.advance(12 * HOUR);
      expect(await stage.code(connection, generation)).toBe('upstream_unavailable');
    }
    expect((await stage.stored(connection.connectionId)).lost).toBeUndefined();
    expect(stage.sent).toEqual([]);
    expect(stage.eventsNamed('provider.refreshes_fail')[0]).toMatchObject({ fault: 'operator', code: 'client_gone' });
  });

  it('several connections of one user are no such provider: the user has ended them all', async () => {
    const stage = setUp({ now: () => json(400, { message: 'Invalid refresh token' }) });
    const [first, second] = [samples.somebody(), samples.somebody()];
    const theirs = [
      { user: first },
      { user: second },
      { user: first, owner: 'calendar' },
      { user: second, owner: 'calendar' },
    ] as const;
    for (const one of theirs) {
      const connection = await stage.connectHere('refresh-token-1', false, one);
      expect(await stage.code(connection, generationNumber(connection))).toBe('reauthorization_required');
    }
  });

  it('a bare 401 ends a grant once the provider has refreshed another connection meanwhile', async () => {
    const stage = setUp({ now: token => (token === 'ended' ? { status: 401, body: '' } : undefined) });
    const [one, other] = [await stage.connectHere('ended', false), await stage.connectHere('good', false)];
    const generation = await stage.generationOf(one);
    expect(await stage.code(one, generation)).toBe('upstream_unavailable');
    stage.clock.advance(HOUR);
    expect(await stage.code(one, generation)).toBe('upstream_unavailable');
    expect(await stage.code(other, await stage.generationOf(other))).toBe('ok');
    stage.clock.advance(HOUR);
    expect(await stage.code(one, generation)).toBe('reauthorization_required');
  });

  it('a bare 401 to one client says nothing about the grants of another', async () => {
    const answers = createProviderAnswers({ auditLog: { record: () => {} }, now: () => at });
    let at = 0;
    const stage = setUp();
    const [one, other] = [await stage.connectHere(), await stage.connectHere()];
    const refused = () => {
      at += 1;
      return answers.failed(one, 'client-1', { code: 'invalid_token_response', refuses: 'unclear' });
    };
    expect(refused()).toBe(false);
    at += 1;
    answers.accepted(other, 'client-2');
    expect(refused()).toBe(false);
    answers.accepted(other, 'client-1');
    expect(refused()).toBe(true);
  });
});
