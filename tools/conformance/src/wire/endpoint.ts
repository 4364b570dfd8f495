import { type Message, messagesOf, parseMessage, WireError } from './messages.ts';

/** An MCP server under test, as one user reaches it. */
export interface Endpoint {
  readonly url: URL;
  /** Sent with every request; holds the credentials of the user. */
  readonly headers: Readonly<Record<string, string>>;
}

export interface PostOptions {
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

/** Posts a message. Redirects are refused: they would carry the credentials elsewhere. */
export function post(endpoint: Endpoint, message: object, { headers, signal }: PostOptions): Promise<Response> {
  return fetch(endpoint.url, {
    method: 'POST',
    redirect: 'error',
    signal,
    headers: {
      ...endpoint.headers,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...headers,
    },
    body: JSON.stringify(message),
  });
}

/** Reads a response to its end, or until `onMessage` returns true. Several transports answer errors with a JSON body of another type. */
export async function readMessages(response: Response, onMessage: (message: Message) => boolean): Promise<void> {
  const type = response.headers.get('content-type') ?? '';
  if (response.status >= 400 && !/json|event-stream/.test(type)) {
    const text = (await response.text()).slice(0, 200);
    if (text.startsWith('{')) onMessage(parseMessage(text));
    else throw new WireError(`HTTP status ${response.status}: ${text}`);
    return;
  }
  for await (const message of messagesOf(response)) if (onMessage(message)) break;
}
