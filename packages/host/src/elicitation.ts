import type { FormContent, RequestedSchema } from '@postern/api';

/** Form mode: the MCP server wants values of MCP's restricted schema. */
export interface FormElicitation {
  readonly mode: 'form';
  /** The MCP server's own words: not trusted, not inert. */
  readonly message: string;
  readonly requestedSchema: RequestedSchema;
}

/** URL mode: the MCP server wants the person to open a page. */
export interface UrlElicitation {
  readonly mode: 'url';
  /** The MCP server's own words: not trusted, not inert. */
  readonly message: string;
  /** As it was sent. Nothing may touch it before the person has consented. */
  readonly url: string;
  /** Revision 2025-11-25 only. */
  readonly elicitationId?: string;
}

/** What an MCP server asks of the person (MCP 2025-11-25 and 2026-07-28, "Elicitation"). */
export type ElicitationRequest = FormElicitation | UrlElicitation;

export type ElicitationAction = 'accept' | 'decline' | 'cancel';

/**
 * `accept` in URL mode says that the person agreed to open the URL, not that anything was done there. `decline` is a no,
 * `cancel` is no decision. Only an accepted form has content.
 */
export type ElicitationAnswer =
  | { readonly action: 'accept'; readonly content?: FormContent }
  | { readonly action: 'decline' }
  | { readonly action: 'cancel' };

/** The MCP server as the host knows it. */
export interface McpServerIdentity {
  /** What the host's own configuration calls it. The only name here that the MCP server did not choose. */
  readonly id: string;
  /** Where the host reaches it. */
  readonly url?: string;
  /** What it calls itself: to be shown as a claim, never to decide by. */
  readonly claimedName?: string;
}

export interface ElicitationContext {
  readonly mcpServer: McpServerIdentity;
  /** The tool whose call asks. Absent when that cannot be told: a pushed request of 2025-11-25 names no call. */
  readonly toolName?: string;
  /** Aborts when nobody waits for the answer any longer. */
  readonly signal: AbortSignal;
}

/**
 * Answers what an MCP server asks. It must not touch a URL before the person has consented, and may take as long as the
 * person needs. A rejection fails the MCP server's request.
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

/** A URL that the person has consented to, and whose browser part is awaited. */
export interface AwaitedUrl {
  readonly request: UrlElicitation;
  readonly context: ElicitationContext;
  /** How often the person has said that it is done while the MCP server said that it is not. */
  readonly attempt: number;
}

/**
 * Lets the person end the wait for an MCP server's completion notice, which is optional (2025-11-25): `done` calls the tool
 * again, `cancel` gives the call up. Resolves to undefined when `signal` aborts or nobody is there to ask.
 */
export type CompletionPrompt = (awaited: AwaitedUrl, signal: AbortSignal) => Promise<'done' | 'cancel' | undefined>;
