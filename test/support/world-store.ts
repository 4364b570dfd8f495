import { beforeAll, beforeEach, describe } from 'vitest';

/** Redis, or the file of one person's gateway. */
export type WorldStore = 'redis' | 'file';

let current: WorldStore = 'redis';

/** What keeps the state of a world that names no store. */
export const storeOfWorlds = (): WorldStore => current;

/** A test file, relative to `test`, and its tests that need what a gateway without Redis does not offer: parts of titles. */
export type Journey = readonly [path: string, ...without: readonly string[]];

/** Registers the tests of these files once more, over a file: one person's gateway, without sign-in. */
export function overAFile(journeys: readonly Journey[]): void {
  describe.each(journeys.map(([path, ...without]) => ({ path, without })))('$path over a file', async journey => {
    beforeAll(() => {
      current = 'file';
      return () => {
        current = 'redis';
      };
    });
    beforeEach(({ task, skip }) => {
      if (journey.without.some(part => task.name.includes(part))) skip('needs Redis');
    });
    // The query makes it a module of its own, beside the one that runs over Redis in the same process.
    await import(new URL(`../${journey.path}?over=file`, import.meta.url).href);
  });
}
