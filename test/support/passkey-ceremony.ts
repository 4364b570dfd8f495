import { ownLinksIn, type RawAnswer, type RawBrowser, unescapeHtml } from './raw-browser.ts';

/** The options that the passkey page passes to the browser, and the data that its form sends. */
export interface CeremonyPage {
  readonly mode: 'register' | 'assert';
  readonly action: string;
  readonly options: unknown;
  /** Without the authenticator's response. */
  readonly form: Readonly<Record<string, string>>;
}

/** @throws if it is another page */
export function ceremonyIn(page: RawAnswer): CeremonyPage {
  const found = /<form class="needs-script" method="post" action="([^"]+)"([^>]*)>(.*?)<\/form>/s.exec(page.body);
  const [, action = '', attributes = '', fields = ''] = found ?? [];
  const mode = /data-passkey="([^"]+)"/.exec(attributes)?.[1];
  const options = /data-options="([^"]+)"/.exec(attributes)?.[1];
  if ((mode !== 'register' && mode !== 'assert') || options === undefined)
    throw new Error(`not the passkey page: ${page.status} ${page.location ?? ''}`);
  const inputs = [...fields.matchAll(/name="([^"]+)" value="([^"]*)"/g)];
  return {
    mode,
    action,
    options: JSON.parse(unescapeHtml(options)),
    form: Object.fromEntries(inputs.map(([, name, value = '']) => [name, unescapeHtml(value)])),
  };
}

/** Where the passkey page sends a user who must sign in before adding a first passkey. */
export const firstPasskeySignInOf = (elicitationId: string): string => `/login?e=${elicitationId}&fresh=1`;

/** Opens the passkey page of a payment, signing in first if required. @throws if no passkey is required */
export async function ceremonyOf(raw: RawBrowser, elicitationId: string): Promise<CeremonyPage> {
  const path = `/e/${elicitationId}/passkey`;
  const page = await raw.get(path);
  const login = firstPasskeySignInOf(elicitationId);
  if (!ownLinksIn(page).includes(login)) return ceremonyIn(page);
  await raw.signInAgain(login);
  return ceremonyIn(await raw.get(path));
}

/** Posts an authenticator response. */
export function answerCeremony(
  raw: RawBrowser,
  { action, form }: Pick<CeremonyPage, 'action' | 'form'>,
  response: unknown,
): Promise<RawAnswer> {
  return raw.post(action, { form: { ...form, response: JSON.stringify(response) } });
}
