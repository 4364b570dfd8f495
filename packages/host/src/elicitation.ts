import type { FormContent, RequestedSchema } from '@postern/api';

/** Form mode: the MCP server requests values by MCP's restricted schema. */
export interface FormElicitation {
  readonly mode: 'form';
  /** Written by the MCP server: neither trusted nor inert. */
  readonly message: string;
  readonly requestedSchema: RequestedSchema;
}

/** URL mode: the MCP server asks the user to open a page. */
export interface UrlElicitation {
  readonly mode: 'url';
  /** Written by the MCP server: neither trusted nor inert. */
  readonly message: string;
  /** As received. Nothing may fetch it before the user consents. */
  readonly url: string;
  /** Revision 2025-11-25 only. */
  readonly elicitationId?: string;
}

/** An elicitation of an MCP server (MCP 2025-11-25 and 2026-07-28, "Elicitation"). */
export type ElicitationRequest = FormElicitation | UrlElicitation;

export type ElicitationAction = 'accept' | 'decline' | 'cancel';

/**
 * `accept` in URL mode means that the user agreed to open the URL, not that the page was completed. `decline` is a refusal,
 * `cancel` is no decision. Only an accepted form has content. `by: 'policy'` says that the host answered without asking the user;
 * the MCP server does not learn it.
 */
export type ElicitationAnswer =
  | { readonly action: 'accept'; readonly content?: FormContent }
  | { readonly action: 'decline' | 'cancel'; readonly by?: 'policy' };

/** Identifies an MCP server to the host. */
export interface McpServerIdentity {
  /** Id from the host's configuration. The only name here that the MCP server did not choose. */
  readonly id: string;
  /** URL at which the host reaches the MCP server. */
  readonly url?: string;
  /** Name that the MCP server claims. Show it as a claim, and never base a decision on it. */
  readonly claimedName?: string;
}

export interface ElicitationContext {
  readonly mcpServer: McpServerIdentity;
  /** The tool that elicits. Absent if unknown: a pushed request of 2025-11-25 names no call. */
  readonly toolName?: string | undefined;
  /** Aborts when the MCP server no longer waits for the answer. */
  readonly signal: AbortSignal;
}

/**
 * Answers an elicitation. It must not fetch a URL before the user consents, and may take as long as the user needs. A
 * rejected promise fails the request of the MCP server.
 */
export type ElicitationHandler = (
  request: ElicitationRequest,
  context: ElicitationContext,
) => Promise<ElicitationAnswer>;

/** A handler that may leave the answer to the next one in {@link firstOf}. */
export type OptionalElicitationHandler = (
  request: ElicitationRequest,
  context: ElicitationContext,
) => Promise<ElicitationAnswer | undefined>;

/** A URL that the user has consented to, and whose completion the host awaits. */
export interface AwaitedUrl {
  readonly request: UrlElicitation;
  readonly context: ElicitationContext;
  /** How often the user has reported completion before the MCP server did. */
  readonly attempt: number;
}

/**
 * Lets the user end the wait for the optional completion notice of an MCP server (2025-11-25): `done` calls the tool
 * again, `cancel` abandons the call. Resolves to undefined if `signal` aborts or no user can be asked.
 */
export type CompletionPrompt = (awaited: AwaitedUrl, signal: AbortSignal) => Promise<'done' | 'cancel' | undefined>;
