import { expect } from 'vitest';

/** A page that may show the request id of a failure that only an operator can fix. For `toMatchObject`. */
export const pageWithFault = (page: string) =>
  expect.stringMatching(new RegExp(`^${page}(?:\\?fault=rq_[\\w-]{16})?$`));
