/**
 * The `--open` command for the official example: submits the form of the page that the suite names. The cookie of the example is
 * JSON without a signature, so that another user is one with another cookie.
 */
const { MCP_CONFORMANCE_URL: page = '', MCP_CONFORMANCE_PERSON: person, OWNER_COOKIE = '' } = process.env;
const stranger = `demo_session=${encodeURIComponent(JSON.stringify({ userId: 'mallory', name: 'Mallory' }))}`;
const cookies: Readonly<Record<string, string>> = { owner: OWNER_COOKIE, stranger };
const cookie = cookies[person ?? ''];

const { origin, pathname, searchParams } = new URL(page);
const body = new URLSearchParams({
  session: searchParams.get('session') ?? '',
  elicitation: searchParams.get('elicitation') ?? '',
  cartId: searchParams.get('cartId') ?? '',
  action: 'confirm',
});
const headers = cookie === undefined ? {} : { cookie };
await fetch(page, { headers });
await fetch(`${origin}${pathname}`, { method: 'POST', headers, body });
