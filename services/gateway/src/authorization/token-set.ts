import type { Connection } from '@postern/elicitation';
import { type Vault, VaultError } from '@postern/vault';
import { z } from 'zod';
import { connectionContext } from '../sealing/seal-contexts.ts';

/** The tokens of a connection, as they are sealed. All members except the redirect URI, the issuer and the client id are secrets or describe them. */
const storedTokenSetSchema = z.object({
  accessToken: z.string(),
  tokenType: z.string(),
  refreshToken: z.string().optional(),
  /** Private key that the tokens are bound to (RFC 9449). */
  dpopKey: z.record(z.string(), z.unknown()).optional(),
  /** The redirect URI of the start. With the client id, it identifies the client that the tokens were issued to. */
  redirectUri: z.url(),
  /** Absent in records of releases that did not store it, until the next refresh. */
  clientId: z.string().optional(),
  /** The authorization server that issued the tokens. They are sent to this server only. */
  issuer: z.string().optional(),
});
/** JSON has no `undefined`. Issuer and client id are required properties, so that no request can omit them by mistake. */
const tokenSetSchema = storedTokenSetSchema.transform(({ issuer, clientId, ...tokens }) => ({
  ...tokens,
  issuer,
  clientId,
}));
export type TokenSet = z.infer<typeof tokenSetSchema>;

type Context = Parameters<typeof connectionContext>[0];

/** Seals and opens token sets. A sealed token set opens only for its own connection. */
export function createTokenSets(vault: Vault) {
  return {
    seal: (tokens: TokenSet, context: Context): Promise<string> =>
      vault.seal(JSON.stringify(tokens), connectionContext(context)),

    /** @throws VaultError, `not_authentic` also if the value is not a token set */
    async open(sealed: Context & Pick<Connection, 'sealedTokens'>): Promise<TokenSet> {
      const opened = await vault.open(sealed.sealedTokens, connectionContext(sealed));
      const parsed = tokenSetSchema.safeParse(jsonIn(opened));
      if (!parsed.success) throw new VaultError('not_authentic', 'The sealed value is not a token set.');
      return parsed.data;
    },
  };
}

/** Drops the parser's error, which could quote the secret. */
function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export type TokenSets = ReturnType<typeof createTokenSets>;
