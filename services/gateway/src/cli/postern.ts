#!/usr/bin/env node
import { once } from 'node:events';
import { createInterface } from 'node:readline/promises';
import { runCli } from './run-cli.ts';

/** The process of the command. The first Ctrl-C stops it cleanly, the second one immediately. */
const stopping = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stopping.abort());
const unread = new AbortController();
process.stdout.once('error', () => unread.abort());

process.exitCode = await runCli(process.argv.slice(2), {
  env: process.env,
  out: text => void process.stdout.write(text),
  err: text => void process.stderr.write(text),
  isTerminal: process.stderr.isTTY === true,
  signal: stopping.signal,
  unread: unread.signal,
  ...(process.stdin.isTTY && { ask }),
});

/** Resolves with undefined after Ctrl-C or at the end of the input. */
async function ask(question: string): Promise<string | undefined> {
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  const ended = once(lines, 'close').then(() => undefined);
  try {
    return await Promise.race([lines.question(question), ended]);
  } finally {
    lines.close();
  }
}
