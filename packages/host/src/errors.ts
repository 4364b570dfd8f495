import type { ElicitationAnswer } from './elicitation.ts';

/**
 * The stable error codes of this package.
 *
 * - `invalid_request`: the request of the MCP server is malformed, or outside MCP's restricted schema
 * - `invalid_content`: a handler accepted a form with values that violate its schema
 * - `invalid_options`: the options passed to this package are invalid
 * - `elicitation_refused`: the user, or a policy of the host, declined or dismissed an elicitation that the call needs
 * - `elicitation_pending`: the user did not complete the page in time
 * - `elicitation_loop`: the MCP server requests an elicitation again after reporting it complete
 * - `too_many_rounds`: the MCP server exceeded the limit of rounds or retries
 * - `call_timeout`: the whole call exceeded its timeout
 * - `invalid_result`: the result of a tool violates its output schema, or the validation would take too long
 * - `unsupported_input`: the host does not support an input request
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

/** Messages contain neither values that the user typed nor URLs. */
export class HostError extends Error {
  override readonly name: string = 'HostError';
  readonly code: HostErrorCode;

  constructor(code: HostErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** A plain tool result, for hosts that explain the failed call to their model. */
export interface RefusedToolResult {
  content: { type: 'text'; text: string }[];
  isError: true;
}

type Refusal = Exclude<ElicitationAnswer, { readonly action: 'accept' }>;

/** A page that the tool needs was refused (`decline`), or there was no decision (`cancel`). No page was opened. */
export class ElicitationRefusedError extends HostError {
  override readonly name = 'ElicitationRefusedError';
  readonly action: Refusal['action'];
  /** `policy`: the host answered without asking the user. */
  readonly by: 'user' | 'policy';

  constructor({ action, by }: Refusal) {
    const who = by === 'policy' ? 'A policy of this host' : 'The user';
    const what = action === 'decline' ? 'declined' : 'did not decide about';
    super('elicitation_refused', `${who} ${what} what this tool needs. Nothing was done.`);
    this.action = action;
    this.by = by ?? 'user';
  }

  toToolResult(): RefusedToolResult {
    return { content: [{ type: 'text', text: this.message }], isError: true };
  }
}
