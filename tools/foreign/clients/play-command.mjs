import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { play } from './play.mjs';

/** Plays a client that is a program: each call runs it. What it prints is what the user sees. */
export async function playCommand(program, args) {
  await play(async () => {
    const child = spawn(process.execPath, [program, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
    let printed = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', chunk => {
        printed += chunk;
        // The user reads while the program runs.
        process.stdout.write(`PRINTED ${JSON.stringify(String(chunk))}\n`);
      });
    await once(child, 'close');
    if (child.exitCode !== 0) throw new Error(printed);
    return printed;
  });
}
