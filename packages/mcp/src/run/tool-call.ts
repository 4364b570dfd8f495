import {
  type ElicitationBody,
  issuerSchema,
  type RequestedSchema,
  subjectIdentifierSchema,
  subjectSchema,
} from '@postern/api';
import { decodeJwt } from 'jose';
import { z } from 'zod/v4';
import { findError, SubjectUnavailableError } from '../errors.ts';
import type { Subject, TraceContext } from '../gateway/client.ts';

/** The MCP client's answer to a URL-mode request. `accept` means that the URL was opened, never that the user finished. */
export type ClientAction = 'accept' | 'decline' | 'cancel';

/** The MCP client's answer to a request, whatever its mode. Not validated. */
export interface ClientAnswer {
  readonly action: ClientAction;
  /** Content of a form. */
  readonly content: unknown;
}

/** A form that the MCP client shows (form mode). */
export interface FormAsk {
  readonly message: string;
  readonly requestedSchema: RequestedSchema;
}

export type RequestKind = 'tool' | 'prompt' | 'resource';

interface AnyCall {
  /** Undefined for a prompt or resource, and if the SDK does not provide it (stdio). */
  readonly toolName: string | undefined;
  /** What the MCP client requests. Undefined: a tool. */
  readonly request?: Exclude<RequestKind, 'tool'>;
  /**
   * Identifies the wrapped handler: equal in all runs of a call, and different for any two handlers of an MCP server. The gate sets it.
   * A call continues with earlier answers of the same handler only.
   */
  readonly handler?: string;
  /** Whether only an error result may lack structured content. True if it is not known. */
  readonly hasOutputSchema?: boolean | undefined;
  /** The arguments as parsed by the tool's schema; for a prompt or resource, whatever identifies the request. */
  readonly args: unknown;
  /** Aborts when the MCP client gives up on this request. The elicitation stays open. */
  readonly signal: AbortSignal;
  readonly authInfo: AuthInfo | undefined;
  /** Arrived over HTTP outside of `endpoint()`, which checks peer, `Host` and `Origin`. Any web page may have sent it. */
  readonly isUncheckedHttp?: boolean;
  /** Self-reported; only ever displayed. */
  readonly mcpClientName: string | undefined;
  /** Present when the MCP client asked for progress notifications. */
  readonly reportProgress: ((progress: number, message: string) => Promise<void>) | undefined;
  /** Trace of the MCP request, which the calls to the gateway continue. */
  readonly trace?: TraceContext | undefined;
}

/** A request of revision 2026-07-28. */
export interface ModernCall extends AnyCall {
  readonly era: 'modern';
  readonly declaresUrl: boolean;
  readonly declaresForm: boolean;
  readonly requestState: string | undefined;
  /** The answer to our own input request, if there is one. */
  readonly clientAnswer: ClientAnswer | undefined;
}

export interface UrlElicitation {
  readonly elicitationId: string;
  readonly url: string;
  readonly message: string;
}

/** A request of revision 2025-11-25 or older on a connection that lasts: a streamable HTTP session, or stdio. */
export interface LegacySessionCall extends AnyCall {
  readonly era: 'legacy-session';
  /** The negotiated revision, if the SDK tells. */
  readonly revision?: string | undefined;
  readonly declaresUrl: boolean;
  readonly declaresForm: boolean;
  readonly session: LegacySession;
  /**
   * The framework turns every error of a handler into a text, so −32042 cannot reach the MCP client. It gets the plain result instead.
   */
  readonly swallowsErrors?: boolean;
  /** Sends `elicitation/create` in relation to this request. Aborting the signal cancels it at the MCP client. */
  elicitUrl(request: UrlElicitation, signal: AbortSignal): Promise<ClientAction>;
  /** The same in form mode. */
  elicitForm(formAsk: FormAsk, signal: AbortSignal): Promise<ClientAnswer>;
}

/** A request of revision 2025-11-25 or older without a session. */
export interface LegacyStatelessCall extends AnyCall {
  readonly era: 'legacy-stateless';
}

export type ToolCall = ModernCall | LegacySessionCall | LegacyStatelessCall;

/** Whether the MCP client of the call shows forms itself. */
export const showsForms = (call: ToolCall): call is ModernCall | LegacySessionCall =>
  call.era !== 'legacy-stateless' && call.declaresForm;

/** For reports. */
export const nameOf = ({ request, toolName }: ToolCall): string => toolName ?? `A ${request ?? 'tool'}`;

/** The MCP client's answer with any content. */
export const clientAnswerSchema = z
  .looseObject({ action: z.enum(['accept', 'decline', 'cancel']), content: z.unknown().optional() })
  .transform(({ action, content }): ClientAnswer => ({ action, content }));

/** An empty declaration means form mode, the only one there was (both revisions). */
export function declaresForm(elicitation: Readonly<Record<string, unknown>> | undefined): boolean {
  return elicitation !== undefined && (elicitation['form'] !== undefined || Object.keys(elicitation).length === 0);
}

/** The first revision of the modern era. Revisions are dates, so they compare as text. */
export const FIRST_MODERN_REVISION = '2026-07-28';

const envelopeSchema = z
  .object({
    'io.modelcontextprotocol/protocolVersion': z.string().refine(revision => revision >= FIRST_MODERN_REVISION),
    'io.modelcontextprotocol/clientInfo': z.object({ name: z.string() }).optional().catch(undefined),
    'io.modelcontextprotocol/clientCapabilities': z
      .object({ elicitation: z.looseObject({ url: z.looseObject({}).optional() }).optional() })
      .optional()
      .catch(undefined),
  })
  .transform(envelope => {
    const elicitation = envelope['io.modelcontextprotocol/clientCapabilities']?.elicitation;
    return {
      mcpClientName: envelope['io.modelcontextprotocol/clientInfo']?.name,
      declaresUrl: elicitation?.url !== undefined,
      declaresForm: declaresForm(elicitation),
    };
  });

/** What a request of revision 2026-07-28 says of its MCP client, in its `_meta`. */
export type Envelope = z.infer<typeof envelopeSchema>;

/** Reads the envelope. Undefined for a request of an older revision. */
export const envelopeOf = (meta: unknown): Envelope | undefined => envelopeSchema.safeParse(meta).data;

/** `name`: of the tool or prompt, or the URI of the resource. */
export const handlerId = (request: RequestKind, name: string): string => JSON.stringify([request, name]);

/** What answers are bound to besides user and arguments. */
export const handlerOf = ({ handler, toolName = '' }: ToolCall): string => handler ?? handlerId('tool', toolName);

/** Version 00 and later ones, which begin alike (section 4.3). All-zero ids are invalid (section 3.2.2). */
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;
/** Section 3.3: at least 512 characters must be forwarded. Longer values are not, nor any character that could end a header. */
const TRACESTATE = /^[\x20-\x7e]{1,512}$/;

/** Reads the trace from the `_meta` of an MCP request. Returns undefined if it is absent or invalid. */
export function traceContextOf(meta: Readonly<Record<string, unknown>> | undefined): TraceContext | undefined {
  const { traceparent, tracestate } = meta ?? {};
  if (typeof traceparent !== 'string' || !TRACEPARENT.test(traceparent)) return undefined;
  if (typeof tracestate !== 'string' || !TRACESTATE.test(tracestate)) return { traceparent };
  return { traceparent, tracestate };
}

/** Answer of a suspended tool call; each SDK adapter translates it into its own types. */
export type ToolAnswer =
  | {
      readonly type: 'input_required';
      readonly request:
        | { readonly mode: 'url'; readonly url: string; readonly message: string }
        | ({ readonly mode: 'form' } & FormAsk)
        | undefined;
      readonly requestState: string;
      readonly _meta?: { [key: string]: unknown } | undefined;
    }
  /** −32042, revision 2025-11-25 only. */
  | {
      readonly type: 'url_elicitation_required';
      readonly elicitation: UrlElicitation;
      readonly expiresAt: string;
      /** Used if the completion notice cannot be promised. */
      readonly fallback: PlainToolResult;
    }
  /** −32021, revision 2026-07-28 only. */
  | { readonly type: 'capability_missing'; readonly message: string }
  | { readonly type: 'plain'; readonly result: PlainToolResult };

/** The part of MCP's `CallToolResult` that this package writes; the same in both eras and both SDKs. */
export interface PlainToolResult {
  [key: string]: unknown;
  content: { type: 'text'; text: string }[];
  isError?: true;
  _meta?: { [key: string]: unknown } | undefined;
}

/** Key of the `_meta` hint; its value has `url`, `matchCode` and `expiresAt`. */
export const ELICITATION_META_KEY = 'dev.postern/elicitation';

/**
 * JSON-RPC error code of a prompt or resource that answers as a tool does with a plain result. `data` has the `_meta` hint. Outside of
 * the range that JSON-RPC reserves, as 2026-07-28 recommends for codes that it does not define.
 */
export const ELICITATION_ERROR_CODE = -31_042;

/** Key of the envelope of structured authorization denials (SEP-2643, a draft) in the `_meta` of a result. */
export const AUTHORIZATION_META_KEY = 'io.modelcontextprotocol/authorization';

/**
 * What can be done about a call that was not performed: open the URL of the `input_required` result (`available`), follow the text
 * (`undisclosed`), or nothing, so that it must not be retried unchanged (`unavailable`).
 */
export type Remediation = 'available' | 'undisclosed' | 'unavailable';

/** The text of a plain result, for MCP clients that show only the message of an error. */
export const textIn = ({ content }: PlainToolResult): string => content.map(({ text }) => text).join('\n');

/** The result of a tool that did not do its work: an error. */
export function plainToolResult(text: string, meta?: { [key: string]: unknown }): PlainToolResult {
  return { content: [{ type: 'text', text }], isError: true, _meta: meta };
}

/**
 * The user said no. That is no failure: the specification describes an error result as feedback with which the model corrects itself
 * and retries (2025-11-25 and 2026-07-28, Tools, Error Handling). SDKs accept a result without structured content from a tool with
 * an output schema only as an error.
 */
export function declinedToolResult(
  text: string,
  { hasOutputSchema = false }: ToolCall,
  meta?: { [key: string]: unknown },
): PlainToolResult {
  return { content: [{ type: 'text', text }], ...(hasOutputSchema ? { isError: true } : {}), _meta: meta };
}

/**
 * Ends a handler early: because the user has to be asked first, or has refused. It is an error because nothing else can leave an `async`
 * function early. After a question, the handler runs again from its first line when the MCP client retries.
 */
export class Suspension extends Error {
  override readonly name = 'ElicitationPending';
  readonly answer: ToolAnswer;
  /** The user has refused, so the answers of this call are used up, as by a result of the handler. */
  readonly isRefusal: boolean;

  constructor(answer: ToolAnswer, isRefusal = false) {
    super('@postern/mcp ends this call. This is control flow: rethrow it, never handle it.');
    this.answer = answer;
    this.isRefusal = isRefusal;
  }

  /** The same, for another stack. */
  copy(): Suspension {
    return new Suspension(this.answer, this.isRefusal);
  }
}

/**
 * For handlers that catch broadly: `catch (error) { if (isElicitationPending(error)) throw error; … }`. True only for the error by
 * which this package suspends or ends a handler. All other errors, `CapabilityMissingError` included, are the handler's to catch.
 */
export function isElicitationPending(error: unknown): boolean {
  return findSuspension(error) !== undefined;
}

export function findSuspension(error: unknown): Suspension | undefined {
  return findError(error, Suspension);
}

/** The facts that both SDKs report about a validated MCP access token. */
export interface AuthInfo {
  readonly token: string;
  readonly extra?: Record<string, unknown> | undefined;
}

/**
 * Source of the user of a call:
 * - omitted: `authInfo.extra.iss` and `authInfo.extra.sub`, set by the MCP server's token verifier;
 * - `'access-token'`: the token, which the MCP server has verified. The gateway verifies it again. It must be a JWT (RFC 9068),
 *   so that this package can read issuer and subject from it too;
 * - an object: one fixed user, for stdio and for `endpoint()` on loopback; refused if a request has an access token, or arrives over
 *   HTTP without `endpoint()`, where a web page may have sent it;
 * - a function of the SDK's handler context.
 */
export type SubjectOption<Context> =
  | 'access-token'
  | Subject
  | ((context: Context) => Subject | undefined | Promise<Subject | undefined>);

/** The user of one call, and the subject as it is sent to the gateway. */
export interface Principal extends Subject {
  readonly input: Subject | { readonly accessToken: string };
}

const claimsSchema = z.object({ iss: issuerSchema, sub: subjectIdentifierSchema });

/** @throws {SubjectUnavailableError} when no verified user is known */
export async function resolvePrincipal<Context>(
  option: SubjectOption<Context> | undefined,
  {
    authInfo,
    isUncheckedHttp = false,
  }: { readonly authInfo: AuthInfo | undefined; readonly isUncheckedHttp?: boolean },
  context: Context,
): Promise<Principal> {
  if (typeof option === 'function') return known(await option(context), 'The `subject` function returned no user.');
  if (option === 'access-token') return fromAccessToken(authInfo);
  if (option !== undefined) {
    if (authInfo !== undefined) {
      throw new SubjectUnavailableError('A fixed `subject` serves one person, but this request has an access token.');
    }
    if (isUncheckedHttp) {
      throw new SubjectUnavailableError(
        'A fixed `subject` would serve any web page here: over HTTP, use gate.endpoint(), or identify the user.',
      );
    }
    return known(option, 'The fixed `subject` is not valid.');
  }
  if (authInfo === undefined) {
    throw new SubjectUnavailableError(
      'The request carries no verified access token, so there is no user to ask: set `auth` of gate.endpoint(), or `subject` of postern().',
    );
  }
  const { iss, sub } = authInfo.extra ?? {};
  return known(
    { issuer: iss, subject: sub },
    'The token verifier must put `iss` and `sub` into authInfo.extra, or the `subject` option must be set.',
  );
}

/** @throws {SubjectUnavailableError} with this text if the subject is not valid */
function known(subject: { readonly issuer: unknown; readonly subject: unknown } | undefined, text: string): Principal {
  const parsed = subjectSchema.safeParse(subject && { issuer: subject.issuer, subject: subject.subject });
  if (!parsed.success) throw new SubjectUnavailableError(text);
  return { ...parsed.data, input: parsed.data };
}

/**
 * The claims decide whose `requestState` and earlier answers the call may use. They are trusted because the MCP server has verified
 * the token; the gateway verifies it again before it asks the user or looks anything up.
 */
function fromAccessToken(authInfo: AuthInfo | undefined): Principal {
  if (authInfo === undefined) throw new SubjectUnavailableError('The request carries no verified access token.');
  let claims: unknown;
  try {
    claims = decodeJwt(authInfo.token);
  } catch {
    // The cause would quote the token.
    throw new SubjectUnavailableError('The access token is opaque; set `subject` to a function instead.');
  }
  const parsed = claimsSchema.safeParse(claims);
  if (!parsed.success) throw new SubjectUnavailableError('The access token names no `iss` and `sub`.');
  return { issuer: parsed.data.iss, subject: parsed.data.sub, input: { accessToken: authInfo.token } };
}

/** A connection of the 2025-11-25 era. */
export interface LegacySession {
  /** Undefined on stdio. */
  readonly sessionId: string | undefined;
  /** Aborts when the connection closes. Ends all waits for the session. */
  readonly closed: AbortSignal;
  /** Sends `notifications/elicitation/complete` to this connection alone, outside any request's stream. */
  notifyComplete(elicitationId: string): Promise<void>;
}

/** The part of both SDKs' `McpServer` that outlives a request. */
export interface ConnectedServer {
  readonly server: {
    readonly transport?: { readonly sessionId?: string | undefined } | undefined;
    onclose?: () => void;
    notification(notification: {
      method: 'notifications/elicitation/complete';
      params: { elicitationId: string };
    }): Promise<void>;
  };
}

export type WatchedElicitation = Pick<ElicitationBody, 'elicitationId' | 'expiresAt'>;

/**
 * Shares between the replicas of an MCP server which MCP session (revision 2025-11-25) waits for which elicitation. Needed only
 * if a session's calls and its stream may reach different replicas. With Redis: an expiring hash per session, and a channel.
 */
export interface SharedSessions {
  /** Stores it until it expires, and notifies every replica. */
  add(sessionId: string, elicitation: WatchedElicitation): Promise<void>;
  /** Lists the unexpired elicitations of the session. */
  list(sessionId: string): Promise<readonly WatchedElicitation[]>;
  /** Calls the listener for every later `add`, on any replica. */
  subscribe(listener: (sessionId: string, elicitation: WatchedElicitation) => void): void;
}

/** An elicitation whose completion notice was promised to an MCP session. */
export interface CompletionWatch {
  readonly phase: 'waiting' | 'notified';
  /** The ended elicitation. Undefined if the session closed first or the gateway no longer knows the elicitation. */
  readonly ended: Promise<ElicitationBody | undefined>;
}

/** The completion notices that this process has promised. */
export interface CompletionNotices {
  /** Returns the existing watch of this session and elicitation, a new one, or undefined at the limit. */
  watch(session: LegacySession, elicitation: WatchedElicitation): CompletionWatch | undefined;
  /** Ends all waits. */
  close(): void;
}

export type SessionOf<McpServer> = (server: McpServer) => LegacySession;

/** One {@link LegacySession} per connection of an attached `McpServer`. */
export function createSessionOf<McpServer extends ConnectedServer>(): SessionOf<McpServer> {
  const sessions = new WeakMap<McpServer, LegacySession>();
  return server => {
    const open = sessions.get(server);
    if (open !== undefined && !open.closed.aborted) return open;
    const session = openSession(server);
    sessions.set(server, session);
    return session;
  };
}

function openSession({ server: protocol }: ConnectedServer): LegacySession {
  const closed = new AbortController();
  const previous = protocol.onclose;
  protocol.onclose = () => {
    closed.abort();
    if (previous === undefined) delete protocol.onclose;
    else protocol.onclose = previous;
    previous?.();
  };
  return {
    sessionId: protocol.transport?.sessionId,
    closed: closed.signal,
    // Without a related request it goes to the session's own stream (GET), which outlives the call that asked.
    notifyComplete: elicitationId =>
      protocol.notification({ method: 'notifications/elicitation/complete', params: { elicitationId } }),
  };
}

/** The sessions of this replica. */
export interface SessionReplica {
  /** Call this before promising the notice to the MCP client. */
  promise(session: LegacySession, elicitation: WatchedElicitation): Promise<void>;
  /**
   * Call this when the session's stream opens here. Waits for the session's elicitations and sends the notices that it missed.
   */
  resume(session: LegacySession): Promise<void>;
}
