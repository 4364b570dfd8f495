import type { GatewayConfigInput } from '@postern/gateway';
import { driveAuthorization } from '@postern/testkit/providers';
import { createRawBrowser, type RawAnswer, type RawBrowser } from '../support/raw-browser.ts';
import { startWorld, worldUsers } from '../support/world.ts';
import type { PayingWorld, World, WorldOptions } from '../support/world-parts.ts';

/** Not listened on: browsers of these tests know the address of each listener. The host names differ. */
const GATE = 'http://localhost:7';
export const CONSOLE = 'http://127.0.0.1:7';

/** Operators by their role; Norman has none. */
export const operators = { viewer: 'vera', support: 'sam', operator: 'oscar', none: 'norman' } as const;

/** The groups of docs/console.md. */
const groupOf: Readonly<Record<string, string>> = { viewer: 'staff', support: 'support', operator: 'platform' };

const hostileName = '<img src=x onerror=alert(1)>';
const user = (sub: string, name = `${sub} Example`) => ({ sub, name, email: `${sub}@example.com` });

/** The client of the console at the identity provider of the tests. */
const consoleClient = { clientId: 'postern-console', clientSecret: 'console-secret' };

type ConsoleRoles = NonNullable<GatewayConfigInput['console']>['roles'];

/** The claim of the roles is `sub`: each operator is a group of one. */
const ownRoles = {
  claim: 'sub',
  viewer: [operators.viewer],
  support: [operators.support],
  operator: [operators.operator, 'mallory'],
};

export interface ConsoleWorldOptions {
  /** Another public URL of the console, at which a test starts a gateway for a browser. */
  readonly alsoAt?: string;
}

/**
 * A gateway with a console.
 * @param roles replaces the roles of {@link operators}; each of them has a group of docs/console.md
 */
export function startConsoleWorld(
  options: WorldOptions & Required<Pick<WorldOptions, 'payment'>>,
  roles?: ConsoleRoles,
): Promise<PayingWorld>;
export function startConsoleWorld(
  options?: WorldOptions,
  roles?: ConsoleRoles,
  more?: ConsoleWorldOptions,
): Promise<World>;
export function startConsoleWorld(
  options: WorldOptions = {},
  roles: ConsoleRoles = ownRoles,
  { alsoAt }: ConsoleWorldOptions = {},
): Promise<World> {
  return startWorld({
    ...options,
    publicUrl: GATE,
    identityProvider: {
      claimsParameter: true,
      clients: [
        {
          clientId: 'postern',
          clientSecret: 'postern-login-secret',
          redirectUris: [`${GATE}/login/callback/example-id`],
        },
        {
          ...consoleClient,
          redirectUris: [CONSOLE, ...(alsoAt === undefined ? [] : [alsoAt])].map(
            url => `${url}/login/callback/console`,
          ),
          metadata: {
            post_logout_redirect_uris: [`${CONSOLE}/logout/callback/console`],
            // With these members, ID tokens have a `sid`.
            backchannel_logout_uri: `${CONSOLE}/login/back-channel-logout/console`,
            backchannel_logout_session_required: true,
          },
        },
      ],
      users: [
        ...Object.entries(operators).map(([role, sub]) => ({ ...user(sub), groups: [groupOf[role] ?? role] })),
        user('mallory', hostileName),
        ...worldUsers,
      ],
    },
    config: ({ identityProvider }) => ({
      audit: { stream: true },
      console: {
        publicUrl: CONSOLE,
        listen: { port: 0 },
        identityProvider: { issuer: identityProvider.issuer, ...consoleClient },
        roles,
      },
    }),
  });
}

/** Local URL of the console. @throws if the first gateway has none */
export function consoleAddress(world: World): string {
  const address = world.gateways[0]?.console?.address;
  if (address === undefined) throw new Error('the gateway has no console');
  return address;
}

export const consoleBrowser = (world: World): RawBrowser =>
  createRawBrowser({ address: consoleAddress(world), publicUrl: CONSOLE });

/** Starts a sign-in and signs in at the identity provider. @returns the callback URL, not yet requested */
export async function signInAnswer(browser: RawBrowser, sub: string, path = '/login'): Promise<URL> {
  const { location } = await browser.get(path);
  if (location === undefined) throw new Error('no sign-in was started');
  return driveAuthorization(new URL(location), sub);
}

/** Signs in completely. */
export async function signIn(browser: RawBrowser, sub: string, path?: string): Promise<RawAnswer> {
  return browser.get(await signInAnswer(browser, sub, path));
}

/** A browser of an operator with this role. */
export async function signedIn(world: World, sub: string, path?: string): Promise<RawBrowser> {
  const browser = consoleBrowser(world);
  const answer = await signIn(browser, sub, path);
  if (answer.status !== 303) throw new Error(`not signed in: ${answer.status}`);
  return browser;
}

/** The synchronizer token on a page. */
export function csrfTokenIn({ body }: RawAnswer): string {
  const token = /name="csrf_token" value="([^"]+)"/.exec(body)?.[1];
  if (token === undefined) throw new Error('the page has no form');
  return token;
}
