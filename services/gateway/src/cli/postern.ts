#!/usr/bin/env node
import { runCli } from './run-cli.ts';

/** The process of the command. Ctrl-C asks it to stop cleanly; a second one ends it at once. */
const stopping = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stopping.abort());

process.exitCode = await runCli(process.argv.slice(2), {
  env: process.env,
  out: text => void process.stdout.write(text),
  err: text => void process.stderr.write(text),
  isTerminal: process.stderr.isTTY === true,
  signal: stopping.signal,
});
