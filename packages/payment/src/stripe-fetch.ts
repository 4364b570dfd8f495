import { z } from 'zod';
import type { ProcessorFetch } from './processor.ts';
import { unreadableAnswer } from './stripe-answers.ts';

/** Maximum size of an answer, in bytes after decompression. A Checkout Session has a few kilobytes. */
const MAX_BYTES = 1024 * 1024;

/** Response headers that we read. The library prints others (`stripe-notice`) as a process warning. */
const keptHeaders = ['request-id', 'idempotent-replayed'];

/** Either an object of the API or an error that names its type; proxies answer with errors of other shapes. */
const successSchema = z.looseObject({ error: z.never().optional() });
const failureSchema = z.looseObject({ error: z.looseObject({ type: z.string().min(1) }) });

/**
 * The `fetch` of the Stripe library. It hands over only what the library can process: a JSON object in a body of bounded size,
 * with an `error` exactly where the status says so. The library throws outside its promise chain for a JSON string, number or
 * boolean, which would end the process.
 *
 * @throws ProcessorError `unavailable` for every other answer: it does not say whether the request had an effect
 */
export function stripeFetch(processorFetch: ProcessorFetch): typeof fetch {
  return async (input, { method = 'GET', headers, body, signal } = {}) => {
    const answer = await processorFetch(input instanceof Request ? input.url : input, {
      ...{ method, headers: Object.fromEntries(new Headers(headers)) },
      ...(typeof body === 'string' && { body }),
      ...(signal && { signal }),
    });
    const text = await textOf(answer);
    if (!isApiAnswer(answer.status, jsonOf(text))) throw unreadableAnswer();
    const kept = keptHeaders.flatMap(name => {
      const value = answer.headers.get(name);
      return value === null ? [] : [[name, value] as [string, string]];
    });
    return new Response(text, { status: answer.status, headers: kept });
  };
}

function isApiAnswer(status: number, value: unknown): boolean {
  if (status === 200) return successSchema.safeParse(value).success;
  return status >= 400 && failureSchema.safeParse(value).success;
}

async function textOf({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  // Leaving the loop by an error cancels the stream.
  for await (const chunk of body ?? []) {
    size += chunk.byteLength;
    if (size > MAX_BYTES) throw unreadableAnswer();
    chunks.push(chunk);
  }
  return new TextDecoder().decode(Buffer.concat(chunks));
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
