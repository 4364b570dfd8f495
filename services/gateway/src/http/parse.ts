import type { z } from 'zod';
import { ProblemError } from './problem-error.ts';

/** Checks outside data once. @throws ProblemError `invalid_request` naming each fault by its path and each unknown field, never a value. */
export function parse<T extends z.ZodType>(
  schema: T,
  value: unknown,
  at: 'body' | 'query' | 'path' | 'header',
): z.output<T> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw new ProblemError('invalid_request', {
    errors: result.error.issues.slice(0, 20).map(issue => ({
      path: [at, ...issue.path.map(part => (typeof part === 'number' ? String(part) : part.toString()))]
        .join('.')
        .slice(0, 200),
      message: issue.code === 'unrecognized_keys' ? unknownFields(issue.keys) : issue.message.slice(0, 200),
    })),
  });
}

/** As many and as much of them as help to find a slip of the pen. */
function unknownFields(names: readonly string[]): string {
  const shown = names.slice(0, 5).map(name => JSON.stringify(name.slice(0, 40)));
  return `unknown fields: ${[...shown, ...(names.length > shown.length ? ['…'] : [])].join(', ')}`;
}
