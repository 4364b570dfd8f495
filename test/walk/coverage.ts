import { Session } from 'node:inspector/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';

/** Precise coverage of this process until it is disposed of. V8 optimizes nothing meanwhile, so no call goes uncounted. */
export interface Coverage extends AsyncDisposable {
  /** Returns the own modules in which a function ran during `request`, as paths relative to the repository. */
  during(request: () => Promise<void>): Promise<readonly string[]>;
}

/** Time after the response in which Redis announces the commit to every replica, in milliseconds. */
const SETTLE_MS = 50;
/** Product code: neither a dependency nor the testkit, the demo, tests or test support. */
const OWN_MODULE = /^(?:packages|services)\/(?!testkit\/)[^/]+\/src\/(?!testing\/)(?!.*\.test\.ts$).+\.ts$/;

/** @param root folder of the repository, ending in a slash */
export async function startCoverage(root: string): Promise<Coverage> {
  const base = pathToFileURL(root).href;
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });

  /** Taking the coverage resets all counters. */
  async function take(): Promise<readonly string[]> {
    const { result } = await session.post('Profiler.takePreciseCoverage');
    return result
      .filter(({ functions }) => functions.some(({ ranges: [whole] }) => whole !== undefined && whole.count > 0))
      .flatMap(({ url }) => (url.startsWith(base) ? [url.slice(base.length)] : []))
      .filter(path => OWN_MODULE.test(path));
  }

  return {
    async during(request) {
      await take();
      await request();
      await delay(SETTLE_MS);
      return await take();
    },
    async [Symbol.asyncDispose]() {
      await session.post('Profiler.stopPreciseCoverage');
      session.disconnect();
    },
  };
}
