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

/** The browser session of this cookie. @throws if there is none */
async function sessionBehind(world: World, cookie: string | undefined): Promise<BrowserSession> {
  const id = parseBrowserSessionId(cookie ?? '');
  const found = id === undefined ? undefined : await depsOf(world).stores.browserSessions.read(id);
  if (found === undefined) throw new Error('no user is signed in');
  return found;
}

function depsOf({ gateways }: World) {
  const [gateway] = gateways;
  if (gateway === undefined) throw new Error('there is no gateway');
  return gateway.deps;
}

/**
 * Replaces the browser session by one that signed in this many seconds ago; without a number, at an unknown time.
 * @returns the value of the new session cookie
 */
export async function agedCookie(world: World, cookie: string | undefined, seconds?: number): Promise<string> {
  const authTime = seconds === undefined ? undefined : Date.now() - seconds * 1000;
  return cookieFor(world, await sessionBehind(world, cookie), authTime);
}

async function cookieFor(
  world: World,
  { subject, origin, displayName, detail }: BrowserSession,
  authTime: number | undefined,
): Promise<string> {
  const { stores, mcpServers } = depsOf(world);
  const id = newBrowserSessionId(shardOf(subject), systemEntropy);
  await stores.browserSessions.create(
    {
      id,
      subject,
      origin,
      displayName,
      detail,
      authTime,
    },
    { idleMs: HOUR_MS, absoluteMs: HOUR_MS },
    'vouchedBy' in origin ? mcpServers.get(origin.vouchedBy)?.limits.quota : undefined,
  );
  return id;
}

/** {@link agedCookie} for a {@link RawBrowser}. */
export async function ageSignIn(world: World, raw: RawBrowser, seconds?: number): Promise<void> {
  raw.cookies.set(SESSION, await agedCookie(world, raw.cookies.get(SESSION), seconds));
}

/** Advances the clock of the world by this many milliseconds, and signs the user in at that time, in the same browser. */
export async function signInAhead(world: World, raw: RawBrowser, ahead: number): Promise<void> {
  const before = await sessionBehind(world, raw.cookies.get(SESSION));
  world.clock.ahead = ahead;
  raw.cookies.set(SESSION, await cookieFor(world, before, Date.now() + ahead));
}
