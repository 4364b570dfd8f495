import { z } from 'zod/v4';

export type UsageErrorCode =
  | 'invalid_options'
  | 'no_gateway'
  | 'gateway_in_use'
  | 'other_sdk_copy'
  | 'testing_in_production'
  | 'invalid_ask'
  | 'invalid_url'
  | 'host_not_allowed'
  | 'suspension_swallowed'
  | 'ask_not_awaited'
  | 'refusal_ignored'
  | 'payment_left'
  | 'terms_changed'
  | 'effect_before_ask'
  | 'too_many_steps'
  | 'state_too_large'
  | 'arguments_not_serializable';

/** The MCP server's code uses this package incorrectly. */
export class PosternUsageError extends Error {
  override readonly name = 'PosternUsageError';
  readonly code: UsageErrorCode;

  constructor(code: UsageErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** @param text names the option and what it may be, never its value */
export const invalidOptions = (text: string): PosternUsageError => new PosternUsageError('invalid_options', text);

/**
 * Parses what the MCP server's code has passed. The error names the member at fault and the allowed names or values, never the value
 * itself, which may be a secret.
 *
 * @param where names the function in the error
 * @throws {PosternUsageError} with `code`
 */
export function parseStrictly<T>(code: UsageErrorCode, where: string, schema: z.ZodType<T>, value: unknown): T {
  const parsed = schema.safeParse(value, { error: wording });
  if (parsed.success) return parsed.data;
  throw new PosternUsageError(
    code,
    `${where}: ${z.prettifyError(new z.ZodError(parsed.error.issues.flatMap(withoutUnions)))}`,
  );
}

/** Functions, as an alternative of a union as well. */
export const callable = z.unknown().check(({ value, issues }) => {
  if (typeof value !== 'function')
    issues.push({ code: 'invalid_type', expected: 'function', input: value, message: 'Must be a function' });
});

type Issue = z.core.$ZodIssue;

/** Of a union whose schema has no message of its own. */
const NO_ALTERNATIVE = 'Invalid input';

/** zod does not name the known members, nor what a union allows. Undefined: zod's own message. */
const wording: z.core.$ZodErrorMap = issue => {
  if (issue.code === 'invalid_union')
    return 'options' in issue && Array.isArray(issue.options)
      ? `Must be one of ${listed(issue.options)}`
      : NO_ALTERNATIVE;
  if (issue.code === 'invalid_type' && issue.input === undefined) return `Missing: expected ${issue.expected}`;
  const known = membersOf(issue.inst);
  if (issue.code !== 'unrecognized_keys' || known === undefined) return undefined;
  return `Unknown member ${listed(issue.keys)}. Allowed: ${known.join(', ')}`;
};

function membersOf(schema: unknown): readonly unknown[] | undefined {
  if (schema instanceof z.ZodObject) return Object.keys(schema.shape);
  return schema instanceof z.ZodRecord && schema.keyType instanceof z.ZodEnum ? schema.keyType.options : undefined;
}

const listed = (values: readonly unknown[]): string => values.map(value => JSON.stringify(value)).join(', ');

/** Replaces the issue of a union by those of the alternative that the author means: the one of the value's type, with the fewest issues. */
function withoutUnions(issue: Issue): Issue[] {
  const within = (inner: Issue): Issue => ({ ...inner, path: [...issue.path, ...inner.path] });
  if (issue.code === 'invalid_key') return issue.issues.map(within);
  if (issue.code !== 'invalid_union' || issue.message !== NO_ALTERNATIVE) return [issue];
  const alternatives = issue.errors.map(issues => issues.flatMap(withoutUnions));
  const [meant] = alternatives
    .filter(issues => !issues.some(isOtherType))
    .toSorted((one, other) => one.length - other.length);
  if (meant !== undefined) return meant.map(within);
  const texts = alternatives.flatMap(
    ([first]) => first?.message.replace(/^(?:Invalid input|Missing): |, received \w+$/g, '') ?? [],
  );
  return [{ ...issue, message: texts.join(', or ') }];
}

function isOtherType({ code, path }: Issue): boolean {
  return path.length === 0 && (code === 'invalid_type' || code === 'invalid_value');
}
