import type { Ring } from '../ring.ts';

/** Collects the events that Postern sends to the MCP server (server-sent events), until aborted. */
export async function followEvents(p: {
  url: string;
  apiKey: string;
  signal: AbortSignal;
  events: Ring<string>;
}): Promise<void> {
  try {
    const headers = { authorization: `Bearer ${p.apiKey}`, accept: 'text/event-stream' };
    const response = await fetch(`${p.url}/v1/events`, { headers, signal: p.signal });
    let rest = '';
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      const lines = (rest + chunk).split('\n');
      rest = lines.pop() ?? '';
      p.events.push(...lines.filter(line => line.startsWith('data:')).map(line => line.slice('data:'.length).trim()));
    }
  } catch (error) {
    if (!p.signal.aborted) p.events.push(`The stream of events ended: ${String(error)}`);
  }
}
