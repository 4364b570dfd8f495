import { type ProblemCode, problems } from '@postern/api';

/** A refusal that the gateway itself decides on and that is a problem of the contract as it stands. */
export class ProblemError extends Error {
  override name = 'ProblemError';
  readonly code: ProblemCode;
  readonly retryAfterMs: number | undefined;
  readonly errors: readonly { path: string; message: string }[] | undefined;
  /** Configured name of the provider that was not asked. */
  readonly provider: string | undefined;

  constructor(
    code: ProblemCode,
    details: { retryAfterMs?: number; errors?: readonly { path: string; message: string }[]; provider?: string } = {},
  ) {
    super(problems[code].title);
    this.code = code;
    this.retryAfterMs = details.retryAfterMs;
    this.errors = details.errors;
    this.provider = details.provider;
  }
}
