#!/usr/bin/env node
/**
 * The program `postern`: `postern start [file]` starts the gateway, as does `postern` alone; `postern dev` starts one for development,
 * `postern local` that of one person; anything else is a command for operators.
 */
const [command = 'start', ...args] = process.argv.slice(2);
// A reader such as `head` closes the pipe early. The rest of the text is dropped, and the work goes on.
for (const stream of [process.stdout, process.stderr])
  stream.on('error', error => {
    if (!('code' in error) || error.code !== 'EPIPE') throw error;
  });
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < 24 || (major === 24 && minor < 15)) {
  process.stderr.write(`Postern needs Node.js 24.15 or later; this is Node.js ${process.versions.node}.\n`);
  process.exitCode = 1;
} else if (command === 'start' && args.length < 2 && !args[0]?.startsWith('-')) {
  const { runStart } = await import('./run-process.ts');
  await runStart(args[0]);
} else if (command === 'dev' || command === 'local') {
  const prepared =
    command === 'dev'
      ? await (await import('./cli/dev/prepare-dev.ts')).devProcess(args)
      : await (await import('./local.ts')).localProcess(args);
  // Loaded only if there is something to run: it is most of the code.
  if (prepared !== undefined) await (await import('./run-process.ts')).runProcess(prepared);
} else {
  await import('./cli/postern.ts');
}
