/** True in `pnpm test` without a path, which has three and a half minutes on two processors. `test --all` and a named path run everything in full. */
export const isShortRun: boolean = process.env['POSTERN_TEST_RUN'] === 'short';

/** All of these, or in the short run each `nth` one, where any of them shows the rule. */
export const sampled = <Case>(cases: readonly Case[], nth: number): readonly Case[] =>
  isShortRun ? cases.filter((_, at) => at % nth === 0) : cases;
