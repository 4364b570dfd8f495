import { z } from 'zod/v4';
import { PosternUsageError, type UsageErrorCode } from './errors.ts';

/**
 * Parses what the MCP server's code has passed. The error names the member at fault and the allowed names or values, never the value
 * itself, which may be a secret.
 *
 * @param where names the function in the error
 * @throws {PosternUsageError} with `code`
 */
export function parseStrictly<T>(code: UsageErrorCode, where: string, schema: z.ZodType<T>, value: unknown): T {
  const parsed = schema.safeParse(value, { error: unknownMember });
  if (parsed.success) return parsed.data;
  throw new PosternUsageError(code, `${where}: ${z.prettifyError(parsed.error)}`);
}

/** zod names the unknown member, but not the known ones. Undefined: zod's own message. */
const unknownMember: z.core.$ZodErrorMap = issue => {
  if (issue.code !== 'unrecognized_keys' || !(issue.inst instanceof z.ZodObject)) return undefined;
  const allowed = Object.keys(issue.inst.shape).join(', ');
  return `Unknown member ${issue.keys.map(key => JSON.stringify(key)).join(', ')}. Allowed: ${allowed}`;
};
