import type { Connection } from '@postern/elicitation';
import { type Vault, VaultError } from '@postern/vault';
import { z } from 'zod';
import { connectionContext } from './connection-context.ts';

/** What a provider issued, as it lies sealed in a connection. Every member but the redirect URI is a secret or tells of one. */
const storedTokenSetSchema = z.object({
  accessToken: z.string(),
  tokenType: z.string(),
  refreshToken: z.string().exactOptional(),
  /** Private key the tokens are bound to (RFC 9449). */
  dpopKey: z.record(z.string(), z.unknown()).exactOptional(),
  /** The registration at the provider that the tokens were issued to is that of this redirect URI. */
  redirectUri: z.url(),
  /** The authorization server that issued the tokens. They are sent to this server only. */
  issuer: z.string().exactOptional(),
});
/** JSON has no `undefined`. The issuer is a required property here, so that no request can leave it out by mistake. */
const tokenSetSchema = storedTokenSetSchema.transform(({ issuer, ...tokens }) => ({ ...tokens, issuer }));
export type TokenSet = z.infer<typeof tokenSetSchema>;

type Place = Parameters<typeof connectionContext>[0];

/** Sealing and opening of token sets, for their connection and for no other. */
export function createTokenSets(vault: Vault) {
  return {
    seal: (tokens: TokenSet, place: Place): Promise<string> =>
      vault.seal(JSON.stringify(tokens), connectionContext(place)),

    /** @throws VaultError, `not_authentic` also for what is no token set. */
    async open(sealed: Place & Pick<Connection, 'sealedTokens'>): Promise<TokenSet> {
      const opened = await vault.open(sealed.sealedTokens, connectionContext(sealed));
      const parsed = tokenSetSchema.safeParse(jsonIn(opened));
      if (!parsed.success) throw new VaultError('not_authentic', 'The sealed value is no token set.');
      return parsed.data;
    },
  };
}

/** Without the parser's own error: it could quote what was sealed. */
function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export type TokenSets = ReturnType<typeof createTokenSets>;
