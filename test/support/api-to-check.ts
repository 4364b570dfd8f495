import { listenHttp } from '@postern/testkit/providers';

/** A third-party API that accepts certain credentials. */
export interface ApiToCheck extends AsyncDisposable {
  readonly url: string;
  readonly host: string;
  /** Credentials of all requests, in order. */
  readonly asked: readonly { method: string; authorization: string | undefined; apiKey: string | undefined }[];
  /** Statuses of the next responses. Afterwards it returns 200 for accepted credentials and 401 for all others. */
  answerNext(...statuses: readonly (number | 'hang' | 'redirect' | 'break')[]): void;
  /** The accepted `Authorization` or `X-Api-Key` header. */
  accepts: string;
  /** Releases hanging requests. */
  release(): void;
  /** Resolves when a request hangs. */
  readonly hanging: () => Promise<void>;
}

export async function startApiToCheck(): Promise<ApiToCheck> {
  const asked: { method: string; authorization: string | undefined; apiKey: string | undefined }[] = [];
  const next: (number | 'hang' | 'redirect' | 'break')[] = [];
  let hang = Promise.withResolvers<void>();
  let reached = Promise.withResolvers<void>();
  const listener = await listenHttp((request, response) => {
    const { authorization } = request.headers;
    const apiKey = request.headers['x-api-key']?.toString();
    asked.push({ method: request.method ?? '', authorization, apiKey });
    const works = authorization === api.accepts || apiKey === api.accepts;
    const answer = next.shift() ?? (works ? 200 : 401);
    switch (answer) {
      case 'hang':
        reached.resolve();
        void hang.promise.then(() => response.writeHead(works ? 200 : 401).end());
        return;
      case 'redirect':
        response.writeHead(302, { location: `${api.url}/elsewhere` }).end();
        return;
      case 'break':
        response.destroy();
        return;
      default:
        response.writeHead(answer, { 'content-type': 'text/html' }).end('<h1>text of the API</h1>');
    }
  });
  const api: ApiToCheck = {
    url: `http://localhost:${listener.port}/whoami`,
    host: `localhost:${listener.port}`,
    asked,
    answerNext: (...statuses) => void next.push(...statuses),
    accepts: '',
    release() {
      hang.resolve();
      hang = Promise.withResolvers();
      reached = Promise.withResolvers();
    },
    hanging: () => reached.promise,
    async [Symbol.asyncDispose]() {
      api.release();
      await listener.close();
    },
  };
  return api;
}
