import type { KoaContextWithOIDC, Provider } from '@postern/openid-server';
import { settleWhenAnswered } from './answer-fate.ts';
import { KeyLock } from './key-lock.ts';
import type { ProviderSwitches } from './open-id-provider-options.ts';
import { type TokenLedger, tokenDigest } from './token-ledger.ts';

/** A successful token request whose response is not sent yet. */
export interface TokenEvent {
  readonly grantType: string;
  readonly grantId: string;
  readonly clientId: string;
}

/** Awaited after the tokens were issued or rotated and before the response is sent. */
export type TokenHook = (event: TokenEvent) => Promise<void> | void;

type Answer = Record<string, unknown>;

/** Wraps the token endpoint of a provider: records issued tokens, and gives consumed refresh tokens their grace. */
export class TokenEndpoint {
  readonly hooks: { refresh?: TokenHook | undefined; exchange?: TokenHook | undefined } = {};
  readonly #ledger: TokenLedger;
  readonly #switches: ProviderSwitches;
  readonly #locks = new KeyLock();
  readonly #successors = new Map<string, { answer: Answer; at: number; until: number; left: number }>();

  constructor(p: { ledger: TokenLedger; switches: ProviderSwitches }) {
    this.#ledger = p.ledger;
    this.#switches = p.switches;
  }

  /** Whether this refresh token was consumed but still works. */
  isInGrace(refreshToken: string): boolean {
    const successor = this.#successors.get(tokenDigest(refreshToken));
    return (
      this.#switches.refreshTokens === 'rotate-grace' &&
      successor !== undefined &&
      successor.left > 0 &&
      successor.until > Date.now()
    );
  }

  rotates(refreshToken: string): boolean {
    return this.#switches.refreshTokens.startsWith('rotate-') && !this.isInGrace(refreshToken);
  }

  /**
   * Lets the provider handle a token request, one at a time per refresh token: exactly one of two concurrent refreshes rotates, as
   * at a provider with a transactional store.
   */
  handle(form: URLSearchParams, context: object, provider: Provider, next: () => Promise<unknown>): Promise<void> {
    const refreshToken = form.get('grant_type') === 'refresh_token' ? form.get('refresh_token') : null;
    const work = async () => {
      await next();
      const ctx = context as KoaContextWithOIDC;
      if (ctx.status === 200) await this.#succeeded(form.get('grant_type') ?? '', refreshToken, ctx, provider);
      else if (refreshToken !== null) this.#ledger.recordRefusal(refreshToken);
    };
    return refreshToken === null ? work() : this.#locks.run(refreshToken, work);
  }

  /** Awaits the test's hook for this kind of request. */
  async beforeAnswer(context: object, grantType: string): Promise<void> {
    const { oidc } = context as KoaContextWithOIDC;
    const hook = grantType === 'refresh_token' ? this.hooks.refresh : this.hooks.exchange;
    await hook?.({
      grantType,
      grantId: oidc.entities.AccessToken?.grantId ?? '',
      clientId: oidc.client?.clientId ?? '',
    });
  }

  async #succeeded(grantType: string, refreshToken: string | null, ctx: KoaContextWithOIDC, provider: Provider) {
    const issued = ctx.oidc.entities.AccessToken;
    const answer = ctx.body as Answer;
    const accessToken = String(answer['access_token']);
    if (refreshToken !== null && this.isInGrace(refreshToken)) {
      await provider.AccessToken.adapter.destroy(accessToken);
      ctx.body = this.#repeat(refreshToken);
      return;
    }
    if (refreshToken !== null && this.#switches.refreshTokens === 'static') delete answer['refresh_token'];
    const newRefreshToken = answer['refresh_token'];
    const { superseded, settle } = this.#ledger.record({
      grantType,
      grantId: issued?.grantId ?? '',
      accountId: issued?.accountId ?? '',
      clientId: issued?.clientId ?? '',
      scopes: (issued?.scope ?? '').split(' ').filter(scope => scope !== ''),
      audience: [issued?.aud ?? []].flat(),
      ...(typeof issued?.jkt === 'string' && { jkt: issued.jkt }),
      accessToken,
      expiresIn: Number(answer['expires_in']),
      ...(typeof newRefreshToken === 'string' && { refreshToken: newRefreshToken }),
      ...(refreshToken !== null && { usedRefreshToken: refreshToken }),
    });
    settleWhenAnswered(ctx.res, settle);
    if (this.#switches.refreshEndsAccessToken) {
      for (const token of superseded) {
        token.revoked = true;
        await provider.AccessToken.adapter.destroy(token.value);
      }
    }
    ctx.body = this.#switches.rewriteTokenAnswer?.(answer) ?? answer;
    if (refreshToken !== null && this.#switches.refreshTokens === 'rotate-grace') {
      const { uses, seconds } = this.#switches.refreshGrace;
      const at = Date.now();
      this.#successors.set(tokenDigest(refreshToken), {
        answer: ctx.body as Answer,
        at,
        until: at + seconds * 1000,
        left: uses,
      });
    }
  }

  #repeat(refreshToken: string): Answer {
    const successor = this.#successors.get(tokenDigest(refreshToken));
    if (!successor) throw new Error('a refresh token in its grace has no successor');
    successor.left -= 1;
    this.#ledger.recordGraceAnswer(refreshToken);
    const { expires_in: lifetime, ...rest } = successor.answer;
    const age = Math.floor((Date.now() - successor.at) / 1000);
    return typeof lifetime === 'number' ? { ...rest, expires_in: lifetime - age } : rest;
  }
}
