import { Redis } from 'ioredis';
import { type RawAnswer, type RawBrowser, unescapeHtml } from './raw-browser.ts';
import { changeFile } from './store-dump.ts';
import type { World } from './world.ts';

export interface ShownCode {
  readonly userCode: string;
  readonly verificationUri: string;
}

/** The user code on a device page, and where to enter it; undefined without a code. */
export function codeIn(page: RawAnswer): ShownCode | undefined {
  const userCode = /<code class="user-code"[^>]*>(.*?)<\/code>/s.exec(page.body)?.[1]?.replaceAll(/<[^>]*>/g, '');
  const verificationUri = /<a class="button small outside" href="([^"]+)"/.exec(page.body)?.[1];
  if (userCode === undefined || verificationUri === undefined) return undefined;
  return { userCode: unescapeHtml(userCode), verificationUri: unescapeHtml(verificationUri) };
}

/** Accepts and returns the page with the user code. @throws if there is none */
export async function askForCode(raw: RawBrowser, elicitationId: string): Promise<ShownCode> {
  const form = await raw.acceptForm(elicitationId);
  const accepted = await raw.post(`/e/${elicitationId}/accept`, { form });
  const shown = accepted.location === undefined ? undefined : codeIn(await raw.get(accepted.location));
  if (shown === undefined) throw new Error(`no user code: ${accepted.status} ${accepted.location ?? ''}`);
  return shown;
}

/** Ends the minimum interval between two polls without waiting. */
export async function endPollInterval(world: World): Promise<void> {
  if (world.file !== undefined) {
    changeFile(world, "DELETE FROM records WHERE kind = 'claim'");
    return;
  }
  const redis = new Redis(world.redis.url);
  try {
    for (const key of await redis.keys('postern:*:claim:*')) await redis.del(key);
  } finally {
    redis.disconnect();
  }
}
