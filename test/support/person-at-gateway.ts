import type { RawBrowser } from './raw-browser.ts';

/** `/e/{elicitationId}` of an elicitation URL. */
export function elicitationIdOf(url: string): string {
  const [, elicitationId] = /^\/e\/([^/]+)$/.exec(new URL(url).pathname) ?? [];
  if (elicitationId === undefined) throw new Error(`not the URL of an elicitation: ${url}`);
  return elicitationId;
}

/** Signs in as `user`, accepts, and returns from the provider with the account `account`. */
export async function connectAccount(
  browser: RawBrowser,
  elicitationId: string,
  user: string,
  account = 'alice',
): Promise<void> {
  await browser.signIn(elicitationId, user);
  const callback = await browser.decideAtProvider(await browser.accept(elicitationId), account);
  const answer = await browser.get(callback);
  if (answer.status !== 303) throw new Error(`the callback was refused: ${answer.status}`);
}

/** Signs in as `user` and declines on the page. */
export async function declineOnPage(browser: RawBrowser, elicitationId: string, user: string): Promise<void> {
  await browser.signIn(elicitationId, user);
  const form = { csrf_token: await browser.csrfToken(elicitationId) };
  const answer = await browser.post(`/e/${elicitationId}/decline`, { form });
  if (answer.status !== 303) throw new Error(`declining was refused: ${answer.status}`);
}
