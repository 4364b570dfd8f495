import type { ElicitationAction } from './elicitation.ts';

/**
 * Every stable code of this package's errors.
 *
 * - `invalid_request`: what the MCP server asks is malformed, or outside MCP's restricted schema
 * - `invalid_content`: a handler accepted a form with values that do not fit it
 * - `invalid_options`: this package was called wrongly
 * - `elicitation_refused`: the person declined or dismissed what the call needs
 * - `elicitation_pending`: the browser part was not over in time
 * - `elicitation_loop`: the MCP server asks again for what it has called complete
 * - `too_many_rounds`: the MCP server never has enough
 * - `call_timeout`: the whole call took longer than allowed
 * - `invalid_result`: what a tool answered does not fit its output schema
 * - `unsupported_input`: an input request for which the host offers nothing
 */
export type HostErrorCode =
  | 'invalid_request'
  | 'invalid_content'
  | 'invalid_options'
  | 'elicitation_refused'
  | 'elicitation_pending'
  | 'elicitation_loop'
  | 'too_many_rounds'
  | 'call_timeout'
  | 'invalid_result'
  | 'unsupported_input';

/** Messages hold no value that a person has typed and no URL. */
export class HostError extends Error {
  override readonly name: string = 'HostError';
  readonly code: HostErrorCode;

  constructor(code: HostErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** A plain tool result, for hosts that tell their model why a call came to nothing. */
export interface RefusedToolResult {
  content: { type: 'text'; text: string }[];
  isError: true;
}

/** The tool needs a page to be opened, and the person said no (`decline`) or did not decide (`cancel`). Nothing was opened. */
export class ElicitationRefusedError extends HostError {
  override readonly name = 'ElicitationRefusedError';
  readonly action: Exclude<ElicitationAction, 'accept'>;

  constructor(action: Exclude<ElicitationAction, 'accept'>) {
    super(
      'elicitation_refused',
      action === 'decline'
        ? 'The user declined what this tool needs. Nothing was done.'
        : 'The user did not decide about what this tool needs. Nothing was done.',
    );
    this.action = action;
  }

  toToolResult(): RefusedToolResult {
    return { content: [{ type: 'text', text: this.message }], isError: true };
  }
}
