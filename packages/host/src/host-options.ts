import { checked } from './calls/answering.ts';
import type { FulfilInput } from './calls/input-rounds.ts';
import { type CallLimits, parseLimits } from './calls/limits.ts';
import { type Clock, systemClock } from './clock.ts';
import type { CompletionPrompt, ElicitationHandler, McpServerIdentity } from './elicitation.ts';
import { HostError } from './errors.ts';

export type ElicitationMode = 'form' | 'url';

export interface HostOptions {
  /** Answers every elicitation of this MCP server. */
  readonly handler: ElicitationHandler;
  /** The MCP server in the host's configuration. The adapter adds the name that it claims. */
  readonly mcpServer: { readonly id: string; readonly url?: string };
  /** The modes that `handler` supports, declared to the MCP server. Default: both modes. */
  readonly modes?: readonly [ElicitationMode, ...ElicitationMode[]];
  /**
   * Called with the reason when a pushed request reaches no handler, because it is malformed or larger than this package shows. Tell the
   * user: the MCP server gets −32602.
   */
  readonly onUnshown?: (error: HostError) => void;
  /** Lets the user end the wait for a completion notice. Without it, only the notice or the timeout ends the wait. */
  readonly completionPrompt?: CompletionPrompt;
  /** Answers sampling and roots requests in rounds of 2026-07-28. Without it they fail the call. */
  readonly fulfilInput?: FulfilInput;
  readonly limits?: Partial<CallLimits>;
  readonly clock?: Clock;
}

export interface ElicitationCapabilities {
  form?: Record<string, never>;
  url?: Record<string, never>;
}

/** Returns the capabilities to declare for the given modes: in `initialize`, or with every request (2026-07-28). */
export function elicitationCapabilities(modes: readonly ElicitationMode[]): ElicitationCapabilities {
  return Object.fromEntries(modes.map(mode => [mode, {}]));
}

/** @throws {HostError} `invalid_options` */
export function parseHostOptions(options: HostOptions) {
  const { mcpServer, modes = ['form', 'url'], clock = systemClock } = options;
  if (mcpServer.id.trim() === '') throw new HostError('invalid_options', 'the MCP server needs an id');
  return {
    handler: checked(options.handler, modes),
    capabilities: elicitationCapabilities(modes),
    completionPrompt: options.completionPrompt,
    fulfilInput: options.fulfilInput,
    onUnshown: options.onUnshown,
    limits: parseLimits(options.limits),
    clock,
    identity: (claimedName: string | undefined): McpServerIdentity =>
      claimedName === undefined ? mcpServer : { ...mcpServer, claimedName },
  };
}
