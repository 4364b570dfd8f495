/** The body of a response as text, piece by piece. */
export async function* chunksOf({ body }: Response): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  for await (const chunk of body ?? []) yield decoder.decode(chunk, { stream: true });
  yield decoder.decode();
}

/** Reads the body of a response. Undefined when it has more characters than that; the rest is then not read, and the connection ends. */
export async function boundedText(response: Response, maxLength: number): Promise<string | undefined> {
  const pieces: string[] = [];
  let length = 0;
  for await (const piece of chunksOf(response)) {
    length += piece.length;
    if (length > maxLength) return undefined;
    pieces.push(piece);
  }
  return pieces.join('');
}

/**
 * `fetch` for a library that reads bodies of any size: a successful response has at most that many characters, and any other has no
 * body.
 * @throws RangeError for a longer one
 */
export function boundedFetch(fetchImplementation: typeof fetch, maxLength: number) {
  return async (url: string, init: RequestInit): Promise<Response> => {
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
