import { randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';

/**
 * How an imitation of a key service misbehaves. `silent` never responds, `trickle` never ends its response, `failing` and `throttled`
 * respond with errors, `wrong` with another key than the one asked for, the others with something else than the API.
 */
export type KeyServiceMood =
  | 'well'
  | 'silent'
  | 'trickle'
  | 'failing'
  | 'throttled'
  | 'html'
  | 'huge'
  | 'redirect'
  | 'empty'
  | 'wrong';

/** In every response of a misbehaving service, so that tests can search logs for it. */
export const KEY_SERVICE_CANARY = 'canary-of-the-key-service';

/** Responds in a mood that does not depend on the API. Returns false for the others. */
export function respondInMood(mood: KeyServiceMood, response: ServerResponse): boolean {
  switch (mood) {
    case 'silent':
      return true;
    case 'trickle':
      response.writeHead(200, { 'content-type': 'application/json' }).write(`{"data":{"${KEY_SERVICE_CANARY}":`);
      return true;
    case 'html':
      response.writeHead(200, { 'content-type': 'text/html' }).end(`<h1>${KEY_SERVICE_CANARY}</h1>`);
      return true;
    case 'huge':
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ data: { plaintext: KEY_SERVICE_CANARY.repeat(100_000) } }));
      return true;
    case 'redirect':
      response.writeHead(307, { location: `https://elsewhere.example/${KEY_SERVICE_CANARY}` }).end();
      return true;
    case 'empty':
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
      return true;
    case 'wrong': {
      const [key, wrapped] = [randomBytes(32).toString('base64'), randomBytes(60).toString('base64')];
      // The members of both services.
      const content = {
        Plaintext: key,
        CiphertextBlob: wrapped,
        data: { plaintext: key, ciphertext: `vault:v1:${wrapped}` },
      };
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(content));
      return true;
    }
    case 'well':
    case 'failing':
    case 'throttled':
      return false;
  }
}

/** Runs actions when a numbered request arrives, such as to kill its sender in the middle of its work. */
export function createRequestPlan() {
  let count = 0;
  const planned = new Map<number, () => unknown>();
  return {
    async arrived(): Promise<void> {
      count += 1;
      await planned.get(count)?.();
    },
    /** `action` runs when the `nth` request from now arrives. The request is answered when its result resolves. */
    atRequest: (nth: number, action: () => unknown) => void planned.set(count + nth, action),
  };
}
