import { type ElicitationBody, type IssueElicitationInput, isInert, plainText, TTL_SECONDS } from '@postern/api';
import { z } from 'zod';
import { digest } from './digest.ts';
import { PosternUsageError } from './errors.ts';
import type { Run } from './run.ts';
import type { About } from './texts.ts';

/** What every verb takes beside what is asked. */
export interface AskOptions {
  /** One line of plain text (300 characters), quoted on the page as coming from this MCP server. */
  readonly message?: string;
  /** Seconds the user has, 10 to 86,400. Default: the gateway's. */
  readonly ttlSeconds?: number;
  /** Where the last page leads back to; must be registered at the gateway. */
  readonly returnUrl?: string;
  /** Ends the waiting, not the elicitation. */
  readonly signal?: AbortSignal;
  /**
   * Milliseconds since this call first asked after which a run of the handler stops waiting and throws
   * `ElicitationTimeoutError`. The elicitation lives on. Default: as long as the MCP client comes back.
   */
  readonly timeoutMs?: number;
}

type Body<B> = B extends unknown ? Omit<B, 'subject' | 'requestedBy'> : never;

/** One thing asked of the user. */
export interface Ask {
  /** For texts, as far as it is known before the gateway has answered. */
  readonly about: About;
  /** Two asks with the same digest want the same. */
  readonly digest: string;
  readonly body: Body<IssueElicitationInput>;
  /** Completing it leaves a result that is redeemed once. Otherwise there is something that lasts. */
  readonly leavesResult: boolean;
  /** What lasts and would answer it now: a newer one makes an old refusal stale. */
  readonly lasting?: (run: Run, signal: AbortSignal) => Promise<readonly { readonly updatedAt: string }[]>;
}

const optionsSchema = z.object({
  message: plainText(300).optional(),
  ttlSeconds: z.int().min(TTL_SECONDS.min).max(TTL_SECONDS.max).optional(),
  returnUrl: z.url().max(2048).optional(),
  timeoutMs: z.int().min(0).optional(),
});

/** @throws {PosternUsageError} `invalid_ask`, before anything is sent */
export function bodyOptions(verb: string, options: AskOptions) {
  const { message, ttlSeconds, returnUrl } = parseAsk(verb, optionsSchema, options);
  return {
    ...(message === undefined ? {} : { message }),
    ...(ttlSeconds === undefined ? {} : { ttlSeconds }),
    ...(returnUrl === undefined ? {} : { returnUrl }),
  };
}

/** @throws {PosternUsageError} `invalid_ask` */
export function parseAsk<T>(verb: string, schema: z.ZodType<T>, value: unknown): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new PosternUsageError('invalid_ask', `${verb}: ${z.prettifyError(parsed.error)}`);
}

/** What tells one ask from another. How it is asked (message, time, return) makes no difference. */
export const askDigest = (kind: About['kind'], what: unknown): string => digest([kind, what]);

const displayNameSchema = plainText(80);

/** What is asked, in texts: with the name that people know a provider by, once the gateway has said it. */
export function aboutOf({ about }: Ask, elicitation?: Pick<ElicitationBody, 'authorization'>): About {
  const providerName = elicitation?.authorization?.providerName;
  return about.kind === 'authorization' && providerName !== undefined ? { ...about, providerName } : about;
}

/** Names that others chose freely are shown only where they cannot do harm; a bad one is left out, not repaired. */
export function displayName(name: string | undefined): string | undefined {
  const parsed = name !== undefined && isInert(name) ? displayNameSchema.safeParse(name) : undefined;
  return parsed?.success ? parsed.data : undefined;
}
