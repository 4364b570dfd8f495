import type { z } from 'zod';
import { ProblemError } from './problem-error.ts';

/** Checks outside data once. @throws ProblemError `invalid_request` naming each fault by its path, never its value. */
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
      message: issue.code === 'unrecognized_keys' ? 'unknown fields' : issue.message.slice(0, 200),
    })),
  });
}
