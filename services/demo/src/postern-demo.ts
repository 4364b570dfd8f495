#!/usr/bin/env node
// Bundled, a chunk loads its libraries before its own modules run.
import '@postern/openid-server/hush-runtime-warning';

/** The program of the published package: the demo, or with `host` the terminal MCP host for any MCP server. */
if (Number.parseInt(process.versions.node, 10) < 24) {
  process.stderr.write(`The demo needs Node.js 24 or later; this is Node.js ${process.versions.node}.\n`);
  process.exitCode = 1;
} else if (process.argv[2] === 'host') {
  process.argv.splice(2, 1);
  await import('./host/main.ts');
} else {
  await import('./main.ts');
}
