import { describe, expect, it } from 'vitest';
import { driveAuthorization } from './drive-authorization.ts';
import { authorizeUrl, connect, exchange, refresh, startProvider } from './flow.test-support.ts';

describe('faults of a provider', () => {
  it('a fault before a refresh rotates nothing, and the refresh token still works', async () => {
    await using op = await startProvider();
    const { refreshToken } = await connect(op);
    op.fault({
      endpoint: 'token',
      grantType: 'refresh_token',
      times: 2,
      status: 503,
      headers: { 'retry-after': '7' },
    });
    const refused = await refresh(op, refreshToken);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '7']);
    const other = await connect(op);
    expect(other.body).toHaveProperty('access_token');
    expect((await refresh(op, refreshToken)).status).toBe(503);
    expect((await refresh(op, refreshToken)).status).toBe(200);
  });

  it('a fault after a refresh loses the response, and the refresh token is consumed', async () => {
    await using op = await startProvider();
    const { refreshToken } = await connect(op);
    op.fault({ endpoint: 'token', status: 503, when: 'after', times: 1 });
    expect((await refresh(op, refreshToken)).status).toBe(503);
    expect(op.tokens.grants()).toMatchObject([{ rotations: 1, refreshes: [{ answer: 'lost' }], status: 'live' }]);
    expect(await refresh(op, refreshToken)).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
  });

  it('after a fault, a retry within the grace returns the lost successors', async () => {
    await using op = await startProvider({ refreshTokens: 'rotate-grace' });
    const { refreshToken } = await connect(op);
    op.fault({ endpoint: 'token', drop: 'after', times: 1 });
    await expect(refresh(op, refreshToken)).rejects.toThrow(TypeError);
    const again = await refresh(op, refreshToken);
    expect(again.status).toBe(200);
    expect(op.tokens.statusOf(String(again.body['access_token']))).toBe('current');
    expect(op.tokens.grants()).toMatchObject([{ rotations: 1, refreshes: [{ answer: 'lost' }], graceAnswers: 1 }]);
  });

  it('a hang, before or after the request is handled, lasts until the caller gives up', async () => {
    await using op = await startProvider();
    const { refreshToken } = await connect(op);
    const giveUp = async () => {
      const before = op.requests('token').length;
      const abort = new AbortController();
      const asked = fetch(new URL('/token', op.issuer), {
        method: 'POST',
        body: new URLSearchParams({
          client_id: 'mcp-client',
          grant_type: 'refresh_token',
          refresh_token: refreshToken,
        }),
        signal: abort.signal,
      });
      await expect.poll(() => op.requests('token')[before]?.body).toBeDefined();
      abort.abort();
      await expect(asked).rejects.toMatchObject({ name: 'AbortError' });
    };
    op.fault({ endpoint: 'token', hang: true, times: 1 });
    await giveUp();
    expect(op.tokens.grants()).toMatchObject([{ rotations: 0 }]);
    op.fault({ endpoint: 'token', hang: true, when: 'after' });
    await giveUp();
    await expect.poll(() => op.tokens.grants()[0]?.refreshes[0]?.answer).toBe('lost');
    op.clearFaults();
    expect((await refresh(op, refreshToken)).status).toBe(400);
  });

  it('a fault with `after` affects only successful responses', async () => {
    await using op = await startProvider();
    const { refreshToken } = await connect(op);
    op.fault({ endpoint: 'token', status: 500, when: 'after', times: 1 });
    expect((await refresh(op, 'no such token')).status).toBe(400);
    expect((await refresh(op, refreshToken)).status).toBe(500);
  });

  it('awaits a hook between the rotation and the response, without delaying other requests', async () => {
    await using op = await startProvider();
    const { refreshToken } = await connect(op);
    const reached = Promise.withResolvers<string>();
    const goOn = Promise.withResolvers<void>();
    op.onRefresh(async ({ grantId }) => {
      reached.resolve(grantId);
      await goOn.promise;
    });
    let isAnswered = false;
    const asked = refresh(op, refreshToken).finally(() => {
      isAnswered = true;
    });
    const grantId = await reached.promise;
    expect(op.tokens.grant(grantId)).toMatchObject({ rotations: 1, refreshes: [{ answer: 'pending' }] });
    // A whole authorization completes meanwhile, and the same refresh token is refused as consumed.
    await connect(op);
    expect((await refresh(op, refreshToken)).status).toBe(400);
    expect(isAnswered).toBe(false);
    goOn.resolve();
    expect((await asked).status).toBe(200);
    op.onRefresh(undefined);
  });

  it('awaits a hook between the exchange of a code and the response', async () => {
    await using op = await startProvider();
    const seen: unknown[] = [];
    op.onExchange(event => {
      seen.push({ ...event, exchanges: op.tokens.grant(event.grantId)?.exchanges.length });
    });
    await exchange(op, await driveAuthorization(authorizeUrl(op), 'alice'));
    const grantId = op.tokens.grants()[0]?.grantId;
    expect(seen).toEqual([{ grantType: 'authorization_code', grantId, clientId: 'mcp-client', exchanges: 1 }]);
  });
});
