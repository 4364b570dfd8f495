/**
 * What all drivers have in common. A driver calls the tool, prints RESULT with everything that its application gets to see, and calls
 * again when a line arrives. `consent` is the application's dialogue: it prints ELICIT with the URL, and the user agrees.
 */
import { createInterface } from 'node:readline';

export const url = process.env.MCP_URL;
export const token = process.env.MCP_TOKEN;
export const headers = { authorization: `Bearer ${token}` };
export const era = process.env.MCP_ERA;
export const tool = 'connect';

export function consent(page) {
  console.log(`ELICIT ${JSON.stringify(page)}`);
  return { action: 'accept' };
}

function shown(error) {
  const { message, data, code, cause } = error ?? {};
  return { message, code, data, ...(cause ? { cause: shown(cause) } : {}) };
}

export async function play(call) {
  for await (const _ of createInterface({ input: process.stdin })) {
    try {
      console.log(`RESULT ${JSON.stringify({ result: await call() })}`);
    } catch (error) {
      console.log(`RESULT ${JSON.stringify({ error: shown(error) })}`);
    }
  }
  process.exit(0);
}
