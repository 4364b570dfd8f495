#!/usr/bin/env node
// Bundled, a chunk loads its libraries before its own modules run.
import '@postern/openid-server/hush-runtime-warning';

/** The program of the published package: the demo, or with `host` the terminal MCP host for any MCP server. */
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < 24 || (major === 24 && minor < 15)) {
  process.stderr.write(`The demo needs Node.js 24.15 or later; this is Node.js ${process.versions.node}.\n`);
  process.exitCode = 1;
} else if (process.argv[2] === 'host') {
  process.argv.splice(2, 1);
  await import('./host/main.ts');
} else {
  await import('./main.ts');
}
