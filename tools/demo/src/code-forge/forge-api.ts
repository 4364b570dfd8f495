import type { IncomingMessage } from 'node:http';
import type { Middleware, Provider } from '@postern/openid-server';
import { z } from 'zod';

export interface Repository {
  readonly name: string;
  readonly description: string;
  readonly isPrivate: boolean;
}

const repositories: Readonly<Record<string, readonly Repository[]>> = {
  '70001': [
    { name: 'alice-codes/garden-planner', description: 'Plans vegetable beds', isPrivate: false },
    { name: 'alice-codes/tax-2026', description: 'Private tax spreadsheets', isPrivate: true },
    { name: 'alice-codes/tiny-parser', description: 'A parser for a tiny language', isPrivate: false },
  ],
  '70002': [
    { name: 'bob-builds/tree-house', description: 'Drawings and a parts list', isPrivate: false },
    { name: 'bob-builds/birthday-surprise', description: 'Not for Alice', isPrivate: true },
  ],
};

/** The repositories that Code Forge shows to everyone. */
export const publicRepositories: readonly Repository[] = Object.values(repositories)
  .flat()
  .filter(({ isPrivate }) => !isPrivate);

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

  async function accountOf(authorization: string, provider: Provider, scope: string): Promise<string | 401 | 403> {
    const token = /^Bearer ([\w-]+)$/i.exec(authorization)?.[1];
    const accessToken = token === undefined ? undefined : await provider.AccessToken.find(token);
    if (accessToken === undefined || accessToken.isExpired) return 401;
    if (!accessToken.scopes.has(scope)) return 403;
    authorizedCalls += 1;
    return accessToken.accountId;
  }

  const around =
    (provider: Provider): Middleware =>
    async (context, next) => {
      const { path, method } = context;
      if (!path.startsWith('/api/')) return next();
      context.set('cache-control', 'no-store');
      const route = routes.find(each => method === each.method && each.pattern.test(path));
      if (route === undefined) {
        context.status = 404;
        context.body = { error: 'not_found' };
        return;
      }
      const account = await accountOf(context.get('authorization'), provider, route.scope);
      if (typeof account === 'number') {
        const error = account === 401 ? 'invalid_token' : 'insufficient_scope';
        context.set('www-authenticate', `Bearer error="${error}"`);
        context.status = account;
        context.body = { error };
        return;
      }
      const { status, body } = await route.run(account, context.req, route.pattern.exec(path)?.[1]);
      context.status = status;
      context.body = body;
    };

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

  return { authorizedCalls: () => authorizedCalls, around };
}

/** Returns the parsed JSON body, or undefined if it is invalid or too long. */
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
