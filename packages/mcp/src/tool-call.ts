import type { RequestedSchema } from '@postern/api';
import { z } from 'zod';
import type { LegacySession } from './legacy-session-port.ts';
import type { AuthInfo } from './subject.ts';
import type { PlainToolResult } from './tool-result.ts';
import type { TraceContext } from './trace-context.ts';

/** The MCP client's answer to a URL-mode request. `accept` means that the URL was opened, never that the user finished. */
export type ClientAction = 'accept' | 'decline' | 'cancel';

/** The MCP client's answer to a request, whatever its mode. Nothing in it is checked. */
export interface ClientAnswer {
  readonly action: ClientAction;
  /** Of a form. */
  readonly content: unknown;
}

/** A question that the MCP client asks itself (form mode). */
export interface FormQuestion {
  readonly message: string;
  readonly requestedSchema: RequestedSchema;
}

interface AnyCall {
  /** Undefined where the SDK does not say (stdio). */
  readonly toolName: string | undefined;
  /** As the tool's schema parsed them. */
  readonly args: unknown;
  /** Aborts when the MCP client gives up on this request. The elicitation lives on. */
  readonly signal: AbortSignal;
  readonly authInfo: AuthInfo | undefined;
  /** Self-reported; only ever displayed. */
  readonly mcpClientName: string | undefined;
  /** Present when the MCP client asked for progress notifications. */
  readonly reportProgress: ((progress: number, message: string) => Promise<void>) | undefined;
  /** The trace that the MCP request belongs to; the calls to the gateway go on with it. */
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
  readonly declaresUrl: boolean;
  readonly declaresForm: boolean;
  readonly session: LegacySession;
  /** Sends `elicitation/create` in relation to this request; aborting the signal cancels it at the MCP client. */
  elicitUrl(request: UrlElicitation, signal: AbortSignal): Promise<ClientAction>;
  /** The same in form mode. */
  elicitForm(question: FormQuestion, signal: AbortSignal): Promise<ClientAnswer>;
}

/** A request of revision 2025-11-25 or older of which nothing is known but itself. */
export interface LegacyStatelessCall extends AnyCall {
  readonly era: 'legacy-stateless';
}

export type ToolCall = ModernCall | LegacySessionCall | LegacyStatelessCall;

/** What a suspended tool call answers; each SDK adapter writes it down in its own types. */
export type ToolAnswer =
  | {
      readonly type: 'input_required';
      readonly request:
        | { readonly mode: 'url'; readonly url: string; readonly message: string }
        | ({ readonly mode: 'form' } & FormQuestion)
        | undefined;
      readonly requestState: string;
    }
  /** −32042, revision 2025-11-25 only. */
  | {
      readonly type: 'url_elicitation_required';
      readonly elicitation: UrlElicitation;
      readonly expiresAt: string;
      /** For when the completion notice cannot be promised. */
      readonly fallback: PlainToolResult;
    }
  /** −32021, revision 2026-07-28 only. */
  | { readonly type: 'capability_missing'; readonly message: string }
  | { readonly type: 'plain'; readonly result: PlainToolResult };

/** An answer as it comes from an MCP client, whatever its content. */
export const clientAnswerSchema = z
  .looseObject({ action: z.enum(['accept', 'decline', 'cancel']), content: z.unknown().optional() })
  .transform(({ action, content }): ClientAnswer => ({ action, content }));

/** An empty declaration means form mode, the only one there was (both revisions). */
export function declaresForm(elicitation: Readonly<Record<string, unknown>> | undefined): boolean {
  return elicitation !== undefined && (elicitation['form'] !== undefined || Object.keys(elicitation).length === 0);
}
