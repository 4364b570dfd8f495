import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Revision } from './revision.ts';

/** @throws if the command fails: what follows would test another state than the caller wants */
export async function runPreparation(command: string, scenario: string, revision: Revision): Promise<void> {
  const child = spawn(command, {
    shell: true,
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, MCP_CONFORMANCE_SCENARIO: scenario, MCP_CONFORMANCE_PROTOCOL_VERSION: revision },
  });
  await once(child, 'close');
  if (child.exitCode !== 0) throw new Error(`the --prepare command ended with ${child.exitCode ?? child.signalCode}`);
}
