import { request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';

const PAUSE_MS = 50;

/**
 * Resolves when a gateway serves pages. Right after its start it still loads modules. On a busy machine that takes so long that the first
 * Redis commands time out and the first requests get a 503.
 * @param isOver stops the waiting because the process has exited
 */
export async function warmUp(address: string, publicUrl: string, isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    const ready = await statusOf(address, publicUrl, '/readyz');
    if (ready === 200 && (await statusOf(address, publicUrl, `/e/el_7f${'A'.repeat(43)}`)) !== 503) return;
    await delay(PAUSE_MS);
  }
}

/** Returns the status of a page as a browser requests it; undefined without a response. */
function statusOf(address: string, publicUrl: string, path: string): Promise<number | undefined> {
  const { promise, resolve } = Promise.withResolvers<number | undefined>();
  const headers = { host: new URL(publicUrl).host, accept: 'text/html', connection: 'close' };
  request(new URL(path, address), { headers }, answer => {
    answer.resume();
    resolve(answer.statusCode);
  })
    .on('error', () => resolve(undefined))
    .end();
  return promise;
}
