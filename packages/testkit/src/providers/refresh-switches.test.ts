import { describe, expect, it, vi } from 'vitest';
import { askApi, connect, refresh, startProvider } from './flow.test-support.ts';
import { tokenDigest } from './token-ledger.ts';

describe('refresh tokens', () => {
  it('rotate-strict: a consumed refresh token ends the grant and all its tokens', async () => {
    await using op = await startProvider();
    const first = await connect(op);
    const second = await refresh(op, first.refreshToken);
    expect(second.status).toBe(200);
    expect(second.body['refresh_token']).not.toBe(first.refreshToken);
    expect(op.tokens.statusOf(first.accessToken)).toBe('superseded');
    expect(op.tokens.statusOf(String(second.body['access_token']))).toBe('current');
    expect((await askApi(op, first.accessToken)).status).toBe(200);

    expect(await refresh(op, first.refreshToken)).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
    expect(op.tokens.isLive(first.accessToken)).toBe(false);
    expect((await askApi(op, second.body['access_token'])).status).toBe(401);
    expect(await refresh(op, second.body['refresh_token'])).toMatchObject({ status: 400 });
    expect(op.tokens.grants()).toMatchObject([
      {
        accountId: 'alice',
        clientId: 'mcp-client',
        status: 'revoked',
        exchanges: [{ grantType: 'authorization_code', answer: 'sent' }],
        refreshes: [
          {
            generation: 1,
            refreshToken: tokenDigest(first.refreshToken),
            successor: tokenDigest(String(second.body['refresh_token'])),
            answer: 'sent',
          },
        ],
        rotations: 1,
        reuses: 1,
      },
    ]);
  });

  it('rotate-strict: exactly one of many concurrent refreshes rotates, and the others count as reuse', async () => {
    await using op = await startProvider();
    const { refreshToken } = await connect(op);
    const answers = await Promise.all(Array.from({ length: 8 }, () => refresh(op, refreshToken)));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 400, 400, 400, 400, 400, 400, 400]);
    expect(op.tokens.grants()).toMatchObject([{ status: 'revoked', rotations: 1, refreshes: [{ generation: 1 }] }]);
  });

  it('rotate-grace: a retry returns the same successors within the grace, then counts as reuse', async () => {
    await using op = await startProvider({ refreshTokens: 'rotate-grace', refreshGrace: { uses: 2, seconds: 60 } });
    const { refreshToken } = await connect(op);
    const [second, again] = await Promise.all([refresh(op, refreshToken), refresh(op, refreshToken)]);
    const third = await refresh(op, refreshToken);
    expect([second.status, again.status, third.status]).toEqual([200, 200, 200]);
    for (const member of ['access_token', 'refresh_token']) {
      expect(again.body[member]).toBe(second.body[member]);
      expect(third.body[member]).toBe(second.body[member]);
    }
    expect(op.tokens.grants()).toMatchObject([{ rotations: 1, graceAnswers: 2, reuses: 0, status: 'live' }]);
    expect(op.tokens.statusOf(String(second.body['access_token']))).toBe('current');

    expect((await refresh(op, second.body['refresh_token'])).status).toBe(200);
    expect(await refresh(op, refreshToken)).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
    expect(op.tokens.grants()).toMatchObject([{ rotations: 2, reuses: 1, status: 'revoked' }]);
  });

  it('rotate-grace: the grace ends after its seconds', async () => {
    await using op = await startProvider({ refreshTokens: 'rotate-grace', refreshGrace: { uses: 9, seconds: 30 } });
    const { refreshToken } = await connect(op);
    await refresh(op, refreshToken);
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 20_000 });
    try {
      expect((await refresh(op, refreshToken)).body['expires_in']).toBe(3580);
      vi.setSystemTime(Date.now() + 11_000);
      expect((await refresh(op, refreshToken)).status).toBe(400);
    } finally {
      vi.useRealTimers();
    }
  });

  it('static: the refresh token stays valid, omitted or repeated in the response', async () => {
    await using op = await startProvider({ refreshTokens: 'static' });
    const { refreshToken } = await connect(op);
    expect((await refresh(op, refreshToken)).body).not.toHaveProperty('refresh_token');
    op.switches.refreshTokens = 'static-repeated';
    expect((await refresh(op, refreshToken)).body['refresh_token']).toBe(refreshToken);
    const [grant] = op.tokens.grants();
    expect(grant).toMatchObject({ rotations: 0, reuses: 0, refreshes: [{ generation: 1 }, { generation: 2 }] });
  });

  it('no-refresh: the provider issues no refresh token', async () => {
    await using op = await startProvider({ refreshTokens: 'no-refresh' });
    const { body } = await connect(op);
    expect(body).toHaveProperty('access_token');
    expect(body).not.toHaveProperty('refresh_token');
  });

  it('a refresh ends the previous access token if configured', async () => {
    await using op = await startProvider({ refreshEndsAccessToken: true, profileInIdToken: false });
    const first = await connect(op);
    const second = await refresh(op, first.refreshToken);
    expect(op.tokens.statusOf(first.accessToken)).toBe('revoked');
    expect((await askApi(op, first.accessToken)).status).toBe(401);
    const userinfo = (accessToken: unknown) =>
      fetch(new URL('/me', op.issuer), { headers: { authorization: `Bearer ${accessToken}` } });
    expect((await userinfo(first.accessToken)).status).toBe(401);
    expect((await userinfo(second.body['access_token'])).status).toBe(200);
  });
});

describe('access tokens', () => {
  it('access tokens use a changed lifetime from then on', async () => {
    await using op = await startProvider({ accessTokenTtlSeconds: 7 });
    const { accessToken, refreshToken, body } = await connect(op);
    expect(body['expires_in']).toBe(7);
    op.switches.accessTokenTtlSeconds = 1;
    expect((await refresh(op, refreshToken)).body['expires_in']).toBe(1);
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 8_000 });
    try {
      expect(op.tokens.statusOf(accessToken)).toBe('expired');
      expect((await askApi(op, accessToken)).status).toBe(401);
    } finally {
      vi.useRealTimers();
    }
  });

  it('access tokens can end early, alone or with their grant', async () => {
    await using op = await startProvider();
    const { accessToken, refreshToken } = await connect(op);
    await op.endAccessToken(accessToken);
    expect(await askApi(op, accessToken)).toMatchObject({ status: 401, body: { error: 'invalid_token' } });
    const next = await refresh(op, refreshToken);
    expect((await askApi(op, next.body['access_token'])).body).toMatchObject({
      account: 'alice',
      scopes: ['openid', 'issues'],
    });

    await op.endGrant(op.tokens.grantOf(accessToken)?.grantId ?? '');
    expect(await refresh(op, next.body['refresh_token'])).toMatchObject({
      status: 400,
      body: { error: 'invalid_grant' },
    });
    expect((await askApi(op, next.body['access_token'])).status).toBe(401);
    expect(op.tokens.statusOf('never issued')).toBe('unknown');
  });

  it('token responses can be rewritten', async () => {
    await using op = await startProvider({
      rewriteTokenAnswer: ({ expires_in: _, ...rest }) => ({ ...rest, extra: 1 }),
    });
    const { body } = await connect(op);
    expect(body).not.toHaveProperty('expires_in');
    expect(body['extra']).toBe(1);
  });
});
