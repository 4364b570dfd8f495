import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Provider } from 'oidc-provider';
import { z } from 'zod';

export interface Repository {
  readonly name: string;
  readonly description: string;
  readonly isPrivate: boolean;
}

const repositories: Readonly<Record<string, readonly Repository[]>> = {
  '70001': [
    { name: 'alice-codes/garden-planner', description: 'Plans vegetable beds', isPrivate: false },
    { name: 'alice-codes/tax-2026', description: 'Spreadsheets nobody else should see', isPrivate: true },
    { name: 'alice-codes/tiny-parser', description: 'A parser for a tiny language', isPrivate: false },
  ],
  '70002': [
    { name: 'bob-builds/tree-house', description: 'Drawings and a parts list', isPrivate: false },
    { name: 'bob-builds/birthday-surprise', description: 'Not for Alice', isPrivate: true },
  ],
};

const issueSchema = z.strictObject({ repository: z.string(), title: z.string().min(1).max(200) });

const MAX_BODY_BYTES = 4096;

/**
 * `GET /api/repositories` (scope `repo`), `DELETE /api/repositories/{name}` (scope `delete_repo`) and `POST /api/issues` (scope
 * `issues`), with an access token of this provider as bearer token (RFC 6750).
 */
export function createForgeApi() {
  const repositoriesOf = new Map(Object.entries(repositories));
  let authorizedCalls = 0;
  let lastIssue = 0;

  async function accountOf(request: IncomingMessage, provider: Provider, scope: string): Promise<string | number> {
    const token = /^Bearer ([\w-]+)$/i.exec(request.headers.authorization ?? '')?.[1];
    const accessToken = token === undefined ? undefined : await provider.AccessToken.find(token);
    if (accessToken === undefined || accessToken.isExpired) return 401;
    if (!accessToken.scopes.has(scope)) return 403;
    authorizedCalls += 1;
    return accessToken.accountId;
  }

  async function answer(request: IncomingMessage, response: ServerResponse, provider: Provider): Promise<void> {
    const path = request.url ?? '';
    const route = routes.find(({ method, pattern }) => request.method === method && pattern.test(path));
    if (route === undefined) return send(response, 404, { error: 'not_found' });
    const account = await accountOf(request, provider, route.scope);
    if (typeof account === 'number') {
      const error = account === 401 ? 'invalid_token' : 'insufficient_scope';
      return send(response, account, { error }, { 'www-authenticate': `Bearer error="${error}"` });
    }
    const { status, body } = await route.run(account, request, route.pattern.exec(path)?.[1]);
    send(response, status, body);
  }

  const routes = [
    {
      method: 'GET',
      pattern: /^\/api\/repositories$/,
      scope: 'repo',
      run: async (account: string) => ({ status: 200, body: { repositories: repositoriesOf.get(account) ?? [] } }),
    },
    {
      method: 'DELETE',
      pattern: /^\/api\/repositories\/([\w-]+\/[\w-]+)$/,
      scope: 'delete_repo',
      run: async (account: string, _: IncomingMessage, repository: string | undefined) => {
        const before = repositoriesOf.get(account) ?? [];
        const after = before.filter(({ name }) => name !== repository);
        if (after.length === before.length) return { status: 404, body: { error: 'not_found' } };
        repositoriesOf.set(account, after);
        return { status: 200, body: { deleted: repository } };
      },
    },
    {
      method: 'POST',
      pattern: /^\/api\/issues$/,
      scope: 'issues',
      run: async (account: string, request: IncomingMessage) => {
        const issue = issueSchema.safeParse(await readJson(request));
        const isTheirs = repositoriesOf.get(account)?.some(({ name }) => name === issue.data?.repository) === true;
        if (!issue.success || !isTheirs) return { status: 422, body: { error: 'invalid_issue' } };
        lastIssue += 1;
        return { status: 201, body: { number: lastIssue, ...issue.data } };
      },
    },
  ];

  return {
    authorizedCalls: () => authorizedCalls,
    handle(request: IncomingMessage, response: ServerResponse, provider: Provider): boolean {
      if (request.url?.startsWith('/api/') !== true) return false;
      answer(request, response, provider).catch(() => {
        if (response.headersSent) response.destroy();
        else send(response, 500, { error: 'server_error' });
      });
      return true;
    },
  };
}

function send(response: ServerResponse, status: number, body: object, headers: Record<string, string> = {}): void {
  response
    .writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store', ...headers })
    .end(JSON.stringify(body));
}

/** The body as JSON; undefined when it is none, or too long. */
async function readJson(request: IncomingMessage): Promise<unknown> {
  let text = '';
  for await (const chunk of request.setEncoding('utf8')) {
    text += chunk;
    if (text.length > MAX_BODY_BYTES) return undefined;
  }
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
