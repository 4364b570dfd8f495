import { expect } from 'vitest';

/** A page that may name the request in which something failed that only an operator can mend. For `toMatchObject`. */
export const pageWithFault = (page: string) =>
  expect.stringMatching(new RegExp(`^${page}(?:\\?fault=rq_[\\w-]{16})?$`));
