import {
  type BrowserSession,
  newBrowserSessionId,
  parseBrowserSessionId,
  shardOf,
  systemEntropy,
} from '@postern/elicitation';
import type { RawBrowser } from './raw-browser.ts';
import type { World } from './world.ts';

const SESSION = 'postern_session';
const HOUR_MS = 3_600_000;

/** The browser session behind this cookie. @throws when there is none. */
async function sessionBehind(world: World, cookie: string | undefined): Promise<BrowserSession> {
  const id = parseBrowserSessionId(cookie ?? '');
  const found = id === undefined ? undefined : await storesOf(world).browserSessions.read(id);
  if (found === undefined) throw new Error('nobody is signed in');
  return found;
}

function storesOf({ gateways }: World) {
  const [gateway] = gateways;
  if (gateway === undefined) throw new Error('there is no gateway');
  return gateway.deps.stores;
}

/**
 * The same person in the same browser, who signed in this many seconds ago; without a number nobody knows when.
 * @returns the value of the new session cookie
 */
export async function agedCookie(world: World, cookie: string | undefined, seconds?: number): Promise<string> {
  const { subject, origin, displayName, detail } = await sessionBehind(world, cookie);
  const id = newBrowserSessionId(shardOf(subject), systemEntropy);
  await storesOf(world).browserSessions.create(
    {
      id,
      subject,
      origin,
      displayName,
      ...(detail === undefined ? {} : { detail }),
      ...(seconds === undefined ? {} : { authTime: Date.now() - seconds * 1000 }),
    },
    { idleMs: HOUR_MS, absoluteMs: HOUR_MS },
  );
  return id;
}

/** {@link agedCookie} in a browser without a browser. */
export async function ageSignIn(world: World, raw: RawBrowser, seconds?: number): Promise<void> {
  raw.cookies.set(SESSION, await agedCookie(world, raw.cookies.get(SESSION), seconds));
}
