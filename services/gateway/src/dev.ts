import { prepareDev } from './cli/dev/prepare-dev.ts';
import { runProcess } from './run-process.ts';

/** The process of `postern dev`. It logs only errors. */
export async function dev(args: readonly string[]): Promise<void> {
  const prepared = await prepareDev(args, process.env);
  if ('exitCode' in prepared) {
    (prepared.exitCode === 0 ? process.stdout : process.stderr).write(prepared.text);
    process.exitCode = prepared.exitCode;
    return;
  }
  await runProcess({
    configPath: prepared.configPath,
    logLevel: process.env['LOG_LEVEL'] ?? 'error',
    onStarted: () => process.stdout.write(prepared.screen),
  });
}
