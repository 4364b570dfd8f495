import { listenHttp } from '@postern/testkit/providers';

/** A third party's API that knows which credentials work. */
export interface ApiToCheck extends AsyncDisposable {
  readonly url: string;
  readonly host: string;
  /** What it was asked with, request by request. */
  readonly asked: readonly { method: string; authorization: string | undefined; apiKey: string | undefined }[];
  /** The next answers; afterwards it says 200 to what it accepts and 401 to everything else. */
  answerNext(...statuses: readonly (number | 'hang' | 'redirect' | 'break')[]): void;
  /** The `Authorization` or `X-Api-Key` that works. */
  accepts: string;
  /** Lets go what hangs. */
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
