const LOOPBACK = /^(localhost|.+\.localhost|127(\.\d+){3}|\[::1\])$/;

/** Whether the host of the URL is this machine, by its name or address. */
export const isLoopback = ({ hostname }: URL): boolean => LOOPBACK.test(hostname);

/** Whether requests to the URL stay confidential: https, or http on loopback. */
export function isConfidential(url: URL, allowHttp: boolean): boolean {
  return url.protocol === 'https:' || (url.protocol === 'http:' && (allowHttp || isLoopback(url)));
}

/**
 * Reads the body of a response. Returns undefined if it is longer than `maxLength` characters; the rest is not read, and the
 * connection is closed.
 */
export async function boundedText(response: Response, maxLength: number): Promise<string | undefined> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > maxLength) return undefined;
  }
  return text + decoder.decode();
}

/** `fetch` of documents whose length is limited. */
export type BoundedFetch = (url: string, init: RequestInit) => Promise<Response>;

/**
 * Wraps `fetch` for a library that reads bodies of any size: a response with status 200 has at most `maxLength` characters, any
 * other has no body.
 *
 * @throws RangeError if the body is longer
 */
export function boundedFetch(fetchImplementation: typeof fetch, maxLength: number): BoundedFetch {
  return async (url, init) => {
    const response = await fetchImplementation(url, init);
    if (response.status !== 200) {
      await response.body?.cancel();
      return response;
    }
    const text = await boundedText(response, maxLength);
    if (text === undefined) throw new RangeError('the response is too long');
    return new Response(text, { headers: response.headers });
  };
}
