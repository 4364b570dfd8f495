import {
  authorizationRequestSchema,
  type ElicitationBody,
  type IssueElicitationInput,
  isInert,
  plainText,
  TTL_SECONDS,
} from '@postern/api';
import { z } from 'zod';
import { digest } from './digest.ts';
import { PosternUsageError } from './errors.ts';

export interface AuthorizeOptions {
  /** Default: the provider's default scopes, as the gateway is configured. */
  readonly scopes?: readonly string[];
  /** RFC 8707 resource indicator. */
  readonly resource?: string;
  /** Insist on this account id at the provider. */
  readonly expectedAccount?: string;
  /** One line of plain text (300 characters), quoted on the page as coming from this MCP server. */
  readonly message?: string;
  /** Seconds the user has, 10 to 86,400. Default: the gateway's. */
  readonly ttlSeconds?: number;
  /** Where the last page leads back to; must be registered at the gateway. */
  readonly returnUrl?: string;
  /** Ends the waiting, not the elicitation. */
  readonly signal?: AbortSignal;
}

/** One thing asked of the user. Two asks with the same digest want the same connection. */
export interface Ask {
  readonly provider: string;
  readonly digest: string;
  readonly body: Omit<IssueElicitationInput, 'subject' | 'requestedBy'>;
}

const optionsSchema = z.object({
  message: plainText(300).optional(),
  ttlSeconds: z.int().min(TTL_SECONDS.min).max(TTL_SECONDS.max).optional(),
  returnUrl: z.url().max(2048).optional(),
});

/** @throws {PosternUsageError} `invalid_ask`, before anything is sent */
export function createAsk(provider: string, options: AuthorizeOptions): Ask {
  const { scopes, resource, expectedAccount } = options;
  const authorization = parse(authorizationRequestSchema, {
    provider,
    ...(scopes === undefined ? {} : { scopes: [...new Set(scopes)] }),
    ...(resource === undefined ? {} : { resource }),
    ...(expectedAccount === undefined ? {} : { expectedAccount }),
  });
  const { message, ttlSeconds, returnUrl } = parse(optionsSchema, options);
  return {
    provider,
    digest: digest(['authorization', { ...authorization, scopes: authorization.scopes?.toSorted() }]),
    body: {
      kind: 'authorization',
      authorization,
      ...(message === undefined ? {} : { message }),
      ...(ttlSeconds === undefined ? {} : { ttlSeconds }),
      ...(returnUrl === undefined ? {} : { returnUrl }),
    },
  };
}

function parse<T>(schema: z.ZodType<T>, value: unknown): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new PosternUsageError('invalid_ask', `authorize: ${z.prettifyError(parsed.error)}`);
}

const displayNameSchema = plainText(80);

/** The provider in texts: its name at the gateway, or what people know it by, once the gateway has said it. */
export function naming(ask: Ask, elicitation?: Pick<ElicitationBody, 'authorization'>) {
  return { provider: ask.provider, providerName: elicitation?.authorization?.providerName ?? ask.provider };
}

/** Names that others chose freely are shown only where they cannot do harm; a bad one is left out, not repaired. */
export function displayName(name: string | undefined): string | undefined {
  const parsed = name !== undefined && isInert(name) ? displayNameSchema.safeParse(name) : undefined;
  return parsed?.success ? parsed.data : undefined;
}
