/** True in `pnpm test` without a path, which has four minutes. `test --all` and a named path run everything in full. */
export const isShortRun: boolean = process.env['POSTERN_TEST_RUN'] === 'short';
