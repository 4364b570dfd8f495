import {
  type ElicitationBody,
  type IssueElicitationInput,
  isInert,
  type LocalText,
  localText,
  plainText,
  TTL_SECONDS,
} from '@postern/api';
import { z } from 'zod/v4';
import { digest } from './digest.ts';
import { ElicitationTimeoutError, GatewayError } from './errors.ts';
import { type MissingCapability, missingCapabilitySchema } from './options.ts';
import { parseStrictly } from './parse-strictly.ts';
import type { About } from './texts.ts';
import type { ToolRun } from './tool-run.ts';

/** Options of every verb. */
export interface AskOptions {
  /** One line of plain text (300 characters), or one per language, quoted on the page as coming from this MCP server. */
  readonly message?: LocalText;
  /** Time limit for the user in seconds, 10 to 86,400. Default: the gateway's. */
  readonly ttlSeconds?: number;
  /** Link target on the last page; must be registered at the gateway. */
  readonly returnUrl?: string;
  /** Language of the user as a BCP 47 tag, such as `de`. A choice that the user made on a page of the gateway comes first. */
  readonly locale?: string;
  /** Stops waiting. The elicitation stays open. */
  readonly signal?: AbortSignal;
  /**
   * How long the user may take, in milliseconds, from when this call first asked. While there is no answer after this time, the verb
   * throws `ElicitationTimeoutError`. The elicitation stays open, and an answer that the call already has counts. Default: as long
   * as the MCP client retries.
   */
  readonly answerWithinMs?: number;
  /** The response to an MCP client that cannot open links, for this ask. Default: the option of the gate. */
  readonly missingCapability?: MissingCapability;
}

type Body<B> = B extends unknown ? Omit<B, 'subject' | 'requestedBy'> : never;

/** The content of an ask. */
export interface AskSpec {
  /** For texts before the gateway responds. */
  readonly about: About;
  /** Equal for asks with the same terms. */
  readonly digest: string;
  readonly body: Body<IssueElicitationInput>;
  /** Whether completion leaves a result to redeem once. If not, it leaves a connection or credential that lasts. */
  readonly needsRedemption: boolean;
  /** Lists the connections or credentials that would answer it now. A newer one makes an older refusal stale. */
  readonly lasting?:
    | ((run: ToolRun, signal: AbortSignal) => Promise<readonly { readonly updatedAt: string }[]>)
    | undefined;
}

export const askOptionsSchema = z.strictObject({
  message: localText(300).optional(),
  ttlSeconds: z.int().min(TTL_SECONDS.min).max(TTL_SECONDS.max).optional(),
  returnUrl: z.url().max(2048).optional(),
  locale: z
    .string()
    .regex(/^[A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8}){0,7}$/)
    .max(35)
    .optional(),
  signal: z.instanceof(AbortSignal).optional(),
  answerWithinMs: z.int().min(0).optional(),
  missingCapability: missingCapabilitySchema.optional(),
});

/**
 * Members of the issue request, from the options of a verb.
 *
 * @param schema of the verb's options
 * @throws {PosternUsageError} `invalid_ask`, before anything is sent
 */
export function bodyOptions(
  verb: string,
  options: AskOptions,
  schema: z.ZodType<z.infer<typeof askOptionsSchema>> = askOptionsSchema,
) {
  const { message, ttlSeconds, returnUrl, locale } = parseTerms(verb, schema, options);
  return { message, ttlSeconds, returnUrl, locale };
}

/** @throws {PosternUsageError} `invalid_ask` */
export function parseTerms<T>(verb: string, schema: z.ZodType<T>, value: unknown): T {
  return parseStrictly('invalid_ask', verb, schema, value);
}

/** Digest of the terms. Message, lifetime and return URL do not count. */
export const specDigest = (kind: About['kind'], what: unknown): string => digest([kind, what]);

const displayNameSchema = plainText(80);

/** Facts for texts about the ask, with the provider's display name once the gateway has returned it. */
export function aboutOf({ about }: AskSpec, elicitation?: Pick<ElicitationBody, 'authorization'>): About {
  const providerName = elicitation?.authorization?.providerName;
  return about.kind === 'authorization' && providerName !== undefined ? { ...about, providerName } : about;
}

/** Returns a name that is safe to display. Omits an unsafe name instead of repairing it. */
export function displayName(name: string | undefined): string | undefined {
  const parsed = name !== undefined && isInert(name) ? displayNameSchema.safeParse(name) : undefined;
  return parsed?.success ? parsed.data : undefined;
}

/** One ask of a run. */
export interface Ask {
  readonly spec: AskSpec;
  /** Key of its record. */
  readonly key: string;
  readonly signal: AbortSignal;
  readonly answerWithinMs: number | undefined;
  readonly missingCapability: MissingCapability;
}

/** How an ask ended for this run. */
export type AskEnd =
  | { readonly by: 'gateway'; readonly elicitation: ElicitationBody }
  /** The MCP client refused. That ends this attempt; the elicitation stays open. */
  | { readonly by: 'mcp-client'; readonly action: 'decline' | 'cancel' };

export async function openAsk(
  run: ToolRun,
  spec: AskSpec,
  { signal, answerWithinMs, missingCapability = run.environment.missingCapability }: AskOptions,
): Promise<Ask> {
  const key = (await run.log()).nextKey(spec.digest);
  run.progress.key = key;
  return {
    spec,
    key,
    signal: signal === undefined ? run.progress.signal : AbortSignal.any([run.progress.signal, signal]),
    answerWithinMs,
    missingCapability,
  };
}

/** Remaining wait time of this call, in milliseconds. */
export async function timeLeft(run: ToolRun, { key, answerWithinMs }: Ask): Promise<number> {
  const record = (await run.log()).get(key);
  if (answerWithinMs === undefined || record === undefined) return Number.POSITIVE_INFINITY;
  return Math.max(0, record.askedAt + answerWithinMs - run.environment.now());
}

/** @throws {ElicitationTimeoutError} once this call has waited for `answerWithinMs` */
export async function assertInTime(run: ToolRun, ask: Ask): Promise<void> {
  // The gateway waits in whole seconds.
  if ((await timeLeft(run, ask)) >= 1000) return;
  run.progress.overdue = ask.key;
  throw new ElicitationTimeoutError((await run.log()).get(ask.key)?.elicitationId);
}

export async function issue(run: ToolRun, spec: AskSpec, signal: AbortSignal): Promise<ElicitationBody> {
  const tool = displayName(run.call.toolName);
  const mcpClient = displayName(run.call.mcpClientName);
  const body: IssueElicitationInput = {
    ...spec.body,
    subject: (await run.principal()).input,
    requestedBy: tool === undefined && mcpClient === undefined ? undefined : { tool, mcpClient },
  };
  try {
    return await run.environment.client.issue(body, signal);
  } catch (error) {
    // A handler may catch the error and continue without the answer.
    if (error instanceof GatewayError && error.code === 'muted') run.progress.muted = aboutOf(spec);
    throw error;
  }
}

/** An elicitation that was open when last read, and whether this call is a retry for it. */
export type OpenElicitation =
  | { readonly isRetry: false; readonly elicitation: ElicitationBody }
  | { readonly isRetry: true; readonly elicitationId: string };
